//! The tamper matrix: every way to tamper with a record that is worth telling apart, on every stream, at every position
//! that can make a difference, and what an auditor can see of it with more or less in hand.
//!
//! What each cell must read stands in the rows, written from the rules and not from what the library answers. A change
//! that the given inputs cannot tell is written down as such, with the input that would tell; a check that sees it all
//! the same is as wrong as one that misses what it can see. `docs/tamper-matrix.md` is printed from the rows, and the
//! tests of the library, of the command and of the component hold them to it.
//!
//! | module | what lives there |
//! |---|---|
//! | `cell` | what an auditor holds, and what a check then says |
//! | `material` | the untouched record, and what an attacker can have besides |
//! | `lines` | rows about the lines of a stream |
//! | `sealing` | rows about a stream and its seal together: chained anew, sealed anew, exchanged, put back |
//! | `places` | rows about files: removed, replaced by something that is no file |
//! | `members` | rows about what stands in a seal |
//! | `spelling` | rows about how a seal is written down |
//! | `document` | the matrix as a page |

mod cell;
mod document;
mod lines;
mod material;
mod members;
mod places;
mod sealing;
mod spelling;

use std::io;
use std::path::Path;

use mur_seal::{COMPLETION_STREAM, CONVERSATIONS_DIR, EVAL_STREAM, SEAL_SUFFIX, TRACE_STREAM};

pub use cell::{Cell, Cells, Holding, Need};
pub use document::{document_differences, write_document};

use crate::record::{RECORD_DIR, conversation_path, in_record};
use crate::tree::Tree;

/// What is tampered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The record as a whole.
    Record,
    /// `trace.jsonl`.
    Trace,
    /// `hooks/eval.jsonl`.
    Eval,
    /// `completion.json`.
    Completion,
    /// The conversation record that the trace's seal points at.
    Conversation,
}

impl Subject {
    /// Every subject, in the order of the page.
    pub const ALL: [Subject; 5] =
        [Subject::Record, Subject::Trace, Subject::Eval, Subject::Completion, Subject::Conversation];

    /// A word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Subject::Record => "record",
            Subject::Trace => "trace",
            Subject::Eval => "scores",
            Subject::Completion => "completion",
            Subject::Conversation => "conversation",
        }
    }

    /// The path of the stream, in the tree of a built record.
    fn path(self) -> String {
        match self {
            Subject::Record => panic!("a record is no stream"),
            Subject::Trace => in_record(TRACE_STREAM),
            Subject::Eval => in_record(EVAL_STREAM),
            Subject::Completion => in_record(COMPLETION_STREAM),
            Subject::Conversation => conversation_path(),
        }
    }

    /// The path of its seal.
    fn seal_path(self) -> String {
        self.path() + SEAL_SUFFIX
    }
}

/// One record that was tampered with.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Where, or how: what tells this variant from the others of its cell.
    pub at: String,
    /// The record: the records directory in [`RECORD_DIR`], its conversation in `conversations`.
    pub tree: Tree,
}

impl Variant {
    /// Writes the record below `directory`. The directories that an auditor names are there, whatever is in them.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        self.tree.write_to(directory)?;
        [RECORD_DIR, CONVERSATIONS_DIR].iter().try_for_each(|name| std::fs::create_dir_all(directory.join(name)))
    }

    fn new(at: impl Into<String>, tree: Tree) -> Self {
        Variant { at: at.into(), tree }
    }
}

/// One way to tamper, and what every auditor sees of it.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is done, as a sentence fragment.
    pub about: &'static str,
    /// How, on a subject: one variant a position.
    apply: fn(Subject) -> Vec<Variant>,
    cells: Vec<(Subject, Cells)>,
}

impl Row {
    fn new(about: &'static str, apply: fn(Subject) -> Vec<Variant>) -> Self {
        Row { about, apply, cells: Vec::new() }
    }

    fn on(mut self, subjects: &[Subject], cells: Cells) -> Self {
        self.cells.extend(subjects.iter().map(|subject| (*subject, cells)));
        self
    }

    fn record(self, cells: Cells) -> Self {
        self.on(&[Subject::Record], cells)
    }

    fn trace(self, cells: Cells) -> Self {
        self.on(&[Subject::Trace], cells)
    }

    fn eval(self, cells: Cells) -> Self {
        self.on(&[Subject::Eval], cells)
    }

    fn completion(self, cells: Cells) -> Self {
        self.on(&[Subject::Completion], cells)
    }

    /// The conversation. Who does not hold the conversations directory sees none of it, so `cell` is what the others see.
    fn conversation(self, cell: Cell) -> Self {
        let unseen = Cell::NotDetectable(Need::Conversations);
        self.on(&[Subject::Conversation], [unseen, unseen, unseen, cell, cell])
    }

    /// What auditors see of it on a subject, in the order of [`Holding::ALL`]; `None` where it cannot be done.
    pub fn cells(&self, subject: Subject) -> Option<&Cells> {
        self.cells.iter().find(|(of, _)| *of == subject).map(|(_, cells)| cells)
    }

    /// The record tampered with in this way, once for each position. Never empty where there are [`cells`](Self::cells).
    pub fn variants(&self, subject: Subject) -> Vec<Variant> {
        (self.apply)(subject)
    }
}

/// Every row, in the order of the page.
pub fn rows() -> Vec<Row> {
    [lines::rows(), sealing::rows(), places::rows(), members::rows(), spelling::rows()].concat()
}

/// The record before anything was done to it: verified, with every stream.
pub fn untouched() -> &'static Tree {
    &material::UNTOUCHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_what_the_rows_print() {
        assert_eq!(document_differences().unwrap_or_else(|error| panic!("{error}")), Vec::<String>::new());
    }

    #[test]
    fn no_two_rows_of_a_subject_are_called_the_same() {
        for subject in Subject::ALL {
            let mut names: Vec<&str> =
                rows().iter().filter(|row| row.cells(subject).is_some()).map(|row| row.about).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", subject.as_str());
        }
    }

    #[test]
    fn every_variant_differs_from_the_untouched_record_and_from_its_siblings() {
        let mut twins = Vec::new();
        for row in rows() {
            for subject in Subject::ALL.into_iter().filter(|subject| row.cells(*subject).is_some()) {
                let variants = row.variants(subject);
                assert!(!variants.is_empty(), "{} on the {}", row.about, subject.as_str());
                for (index, Variant { at, tree }) in variants.iter().enumerate() {
                    let same = variants[..index].iter().any(|other| other.tree == *tree);
                    if same || tree == untouched() {
                        twins.push(format!("{}, {}: {at}", subject.as_str(), row.about));
                    }
                }
            }
        }
        assert!(twins.is_empty(), "{}", twins.join("\n"));
    }
}
