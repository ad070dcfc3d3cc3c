//! Where things lie, and which packages are built for what.

use std::path::{Path, PathBuf};

/// The target that components are compiled for.
pub(crate) const COMPONENT_TARGET: &str = "wasm32-wasip2";

/// A target without a standard library: what compiles for it is `no_std`.
pub(crate) const BARE_TARGET: &str = "wasm32v1-none";

/// The packages that become components. Every other member of the workspace is built for the host, so
/// a new guest needs a line here besides the one in the workspace's `Cargo.toml`.
pub(crate) const GUESTS: [&str; 9] = [
    "check-capsule",
    "example-audit-pipeline",
    "example-call",
    "example-hello",
    "example-word-count",
    "test-capsule",
    "test-courier",
    "test-empty",
    "test-tool",
];

/// The repository and its target directory.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The workspace that this program was built in, or that `cargo run` starts it in.
    pub(crate) fn find() -> Self {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().map_or_else(|| manifest_dir.clone(), Path::to_path_buf);
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        Self { root, target }
    }

    /// The repository's root, absolute.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the target directory, relative to the root unless `CARGO_TARGET_DIR` is absolute.
    pub(crate) fn target(&self, below: &str) -> PathBuf {
        self.target.join(below)
    }

    /// A program of this workspace, as built for the host with the development profile.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The component of one of [`GUESTS`], where `guests` puts it for examples and tests to find.
    pub(crate) fn component(&self, package: &str) -> PathBuf {
        self.target("guests").join(format!("{}.wasm", package.replace('-', "_")))
    }
}

/// The arguments that select all packages for the host.
pub(crate) fn host_packages() -> Vec<&'static str> {
    let excluded = GUESTS.iter().flat_map(|package| ["--exclude", package]);
    std::iter::once("--workspace").chain(excluded).collect()
}

/// The arguments that select the packages that become components.
pub(crate) fn guest_packages() -> Vec<&'static str> {
    GUESTS.iter().flat_map(|package| ["--package", package]).collect()
}
