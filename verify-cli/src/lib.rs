//! Checks sealed records with the host's public key alone.
//!
//! The command is a small library: arguments and streams in, exit code out. `mur-verify` is this library and six lines;
//! the component `check-capsule` and `mur trace verify` are the same library behind another front. None of it depends on
//! the half of the project that writes records.
//!
//! | module | what lives there |
//! |---|---|
//! | `args` | the command line, and the options that every front shares |
//! | `keys` | the keys of a check: files, digits, directories |
//! | `check` | one record, to a report or a reason why there is none |
//! | `find` | records directories in trees |
//! | `in_order` | work on several threads, its results in order |
//! | `many` | the records of a request, each checked and handed on |
//! | `follow`, `followed` | a record that is checked while it is written: looking, and what is known |
//! | `results` | what is printed and counted of each, and the exit code |
//! | `human` | a report as text that can be pasted into another report |
//! | `explain` | what verdicts, findings and exit codes mean |
//! | `generate` | completions and the manual page |
//! | `console` | where output goes |

#![forbid(unsafe_code)]

mod args;
mod check;
mod console;
mod explain;
mod find;
mod follow;
mod followed;
mod generate;
mod human;
mod in_order;
mod keys;
mod many;
mod results;

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use mur_seal::{EXIT_ERROR, EXIT_VERIFIED, LineHash, PublicKey, RecordReport};

pub use args::{CheckArgs, Color, OutputFormat, UsageError};
pub use check::{CheckError, check_record, nothing_to_verify};
pub use console::Console;
pub use human::{date, grouped, summary};
pub use keys::{KeysError, read_key};

use results::Results;

/// The whole command: parses `args`, whose first is the program's name, does what they ask for, and answers with the exit
/// code. The codes are `EXIT_*` of `mur_seal`.
pub fn run(args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> u8 {
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return args::print_parse_error(error, console),
    };
    match cli.command {
        Some(command) => tell(console, |out| match command {
            args::Command::Explain { word: Some(word) } => explain::print(out, &word),
            args::Command::Explain { word: None } => explain::print_list(out),
            args::Command::Completions { shell } => out.write_all(&generate::completions(shell)),
            args::Command::Man => generate::manual(out),
        }),
        None => match cli.check.request() {
            Ok(request) => check_all(&request, console),
            Err(error) => args::print_usage_error(&error, console),
        },
    }
}

/// Prints something that no check is needed for.
fn tell(console: &mut Console<'_>, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> u8 {
    console.result(print);
    if console.failed() { EXIT_ERROR } else { EXIT_VERIFIED }
}

/// What to check, with what, and how to say it.
#[derive(Debug)]
pub struct Request {
    /// The records directories, at least one, or what `search` makes of them.
    pub records: Vec<PathBuf>,
    /// Where the records are.
    pub search: Search,
    /// The keys that are trusted.
    pub keys: Vec<PublicKey>,
    /// Where the keys came from.
    pub key_origin: KeyOrigin,
    /// The session that every record must belong to.
    pub session: Option<String>,
    /// The head that the trace must have. Only of one record.
    pub head: Option<LineHash>,
    /// Where to find the conversation records that traces point at.
    pub conversations: Option<PathBuf>,
    /// What becomes of notes.
    pub notes: Notes,
    /// How many threads check; `None` for as many as there are cores.
    pub jobs: Option<NonZeroUsize>,
    /// How to say it.
    pub format: Format,
}

/// Where the records of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// They are the directories that are named.
    Named,
    /// They are anywhere in the trees that are named.
    Trees,
    /// It is the one directory that is named, and its session may still run.
    Follow,
}

/// Where the keys of a check came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrigin {
    /// The caller gave them.
    Given,
    /// It is the public key of the host that this runs on.
    ThisHost,
}

/// What becomes of the notes on a record that is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// They are said.
    Inform,
    /// They are said, and the exit code is another one.
    Count,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A block of text a record.
    Human(Color),
    /// One document: a `RecordReport`, or an array of them.
    Json,
    /// One `RecordReport` a line.
    Jsonl,
    /// Nothing: the exit code says it.
    Quiet,
}

/// Checks every record of `request` and prints the results. The exit code: an error above all, then the worst verdict.
pub fn check_all(request: &Request, console: &mut Console<'_>) -> u8 {
    if let Some(unfit) = request.conversations.as_deref().and_then(check::unfit_conversations) {
        console.error(&unfit);
        return EXIT_ERROR;
    }
    if request.search == Search::Follow {
        return follow::follow(request, console);
    }
    let mut results = Results::new(request, console);
    many::check_each(request, |checked| results.take(checked));
    results.end()
}

/// A report as one line of JSON, without a newline: what `--json` prints of one record.
pub fn to_json(report: &RecordReport) -> String {
    // A struct of strings, numbers and lists always serialises.
    serde_json::to_string(report).unwrap_or_default()
}
