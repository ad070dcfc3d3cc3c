//! What a check can find, one code a kind, and where it found it.
//!
//! A code is stable: programs may store it and people may look it up. What it means for the verdict is part of it, so
//! that a finding can never be read as more, or as less, than it is.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::LineHash;
use crate::verdict::Verdict;

/// Findings that a stream's report lists, at most; the rest are counted.
pub const MAX_FINDINGS: usize = 20;

/// One thing that a check found in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// The line it is about, counted from 1; `None` where it is about no line.
    pub line: Option<u64>,
    /// Where that line begins in the stream: bytes from its start. `None` where the line is not there.
    pub offset: Option<u64>,
    /// The hash that the chain or the seal names.
    pub expected: Option<LineHash>,
    /// The hash of what stands there.
    pub found: Option<LineHash>,
    /// What was found, as a sentence fragment. May hold text from the record: escape it for a terminal.
    pub text: String,
}

impl Finding {
    /// A finding that is about the stream and no line of it.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Finding { code, line: None, offset: None, expected: None, found: None, text: text.into() }
    }

    /// The same about a line.
    pub(crate) fn at(self, line: u64, offset: Option<u64>) -> Self {
        Finding { line: Some(line), offset, ..self }
    }

    /// The same with the hash that should be there, and the hash that is.
    pub(crate) fn hashes(self, expected: LineHash, found: LineHash) -> Self {
        Finding { expected: Some(expected), found: Some(found), ..self }
    }
}

/// The first findings of a kind, as many as a report lists; the rest are counted.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    first: Vec<Finding>,
    more: u64,
}

impl Findings {
    /// None yet.
    pub const fn new() -> Self {
        Findings { first: Vec::new(), more: 0 }
    }

    /// Those that are listed, in the order in which they were found.
    pub fn listed(&self) -> &[Finding] {
        &self.first
    }

    /// The first one.
    pub fn first(&self) -> Option<&Finding> {
        self.first.first()
    }

    /// How many were found beyond those that are listed.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Adds one; `finding` is asked for it only while there is room.
    pub(crate) fn add(&mut self, finding: impl FnOnce() -> Finding) {
        if self.first.len() < MAX_FINDINGS {
            self.first.push(finding());
        } else {
            self.more += 1;
        }
    }

    /// Takes those that are listed, and counts the rest into `more`.
    pub(crate) fn into_listed(self, more: &mut u64) -> Vec<Finding> {
        *more += self.more;
        self.first
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal => $verdict:expr,)+) => {
        /// What a finding is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// The stable text that reports use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// What a stream with this finding, and nothing worse, reads as. `None`: it does not count against the stream.
            pub const fn verdict(self) -> Option<Verdict> {
                match self { $(Code::$name => $verdict,)+ }
            }
        }
    };
}

const CHANGED: Option<Verdict> = Some(Verdict::Changed);
const UNSEALED: Option<Verdict> = Some(Verdict::Unsealed);
const UNVERIFIABLE: Option<Verdict> = Some(Verdict::Unverifiable);
const ABSENT: Option<Verdict> = Some(Verdict::Absent);
const NOTE: Option<Verdict> = None;

