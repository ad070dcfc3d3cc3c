//! What was seen of a stream and of its seal, to findings: the place where a verdict is decided.
//!
//! The order is fixed. First structure: anything that contradicts the bytes reads as changed. Then coverage: lines that no
//! seal covers read as unsealed. Then the key: what no given key vouches for is unverifiable. What is left is verified.
//! Findings are listed in that order, so the first one decides.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::hash::LineHash;
use crate::inline::{InlineWalk, WatchedLine};
use crate::key::PublicKey;
use crate::listed::{LineEnds, Lines, ListedWalk, Pointed, is_truncated_record};
use crate::seal::{ParsedSeal, Seal, SealError, Signatures};
use crate::verify::{ChainKind, Expectation};

/// Notes of what contradictions look like: a few tell as much as many.
const LOOKS: usize = 3;

/// Of the keys that did not make a seal, as many are told by their ids.
const KEYS_TOLD: usize = 8;

/// How the first event of a session begins.
const SESSION_START: &[u8] = b"{\"event_type\":\"session_start\"";

/// The seal beside a stream, as far as it can be judged without a key.
pub(crate) enum SealState {
    Missing,
    Refused(SealError),
    Present(Box<Seal>),
}

impl SealState {
    pub(crate) fn of(seal: Option<ParsedSeal>) -> Self {
        match seal {
            None => SealState::Missing,
            Some(ParsedSeal(Ok(seal))) => SealState::Present(Box::new(seal)),
            Some(ParsedSeal(Err(error))) => SealState::Refused(error),
        }
    }

    pub(crate) fn present(&self) -> Option<&Seal> {
        match self {
            SealState::Present(seal) => Some(seal),
            SealState::Missing | SealState::Refused(_) => None,
        }
    }

    pub(crate) fn line_hashes(&self) -> Option<&[LineHash]> {
        self.present().and_then(|seal| seal.draft.line_hashes.as_deref())
    }

    /// What the keys say of the seal.
    fn signed(&self, keys: &[PublicKey]) -> Signed {
        let SealState::Present(seal) = self else { return Signed::NoSeal };
        if keys.is_empty() {
            let text = format!("no public key was given; the seal names key {}", seal.key_id);
            return Signed::Unknown(Finding::new(Code::NoKey, text));
        }
        let Some(key) = keys.iter().find(|key| key.key_id() == seal.key_id) else {
            let mut given: Vec<String> = keys.iter().take(KEYS_TOLD).map(|key| format!("{}", key.key_id())).collect();
            if keys.len() > KEYS_TOLD {
                given.push(format!("and {} more", keys.len() - KEYS_TOLD));
            }
            let keys = if given.len() == 1 { "the key given" } else { "a key given" };
            let text = format!("sealed by key {}, not by {keys} ({})", seal.key_id, given.join(", "));
            return Signed::Unknown(Finding::new(Code::KeyUnknown, text));
        };
        Signed::With(seal.signatures(key))
    }
}

/// What the given keys say of a seal.
enum Signed {
    NoSeal,
    /// No given key can tell; why.
    Unknown(Finding),
    /// The key that it names is given: what that key says.
    With(Signatures),
}

/// What a walk over a stream found, the seal's claims compared, no key used.
pub(crate) struct Seen {
    pub(crate) lines: u64,
    pub(crate) chain_intact_through: Option<u64>,
    torn_bytes: u64,
    line_ends: LineEnds,
    empty_at_end: u64,
    /// There is no chain to check: no line carries a link.
    unchained: bool,
    /// What the chain itself contradicts.
    by_chain: Vec<Finding>,
    /// What only the seal contradicts, so it is worth as much as the seal is.
    by_seal: Vec<Finding>,
    /// Contradictions that are counted and not listed.
    more: u64,
    notes: Vec<Finding>,
}

/// The findings of a stream: contradictions, gaps in what is covered, what no key vouches for, and notes, in this order.
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) more: u64,
}

