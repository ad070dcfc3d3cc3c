//! One stream and its seal, to a report: the place where a verdict is decided.
//!
//! The order is fixed. First structure: anything that contradicts the bytes reads as changed. Then coverage: lines that no
//! seal covers read as unsealed. Then the key: what no given key vouches for is unverifiable. What is left is verified.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

#[cfg(all(feature = "std", unix))]
use crate::chain::LineDigest;
use crate::chain::{CHAIN_INLINE, CHAIN_LISTED, ChainBreak, InlineWalk, InlineWalker};
use crate::hash::LineHash;
use crate::key::PublicKey;
use crate::listed::{LineEnds, Lines, ListedWalk, ListedWalker, Pointed, is_truncated_record};
use crate::report::StreamReport;
use crate::seal::{ConversationPointer, Seal, SealError, members_message};
use crate::verdict::Verdict;

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

enum SealState {
    Missing,
    Refused(SealError),
    Present(Box<Seal>),
}

enum Walk {
    Inline(Box<InlineWalker>),
    Listed(Box<ListedWalker>),
}

impl StreamVerifier {
    /// For an inline chain.
    pub fn inline(seal: Option<&[u8]>) -> Self {
        let seal = SealState::read(seal);
        let mut walker = InlineWalker::new();
        if let SealState::Present(seal) = &seal {
            walker = walker.watch(seal.draft.lines);
        }
        Self::new(seal, Walk::Inline(Box::new(walker)))
    }

    /// For a listed stream.
    pub fn listed(lines: Lines, seal: Option<&[u8]>) -> Self {
        Self::new(SealState::read(seal), Walk::Listed(Box::new(ListedWalker::new(lines))))
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

    /// How the lines of this stream are digested apart from it; `None` where they cannot be.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn digester(&self) -> Option<fn(&[u8]) -> LineDigest> {
        match &self.walk {
            Walk::Inline(_) => Some(LineDigest::of),
            Walk::Listed(walker) if walker.counts() == Lines::Complete => Some(LineDigest::without_link),
            Walk::Listed(_) => None,
        }
    }

    /// Adds the next line, digested apart by this verifier's [`digester`](Self::digester). Only between lines, and not
    /// the first: of that one the bytes are needed.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn push(&mut self, line: LineDigest) {
        match &mut self.walk {
            Walk::Inline(walker) => walker.push(line),
            Walk::Listed(walker) => walker.push(&line, self.seal.line_hashes()),
        }
    }

    /// The first line's beginning, without its newline: all of it unless it is longer than 64 KiB.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// The seal, if there is one that can be read. Not authenticated.
    pub fn seal(&self) -> Option<&Seal> {
        match &self.seal {
            SealState::Present(seal) => Some(seal),
            SealState::Missing | SealState::Refused(_) => None,
        }
    }

    /// The end of the stream: judges what was seen.
    pub fn finish(self, expectation: &Expectation<'_>) -> StreamReport {
        let chain = match &self.walk {
            Walk::Inline(_) => ChainKind::Inline,
            Walk::Listed(_) => ChainKind::Listed,
        };
        let mut seen = match self.walk {
            Walk::Inline(walker) => Seen::of_inline(walker.finish(), &self.seal),
            Walk::Listed(walker) => {
                Seen::of_listed(walker.finish(self.seal.line_hashes()), &self.seal, &self.beginning)
            }
        };
        let mut notes = core::mem::take(&mut seen.notes);
        let signed = self.seal.signed(expectation.keys, &mut notes);
        let (verdict, detail) = judge(&seen, &self.seal, &signed, chain, expectation);
        if verdict != Verdict::Verified {
            note_rewriting(&seen, &self.beginning, &mut notes);
        }
        let seal = match &self.seal {
            SealState::Present(seal) => Some(seal),
            SealState::Missing | SealState::Refused(_) => None,
        };
        let first_bad_line = seen.first_bad_line().filter(|_| verdict == Verdict::Changed);
        StreamReport {
            stream: expectation.stream.into(),
            verdict,
            lines: seen.lines,
            sealed_lines: seal.map(|seal| seal.draft.lines),
            chain_intact_through: match first_bad_line {
                Some(line) => Some(line.saturating_sub(1).min(seen.lines)),
                None => seen.chain_intact_through,
            },
            first_bad_line,
            key_id: seal.map(|seal| seal.key_id),
            sealed_at: seal.map(|seal| seal.draft.sealed_at),
            detail,
            notes,
            findings: Vec::new(),
            more_findings: 0,
        }
    }
}