codes! {
    /// A line is not the line that the link after it, or the seal, names.
    LineChanged = "line-changed" => CHANGED,
    /// Line 1 names a line before it.
    BeginningMissing = "beginning-missing" => CHANGED,
    /// One of the lines that a `gap_hash` binds is not what it was.
    GapChanged = "gap-changed" => CHANGED,
    /// A line carries a `gap_hash` where there is no gap.
    GapMisplaced = "gap-misplaced" => CHANGED,
    /// The seal covers more lines than are there.
    LinesMissing = "lines-missing" => CHANGED,
    /// A line stands where the seal lists none.
    LineInserted = "line-inserted" => CHANGED,
    /// A line that the seal lists is not there.
    LineRemoved = "line-removed" => CHANGED,
    /// The host itself reported, in the trace, that it found the file rewritten.
    RewriteReported = "rewrite-reported" => CHANGED,
    /// The trace's seal points at lines of a conversation that are no longer those.
    PointedLinesChanged = "pointed-lines-changed" => CHANGED,
    /// There is a seal, and the stream it seals is gone.
    StreamMissing = "stream-missing" => CHANGED,
    /// Where the stream should be stands a link, a directory, a FIFO or something else that is no file.
    StreamNotAFile = "stream-not-a-file" => CHANGED,
    /// Where the seal should be stands something that is no file, or is larger than a seal can be.
    SealNotAFile = "seal-not-a-file" => CHANGED,
    /// The seal's bytes are not a seal.
    SealMalformed = "seal-malformed" => CHANGED,
    /// The seal was made for a stream of another name.
    SealOfOtherStream = "seal-of-other-stream" => CHANGED,
    /// The seal was made for a chain of another kind.
    SealOfOtherChain = "seal-of-other-chain" => CHANGED,
    /// The seal was made for another session.
    SealOfOtherSession = "seal-of-other-session" => CHANGED,
    /// The seal's signature is not good under the key that it names, and that key was given.
    SignatureBad = "signature-bad" => CHANGED,
    /// The trace's head is not the one that was noted elsewhere when the session ended.
    HeadNotAsTold = "head-not-as-told" => CHANGED,
    /// The members beside the signed ones are not those that were signed.
    MembersChanged = "members-changed" => CHANGED,

    /// There is no seal.
    NoSeal = "no-seal" => UNSEALED,
    /// Lines come after those that the seal covers.
    LinesNotSealed = "lines-not-sealed" => UNSEALED,
    /// Bytes follow the last newline, and no seal covers them.
    TailNotSealed = "tail-not-sealed" => UNSEALED,

    /// No public key was given.
    NoKey = "no-key" => UNVERIFIABLE,
    /// The seal names a key that was not given.
    KeyUnknown = "key-unknown" => UNVERIFIABLE,
    /// The seal's format is one that this program does not know.
    FormatUnknown = "format-unknown" => UNVERIFIABLE,
    /// The seal's algorithm is one that this program does not know.
    AlgorithmUnknown = "algorithm-unknown" => UNVERIFIABLE,
    /// The stream was written before records were chained and sealed.
    OlderRecord = "older-record" => UNVERIFIABLE,

    /// There is neither a stream nor a seal.
    NoStream = "no-stream" => ABSENT,

    /// Lines carry no link to the line before.
    LinesUnlinked = "lines-unlinked" => NOTE,
    /// Lines stand before a gap that was closed without a `gap_hash`: nothing binds them.
    LinesUnbound = "lines-unbound" => NOTE,
    /// Line 1 names its predecessor in another writer's way.
    GenesisForeign = "genesis-foreign" => NOTE,
    /// Bytes follow the last newline: a line that was not written to its end.
    TailTorn = "tail-torn" => NOTE,
    /// The seal's time, chain and conversation are not authenticated: it has no `members_signature`, which anybody can take
    /// away.
    MembersUnsigned = "members-unsigned" => NOTE,
    /// The trace begins as that of a session and does not say that the session ended.
    SessionNotEnded = "session-not-ended" => NOTE,
    /// The trace names another session than the one it was checked for.
    SessionNamedOtherwise = "session-named-otherwise" => NOTE,
    /// No trace says which session the stream should be of.
    SessionNotNamed = "session-not-named" => NOTE,
    /// Lines end in CR LF: the file went through something that rewrites line ends.
    LineEndsRewritten = "line-ends-rewritten" => NOTE,
    /// The file begins with a byte order mark.
    ByteOrderMark = "byte-order-mark" => NOTE,
    /// All that the last line lacks is its newline.
    FinalNewlineMissing = "final-newline-missing" => NOTE,
    /// All that is too much is empty lines at the end.
    FinalNewlineDoubled = "final-newline-doubled" => NOTE,
    /// A line was split where something took a character inside it for a line's end.
    LineSplit = "line-split" => NOTE,
    /// Lines were joined where something put another character in the place of a newline.
    LinesJoined = "lines-joined" => NOTE,
    /// A line repeats one before it.
    LineRepeated = "line-repeated" => NOTE,
    /// Two lines follow the same line: two writers did not wait for each other, or lines were put in between.
    ChainForked = "chain-forked" => NOTE,
    /// The file grew, or its seal was replaced, while it was read.
    BeingWritten = "being-written" => NOTE,
    /// The conversation was truncated by policy after the session.
    TruncatedByPolicy = "truncated-by-policy" => NOTE,
    /// Its seal was made with another key than the seals before it in the record.
    SealersDiffer = "sealers-differ" => NOTE,
    /// The record lies inside another one, where a capsule may write.
    RecordInside = "record-inside" => NOTE,
    /// The trace's seal names a conversation that was not to be had.
    ConversationNotFound = "conversation-not-found" => NOTE,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_are_their_json() {
        for (index, code) in Code::ALL.iter().enumerate() {
            assert!(Code::ALL[..index].iter().all(|other| other.as_str() != code.as_str()), "{code}");
            assert_eq!(serde_json::to_string(code).unwrap(), alloc::format!("\"{code}\""));
        }
    }
}
