//! The command line, and the options that every front of this library shares.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mur_seal::{EXIT_ERROR, EXIT_VERIFIED, KeyError, LineHash, escape};

use crate::console::{Console, Styling};
use crate::explain;

use crate::keys::{KeysError, read_keys};
use crate::{Format, KeyOrigin, Notes, Request, Search};

const ABOUT: &str = "Check sealed records of agent sessions with the host's public key alone";

const USAGE: &str = "\
mur-verify [OPTIONS] --key <FILE|HEX> <RECORDS>...
       mur-verify explain [WORD]
       mur-verify completions <SHELL>
       mur-verify man";

const AFTER_HELP: &str = "\
A records directory holds what one session recorded: trace.jsonl and, where they
exist, hooks/eval.jsonl and completion.json, each with its .seal beside it.
The key is never taken from the records: get record-seal.pub from the host that
wrote them, by a way that you trust.

A command is a command as the first word only: a records directory that is called
like one is ./explain.

Exit codes; of several records the worst counts, and an error above all:
  0  verified: every line is sealed, by a key that was given
  1  changed: a line, the chain or a seal no longer matches
  2  an error: wrong usage, a bad key, something that cannot be read
  3  unsealed: the chain is intact, but no seal covers exactly its lines
  4  unverifiable: sealed by another key, or older than seals
  5  absent: nothing to verify
  6  verified, but with notes, under --strict";

#[derive(Debug, Parser)]
#[command(
    name = "mur-verify",
    version,
    about = ABOUT,
    override_usage = USAGE,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) check: CheckCli,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what a verdict, a finding or an exit code means, and what to do about it
    Explain {
        /// A verdict, a code that a report has, or an exit code [default: a list of them]
        #[arg(value_name = "WORD", value_parser = explain::words(), hide_possible_values = true)]
        word: Option<String>,
    },
    /// Print the completions of a shell
    Completions {
        /// Which shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// A check as `mur-verify` is asked for it.
#[derive(Debug, Args)]
pub(crate) struct CheckCli {
    /// Records directories to check; with --recursive, trees of them
    #[arg(value_name = "RECORDS", required = true, value_hint = clap::ValueHint::DirPath)]
    records: Vec<PathBuf>,

    /// Find the records in the trees below RECORDS; links are not followed
    #[arg(short, long, conflicts_with_all = ["head", "follow"])]
    recursive: bool,

    /// Watch one record while it is written, until its session ends
    #[arg(long)]
    follow: bool,

    #[command(flatten)]
    options: CheckArgs,
}

/// The options of a check.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A public key: record-seal.pub, or its 64 hex digits; may be repeated
    #[arg(long = "key", value_name = "FILE|HEX", value_hint = clap::ValueHint::FilePath)]
    pub keys: Vec<String>,

    /// A directory of public keys, every *.pub file in it; may be repeated
    #[arg(long = "keys", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub key_directories: Vec<PathBuf>,

    /// The session it must be the record of [default: as its trace says]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// The trace's head as it was noted elsewhere when the session ended
    #[arg(long, value_name = "HASH", value_parser = head)]
    pub head: Option<LineHash>,

    /// Where the conversation is that a trace's seal may name
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub conversations: Option<PathBuf>,

    /// Count notes against a record: exit code 6
    #[arg(long)]
    pub strict: bool,

    /// Print reports as human, json or jsonl
    #[arg(long, value_name = "FORMAT", default_value = "human", hide_possible_values = true, conflicts_with = "quiet")]
    pub format: OutputFormat,

    /// The same as --format json
    #[arg(long, conflicts_with_all = ["quiet", "format"])]
    pub json: bool,

    /// Hashing threads [default: as many as cores, for one record at most 16]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,

    /// Colour the verdicts: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub color: Color,

    /// Print nothing but errors; the exit code tells the rest
    #[arg(short, long)]
    pub quiet: bool,
}

/// How reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for people.
    Human,
    /// One JSON document: the report of one record, else an array of reports.
    Json,
    /// One report a line.
    Jsonl,
}

/// More threads than any machine has use for, and few enough that it has them.
const MOST_JOBS: usize = 256;

/// When to colour verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Where stdout is a terminal; `NO_COLOR` and `CLICOLOR_FORCE` are honoured.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// How to print, where the console's own answer is `auto`.
    pub(crate) fn styling(self, auto: Styling) -> Styling {
        match self {
            Color::Auto => auto,
            Color::Always => Styling::Colored,
            Color::Never => Styling::Plain,
        }
    }
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= MOST_JOBS);
    jobs.ok_or_else(|| format!("give the number of threads, from 1 to {MOST_JOBS}"))
}

fn head(text: &str) -> Result<LineHash, String> {
    text.parse().map_err(|error| {
        format!(
            "{error}; it is the `record_head` of the session's span `capsule.session`, or the trace's last line hash"
        )
    })
}

