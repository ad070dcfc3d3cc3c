//! `cargo xtask fuzz`: runs the fuzz targets, which takes a nightly toolchain and `cargo-fuzz`.
//!
//! The committed inputs of `fuzz/corpus` are read and never added to: what a run finds worth keeping goes to
//! `fuzz/target/grown`, and the next run goes on from there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::command::Command;

/// Every target, as `fuzz/Cargo.toml` has it.
const TARGETS: [&str; 6] = ["keys", "parallel", "record", "seal_parse", "verify_inline", "verify_listed"];

const SMOKE_SECONDS: u64 = 60;
const DEFAULT_MINUTES: u64 = 30;

/// What to run, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Session {
    targets: Vec<&'static str>,
    /// Each.
    seconds: u64,
}

/// Reads the arguments behind `fuzz`.
///
/// # Errors
/// A text for the user.
pub(crate) fn session(arguments: &[&str]) -> Result<Session, String> {
    let (name, minutes) = match arguments {
        ["--smoke"] => return Ok(Session { targets: TARGETS.into(), seconds: SMOKE_SECONDS }),
        [name] => (name, Ok(DEFAULT_MINUTES)),
        [name, "--minutes", minutes] => (name, minutes.parse()),
        _ => return Err(format!("`fuzz` takes --smoke, or a target: {}", TARGETS.join(", "))),
    };
    let Some(target) = TARGETS.iter().find(|target| *target == name) else {
        return Err(format!("there is no fuzz target `{name}`; the targets are {}", TARGETS.join(", ")));
    };
    match minutes.ok().and_then(|minutes: u64| minutes.checked_mul(60)) {
        Some(seconds) if seconds > 0 => Ok(Session { targets: vec![target], seconds }),
        _ => Err("--minutes takes a whole number above 0".into()),
    }
}

/// Runs the targets one after another. The first one that finds something ends the run, and says where the input lies.
///
/// # Errors
/// When the tools are missing, or a target found something.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    ensure_tools()?;
    cargo_fuzz(["build"]).announce_and_run()?;
    for target in &session.targets {
        let grown = PathBuf::from("fuzz/target/grown").join(target);
        fs::create_dir_all(&grown)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", grown.display())))?;
        cargo_fuzz(["run", target])
            .path(&grown)
            .path(&Path::new("fuzz/corpus").join(target))
            .args(["--", &format!("-max_total_time={}", session.seconds), "-print_final_stats=1"])
            .announce_and_run()?;
    }
    println!("\nno target found anything: {} s each", session.seconds);
    Ok(())
}

fn cargo_fuzz<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    Command::cargo(["+nightly", "fuzz"]).args(arguments)
}

/// Says what is missing, and how to get it; nothing is installed unasked.
fn ensure_tools() -> Result<(), Failure> {
    if works(&cargo_fuzz(["--version"])) {
        return Ok(());
    }
    if !works(&Command::cargo(["+nightly", "--version"])) {
        return Err(Failure::new("fuzzing takes a nightly toolchain, for the sanitizers it is built with")
            .mended_by("rustup toolchain install nightly"));
    }
    Err(Failure::new("fuzzing takes cargo-fuzz").mended_by("cargo install cargo-fuzz"))
}

fn works(command: &Command) -> bool {
    command.capture().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_program_and_inputs_and_no_other_has() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (directory, suffix) in [("fuzz/fuzz_targets", ".rs"), ("fuzz/corpus", "")] {
            let entries = fs::read_dir(root.join(directory)).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().trim_end_matches(suffix).to_owned()).collect();
            names.sort_unstable();
            assert_eq!(names, TARGETS, "{directory}");
        }
    }

    #[test]
    fn a_session_is_a_smoke_test_or_one_target() {
        assert_eq!(session(&["--smoke"]), Ok(Session { targets: TARGETS.into(), seconds: 60 }));
        assert_eq!(session(&["keys"]), Ok(Session { targets: vec!["keys"], seconds: 1800 }));
        assert_eq!(session(&["keys", "--minutes", "2"]), Ok(Session { targets: vec!["keys"], seconds: 120 }));
        let refused: [&[&str]; 6] = [
            &[],
            &["lock"],
            &["keys", "--minutes"],
            &["keys", "--minutes", "0"],
            &["keys", "--minutes", "x"],
            &["--smoke", "keys"],
        ];
        for arguments in refused {
            assert!(session(arguments).is_err(), "{arguments:?}");
        }
    }
}
