//! The command line, and the options that every front of this library shares.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, ValueEnum};
use mur_seal::{EXIT_ERROR, EXIT_VERIFIED, KeyError, PublicKey};

use crate::console::{Console, Styling};
use crate::{Format, KeyOrigin, Request};

const ABOUT: &str = "Check sealed records of agent sessions with the host's public key alone";

const AFTER_HELP: &str = "\
A records directory holds one session's trace.jsonl, and what else was recorded: hooks/eval.jsonl, completion.json, and a
.seal file beside each. A key is never taken from the records: get record-seal.pub from the host that wrote them, by a way
that you trust.

Exit codes: 0 verified, 1 changed, 2 could not check, 3 unsealed, 4 unverifiable, 5 nothing to verify. Of several records,
the worst; an error above all.";

#[derive(Debug, Parser)]
#[command(name = "mur-verify", version, about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Records directories to check
    #[arg(value_name = "RECORDS")]
    records: Vec<PathBuf>,

    #[command(flatten)]
    check: CheckArgs,
}

/// The options of a check.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A public key to check with: a file such as record-seal.pub, or its 64 hexadecimal digits; may be repeated
    #[arg(long = "key", value_name = "FILE|HEX")]
    pub keys: Vec<String>,

    /// The session that the record must belong to [default: the one that its trace names]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Where the conversation record is to be found that a trace's seal may point at
    #[arg(long, value_name = "DIR")]
    pub conversations: Option<PathBuf>,

    /// Print one JSON report a record, each on a line of its own
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// When to colour verdicts
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    /// Print nothing but errors: the exit code says it
    #[arg(short, long)]
    pub quiet: bool,
}

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
        /// What was given.
        name: String,
        /// Why it cannot be used.
        cause: KeyError,
    },
}

impl Cli {
    pub(crate) fn request(self) -> Result<Request, UsageError> {
        if self.check.keys.is_empty() && !self.records.is_empty() {
            return Err(UsageError::NoKey);
        }
        self.check.request(self.records)
    }
}

impl CheckArgs {
    /// The request that these options make for `records`. Keys are read; none given is for the caller to judge.
    pub fn request(self, records: Vec<PathBuf>) -> Result<Request, UsageError> {
        if records.is_empty() {
            return Err(UsageError::NoRecords);
        }
        let format = match (self.quiet, self.json) {
            (true, _) => Format::Quiet,
            (false, true) => Format::Json,
            (false, false) => Format::Human(self.color),
        };
        Ok(Request {
            records,
            keys: self.keys.iter().map(|key| read_key(key)).collect::<Result<_, _>>()?,
            key_origin: KeyOrigin::Given,
            session: self.session,
            conversations: self.conversations,
            format,
        })
    }
}

/// A key as `--key` takes it: 64 hexadecimal digits, or a file that holds them.
pub fn read_key(name: &str) -> Result<PublicKey, UsageError> {
    let refused = |cause| UsageError::Key { name: name.into(), cause };
    let digits = name.trim();
    let is_hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    if digits.len() == 64 && is_hex(digits) {
        return PublicKey::from_hex(digits).map_err(refused);
    }
    let path = Path::new(name);
    // What looks like a mistyped key is judged as one, unless there is a file of that name.
    let looks_like_a_key = digits.len() >= 32 && digits.split_whitespace().all(is_hex);
    if (looks_like_a_key || digits.is_empty()) && !path.exists() {
        return PublicKey::from_hex(name).map_err(refused);
    }
    PublicKey::load(path).map_err(refused)
}

/// Prints what clap has to say: help and version as results, everything else as an error.
pub(crate) fn print_parse_error(error: &clap::Error, console: &mut Console<'_>) -> u8 {
    if error.use_stderr() {
        console.text(&escaped_by_line(error));
        return EXIT_ERROR;
    }
    console.result(|out| write!(out, "{error}"));
    if console.failed() { EXIT_ERROR } else { EXIT_VERIFIED }
}

/// clap repeats arguments in its messages: escaped line by line, so that only its own line breaks are left.
fn escaped_by_line(error: &clap::Error) -> String {
    error.to_string().lines().map(|line| format!("{}\n", mur_seal::escape(line))).collect()
}
