//! `cargo xtask bench`: how fast checking, appending and launching are, beside what they cannot be faster than, and beside other
//! programs that read the same bytes.
//!
//! Whatever is compared is measured in one run, in turns, on the same files, which are made under `target/bench` and kept.
//! Programs that are not installed are said to be missing.
//!
//! - [`measure`]: running programs in turns; medians, peak memory
//! - [`scenes`]: checking and appending, one function a table
//! - [`launch`]: launching capsules and calling tools
//! - [`report`]: tables as text and as Markdown, the machine, the targets

mod launch;
mod measure;
mod report;
mod scenes;

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::workspace::{COMPONENT_TARGET, Workspace};
use crate::{Failure, guests, toolchain};

/// The document that `--write` updates.
const DOCUMENT: &str = "docs/performance.md";

/// What was asked for on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    size: &'static Size,
    output: Output,
}

/// Where the result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Printed,
    /// Printed, and written into the document.
    Written,
}

/// How large the generated records are, and how often everything is run.
#[derive(Debug, PartialEq, Eq)]
struct Size {
    /// The arguments that ask for it.
    flag: &'static str,
    /// Bytes of a trace.
    trace: u64,
    /// Lines of a listed stream, each on its own.
    listed: [u64; 2],
    /// Records in one tree.
    records: u64,
    /// Appends, in every way.
    appends: u64,
    /// Turns for what takes long.
    turns: usize,
    /// Turns for a program that only starts and ends.
    starts: usize,
}

static FULL: Size = Size {
    flag: "",
    trace: 1 << 30,
    listed: [1_000_000, 5_000_000],
    records: 10_000,
    appends: 1_000_000,
    turns: 5,
    starts: 301,
};

static QUICK: Size = Size {
    flag: " --quick",
    trace: 64 << 20,
    listed: [100_000, 500_000],
    records: 1000,
    appends: 100_000,
    turns: 3,
    starts: 51,
};

/// Reads the arguments after `bench`.
///
/// # Errors
/// A text for the user when they are not understood.
pub(crate) fn options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { size: &FULL, output: Output::Printed };
    for argument in arguments {
        match *argument {
            "--quick" => options.size = &QUICK,
            "--write" => options.output = Output::Written,
            unknown => return Err(format!("`bench` does not take `{unknown}`; it takes --quick and --write")),
        }
    }
    if options == (Options { size: &QUICK, output: Output::Written }) {
        return Err(format!("{DOCUMENT} holds full measurements: leave out --quick or --write"));
    }
    Ok(options)
}

/// Builds what is measured, makes the records, measures, and reports.
///
/// # Errors
/// When something cannot be built or made, or a program does not do what it should with a good record.
pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<(), Failure> {
    println!("1. Build");
    let programs = Programs::build(workspace)?;
    println!("\n2. Measure; what else runs on this machine now falls into the numbers");
    let scenes = [
        scenes::one_trace(&programs, options.size, 478)?,
        scenes::one_trace(&programs, options.size, 2048)?,
        scenes::listed(&programs, options.size)?,
        scenes::many_records(&programs, options.size)?,
        scenes::start(&programs, options.size)?,
        scenes::appending(&programs, options.size)?,
        launch::launching(&programs, options.size)?,
        launch::calling(&programs, options.size)?,
    ];
    let machine = report::machine();
    print!("\n{}", report::text(&machine, &scenes));
    if options.output == Output::Written {
        let document = Path::new(DOCUMENT);
        let failed = |error| Failure::new(format!("cannot update {DOCUMENT}: {error}"));
        let text = fs::read_to_string(document).map_err(failed)?;
        let text = report::replace_measured(&text, &report::markdown(&machine, options.size.flag, &scenes))
            .map_err(|problem| Failure::new(format!("{DOCUMENT}: {problem}")))?;
        fs::write(document, text).map_err(failed)?;
        println!("\nwritten to {DOCUMENT}");
    }
    Ok(())
}

/// The programs of this workspace that are run, as they are built for use.
struct Programs {
    target: PathBuf,
    verifier: PathBuf,
    workload: PathBuf,
    wasi_host: PathBuf,
    component: PathBuf,
    mur: PathBuf,
    bare_host: PathBuf,
    empty_capsule: PathBuf,
    calling_capsule: PathBuf,
    tool: PathBuf,
}

impl Programs {
    fn build(workspace: &Workspace) -> Result<Self, Failure> {
        toolchain::ensure_targets(&[COMPONENT_TARGET])?;
        Command::cargo(["build", "--release", "--package", "mur-verify"]).announce_and_run()?;
        Command::cargo(["build", "--release", "--package", "mur-seal", "--example", "workload"]).announce_and_run()?;
        Command::cargo(["build", "--release", "--package", "mur-runtime", "--bins", "--examples"])
            .announce_and_run()?;
        guests::build(workspace)?;
        let program = |path: &str| workspace.target(&format!("{path}{}", std::env::consts::EXE_SUFFIX));
        Ok(Self {
            target: workspace.target("bench"),
            verifier: program("release/mur-verify"),
            workload: program("release/examples/workload"),
            wasi_host: program("release/examples/wasi_command"),
            component: workspace.component("check-capsule"),
            mur: program("release/mur"),
            bare_host: program("release/examples/bare_instance"),
            empty_capsule: workspace.component("test-empty"),
            calling_capsule: workspace.component("test-capsule"),
            tool: workspace.component("test-tool"),
        })
    }

    /// The directory in which `workload` made what these arguments ask for; made unless it is there already.
    fn generated(&self, name: &str, arguments: &[&str]) -> Result<PathBuf, Failure> {
        let directory = self.target.join(name);
        if directory.exists() {
            return Ok(directory);
        }
        // Under its name only when it is complete.
        let partial = self.target.join(format!("{name}.partial"));
        let failed = |error| Failure::new(format!("cannot prepare {}: {error}", directory.display()));
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(failed)?;
        }
        let (kind, sizes) = arguments.split_first().map_or(("", &[][..]), |(kind, sizes)| (*kind, sizes));
        Command::new(&self.workload).args([kind]).path(&partial).args(sizes.iter().copied()).announce_and_run()?;
        fs::rename(&partial, &directory).map_err(failed)?;
        Ok(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_look_is_not_written_down() {
        assert!(options(&["--quick"]).is_ok() && options(&["--write"]).is_ok());
        assert!(options(&["--quick", "--write"]).is_err_and(|text| text.contains("leave out")));
        assert!(options(&["--fast"]).is_err_and(|text| text.contains("`--fast`")));
    }
}
