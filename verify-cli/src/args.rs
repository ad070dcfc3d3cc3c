//! The command line, and the options that every front of this library shares.

use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, ValueEnum};
use mur_seal::{EXIT_ERROR, EXIT_VERIFIED, KeyError, PublicKey, escape};

use crate::console::{Console, Styling};
use crate::{Format, KeyOrigin, Request};

const ABOUT: &str = "Check sealed records of agent sessions with the host's public key alone";

const USAGE: &str = "mur-verify [OPTIONS] --key <FILE|HEX> <RECORDS>...";

const AFTER_HELP: &str = "\
A records directory holds what one session recorded: trace.jsonl and, where they
exist, hooks/eval.jsonl and completion.json, each with its .seal beside it.
The key is never taken from the records: get record-seal.pub from the host that
wrote them, by a way that you trust.

Exit codes; of several records the worst counts, and an error above all:
  0  verified: every line is sealed, by a key that was given
  1  changed: a line, the chain or a seal no longer matches
  2  an error: wrong usage, a bad key, something that cannot be read
  3  unsealed: the chain is intact, but no seal covers exactly its lines
  4  unverifiable: sealed by another key, or older than seals
  5  absent: nothing to verify";

#[derive(Debug, Parser)]
#[command(name = "mur-verify", version, about = ABOUT, override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Records directories to check
    #[arg(value_name = "RECORDS", required = true)]
    records: Vec<PathBuf>,

    #[command(flatten)]
    check: CheckArgs,
}

/// The options of a check.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A public key: record-seal.pub, or its 64 hex digits; may be repeated
    #[arg(long = "key", value_name = "FILE|HEX")]
    pub keys: Vec<String>,

    /// The session it must be the record of [default: as its trace says]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Where the conversation is that a trace's seal may name
    #[arg(long, value_name = "DIR")]
    pub conversations: Option<PathBuf>,

    /// Print one JSON report a record, each on a line of its own
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Colour the verdicts: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub color: Color,

    /// Print nothing but errors; the exit code tells the rest
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
        /// The file, as it was named. Of a key that was given as text, nothing: it may be a private one.
        name: String,
        /// Why it cannot be used.
        cause: KeyError,
    },
}

impl Cli {
    pub(crate) fn request(self) -> Result<Request, UsageError> {
        if self.check.keys.is_empty() {
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
            keys: read_keys(&self.keys)?,
            key_origin: KeyOrigin::Given,
            session: self.session,
            conversations: self.conversations,
            format,
        })
    }
}

/// Keys that were given together. They tell of each other whether one is the private half of another.
fn read_keys(names: &[String]) -> Result<Vec<PublicKey>, UsageError> {
    let keys = names.iter().map(|name| read_key(name)).collect::<Result<Vec<_>, _>>()?;
    match keys.iter().find(|key| keys.iter().any(|other| key.is_seed_of(other.key_id()))) {
        Some(private) => Err(refused(private.path(), KeyError::Private)),
        None => Ok(keys),
    }
}

/// A key as `--key` takes it: 64 hexadecimal digits, or a file that holds them.
pub fn read_key(name: &str) -> Result<PublicKey, UsageError> {
    let path = Path::new(name);
    if is_key(name) || (is_meant_as_key(name) && !path.exists()) {
        return PublicKey::from_hex(name).map_err(|cause| refused(None, cause));
    }
    PublicKey::load(path).map_err(|cause| refused(Some(name), cause))
}

/// Whether `text` is 64 hexadecimal digits. Such a text is a key even where a file is called so.
fn is_key(text: &str) -> bool {
    let text = text.trim();
    text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether `text` looks more like a key, mistyped or of another kind, than like a file's name. It is judged as a key
/// then, and never repeated in a message: it may be a private one.
fn is_meant_as_key(text: &str) -> bool {
    let text = text.trim();
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    let only_digits = text.chars().all(|c| c.is_ascii_hexdigit() || c.is_whitespace());
    let of_another_kind = ["-----BEGIN", "ssh-", "ecdsa-"].iter().any(|beginning| text.starts_with(beginning));
    text.is_empty() || of_another_kind || (only_digits && digits >= 16) || (digits >= 32 && !text.contains(['/', '.']))
}

fn refused(path: Option<&str>, cause: KeyError) -> UsageError {
    UsageError::Key { name: path.unwrap_or("(given as text)").into(), cause }
}

/// What clap has to say: help and version are results, everything else is an error. The answer is the exit code.
pub(crate) fn print_parse_error(error: clap::Error, console: &mut Console<'_>) -> u8 {
    if !error.use_stderr() {
        console.result(|out| write!(out, "{error}"));
        return if console.failed() { EXIT_ERROR } else { EXIT_VERIFIED };
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return print_usage_error(&UsageError::NoRecords, console); // nothing else is required of clap
    }
    console.text(&escaped(error));
    EXIT_ERROR
}

/// What the arguments lack. The answer is the exit code.
pub(crate) fn print_usage_error(error: &UsageError, console: &mut Console<'_>) -> u8 {
    match error {
        UsageError::NoRecords | UsageError::NoKey => {
            console.text(&Cli::command().error(ErrorKind::MissingRequiredArgument, error));
        }
        UsageError::Key { .. } => console.error(error),
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn what_looks_like_a_key_is_never_taken_for_a_files_name() {
        let base64 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqL host";
        let spaced = "d75a9801 82b10ab7";
        for text in
            [&PUBLIC[1..], &format!("0x{PUBLIC}"), &format!("\"{PUBLIC}\""), "21fe31dfa154a261", base64, spaced, ""]
        {
            assert!(is_meant_as_key(text), "{text}");
        }
        for name in ["record-seal.pub", "keys/facade", "cafe", &format!("keys/{PUBLIC}"), &format!("{PUBLIC}.pub")] {
            assert!(!is_meant_as_key(name), "{name}");
        }
    }

    #[test]
    fn digits_are_a_key_of_either_case_with_white_space_around() {
        for text in [PUBLIC.to_owned(), PUBLIC.to_uppercase(), format!(" {PUBLIC}\r\n")] {
            assert_eq!(read_key(&text).unwrap().to_hex(), PUBLIC);
        }
    }

    #[test]
    fn two_keys_that_are_halves_of_each_other_are_refused() {
        // A private key passes for a public one where its seed happens to be a point of the curve, as this one is.
        let seed = (0..=255).map(|byte| [byte; 32]).find(|seed| PublicKey::from_raw(*seed).is_ok()).unwrap();
        let private = PublicKey::from_raw(seed).unwrap();
        let public = mur_seal::HostKey::from_seed(&seed).unwrap().public_key().clone();
        let error = read_keys(&[public.to_hex(), private.to_hex()]).unwrap_err();
        assert!(matches!(error, UsageError::Key { cause: KeyError::Private, .. }));
        assert!(!error.to_string().contains(&private.to_hex()));
    }
}
