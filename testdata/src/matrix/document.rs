//! The matrix as a page.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use mur_seal::Verdict;

use super::cell::{Cell, Holding, Need};
use super::{Row, Subject, rows};
use crate::corpus::{CorpusError, root};

/// The page's path in the repository.
const NAME: &str = "docs/tamper-matrix.md";

const INTRODUCTION: &str = "\
# The tamper matrix

What a check sees of a record that was tampered with: for every way to tamper with it that is worth telling apart, and for
what the auditor holds beside it. The record that is tampered with holds every stream, and is verified before.

This page is printed by `cargo run -p mur-testdata -- write` from the rows in `testdata/src/matrix`, where what each cell
must read is written by hand. Tests try every row through the library at every position that can make a difference, through
`mur-verify` at the first and the last, and through the check component at one. They fail where a change is missed that the
given inputs can tell, and also where one is told that they are said not to tell.

The columns are what the auditor holds beside the records directory, each with all that stands to the left of it:

- *the record alone*: no key. Whatever was not tampered with reads `unverifiable` then, which is never to be taken for
  `verified`; `mur-verify` refuses to check without a key, and exits with 2.
- *the key*: the host's public key, from a source that is trusted.
- *the session*: the id of the session that the record should be of (`--session`).
- *the conversations*: the conversations directory (`--conversations`).
- *the head*: the `record_head` that the session's telemetry span carried when it ended.

The cells:

- *changed*, *unsealed*, *unverifiable*, *absent*: the verdict. The record is not taken for an untouched one.
- *noted*: the verdict of the untouched record, and a finding besides, named by its code; `--strict` counts it.
- *as before*: what was altered says the same as before, and the report is the same. No signature covers how a seal is
  spelled, only what it says.
- *not detectable*: nothing in what is given tells it. The note says what would, and the report leaves the question open: it
  stands under `not_checked` or `cannot_be_known`.

The number is how many positions or ways were tried.
";

/// Where the page stands.
fn path() -> PathBuf {
    root().join("..").join(NAME)
}

/// Writes the page where it differs from what is there. Returns what was done, as [`write`](crate::write) does.
///
/// # Errors
/// When it cannot be read or written.
pub fn write_document() -> Result<Vec<String>, CorpusError> {
    let differs = document_differences()?;
    if !differs.is_empty() {
        std::fs::write(path(), document()).map_err(failed)?;
    }
    Ok(differs.iter().map(|_| format!("wrote {NAME}")).collect())
}

/// How the page differs from what would be written, as [`differences`](crate::differences) says it.
///
/// # Errors
/// When it cannot be read.
pub fn document_differences() -> Result<Vec<String>, CorpusError> {
    match std::fs::read_to_string(path()) {
        Ok(text) if text == document() => Ok(Vec::new()),
        Ok(_) => Ok(vec![format!("different: {NAME}")]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![format!("missing: {NAME}")]),
        Err(error) => Err(failed(error)),
    }
}

fn failed(cause: io::Error) -> CorpusError {
    CorpusError::Io { path: path(), cause }
}

/// The page, as it stands in `docs/tamper-matrix.md`.
fn document() -> String {
    let mut page = INTRODUCTION.to_owned();
    let rows = rows();
    for subject in Subject::ALL {
        page.push_str(&section(subject, &rows));
    }
    page.push('\n');
    for need in Need::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "[^{}]: {}", need.mark(), need.as_str());
    }
    page
}

fn section(subject: Subject, rows: &[Row]) -> String {
    let columns = subject.columns();
    let headings: Vec<&str> = columns.iter().map(|holding| holding.heading()).collect();
    let mut section = format!("\n## {}\n\n{}", subject.title(), subject.preface());
    // Writing to a string cannot fail.
    let _ = writeln!(section, "| done to it | tried | {} |", headings.join(" | "));
    let _ = writeln!(section, "|---|--:|{}", "---|".repeat(columns.len()));
    for row in rows {
        let Some(cells) = row.cells(subject) else { continue };
        let shown = cells.iter().zip(Holding::ALL).filter(|(_, holding)| columns.contains(holding));
        let texts: Vec<String> = shown.map(|(cell, holding)| cell.text(holding)).collect();
        let _ = writeln!(section, "| {} | {} | {} |", row.about, row.variants(subject).len(), texts.join(" | "));
    }
    section
}

impl Holding {
    fn heading(self) -> &'static str {
        match self {
            Holding::Nothing => "the record alone",
            Holding::Key => "the key",
            Holding::Session => "the session",
            Holding::Conversations => "the conversations",
            Holding::Head => "the head",
        }
    }
}

impl Subject {
    /// The columns of its table: nothing is seen of a conversation without the directory that holds it.
    fn columns(self) -> &'static [Holding] {
        match self {
            Subject::Record | Subject::Trace | Subject::Eval | Subject::Completion => &Holding::ALL,
            Subject::Conversation => &[Holding::Conversations, Holding::Head],
        }
    }

    fn preface(self) -> &'static str {
        match self {
            Subject::Record | Subject::Trace | Subject::Eval | Subject::Completion => "",
            Subject::Conversation => {
                "Without the conversations directory nothing here is detectable[^conversations], so those columns are left out.\n\n"
            }
        }
    }

    fn title(self) -> &'static str {
        match self {
            Subject::Record => "The record as a whole",
            Subject::Trace => "The trace: `trace.jsonl`",
            Subject::Eval => "The scores: `hooks/eval.jsonl`",
            Subject::Completion => "The outcome: `completion.json`",
            Subject::Conversation => "The conversation that the trace's seal points at",
        }
    }
}

impl Cell {
    fn text(self, holding: Holding) -> String {
        let untouched = match holding {
            Holding::Nothing => Verdict::Unverifiable,
            Holding::Key | Holding::Session | Holding::Conversations | Holding::Head => Verdict::Verified,
        };
        match self {
            Cell::Reads(verdict) => verdict.to_string(),
            Cell::Told(code) => format!("{untouched}, noted: `{code}`"),
            Cell::AsBefore => "as before".into(),
            Cell::NotDetectable(need) => format!("not detectable[^{}]", need.mark()),
        }
    }
}

impl Need {
    const ALL: [Need; 6] =
        [Need::Key, Need::Session, Need::Conversations, Need::Head, Need::HeadOfStream, Need::Streams];

    fn mark(self) -> &'static str {
        match self {
            Need::Key => "key",
            Need::Session => "session",
            Need::Conversations => "conversations",
            Need::Head => "head",
            Need::HeadOfStream => "head-of-stream",
            Need::Streams => "streams",
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Need::Key => {
                "Who made a signature is told by the host's public key alone: without it, anyone's seal looks like the host's."
            }
            Need::Session => {
                "The record is a genuine one of its host, of another session. The id of the session that it should be of tells."
            }
            Need::Conversations => {
                "The conversation stands outside the records directory, and is looked at where the conversations directory is given."
            }
            Need::Head => {
                "What is there was genuine at an earlier time, or fits together without what is gone. The head that was noted elsewhere when the session ended tells."
            }
            Need::HeadOfStream => {
                "The stream and its seal were genuine at an earlier time, and no other stream says how long it became. A copy of the head of its last seal, kept elsewhere, tells."
            }
            Need::Streams => {
                "Most sessions lack one of these streams, and nothing signed says which there were. A list of them, kept elsewhere, tells."
            }
        }
    }
}
