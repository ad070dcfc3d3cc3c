//! The `mur` command line: one file a command.
//!
//! A command gets its arguments and the [`Context`], prints its results on stdout and everything else on stderr, and
//! answers with an exit code. What goes wrong is a [`Diagnostic`].

mod config;
mod run;
mod show;
mod trace;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};

use crate::context::Context;
use crate::diagnostic::{Diagnostic, EXIT_FAILED, EXIT_OK, EXIT_USAGE};

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
    /// Read and check what sessions recorded
    #[command(subcommand)]
    Trace(trace::TraceCommand),
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
        Command::Trace(command) => trace::run(command, context),
        Command::Config(command) => config::run(&command, context),
    };
    outcome.unwrap_or_else(|diagnostic| {
        complain(&diagnostic);
        EXIT_FAILED
    })
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

/// Shows a diagnostic on stderr. That stderr cannot be written is nobody's to know.
fn complain(diagnostic: &Diagnostic) {
    let _ = writeln!(std::io::stderr(), "{diagnostic}");
}

/// Prints a result. A reader who has gone, or is not there, is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
