//! One stream and its seal, fed in blocks, to a report.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::chain::{CHAIN_INLINE, CHAIN_LISTED};
#[cfg(all(feature = "std", unix))]
use crate::digest::{LineDigest, Wanted};
use crate::inline::InlineWalker;
use crate::judge::{Judged, SealState, Seen};
use crate::key::PublicKey;
use crate::listed::{Lines, ListedWalker};
use crate::report::StreamReport;
use crate::seal::{ConversationPointer, ParsedSeal, Seal};

/// How a stream is chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainKind {
    /// Every line carries the hash of the line before it.
    Inline,
    /// The seal lists every line's hash.
    Listed,
}

impl ChainKind {
    /// The word that seals use.
    pub const fn as_str(self) -> &'static str {
        match self {
            ChainKind::Inline => CHAIN_INLINE,
            ChainKind::Listed => CHAIN_LISTED,
        }
    }
}

impl fmt::Display for ChainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the caller knows of a stream before looking at it.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The stream's name, as its seal must name it.
    pub stream: &'a str,
    /// The session that must have sealed it; `None` where any may have.
    pub session: Option<&'a str>,
    /// The keys that are trusted, none or more. They never come from the record.
    pub keys: &'a [PublicKey],
}

/// Checks an inline-chained stream's bytes against the bytes of its seal file, if it has one.
pub fn verify_inline(expectation: &Expectation<'_>, stream: &[u8], seal: Option<&[u8]>) -> StreamReport {
    let mut verifier = StreamVerifier::inline(seal);
    verifier.update(stream);
    verifier.finish(expectation)
}

/// Checks a listed stream's bytes against the bytes of its seal file, if it has one. Sealed are its complete lines or,
/// [as a whole](Lines::WholeFile), all its bytes as one line.
pub fn verify_listed(expectation: &Expectation<'_>, stream: &[u8], lines: Lines, seal: Option<&[u8]>) -> StreamReport {
    let mut verifier = StreamVerifier::listed(lines, seal);
    verifier.update(stream);
    verifier.finish(expectation)
}

/// Bytes of the first line that are kept: enough for the envelope of an event or the header of a conversation record.
const BEGINNING_LEN: usize = 64 * 1024;

/// Checks one stream, fed with blocks of bytes of any size.
///
/// Its memory does not depend on the length of a line, nor for an inline chain on that of the stream; a listed stream
/// costs its seal, 32 bytes a line.
pub struct StreamVerifier {
    seal: SealState,
    walk: Walk,
    beginning: Vec<u8>,
    beginning_ended: bool,
}

enum Walk {
    Inline(Box<InlineWalker>),
    Listed(Box<ListedWalker>),
}

impl StreamVerifier {
    /// For an inline chain.
    pub fn inline(seal: Option<&[u8]>) -> Self {
        Self::inline_with(seal.map(ParsedSeal::from_bytes))
    }

    /// For a listed stream.
    pub fn listed(lines: Lines, seal: Option<&[u8]>) -> Self {
        Self::listed_with(lines, seal.map(ParsedSeal::from_bytes))
    }

    pub(crate) fn inline_with(seal: Option<ParsedSeal>) -> Self {
        let seal = SealState::of(seal);
        let mut walker = InlineWalker::new().looking_closer();
        if let Some(seal) = seal.present() {
            walker = walker.watch(seal.draft.lines);
        }
        Self::new(seal, Walk::Inline(Box::new(walker)))
    }

    pub(crate) fn listed_with(lines: Lines, seal: Option<ParsedSeal>) -> Self {
        Self::new(SealState::of(seal), Walk::Listed(Box::new(ListedWalker::new(lines))))
    }

    fn new(seal: SealState, walk: Walk) -> Self {
        StreamVerifier { seal, walk, beginning: Vec::new(), beginning_ended: false }
    }

    /// Also requires that a listed stream's first lines are still those that `pointer` names.
    pub fn pointed_at_by(mut self, pointer: ConversationPointer) -> Self {
        if let Walk::Listed(walker) = &mut self.walk {
            walker.point_at(pointer);
        }
        self
    }

    /// Feeds the next bytes of the stream.
    pub fn update(&mut self, block: &[u8]) {
        if !self.beginning_ended {
            let end = memchr::memchr(b'\n', block);
            let line = &block[..end.unwrap_or(block.len())];
            let kept = line.len().min(BEGINNING_LEN - self.beginning.len());
            self.beginning.extend_from_slice(&line[..kept]);
            self.beginning_ended = end.is_some() || self.beginning.len() == BEGINNING_LEN;
        }
        match &mut self.walk {
            Walk::Inline(walker) => walker.update(block),
            Walk::Listed(walker) => walker.update(block, self.seal.line_hashes()),
        }
    }

    /// What has to be known of lines that are digested apart from this verifier; `None` where lines cannot be.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        match &self.walk {
            Walk::Inline(_) => Some(Wanted::Link),
            Walk::Listed(walker) if walker.counts() == Lines::Complete => Some(Wanted::Hash),
            Walk::Listed(_) => None,
        }
    }

    /// Adds the next line, of which all that is [`wanted`](Self::wanted) is known. Only between lines, and not the first:
    /// of that one the bytes are needed.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn push(&mut self, line: &LineDigest) {
        match &mut self.walk {
            Walk::Inline(walker) => walker.push(line),
            Walk::Listed(walker) => walker.push(line, self.seal.line_hashes()),
        }
    }

    /// The first line's beginning, without its newline: all of it unless it is longer than 64 KiB.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// The seal, if there is one that can be read. Not authenticated.
    pub fn seal(&self) -> Option<&Seal> {
        self.seal.present()
    }

    /// The end of the stream: judges what was seen.
    pub fn finish(self, expectation: &Expectation<'_>) -> StreamReport {
        let (seen, chain) = match self.walk {
            Walk::Inline(walker) => (Seen::of_inline(walker.finish(), &self.seal, &self.beginning), ChainKind::Inline),
            Walk::Listed(walker) => {
                let walk = walker.finish(self.seal.line_hashes());
                (Seen::of_listed(walk, &self.seal, &self.beginning), ChainKind::Listed)
            }
        };
        let (lines, chain_intact_through) = (seen.lines, seen.chain_intact_through);
        let Judged { findings, more } = seen.judge(&self.seal, chain, &self.beginning, expectation);

        let mut report = StreamReport::of_findings(expectation.stream, findings, more);
        report.lines = lines;
        report.first_bad_line = report.first_contradicted_line();
        report.chain_intact_through = match report.first_bad_line {
            Some(line) => Some(line.saturating_sub(1).min(lines)),
            None => chain_intact_through,
        };
        if let Some(seal) = self.seal.present() {
            report.sealed_lines = Some(seal.draft.lines);
            report.key_id = Some(seal.key_id);
            report.sealed_at = Some(seal.draft.sealed_at);
        }
        report
    }
}
