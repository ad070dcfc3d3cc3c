//! The inline chain: what must be known to continue one, and walking one in constant memory.
//!
//! A line is whatever stands between two newlines. Its link names the hash of the line before it, and the link of the next
//! line covers all of it, so nothing about the rest of a line can mislead the walk.
//!
//! A line without a link cuts the chain: the next link covers that line, and nothing covers what stands before it. So the
//! first chained line after such a *gap* also carries `"gap_hash"`, the listed head over the last chained line and every
//! line of the gap.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};

use crate::hash::{LineHash, ListedHasher, line_hash};
use crate::link::{LineEnd, Prev, TAIL_LEN};

/// `chain` of a seal whose stream carries its own `prev_hash` on every line.
pub const CHAIN_INLINE: &str = "inline";
/// `chain` of a seal that lists every line's hash itself.
pub const CHAIN_LISTED: &str = "listed";
/// The `event_type` of the line in which a host says that the file was rewritten behind its back.
pub const TAMPERED_EVENT: &str = "record_tampered";

/// How a host's report of a rewritten file begins. The envelope of every event starts with its type.
const TAMPERED_PREFIX: &[u8] = b"{\"event_type\":\"record_tampered\"";

/// What must be known of a chain to continue it: its length, its last line's hash, and the gap at its end, if it ends
/// with lines that have no link.
#[derive(Debug, Clone)]
pub struct ChainState {
    lines: u64,
    last: LineHash,
    chained: u64,
    gap: Option<Gap>,
}

/// Lines without a link at the end of a chain.
#[derive(Debug, Clone)]
struct Gap {
    /// The first line that the next chained line has to bind: the last chained one, where there is one.
    first: u64,
    hashes: ListedHasher,
}

impl ChainState {
    /// A chain of no lines.
    pub fn new() -> Self {
        ChainState { lines: 0, last: LineHash::GENESIS, chained: 0, gap: None }
    }

    /// Whole lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The hash of the last line; [`LineHash::GENESIS`] when there is none.
    pub fn head(&self) -> LineHash {
        self.last
    }

    /// How many of the lines carry a link.
    pub fn chained_lines(&self) -> u64 {
        self.chained
    }

    /// What the next line must carry as `gap_hash`: `None` unless the chain ends with lines that have no link.
    pub fn gap_hash(&self) -> Option<LineHash> {
        self.gap.as_ref().map(|gap| gap.hashes.head())
    }

    /// Adds a line that carries a link. The caller vouches for the link.
    pub fn push_chained(&mut self, hash: LineHash) {
        self.gap = None;
        self.chained += 1;
        self.advance(hash);
    }

    /// Adds a line that carries none: a line torn by a crash, or one of another writer.
    pub fn push_unchained(&mut self, hash: LineHash) {
        let gap = self.gap.get_or_insert_with(|| {
            let mut hashes = ListedHasher::new();
            if self.lines > 0 {
                hashes.push(&self.last);
            }
            Gap { first: self.lines.max(1), hashes }
        });
        gap.hashes.push(&hash);
        self.advance(hash);
    }

    fn advance(&mut self, hash: LineHash) {
        self.last = hash;
        self.lines += 1;
    }
}

impl Default for ChainState {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBreak {
    /// The line that is not what the chain says it was, counted from 1.
    pub line: u64,
    /// Why, as a sentence fragment.
    pub reason: String,
}

/// Ranges of line numbers, as many as a report can use; the rest are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineRanges {
    shown: Vec<(u64, u64)>,
    lines: u64,
    open: bool,
}

impl LineRanges {
    const SHOWN: usize = 8;

    fn push(&mut self, line: u64) {
        self.lines += 1;
        let room = self.shown.len() < Self::SHOWN;
        match self.shown.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ if room => self.shown.push((line, line)),
            _ => self.open = true,
        }
    }

    /// How many lines there are.
    pub fn count(&self) -> u64 {
        self.lines
    }
}

impl fmt::Display for LineRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.lines == 1 { "line " } else { "lines " })?;
        for (index, (first, last)) in self.shown.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}..={last}")? }
        }
        if self.open {
            write!(f, " and more, {} in all", self.lines)?;
        }
        Ok(())
    }
}

