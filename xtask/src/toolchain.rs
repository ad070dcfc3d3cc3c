//! The compilation targets that a build needs beyond the host's own.

use std::path::Path;

use crate::Failure;
use crate::command::Command;

/// Sees to it that the standard library of each target is installed, with `rustup` where it is not.
///
/// # Errors
/// When a target is missing and `rustup` is not there or cannot add it; the advice says what to install.
pub(crate) fn ensure_targets(targets: &[&'static str]) -> Result<(), Failure> {
    for target in targets {
        if !is_installed(target)? {
            add(target)?;
        }
    }
    Ok(())
}

/// Whether the compiler finds a library for the target; asking the compiler rather than `rustup` also
/// counts what a distribution's package has installed.
fn is_installed(target: &str) -> Result<bool, Failure> {
    let output = Command::new(Path::new("rustc")).args(["--print", "target-libdir", "--target", target]).capture()?;
    let directory = String::from_utf8_lossy(&output.stdout);
    let Ok(entries) = std::fs::read_dir(directory.trim()) else {
        return Ok(false);
    };
    Ok(entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    }))
}

fn add(target: &str) -> Result<(), Failure> {
    let command = Command::new(Path::new("rustup")).args(["target", "add", target]);
    command.announce_and_run().map_err(|_| {
        Failure::new(format!("the Rust library for {target} is missing, and rustup could not add it")).mended_by(
            format!(
                "run `{command}` where the network allows it, or install your distribution's package \
             of the Rust standard library for {target}; then start again"
            ),
        )
    })
}