impl Seen {
    pub(crate) fn of_inline(walk: InlineWalk, seal: &SealState, beginning: &[u8]) -> Self {
        let lines = walk.state.lines();
        let mut notes = Vec::new();
        if walk.foreign_genesis {
            let text = "line 1 names its predecessor in another writer's way";
            notes.push(Finding::new(Code::GenesisForeign, text));
        }
        let chained = walk.state.chained_lines() > 0;
        if walk.unchained.count() > 0 && (chained || !matches!(seal, SealState::Missing)) {
            let text =
                format!("{} without a link to the line before: torn by a crash, or another writer's", walk.unchained);
            notes.push(Finding::new(Code::LinesUnlinked, text));
        }
        if walk.unbound_through > 0 {
            // The line is the last of them.
            let text = format!("lines 1..={} are not bound by the chain", walk.unbound_through);
            notes.push(Finding::new(Code::LinesUnbound, text).at(walk.unbound_through, None));
        }

        if walk.ended.is_none() && beginning.starts_with(SESSION_START) {
            let text = "the session did not end in it: it goes on, it was killed, or an older trace was put back";
            notes.push(Finding::new(Code::SessionNotEnded, text));
        }

        let mut more = 0;
        let mut by_chain = walk.breaks.into_listed(&mut more);
        if let Some((line, offset)) = walk.tampered {
            let text = format!("line {line} is the host's own report that it found the file rewritten");
            let place = by_chain.partition_point(|found| found.line.is_none_or(|other| other <= line));
            by_chain.insert(place, Finding::new(Code::RewriteReported, text).at(line, Some(offset)));
        }
        notes.extend(walk.looks.listed().iter().take(LOOKS).cloned());

        let mut by_seal = Vec::new();
        if let SealState::Present(seal) = seal
            && seal.draft.chain == ChainKind::Inline
        {
            let (sealed, head) = (seal.draft.lines, seal.draft.head);
            match walk.watched {
                None => {
                    by_seal.push(fewer_lines(lines, sealed));
                    note_newline_missing(lines + 1 == sealed && walk.torn_hash == Some(head), &mut notes);
                }
                Some(WatchedLine { hash, .. }) if hash == head => {}
                Some(WatchedLine { offset, hash }) => {
                    let found =
                        Finding::new(Code::LineChanged, format!("line {sealed} is not the line that was sealed"));
                    let found = if sealed > 0 { found.at(sealed, Some(offset)) } else { found };
                    by_seal.push(found.hashes(head, hash));
                }
            }
        }
        Seen {
            lines,
            chain_intact_through: (chained || lines == 0).then_some(lines),
            torn_bytes: walk.torn_bytes,
            line_ends: LineEnds { newlines: lines, after_returns: walk.carriage_returns },
            empty_at_end: walk.empty_at_end,
            unchained: !chained && lines > 0,
            by_chain,
            by_seal,
            more,
            notes,
        }
    }

    pub(crate) fn of_listed(walk: ListedWalk, seal: &SealState, beginning: &[u8]) -> Self {
        let ListedWalk { lines, torn_bytes, torn_hash, line_ends, empty_at_end, unlike, looks, pointed, counted_as } =
            walk;
        let recorded = seal.line_hashes();
        let sealed = recorded.map(|hashes| hashes.len() as u64);
        let mut more = 0;
        let mut notes = Vec::new();
        let mut by_seal = unlike.into_listed(&mut more);
        notes.extend(looks.listed().iter().take(LOOKS).cloned());
        if let (Some(sealed), Some(recorded)) = (sealed, recorded)
            && sealed > lines
        {
            by_seal.push(fewer_lines(lines, sealed));
            let is_last = counted_as == Lines::Complete && lines + 1 == sealed;
            note_newline_missing(is_last && torn_hash.is_some() && torn_hash == recorded.last().copied(), &mut notes);
        }
        by_seal.extend(pointed.and_then(|pointed| compare_pointed(pointed, beginning, &mut notes)));
        Seen {
            lines,
            chain_intact_through: sealed.map(|sealed| sealed.min(lines)),
            torn_bytes,
            line_ends,
            empty_at_end,
            unchained: false,
            by_chain: Vec::new(),
            by_seal,
            more,
            notes,
        }
    }