/// What a walk over an inline chain found.
#[derive(Debug, Clone)]
pub struct InlineWalk {
    /// The chain after its last whole line.
    pub state: ChainState,
    /// Bytes after the last newline.
    pub torn_bytes: u64,
    /// The first line that does not fit, if any.
    pub broken: Option<ChainBreak>,
    /// The hash of the line that was watched for, if the stream reaches it.
    pub watched: Option<LineHash>,
    /// The lines that carry no link.
    pub unchained: LineRanges,
    /// Nothing binds lines `1..=unbound_through`: a gap after them was closed without a `gap_hash`.
    pub unbound_through: u64,
    /// Line 1 names as its predecessor something that is neither a hash nor [`GENESIS`](crate::GENESIS).
    pub foreign_genesis: bool,
    /// The first line in which the host says that it found the file rewritten.
    pub tampered: Option<u64>,
    /// Lines that end in a carriage return, which no writer of ours leaves.
    pub carriage_returns: u64,
}

impl InlineWalk {
    fn after(state: ChainState) -> Self {
        InlineWalk {
            state,
            torn_bytes: 0,
            broken: None,
            watched: None,
            unchained: LineRanges::default(),
            unbound_through: 0,
            foreign_genesis: false,
            tampered: None,
            carriage_returns: 0,
        }
    }
}

/// Walks an inline chain, fed with blocks of bytes of any size. Its memory does not depend on the length of a line or of
/// the stream.
#[derive(Debug, Clone)]
pub struct InlineWalker {
    walk: InlineWalk,
    watched_line: Option<u64>,
    partial: PartialLine,
}

impl InlineWalker {
    /// At the start of a stream.
    pub fn new() -> Self {
        Self::resume(ChainState::new())
    }

    /// After the lines of `state`. The first byte fed is the first of the next line.
    pub fn resume(state: ChainState) -> Self {
        InlineWalker { walk: InlineWalk::after(state), watched_line: None, partial: PartialLine::new() }
    }

    /// The same place in the stream, with nothing found yet: what is found from here on is new.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn onwards(self) -> Self {
        InlineWalker { walk: InlineWalk::after(self.walk.state), watched_line: None, partial: self.partial }
    }

    /// What was found so far. Bytes after the last newline are in [`torn_bytes`](Self::torn_bytes).
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn so_far(&self) -> &InlineWalk {
        &self.walk
    }

    /// Bytes fed since the last newline.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn torn_bytes(&self) -> u64 {
        self.partial.len
    }

    /// Keeps the hash of line `line`, counted from 1: the line that a seal says is the last it covers. Line 0 is the
    /// genesis.
    pub fn watch(mut self, line: u64) -> Self {
        self.watched_line = Some(line);
        if line == 0 {
            self.walk.watched = Some(LineHash::GENESIS);
        }
        self
    }

    /// Feeds the next bytes of the stream.
    pub fn update(&mut self, mut block: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (line, rest) = block.split_at(end);
            block = &rest[1..];
            if self.partial.is_empty() {
                self.push(LineDigest::of(line));
            } else {
                self.partial.extend(line);
                let whole = core::mem::replace(&mut self.partial, PartialLine::new());
                self.push(whole.digest());
            }
        }
        self.partial.extend(block);
    }

    /// The end of the stream.
    pub fn finish(mut self) -> InlineWalk {
        self.walk.torn_bytes = self.partial.len;
        self.walk
    }

    /// Adds the next line, which came whole. Only between lines: no bytes of this line may have been fed.
    pub(crate) fn push(&mut self, line: LineDigest) {
        let LineDigest { hash, ends_in_return, end, says_tampered } = line;
        let walk = &mut self.walk;
        let number = walk.state.lines() + 1;
        walk.carriage_returns += u64::from(ends_in_return);
        if says_tampered && walk.tampered.is_none() {
            walk.tampered = Some(number);
        }
        match end.prev {
            None => {
                walk.unchained.push(number);
                walk.state.push_unchained(hash);
            }
            Some(prev) => {
                let broken = check_link(walk, number, prev, end.gap);
                if walk.broken.is_none() {
                    walk.broken = broken;
                }
                walk.state.push_chained(hash);
            }
        }
        if self.watched_line == Some(number) {
            walk.watched = Some(hash);
            if walk.state.gap.is_some() {
                // The line that a seal ends on has no link, so it binds itself and nothing before it.
                walk.unbound_through = walk.unbound_through.max(number - 1);
            }
        }
    }
}

