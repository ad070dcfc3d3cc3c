//! The commands of a guide, run as a reader would run them: the `sh` blocks of the page, in their order, in a directory of
//! their own with a home of their own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::workspace::{COMPONENT_TARGET, Workspace};
use crate::{Failure, guests, toolchain};

const PAGE: &str = "docs/first-tool.md";
/// What the page promises at its end.
const RESULT: &str = "HELLO, WORLD\n";

/// Follows the page "Your first tool in ten minutes" to its end.
///
/// # Errors
/// When a command of it fails, or the end is not the one that it promises.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    toolchain::ensure_targets(&[COMPONENT_TARGET])?;
    Command::cargo(["build", "--package", "mur-runtime", "--package", "mur-verify"]).announce_and_run()?;
    guests::build(workspace)?;

    let page = fs::read_to_string(PAGE).map_err(|error| Failure::new(format!("cannot read {PAGE}: {error}")))?;
    let root = absolute(&workspace.target("guide"));
    let failed = |error: std::io::Error| Failure::new(format!("cannot prepare {}: {error}", root.display()));
    if root.exists() {
        fs::remove_dir_all(&root).map_err(failed)?;
    }
    let home = root.join("home");
    fs::create_dir_all(&home).map_err(failed)?;
    let script = root.join("guide.sh");
    fs::write(&script, format!("cd '{}'\n{}", root.display(), commands(&page))).map_err(failed)?;

    // The toolchain stays where it is; everything else has the new home.
    let programs = absolute(&workspace.target("debug"));
    let path = env::var("PATH").unwrap_or_default();
    Command::new(Path::new("sh"))
        .args(["-eux"])
        .path(&script)
        .env("MURMUR", workspace.root().display().to_string())
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("CARGO_HOME", tool_home("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", tool_home("RUSTUP_HOME", ".rustup"))
        .env("HOME", home.display().to_string())
        // The crates that it needs are those of the examples, and those are there by now.
        .env("CARGO_NET_OFFLINE", "true")
        .announce_and_run()
        .map_err(|_| Failure::new(format!("a command of {PAGE} failed; the last one shown is the one")))?;
    let result = result_of(&root.join("project/workdir"))?;
    if result == RESULT {
        return Ok(());
    }
    Err(Failure::new(format!("{PAGE} ends with {result:?} and promises {RESULT:?}")))
}

/// What stands in the page's `sh` blocks.
fn commands(page: &str) -> String {
    let mut commands = String::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, "```sh") => inside = true,
            (true, "```") => inside = false,
            (true, line) => commands += &format!("{line}\n"),
            (false, _) => {}
        }
    }
    commands
}

/// The result of the one session below this directory.
fn result_of(workdir: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", workdir.display()));
    let mut results = String::new();
    for session in fs::read_dir(workdir).map_err(unreadable)? {
        let session = session.map_err(unreadable)?;
        results += &fs::read_to_string(session.path().join("out/result.txt")).map_err(unreadable)?;
    }
    Ok(results)
}

/// Where a part of the toolchain lies, which a new `HOME` must not move.
fn tool_home(variable: &str, below_home: &str) -> String {
    let place = env::var_os(variable).map(PathBuf::from);
    let usual = || Path::new(&env::var_os("HOME").unwrap_or_default()).join(below_home);
    place.unwrap_or_else(usual).display().to_string()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_blocks_that_are_commands_are_run() {
        let page = "text\n```sh\na\n\nb\n```\n```text\nc\n```\nd\n```sh\ne\n```\n";
        assert_eq!(commands(page), "a\n\nb\ne\n");
    }
}
