//! `cargo xtask`: builds, checks and demonstrates the project.
//!
//! A small program on the standard library alone, so that the first command on a fresh machine starts
//! printing within seconds, while everything else still waits to be compiled. What it does is run
//! `cargo` and the programs built by it; each command is shown as a line that can be run by hand.
//!
//! - [`workspace`]: the repository's root, the target directory, the packages that become components
//! - [`command`]: running other programs, and showing them
//! - [`toolchain`]: the compilation targets that a build needs
//! - [`guests`]: building components and laying them out (`guests`, `capsule`, the examples)
//! - [`demo`]: a sealed run, checked three ways, then altered and checked again
//! - [`checks`]: everything that has to pass (`test`)
//! - [`guide`]: the commands of a page of `docs/`, run in their order
//! - [`mod@bench`]: how fast checking, appending and launching are
//! - [`fuzz`]: the fuzz targets
//! - [`table`]: aligned columns

mod bench;
mod checks;
mod command;
mod demo;
mod fuzz;
mod guests;
mod guide;
mod table;
mod toolchain;
mod workspace;

use std::fmt;
use std::process::ExitCode;

use crate::command::Command;
use crate::workspace::Workspace;

const HELP: &str = "\
Builds, checks and demonstrates Murmur.

Usage: cargo xtask COMMAND

Commands:
  demo               Runs a capsule, checks its sealed record in three ways, changes one byte of a
                     copy and checks again. Needs nothing but Rust; builds what is missing.
  test [STEP...]     Runs every check that a change has to pass, or the steps named.
  bench [--quick] [--write]
                     Measures checking, appending and launching, beside other programs that read the same bytes.
                     --quick: on small files; --write: puts the tables into docs/performance.md.
  fuzz --smoke       Runs every fuzz target for a minute. Takes a nightly toolchain and cargo-fuzz.
  fuzz TARGET [--minutes N]
                     Runs one fuzz target, for half an hour unless told otherwise.
  guests             Builds the components (tools, capsules, test guests) into target/guests.
  capsule            Builds the check capsule into target/capsule/check-capsule.
  vectors [--check]  Writes the golden records and test vectors of testdata/ anew, or checks that
                     what is there is what would be written.
  help               Prints this text.
";

/// The exit code for a command line that is not understood, as of the other programs here.
const USAGE: u8 = 2;

/// Why a command ended early, and what mends it.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    mend: Option<String>,
}

impl Failure {
    /// A failure whose text says all there is to say.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), mend: None }
    }

    /// The same failure with advice, best a command that can be run as it stands.
    pub(crate) fn mended_by(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        match &self.mend {
            Some(mend) => write!(f, "\n  hint: {mend}"),
            None => Ok(()),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] | ["help" | "--help" | "-h", ..] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["demo"] => enter().and_then(|workspace| demo::run(&workspace)),
        ["test", steps @ ..] => match checks::select(steps) {
            Ok(steps) => enter().and_then(|workspace| checks::run(&workspace, &steps)),
            Err(unknown) => return usage(&unknown),
        },
        ["bench", arguments @ ..] => match bench::options(arguments) {
            Ok(options) => enter().and_then(|workspace| bench::run(&workspace, options)),
            Err(problem) => return usage(&problem),
        },
        ["fuzz", arguments @ ..] => match fuzz::session(arguments) {
            Ok(session) => enter().and_then(|_| fuzz::run(&session)),
            Err(problem) => return usage(&problem),
        },
        ["guests"] => enter().and_then(|workspace| guests::build_and_list(&workspace)),
        ["capsule"] => enter().and_then(|workspace| guests::lay_out_check_capsule(&workspace)),
        ["vectors"] => enter().and_then(|_| vectors("write")),
        ["vectors", "--check"] => enter().and_then(|_| vectors("check")),
        [command @ ("demo" | "guests" | "capsule" | "vectors"), ..] => {
            return usage(&format!("`{command}` does not take these arguments"));
        }
        [command, ..] => return usage(&format!("there is no command `{command}`")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("{}", Failure::new(problem).mended_by("cargo xtask help"));
    ExitCode::from(USAGE)
}

/// Finds the workspace and makes its root the current directory, so that every path shown is short
/// and every command shown can be run from there.
fn enter() -> Result<Workspace, Failure> {
    let workspace = Workspace::find();
    std::env::set_current_dir(workspace.root())
        .map_err(|error| Failure::new(format!("cannot enter {}: {error}", workspace.root().display())))?;
    Ok(workspace)
}

fn vectors(action: &str) -> Result<(), Failure> {
    vectors_command(action).announce_and_run()
}

/// The command that writes or checks what `testdata/` holds; `action` is `write` or `check`.
pub(crate) fn vectors_command(action: &str) -> Command {
    Command::cargo(["run", "--quiet", "--package", "mur-testdata", "--", action])
}