/// What a walk over the bytes found, the seal's claims compared, no key used.
struct Seen {
    lines: u64,
    torn_bytes: u64,
    /// Newlines, and how many of them follow a carriage return.
    line_ends: LineEnds,
    /// The first contradiction between the bytes and the chain or the seal.
    contradiction: Option<Contradiction>,
    /// There is no chain to check: no line carries a link.
    unchained: bool,
    chain_intact_through: Option<u64>,
    notes: Vec<String>,
}

/// A line is not what it was, and what says so.
struct Contradiction {
    line: Option<u64>,
    reason: String,
    /// Only the seal says so, so it is worth as much as the seal is.
    by_seal: bool,
}

impl Seen {
    fn first_bad_line(&self) -> Option<u64> {
        self.contradiction.as_ref().and_then(|found| found.line)
    }

    fn of_inline(walk: InlineWalk, seal: &SealState) -> Self {
        let lines = walk.state.lines();
        let mut notes = Vec::new();
        if walk.foreign_genesis {
            notes.push("line 1 names its predecessor in another writer's way".into());
        }
        let chained = walk.state.chained_lines() > 0;
        if walk.unchained.count() > 0 && (chained || !matches!(seal, SealState::Missing)) {
            notes.push(format!(
                "{} without a link to the line before: torn by a crash, or another writer's",
                walk.unchained
            ));
        }
        if walk.unbound_through > 0 {
            notes.push(format!("lines 1..={} are not bound by the chain", walk.unbound_through));
        }
        note_torn_bytes(walk.torn_bytes, &mut notes);

        let broken =
            walk.broken.map(|ChainBreak { line, reason }| Contradiction { line: Some(line), reason, by_seal: false });
        let tampered = walk.tampered.map(|line| Contradiction {
            line: Some(line),
            reason: format!("line {line} is the host's own report that it found the file rewritten"),
            by_seal: false,
        });
        let by_seal = match seal {
            SealState::Present(seal) if seal.draft.chain == ChainKind::Inline => {
                let sealed = seal.draft.lines;
                match walk.watched {
                    None => Some(fewer_lines(lines, sealed)),
                    Some(head) if head != seal.draft.head => Some(Contradiction {
                        line: (sealed > 0).then_some(sealed),
                        reason: format!("line {sealed} is not the line that was sealed"),
                        by_seal: true,
                    }),
                    Some(_) => None,
                }
            }
            SealState::Present(_) | SealState::Missing | SealState::Refused(_) => None,
        };
        Seen {
            lines,
            torn_bytes: walk.torn_bytes,
            line_ends: LineEnds { newlines: lines, after_returns: walk.carriage_returns },
            contradiction: earliest([broken, tampered, by_seal]),
            unchained: !chained && lines > 0,
            chain_intact_through: (chained || lines == 0).then_some(lines),
            notes,
        }
    }
}

impl Seen {
    fn of_listed(walk: ListedWalk, seal: &SealState, beginning: &[u8]) -> Self {
        let ListedWalk { lines, counted_as, torn_bytes, line_ends, edited, pointed } = walk;
        let sealed = seal.line_hashes().map(|hashes| hashes.len() as u64);
        let edited = edited.map(|line| Contradiction {
            line: Some(line),
            reason: match counted_as {
                Lines::Complete => format!("line {line} is not what was sealed"),
                Lines::WholeFile => "the file is not what was sealed".into(),
            },
            by_seal: true,
        });
        let missing = sealed.filter(|&sealed| sealed > lines).map(|sealed| fewer_lines(lines, sealed));
        let mut notes = Vec::new();
        note_torn_bytes(torn_bytes, &mut notes);
        let moved = pointed.and_then(|pointed| compare_pointed(pointed, beginning, &mut notes));
        Seen {
            lines,
            torn_bytes,
            line_ends,
            contradiction: earliest([edited, missing]).or(moved),
            unchained: false,
            chain_intact_through: sealed.map(|sealed| sealed.min(lines)),
            notes,
        }
    }
}