    /// Holds everything against each other.
    pub(crate) fn judge(
        self,
        seal: &SealState,
        chain: ChainKind,
        beginning: &[u8],
        expectation: &Expectation<'_>,
    ) -> Judged {
        let signed = seal.signed(expectation.keys);
        let Seen { lines, torn_bytes, line_ends, empty_at_end, unchained, by_chain, by_seal, more, notes, .. } = self;
        let of_seal = contradictions_of_seal(seal, &signed, chain, expectation);

        // Structure. What a seal says of the bytes counts where nothing is wrong with the seal itself.
        let chain_first = match (by_chain.first(), by_seal.first()) {
            (Some(chain), Some(seal)) => chain.line.unwrap_or(0) <= seal.line.unwrap_or(0),
            (chain, _) => chain.is_some(),
        };
        let by_seal = if of_seal.is_empty() { unauthenticated(by_seal, &signed) } else { Vec::new() };
        let mut findings =
            if chain_first { [by_chain, of_seal, by_seal].concat() } else { [of_seal, by_seal, by_chain].concat() };
        if let Signed::With(Signatures::OfOtherMembers) = signed {
            let text = "the seal's chain, time or conversation is not what was signed";
            findings.push(Finding::new(Code::MembersChanged, text));
        }

        // Coverage, and the key.
        let missing = findings.iter().any(|found| found.code == Code::LinesMissing);
        match seal {
            SealState::Missing if unchained => {
                findings.push(Finding::new(Code::OlderRecord, "written before records were chained and sealed"));
            }
            SealState::Missing => {
                findings.push(Finding::new(Code::NoSeal, "no seal: the session did not get to seal it"));
            }
            SealState::Refused(error) => findings.extend(unknown(error)),
            SealState::Present(seal) if !missing => findings.extend(uncovered(lines, torn_bytes, seal.draft.lines)),
            SealState::Present(_) => {}
        }
        if let Signed::Unknown(why) = &signed {
            findings.push(why.clone());
        }

        // Notes.
        let verified = findings.is_empty();
        findings.extend(notes);
        if torn_bytes > 0 {
            let text = format!("{torn_bytes} bytes after the last newline are not a whole line");
            findings.push(Finding::new(Code::TailTorn, text));
        }
        if let Signed::With(Signatures::WithoutMembers) = signed {
            let text = "the seal's time, chain and conversation are not authenticated: it has no members_signature";
            findings.push(Finding::new(Code::MembersUnsigned, text));
        }
        if !verified {
            let sealed = seal.present().map(|seal| seal.draft.lines);
            if sealed.is_some_and(|sealed| sealed < lines && lines - sealed <= empty_at_end) {
                let text = "what follows the sealed lines is empty: line ends were added at the end of the file";
                findings.push(Finding::new(Code::FinalNewlineDoubled, text));
            }
            note_rewriting(line_ends, beginning, &mut findings);
        }
        Judged { findings, more }
    }
}

/// What contradicts the bytes or the expectation in the seal itself.
fn contradictions_of_seal(
    seal: &SealState,
    signed: &Signed,
    chain: ChainKind,
    expectation: &Expectation<'_>,
) -> Vec<Finding> {
    match seal {
        SealState::Missing | SealState::Refused(SealError::UnknownFormat(_) | SealError::UnknownAlgorithm(_)) => {
            Vec::new()
        }
        SealState::Refused(error @ (SealError::Malformed(_) | SealError::ControlCharacter(_))) => {
            vec![Finding::new(Code::SealMalformed, format!("{error}"))]
        }
        SealState::Present(seal) => {
            let mut found = unauthenticated(Vec::from_iter(mismatch(seal, chain, expectation)), signed);
            if let Signed::With(Signatures::Bad) = signed {
                let text = "the seal's signature is not good under the key it names";
                found.push(Finding::new(Code::SignatureBad, text));
            }
            found
        }
    }
}

/// How a seal is not the seal of this stream, if it is not.
fn mismatch(seal: &Seal, chain: ChainKind, expectation: &Expectation<'_>) -> Option<Finding> {
    let draft = &seal.draft;
    if draft.stream != expectation.stream {
        let text = format!("the seal is that of another stream, `{}`", draft.stream);
        return Some(Finding::new(Code::SealOfOtherStream, text));
    }
    if draft.chain != chain {
        let text = format!("the seal is that of a chain of another kind, `{}`", draft.chain);
        return Some(Finding::new(Code::SealOfOtherChain, text));
    }
    match expectation.session {
        Some(session) if draft.session_id != session => {
            let text = format!(
                "the seal is that of another session, `{}`, and the record is that of `{session}`",
                draft.session_id
            );
            Some(Finding::new(Code::SealOfOtherSession, text))
        }
        _ => None,
    }
}

