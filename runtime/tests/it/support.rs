//! What several modules need.

use std::path::{Path, PathBuf};

/// A component of `tests/guests`, by its file name without `.wasm`.
///
/// # Panics
/// When it has not been built.
pub(crate) fn guest(name: &str) -> PathBuf {
    let path = target().join("guests").join(name).with_extension("wasm");
    assert!(path.is_file(), "{} is missing: run `cargo xtask guests`", path.display());
    path
}

/// The workspace's build directory.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}