fn note_torn_bytes(torn_bytes: u64, notes: &mut Vec<String>) {
    if torn_bytes > 0 {
        notes.push(format!("{torn_bytes} bytes after the last newline are not a whole line"));
    }
}

/// What a copy through some tools does to a file, told apart from what people do to it.
fn note_rewriting(seen: &Seen, beginning: &[u8], notes: &mut Vec<String>) {
    let LineEnds { newlines, after_returns } = seen.line_ends;
    if after_returns > 0 {
        let which = if after_returns == newlines {
            "every line ends".into()
        } else {
            format!("{after_returns} of {newlines} lines end")
        };
        notes.push(format!("{which} in CR LF: it went through something that rewrites line ends"));
    }
    if beginning.starts_with(b"\xef\xbb\xbf") {
        notes.push(
            "it begins with a byte order mark, which is part of line 1: it went through something that adds one".into(),
        );
    }
}

fn fewer_lines(lines: u64, sealed: u64) -> Contradiction {
    Contradiction {
        line: Some(lines + 1),
        reason: format!("{sealed} lines were sealed, and {lines} are left: line {} is missing", lines + 1),
        by_seal: true,
    }
}

fn earliest(found: impl IntoIterator<Item = Option<Contradiction>>) -> Option<Contradiction> {
    found.into_iter().flatten().min_by_key(|found| found.line.unwrap_or(0))
}

/// What became of the lines that another stream's seal points at.
fn compare_pointed(pointed: Pointed, beginning: &[u8], notes: &mut Vec<String>) -> Option<Contradiction> {
    let Pointed { pointer, head, .. } = pointed;
    if head == Some(pointer.head) {
        return None;
    }
    if is_truncated_record(beginning) {
        notes.push(
            "the record was truncated by policy after the session: what the trace's seal points at is gone".into(),
        );
        return None;
    }
    let reason = match head {
        None => format!("the trace's seal points at {} lines of it, and fewer are left", pointer.lines),
        Some(_) => format!("its first {} lines are not those that the trace's seal points at", pointer.lines),
    };
    Some(Contradiction { line: None, reason, by_seal: true })
}

impl SealState {
    fn read(seal: Option<&[u8]>) -> Self {
        match seal.map(Seal::parse) {
            None => SealState::Missing,
            Some(Ok(seal)) => SealState::Present(Box::new(seal)),
            Some(Err(error)) => SealState::Refused(error),
        }
    }

    fn line_hashes(&self) -> Option<&[LineHash]> {
        match self {
            SealState::Present(seal) => seal.draft.line_hashes.as_deref(),
            SealState::Missing | SealState::Refused(_) => None,
        }
    }

    /// What the keys say of the seal.
    fn signed(&self, keys: &[PublicKey], notes: &mut Vec<String>) -> Signed {
        let SealState::Present(seal) = self else { return Signed::Unknown("there is no seal to check".into()) };
        if keys.is_empty() {
            return Signed::Unknown(format!("no public key was given; the seal names key {}", seal.key_id));
        }
        let Some(key) = keys.iter().find(|key| key.key_id() == seal.key_id) else {
            let given: Vec<String> = keys.iter().map(|key| format!("{}", key.key_id())).collect();
            let keys = if given.len() == 1 { "the key given" } else { "a key given" };
            return Signed::Unknown(format!("sealed by key {}, not by {keys} ({})", seal.key_id, given.join(", ")));
        };
        if !key.verifies_raw(seal.draft.signed_message().as_bytes(), &seal.signature) {
            return Signed::Wrong("the seal's signature is not good under the key it names");
        }
        match seal.members_signature {
            Some(signature)
                if !key.verifies_raw(members_message(&seal.signature, &seal.draft).as_bytes(), &signature) =>
            {
                Signed::Wrong("the seal's chain, time or conversation is not what was signed")
            }
            Some(_) => Signed::Good,
            None => {
                notes.push(
                    "the seal's time, chain and conversation are not authenticated: it has no members_signature".into(),
                );
                Signed::Good
            }
        }
    }
}

