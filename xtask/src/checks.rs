//! `cargo xtask test`: everything that a change has to pass, one step after another.
//!
//! A step is one or a few commands. The first one that fails ends the run; the closing table says how
//! far it came, and the error says how to run that step, or that very command, again.

use std::time::{Duration, Instant};

use crate::command::Command;
use crate::workspace::{BARE_TARGET, COMPONENT_TARGET, Workspace, guest_packages, host_packages};
use crate::{Failure, demo, guests, guide, table, toolchain, vectors_command};

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// One thing to check.
pub(crate) struct Step {
    /// The word that selects it on the command line.
    name: &'static str,
    /// What passing means.
    about: &'static str,
    work: Work,
}

enum Work {
    /// Commands that must all end with 0.
    Commands(fn() -> Vec<Command>),
    /// A command of this program.
    Call(fn(&Workspace) -> Result<(), Failure>),
}

/// The cheap steps stand first, and the components before the tests that run them.
static STEPS: [Step; 10] = [
    commands("fmt", "the code is formatted", fmt),
    commands("clippy", "no lint fires, on the host and in components", clippy),
    commands("docs", "the documentation builds without a warning", docs),
    commands("portable", "the seal format builds without a standard library", portable),
    commands("fuzz", "the fuzz targets compile, and their committed inputs pass", fuzz),
    call("guests", "the components build", guests::build),
    commands("tests", "all tests pass", tests),
    commands("vectors", "the test data is what its program writes", vectors),
    call("demo", "the demonstration ends as it should", demo::run),
    call("guide", "the guide to a first tool ends as it promises", guide::run),
];

const fn commands(name: &'static str, about: &'static str, commands: fn() -> Vec<Command>) -> Step {
    Step { name, about, work: Work::Commands(commands) }
}

const fn call(name: &'static str, about: &'static str, call: fn(&Workspace) -> Result<(), Failure>) -> Step {
    Step { name, about, work: Work::Call(call) }
}

/// The steps of these names, in their usual order; all of them when no name is given.
///
/// # Errors
/// A text for the user when a name is not a step's.
pub(crate) fn select(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step `{unknown}`; the steps are {}", known.join(", ")));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)).collect())
}

/// Runs the steps in order until one fails, and prints a table of how each one went.
pub(crate) fn run(workspace: &Workspace, steps: &[&Step]) -> Result<(), Failure> {
    toolchain::ensure_targets(&[COMPONENT_TARGET, BARE_TARGET])?;
    let started = Instant::now();
    let mut passed: Vec<Duration> = Vec::new();
    let mut failure = None;
    for (index, step) in steps.iter().enumerate() {
        println!("\n[{}/{}] {}: {}", index + 1, steps.len(), step.name, step.about);
        let started = Instant::now();
        match step.run(workspace) {
            Ok(()) => passed.push(started.elapsed()),
            Err(cause) => {
                failure = Some((step, cause));
                break;
            }
        }
    }
    print!("\n{}", summary(steps, &passed, failure.is_some()));
    let Some((step, cause)) = failure else {
        println!("  all passed in {}", table::duration(started.elapsed()));
        return Ok(());
    };
    eprintln!("{cause}");
    Err(Failure::new(format!("the step `{0}` failed", step.name)).mended_by(format!("cargo xtask test {}", step.name)))
}

impl Step {
    fn run(&self, workspace: &Workspace) -> Result<(), Failure> {
        match self.work {
            Work::Commands(commands) => commands().iter().try_for_each(Command::announce_and_run),
            Work::Call(call) => call(workspace),
        }
    }
}

fn summary(steps: &[&Step], passed: &[Duration], failed: bool) -> String {
    let outcome = |index: usize| match passed.get(index) {
        Some(time) => ("passed", table::duration(*time)),
        None if failed && index == passed.len() => ("FAILED", String::new()),
        None => ("not run", String::new()),
    };
    let rows: Vec<Vec<String>> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let (result, time) = outcome(index);
            vec![step.name.to_owned(), result.to_owned(), time]
        })
        .collect();
    table::aligned(&rows)
}

fn fmt() -> Vec<Command> {
    vec![
        Command::cargo(["fmt", "--all", "--check"]),
        Command::cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]),
    ]
}

fn clippy() -> Vec<Command> {
    vec![
        Command::cargo(["clippy"]).args(host_packages()).args(["--all-targets"]).args(DENY_WARNINGS),
        Command::cargo(["clippy", "--target", COMPONENT_TARGET]).args(guest_packages()).args(DENY_WARNINGS),
        Command::cargo(["clippy", "--target", BARE_TARGET, "--package", "mur-seal", "--no-default-features"])
            .args(DENY_WARNINGS),
    ]
}

fn docs() -> Vec<Command> {
    vec![Command::cargo(["doc", "--no-deps"]).args(host_packages()).env("RUSTDOCFLAGS", "-D warnings")]
}

fn portable() -> Vec<Command> {
    let seal = ["--package", "mur-seal"];
    vec![
        Command::cargo(["build", "--target", BARE_TARGET, "--no-default-features"]).args(seal),
        Command::cargo(["build", "--target", COMPONENT_TARGET, "--no-default-features"]).args(seal),
        Command::cargo(["build", "--target", COMPONENT_TARGET]).args(seal),
    ]
}

/// Without the fuzzer's own library, which takes a C++ compiler and, to be of use, a nightly toolchain. The programs of the
/// targets cannot be linked then, so the inputs go through the functions that they call.
fn fuzz() -> Vec<Command> {
    let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--no-default-features"];
    vec![
        Command::cargo(["clippy"]).args(fuzz).args(["--all-targets"]).args(DENY_WARNINGS),
        Command::cargo(["test"]).args(fuzz).args(["--lib"]),
    ]
}

/// Components are plain Rust where they do not call their host, and that part is tested like the rest.
fn tests() -> Vec<Command> {
    vec![
        Command::cargo(["test", "--no-fail-fast"]).args(host_packages()),
        Command::cargo(["test", "--no-fail-fast"]).args(guest_packages()),
    ]
}

fn vectors() -> Vec<Command> {
    vec![vectors_command("check")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_step_is_selected() {
        assert_eq!(select(&[]).map(|steps| steps.len()), Ok(STEPS.len()));
    }

    #[test]
    fn an_unknown_step_is_refused_with_a_list_of_the_known_ones() {
        let refusal = select(&["fmt", "lint"]).map(|steps| steps.len());
        assert_eq!(refusal.map_err(|text| text.contains("`lint`") && text.contains("clippy")), Err(true));
    }

    #[test]
    fn steps_after_a_failed_one_are_shown_as_not_run() {
        let steps: Vec<&Step> = STEPS.iter().take(3).collect();
        let text = summary(&steps, &[Duration::from_secs(1)], true);
        assert_eq!(text, "  fmt     passed   1.0 s\n  clippy  FAILED\n  docs    not run\n");
    }
}