/// What is wrong with the arguments.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// No records directory was named.
    #[error(
        "nothing to verify: name the directory of a record (it holds trace.jsonl, hooks/eval.jsonl, completion.json, or a seal)"
    )]
    NoRecords,
    /// No key was named.
    #[error(
        "no key to check with: give --key record-seal.pub, the file of the host that wrote the record; it is never taken \
         from the record itself"
    )]
    NoKey,
    /// A key cannot be used.
    #[error("--key {name}: {cause}")]
    Key {
        /// The file, as it was named. Of a key that was given as text, nothing: it may be a private one.
        name: String,
        /// Why it cannot be used.
        cause: KeyError,
    },
    /// A directory of keys cannot be used.
    #[error("--keys {directory}: {cause}")]
    Keys {
        /// The directory, as it was named.
        directory: String,
        /// Why it cannot be used.
        cause: KeysError,
    },
    /// A head was given for more than one record.
    #[error("--head is the head of one record, and {0} are named: check that record alone")]
    HeadOfMany(usize),
    /// More than one record is to be followed.
    #[error("--follow watches one record, and {0} are named")]
    FollowMany(usize),
    /// A followed record is to be one JSON document.
    #[error("--follow prints a line a change, which is no one JSON document: use --format jsonl")]
    FollowAsDocument,
}

impl CheckCli {
    pub(crate) fn request(self) -> Result<Request, UsageError> {
        if self.options.keys.is_empty() && self.options.key_directories.is_empty() {
            return Err(UsageError::NoKey);
        }
        let search = match (self.recursive, self.follow) {
            (true, _) => Search::Trees,
            (false, true) => Search::Follow,
            (false, false) => Search::Named,
        };
        let request = Request { search, ..self.options.request(self.records)? };
        match (search, request.format, request.records.len()) {
            (Search::Follow, _, records @ 2..) => Err(UsageError::FollowMany(records)),
            (Search::Follow, Format::Json, _) => Err(UsageError::FollowAsDocument),
            _ => Ok(request),
        }
    }
}

impl CheckArgs {
    /// The request that these options make for `records`. Keys are read; none given is for the caller to judge.
    pub fn request(self, records: Vec<PathBuf>) -> Result<Request, UsageError> {
        match (records.len(), self.head) {
            (0, _) => return Err(UsageError::NoRecords),
            (many @ 2.., Some(_)) => return Err(UsageError::HeadOfMany(many)),
            _ => {}
        }
        let format = match (self.quiet, self.json, self.format) {
            (true, _, _) => Format::Quiet,
            (_, true, _) | (_, _, OutputFormat::Json) => Format::Json,
            (_, _, OutputFormat::Jsonl) => Format::Jsonl,
            (_, _, OutputFormat::Human) => Format::Human(self.color),
        };
        Ok(Request {
            records,
            search: Search::Named,
            keys: read_keys(&self.keys, &self.key_directories)?,
            key_origin: KeyOrigin::Given,
            session: self.session,
            head: self.head,
            conversations: self.conversations,
            notes: if self.strict { Notes::Count } else { Notes::Inform },
            jobs: self.jobs,
            format,
        })
    }
}

/// What clap has to say: help and version are results, everything else is an error. The answer is the exit code.
pub(crate) fn print_parse_error(error: clap::Error, console: &mut Console<'_>) -> u8 {
    if !error.use_stderr() {
        console.result(|out| write!(out, "{error}"));
        return if console.failed() { EXIT_ERROR } else { EXIT_VERIFIED };
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && names(&error, "<RECORDS>...") {
        return print_usage_error(&UsageError::NoRecords, console);
    }
    console.text(&escaped(shortened(error)));
    EXIT_ERROR
}

/// Whether the error is about this argument.
fn names(error: &clap::Error, argument: &str) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => name == argument,
        Some(ContextValue::Strings(names)) => names.iter().any(|name| name == argument),
        _ => false,
    }
}

/// A word that `explain` does not know is answered with the nearest one that it knows, not with all of them.
fn shortened(mut error: clap::Error) -> clap::Error {
    const MOST_VALUES: usize = 12;
    let many =
        matches!(error.get(ContextKind::ValidValue), Some(ContextValue::Strings(all)) if all.len() > MOST_VALUES);
    if error.kind() == ErrorKind::InvalidValue && many {
        error.remove(ContextKind::ValidValue);
        let all = "`mur-verify explain` without a word lists all that there is to explain";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all.into()]));
    }
    error
}

/// What the arguments lack. The answer is the exit code.
pub(crate) fn print_usage_error(error: &UsageError, console: &mut Console<'_>) -> u8 {
    match error {
        UsageError::NoRecords | UsageError::NoKey => {
            console.text(&Cli::command().error(ErrorKind::MissingRequiredArgument, error));
        }
        UsageError::Key { .. }
        | UsageError::Keys { .. }
        | UsageError::HeadOfMany(_)
        | UsageError::FollowMany(_)
        | UsageError::FollowAsDocument => console.error(error),
    }
    EXIT_ERROR
}

/// clap repeats arguments in its messages, and a file of any name may have become one.
fn escaped(mut error: clap::Error) -> clap::Error {
    let context: Vec<_> = error.context().filter_map(|(kind, value)| Some((kind, escaped_arguments(value)?))).collect();
    for (kind, value) in context {
        error.insert(kind, value);
    }
    error
}

/// `value` escaped, where it can hold a part of an argument. The rest is numbers and the usage line.
fn escaped_arguments(value: &ContextValue) -> Option<ContextValue> {
    let clean = |text: &str| escape(text).into_owned();
    if let ContextValue::String(text) = value {
        return Some(ContextValue::String(clean(text)));
    }
    if let ContextValue::Strings(texts) = value {
        return Some(ContextValue::Strings(texts.iter().map(|text| clean(text)).collect()));
    }
    if let ContextValue::StyledStrs(texts) = value {
        let styled = texts.iter().map(|text| StyledStr::from(clean(&text.to_string()))).collect();
        return Some(ContextValue::StyledStrs(styled));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_one_that_can_be_parsed() {
        Cli::command().debug_assert();
    }
}