/// What only the seal says, where no given key vouches for the seal: one of the two was changed all the same.
fn unauthenticated(mut found: Vec<Finding>, signed: &Signed) -> Vec<Finding> {
    if let Signed::Unknown(why) = signed {
        for found in &mut found {
            found.text = format!("{}; the seal itself is not authenticated: {}", found.text, why.text);
        }
    }
    found
}

fn unknown(error: &SealError) -> Option<Finding> {
    let code = match error {
        SealError::UnknownFormat(_) => Code::FormatUnknown,
        SealError::UnknownAlgorithm(_) => Code::AlgorithmUnknown,
        SealError::Malformed(_) | SealError::ControlCharacter(_) => return None,
    };
    Some(Finding::new(code, format!("{error}")))
}

/// What comes after the lines that a seal covers.
fn uncovered(lines: u64, torn_bytes: u64, sealed: u64) -> Option<Finding> {
    if lines > sealed {
        let covered = if sealed == 0 { "no line".into() } else { lines_text(1, sealed) };
        let verb = if lines - sealed == 1 { "is" } else { "are" };
        let beyond = lines_text(sealed + 1, lines);
        let text = format!("{beyond} {verb} not sealed: the seal covers {covered}");
        return Some(Finding::new(Code::LinesNotSealed, text).at(sealed + 1, None));
    }
    (torn_bytes > 0).then(|| {
        Finding::new(Code::TailNotSealed, format!("{torn_bytes} bytes after the last sealed line are not sealed"))
    })
}

fn fewer_lines(lines: u64, sealed: u64) -> Finding {
    let missing = lines + 1;
    let text = format!("{sealed} lines were sealed, and {lines} are left: line {missing} is missing");
    Finding::new(Code::LinesMissing, text).at(missing, None)
}

/// `line 6`, or `lines 6..=8`.
fn lines_text(first: u64, last: u64) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}..={last}") }
}

fn note_newline_missing(is_missing: bool, notes: &mut Vec<Finding>) {
    if is_missing {
        let text = "the bytes after the last newline are the last sealed line: all that is missing is its newline";
        notes.push(Finding::new(Code::FinalNewlineMissing, text));
    }
}

/// What a copy through some tools does to a whole file, told apart from what people do to it.
fn note_rewriting(line_ends: LineEnds, beginning: &[u8], notes: &mut Vec<Finding>) {
    let LineEnds { newlines, after_returns } = line_ends;
    if after_returns > 0 {
        let which = if after_returns == newlines {
            "every line ends".into()
        } else {
            format!("{after_returns} of {newlines} lines end")
        };
        let text = format!("{which} in CR LF: it went through something that rewrites line ends");
        notes.push(Finding::new(Code::LineEndsRewritten, text));
    }
    if beginning.starts_with(b"\xef\xbb\xbf") {
        let text = "it begins with a byte order mark, which is part of line 1: it went through something that adds one";
        notes.push(Finding::new(Code::ByteOrderMark, text));
    }
}

/// What became of the lines that another stream's seal points at.
fn compare_pointed(pointed: Pointed, beginning: &[u8], notes: &mut Vec<Finding>) -> Option<Finding> {
    let Pointed { pointer, head, .. } = pointed;
    if head == Some(pointer.head) {
        return None;
    }
    if is_truncated_record(beginning) {
        let text = "the record was truncated by policy after the session: what the trace's seal points at is gone";
        notes.push(Finding::new(Code::TruncatedByPolicy, text));
        return None;
    }
    Some(match head {
        None => {
            let text = format!("the trace's seal points at {} lines of it, and fewer are left", pointer.lines);
            Finding::new(Code::PointedLinesChanged, text)
        }
        Some(found) => {
            let text = format!("its first {} lines are not those that the trace's seal points at", pointer.lines);
            Finding::new(Code::PointedLinesChanged, text).hashes(pointer.head, found)
        }
    })
}