/// What the given keys say of a seal.
enum Signed {
    Good,
    Wrong(&'static str),
    /// No given key can tell; why.
    Unknown(String),
}

/// Decides the verdict and says why.
fn judge(
    seen: &Seen,
    seal: &SealState,
    signed: &Signed,
    chain: ChainKind,
    expectation: &Expectation<'_>,
) -> (Verdict, String) {
    // Structure. A seal that no given key vouches for still contradicts the bytes: one of the two was changed.
    let unauthenticated = match (seal, signed) {
        (SealState::Present(_), Signed::Unknown(why)) => format!("; the seal itself is not authenticated: {why}"),
        (SealState::Present(_) | SealState::Missing | SealState::Refused(_), _) => String::new(),
    };
    let changed = |reason: &str, by_seal: bool| {
        (Verdict::Changed, if by_seal { format!("{reason}{unauthenticated}") } else { reason.into() })
    };
    if let Some(found) = &seen.contradiction
        && !found.by_seal
    {
        return changed(&found.reason, false);
    }
    match seal {
        SealState::Present(seal) => {
            if let Some(mismatch) = seal_mismatch(seal, chain, expectation) {
                return changed(&mismatch, true);
            }
        }
        SealState::Refused(error @ (SealError::Malformed(_) | SealError::ControlCharacter(_))) => {
            return changed(&format!("{error}"), false);
        }
        SealState::Refused(SealError::UnknownFormat(_) | SealError::UnknownAlgorithm(_)) | SealState::Missing => {}
    }
    if let Some(found) = &seen.contradiction {
        return changed(&found.reason, found.by_seal);
    }
    if let Signed::Wrong(reason) = signed {
        return changed(reason, false);
    }

    // Coverage.
    let sealed = match seal {
        SealState::Missing if seen.unchained => {
            return (Verdict::Unverifiable, "written before records were chained and sealed".into());
        }
        SealState::Missing => return (Verdict::Unsealed, "no seal: the session did not get to seal it".into()),
        SealState::Refused(error) => return (Verdict::Unverifiable, format!("{error}")),
        SealState::Present(seal) => seal.draft.lines,
    };
    if seen.lines > sealed {
        let covered = if sealed == 0 { "no line".into() } else { lines_text(1, sealed) };
        let verb = if seen.lines - sealed == 1 { "is" } else { "are" };
        let beyond = lines_text(sealed + 1, seen.lines);
        return (Verdict::Unsealed, format!("{beyond} {verb} not sealed: the seal covers {covered}"));
    }
    if seen.torn_bytes > 0 {
        return (Verdict::Unsealed, format!("{} bytes after the last sealed line are not sealed", seen.torn_bytes));
    }

    // The key.
    match signed {
        Signed::Unknown(why) => (Verdict::Unverifiable, why.clone()),
        Signed::Good | Signed::Wrong(_) => (Verdict::Verified, "every line is sealed".into()),
    }
}

/// `line 6`, or `lines 6..=8`.
fn lines_text(first: u64, last: u64) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}..={last}") }
}

/// How a seal is not the seal of this stream, if it is not.
fn seal_mismatch(seal: &Seal, chain: ChainKind, expectation: &Expectation<'_>) -> Option<String> {
    let draft = &seal.draft;
    if draft.stream != expectation.stream {
        return Some(format!("the seal is that of another stream, `{}`", draft.stream));
    }
    if draft.chain != chain {
        return Some(format!("the seal is that of a chain of another kind, `{}`", draft.chain));
    }
    match expectation.session {
        Some(session) if draft.session_id != session => Some(format!(
            "the seal is that of another session, `{}`, and the record is that of `{session}`",
            draft.session_id
        )),
        _ => None,
    }
}
