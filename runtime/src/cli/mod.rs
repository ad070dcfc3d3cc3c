//! The `mur` command line: one file a command.
//!
//! A command gets its arguments and the [`Context`], prints its results on stdout and everything else on stderr, and
//! answers with an exit code. What goes wrong is a [`Diagnostic`].

mod build;
mod config;
mod doctor;
mod explain;
mod install;
mod list;
mod publish;
mod run;
mod search;
mod show;
mod sources;
mod table;
mod trace;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};
use rustix::io::Errno;

use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_FAILED, EXIT_OK, EXIT_USAGE};

#[derive(Debug, Parser)]
#[command(name = "mur", version, about = "Run capsules, and keep a sealed record of what they did")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a capsule and write its record
    Run(run::RunArgs),
    /// Go through everything that a launch needs, and say what to do about what is wrong
    Doctor(doctor::DoctorArgs),
    /// Read and check what sessions recorded
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Pack an artifact or a skill
    Build(build::BuildArgs),
    /// File an archive in a store, where it stays
    Publish(publish::PublishArgs),
    /// Get artifacts, verify them, and pin them
    Install(install::InstallArgs),
    /// Show what is installed
    List(list::ListArgs),
    /// Show what can be installed
    Search(search::SearchArgs),
    /// Change the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
}

/// Parses `args`, whose first is the program's name, runs the command, and answers with the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, context: &Context) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let outcome = match cli.command {
        Command::Run(args) => run::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Trace(command) => trace::run(command, context),
        Command::Build(args) => build::run(&args, context),
        Command::Publish(args) => publish::run(&args, context),
        Command::Install(args) => install::run(&args, context),
        Command::List(args) => list::run(&args, context),
        Command::Search(args) => search::run(&args, context),
        Command::Config(command) => config::run(&command, context),
    };
    let code = outcome.unwrap_or_else(|diagnostic| {
        complain(&diagnostic);
        EXIT_FAILED
    });
    if code == EXIT_OK && UNPRINTED.load(Ordering::Relaxed) { EXIT_FAILED } else { code }
}

/// Shows what clap has to say: help and version on stdout, everything else on stderr.
fn explain(error: &clap::Error) -> u8 {
    // clap repeats arguments: line by line escaped, so that only its own line breaks are left.
    let text: String = error.to_string().lines().map(|line| format!("{}\n", mur_seal::escape(line))).collect();
    if error.use_stderr() {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return EXIT_USAGE;
    }
    print(&text);
    EXIT_OK
}

/// The murmur home, which may not exist yet, for whoever uses what it keeps of this host.
fn home_of_key(context: &Context) -> Result<PathBuf, Diagnostic> {
    context.home().map_err(|error| {
        Diagnostic::new(Code::Home, error.to_string()).with_hint("set MURMUR_HOME to a directory of your own")
    })
}

/// The same, for whoever uses the artifacts in it.
fn home(context: &Context) -> Result<PathBuf, Diagnostic> {
    context.home().map_err(|_| {
        Diagnostic::new(Code::Home, "neither MURMUR_HOME nor HOME is set, so there is no place for your artifacts")
            .with_hint("set MURMUR_HOME to a directory of your own")
    })
}

/// Shows a diagnostic on stderr. That stderr cannot be written is nobody's to know.
fn complain(diagnostic: &Diagnostic) {
    let _ = writeln!(std::io::stderr(), "{diagnostic}");
}

/// Whether a result could not be printed, as on a full disk.
static UNPRINTED: AtomicBool = AtomicBool::new(false);

/// Prints a result. A reader who has gone, or is not there, is no error; that it found no room is one, told once.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let Err(cause) = printed else { return };
    let gone = cause.kind() == ErrorKind::BrokenPipe || cause.raw_os_error() == Some(Errno::BADF.raw_os_error());
    if !gone && !UNPRINTED.swap(true, Ordering::Relaxed) {
        complain(&Diagnostic::new(Code::Io, format!("what this command has to say could not be printed: {cause}")));
    }
}
