//! Checks sealed records with the host's public key alone.
//!
//! The command is a small library: arguments and streams in, exit code out. `mur-verify` is this library and six lines;
//! the component `check-capsule` and `mur trace verify` are the same library behind another front. None of it depends on
//! the half of the project that writes records.
//!
//! | module | what lives there |
//! |---|---|
//! | `args` | the command line, and the options that every front shares |
//! | `check` | one record, to a report or a reason why there is none |
//! | `console` | where output goes |
//! | `human` | a report as text that can be pasted into another report |

#![forbid(unsafe_code)]

mod args;
mod check;
mod console;
mod human;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Parser;
use mur_seal::{EXIT_ABSENT, EXIT_ERROR, PublicKey, RecordReport, Verdict};

pub use args::{CheckArgs, Color, UsageError, read_key};
pub use check::{CheckError, check_record, nothing_to_verify};
pub use console::Console;
use console::Styling;
pub use human::{date, grouped, summary};

/// The whole command: parses `args`, whose first is the program's name, checks the records, and answers with the exit
/// code. The codes are `EXIT_*` of `mur_seal`.
pub fn run(args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> u8 {
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return args::print_parse_error(error, console),
    };
    match cli.request() {
        Ok(request) => check_all(&request, console),
        Err(error) => args::print_usage_error(&error, console),
    }
}

/// What to check, with what, and how to say it.
#[derive(Debug)]
pub struct Request {
    /// The records directories, at least one.
    pub records: Vec<PathBuf>,
    /// The keys that are trusted.
    pub keys: Vec<PublicKey>,
    /// Where the keys came from.
    pub key_origin: KeyOrigin,
    /// The session that every record must belong to.
    pub session: Option<String>,
    /// Where to find the conversation records that traces point at.
    pub conversations: Option<PathBuf>,
    /// How to say it.
    pub format: Format,
}

/// Where the keys of a check came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrigin {
    /// The caller gave them.
    Given,
    /// It is the public key of the host that this runs on.
    ThisHost,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A block of text a record.
    Human(Color),
    /// One `RecordReport` a line.
    Json,
    /// Nothing: the exit code says it.
    Quiet,
}

impl Format {
    /// What stands between two records.
    fn separate(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Human(_) => writeln!(out),
            Format::Json | Format::Quiet => Ok(()),
        }
    }
}

/// Checks every record of `request` and prints the results. The exit code: an error above all, then the worst verdict.
pub fn check_all(request: &Request, console: &mut Console<'_>) -> u8 {
    let mut verdicts = Vec::with_capacity(request.records.len());
    for (done, records) in request.records.iter().enumerate() {
        console.progress(done, request.records.len());
        let checked =
            check_record(records, &request.keys, request.session.as_deref(), request.conversations.as_deref());
        match checked {
            Ok(report) => {
                let styling = console.styling();
                console.result(|out| {
                    if !verdicts.is_empty() {
                        request.format.separate(out)?;
                    }
                    print(out, &report, request, styling)
                });
                if report.verdict == Verdict::Absent {
                    console.error(&nothing_to_verify(records));
                }
                verdicts.push(report.verdict);
            }
            Err(error) => console.error(&error),
        }
    }
    console.end_progress();
    if verdicts.len() < request.records.len() || console.failed() {
        return EXIT_ERROR;
    }
    verdicts.into_iter().max_by_key(|verdict| badness(*verdict)).map_or(EXIT_ABSENT, Verdict::exit_code)
}

/// How bad a record's verdict is beside those of other records. A stream may be absent where others are verified; a
/// record that turns out to hold nothing was not checked, and that is no success.
fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Verified => 0,
        Verdict::Absent => 1,
        Verdict::Unverifiable => 2,
        Verdict::Unsealed => 3,
        Verdict::Changed => 4,
    }
}

fn print(out: &mut dyn Write, report: &RecordReport, request: &Request, styling: Styling) -> io::Result<()> {
    match request.format {
        Format::Human(wanted) => human::print(out, report, request.key_origin, wanted.styling(styling)),
        Format::Json => writeln!(out, "{}", to_json(report)),
        Format::Quiet => Ok(()),
    }
}

/// A report as one line of JSON, without a newline: what `--json` prints.
pub fn to_json(report: &RecordReport) -> String {
    // A struct of strings, numbers and lists always serialises.
    serde_json::to_string(report).unwrap_or_default()
}