impl Default for InlineWalker {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks the link that line `number` carries against the lines before it.
fn check_link(walk: &mut InlineWalk, number: u64, prev: Prev, gap: Option<Option<LineHash>>) -> Option<ChainBreak> {
    let break_at = |line: u64, reason: String| Some(ChainBreak { line, reason });
    if number == 1 {
        if gap.is_some() {
            return break_at(1, "line 1 carries a gap_hash, but no line stands before it".into());
        }
        return match prev {
            Prev::Hash(LineHash::GENESIS) => None,
            Prev::Hash(_) => break_at(1, "line 1 names a line before it: the stream's beginning is missing".into()),
            Prev::Other => {
                walk.foreign_genesis = true;
                None
            }
        };
    }
    if prev != Prev::Hash(walk.state.head()) {
        return break_at(number - 1, alloc::format!("line {} is not the line that line {number} follows", number - 1));
    }
    let Some(open) = &walk.state.gap else {
        let reason = || alloc::format!("line {number} carries a gap_hash, but follows a chained line");
        return gap.and_then(|_| break_at(number, reason()));
    };
    match gap {
        None => {
            // This link binds line `number - 1`, which binds nothing itself.
            walk.unbound_through = walk.unbound_through.max(number - 2);
            None
        }
        Some(found) if found == Some(open.hashes.head()) => None,
        Some(_) => {
            let (first, last) = (open.first, number - 1);
            break_at(
                first,
                alloc::format!("one of lines {first}..={last} is not what line {number} binds by its gap_hash"),
            )
        }
    }
}

/// All that a walk needs to know of one line. It does not depend on any other line, so it may be found out on any core.
#[derive(Debug)]
pub(crate) struct LineDigest {
    pub(crate) hash: LineHash,
    pub(crate) ends_in_return: bool,
    end: LineEnd,
    says_tampered: bool,
}

impl LineDigest {
    /// Of a line without its newline.
    pub(crate) fn of(line: &[u8]) -> Self {
        Self::of_parts(line_hash(line), line, line.starts_with(TAMPERED_PREFIX))
    }

    /// Of a line of a listed stream, which has no link to be read.
    pub(crate) fn without_link(line: &[u8]) -> Self {
        Self::listed(line_hash(line), line.last().copied())
    }

    /// Of a line of a listed stream that came in pieces.
    pub(crate) fn listed(hash: LineHash, last: Option<u8>) -> Self {
        LineDigest { hash, ends_in_return: last == Some(b'\r'), end: LineEnd::UNCHAINED, says_tampered: false }
    }

    fn of_parts(hash: LineHash, tail: &[u8], says_tampered: bool) -> Self {
        // No more than what is kept of a line that came in pieces, so that the pieces make no difference.
        let end = LineEnd::read(&tail[tail.len().saturating_sub(TAIL_LEN)..]);
        LineDigest { hash, ends_in_return: tail.last() == Some(&b'\r'), end, says_tampered }
    }
}

/// A line that is not yet at its end.
#[derive(Debug, Clone)]
struct PartialLine {
    len: u64,
    hasher: Sha256,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl PartialLine {
    fn new() -> Self {
        PartialLine { len: 0, hasher: Sha256::new(), head: Vec::new(), tail: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn digest(self) -> LineDigest {
        LineDigest::of_parts(LineHash::of_hasher(self.hasher), &self.tail, self.head == TAMPERED_PREFIX)
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hasher.update(bytes);
        let wanted = TAMPERED_PREFIX.len().saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        let kept = TAIL_LEN.saturating_sub(bytes.len()).min(self.tail.len());
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_LEN)..]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;
    use crate::link::link;

    fn chain_of(events: &[&str]) -> String {
        let mut state = ChainState::new();
        let mut text = String::new();
        for event in events {
            let line = link(event, &state.head(), state.gap_hash().as_ref()).unwrap();
            state.push_chained(line_hash(line.as_bytes()));
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn walk(bytes: &[u8]) -> InlineWalk {
        let mut walker = InlineWalker::new();
        walker.update(bytes);
        walker.finish()
    }

    #[test]
    fn an_edit_is_found_by_the_link_of_the_next_line() {
        let text = chain_of(&["{\"event\":\"a\"}", "{\"event\":\"b\"}", "{\"event\":\"c\"}"]);
        assert_eq!(walk(text.as_bytes()).broken, None);
        assert_eq!(walk(text.replacen("\"b\"", "\"B\"", 1).as_bytes()).broken.unwrap().line, 2);
    }

    #[test]
    fn a_missing_beginning_is_found_on_line_one() {
        let text = chain_of(&["{\"event\":\"a\"}", "{\"event\":\"b\"}"]);
        let rest = text.split_once('\n').unwrap().1;
        assert_eq!(walk(rest.as_bytes()).broken.unwrap().line, 1);
    }

    #[test]
    fn a_gap_is_bound_by_the_next_chained_line() {
        let mut state = ChainState::new();
        let first = link("{\"event\":\"a\"}", &state.head(), None).unwrap();
        state.push_chained(line_hash(first.as_bytes()));
        for torn in ["{\"torn", "more"] {
            state.push_unchained(line_hash(torn.as_bytes()));
        }
        let gap = state.gap_hash();
        assert_eq!(gap, Some(listed_of(&[&first, "{\"torn", "more"])));
        let bound = link("{\"event\":\"b\"}", &state.head(), gap.as_ref()).unwrap();
        let text = alloc::format!("{first}\n{{\"torn\nmore\n{bound}\n");
        let good = walk(text.as_bytes());
        assert_eq!((good.broken, good.unbound_through, good.unchained.to_string()), (None, 0, "lines 2..=3".into()));
        // The first line of the gap is bound by the gap hash alone.
        assert_eq!(walk(text.replacen("torn", "TORN", 1).as_bytes()).broken.unwrap().line, 1);
        assert_eq!(walk(text.replacen("\"a\"", "\"A\"", 1).as_bytes()).broken.unwrap().line, 1);

        let unbound = link("{\"event\":\"b\"}", &state.head(), None).unwrap();
        let text = alloc::format!("{first}\n{{\"torn\nmore\n{unbound}\n");
        assert_eq!(walk(text.as_bytes()).unbound_through, 2);
    }

    fn listed_of(lines: &[&str]) -> LineHash {
        let hashes: Vec<LineHash> = lines.iter().map(|line| line_hash(line.as_bytes())).collect();
        crate::hash::listed_head(&hashes)
    }

    #[test]
    fn ranges_of_lines_stay_short() {
        let mut ranges = LineRanges::default();
        for line in (1..1000).step_by(2) {
            ranges.push(line);
        }
        assert_eq!(ranges.count(), 500);
        assert_eq!(ranges.to_string(), "lines 1, 3, 5, 7, 9, 11, 13, 15 and more, 500 in all");
    }

    proptest! {
        #[test]
        fn a_walk_does_not_depend_on_how_the_bytes_are_cut(
            lines in proptest::collection::vec("[a-z]{0,200}", 0..12),
            torn in "[a-z]{0,5}",
            foreign in proptest::collection::vec("[ -~]{0,300}", 0..3),
            cut in 1usize..400,
        ) {
            let events: Vec<String> = lines.iter().map(|text| alloc::format!("{{\"event_type\":\"{text}\"}}")).collect();
            let mut text = chain_of(&events.iter().map(String::as_str).collect::<Vec<_>>());
            for line in foreign {
                text.push_str(&line);
                text.push('\n');
            }
            text.push_str(&torn);
            let whole = walk(text.as_bytes());
            let mut walker = InlineWalker::new();
            for block in text.as_bytes().chunks(cut) {
                walker.update(block);
            }
            let cut = walker.finish();
            prop_assert_eq!(alloc::format!("{whole:?}"), alloc::format!("{cut:?}"));
        }

        #[test]
        fn any_bytes_are_walked_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let walk = walk(&bytes);
            prop_assert_eq!(walk.state.lines(), bytes.iter().filter(|&&byte| byte == b'\n').count() as u64);
        }
    }

    #[test]
    fn a_hosts_own_report_of_tampering_is_seen_however_the_line_is_cut() {
        let text = chain_of(&["{\"event_type\":\"a\"}", "{\"event_type\":\"record_tampered\",\"x\":1}"]);
        for cut in [1, 7, text.len()] {
            let mut walker = InlineWalker::new();
            for block in text.as_bytes().chunks(cut) {
                walker.update(block);
            }
            assert_eq!(walker.finish().tampered, Some(2), "cut {cut}");
        }
        assert_eq!(TAMPERED_PREFIX, alloc::format!("{{\"event_type\":\"{TAMPERED_EVENT}\"").as_bytes());
    }
}
