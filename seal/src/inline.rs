//! Walking an inline chain: every line's hash against the link of the next, in one pass and constant memory.
//!
//! The walk goes on after the first line that does not fit: what follows it is held against what is there.

use alloc::boxed::Box;
use alloc::format;

use crate::chain::{ChainState, LineRanges};
use crate::digest::{LineDigest, LineDigests, PartialLine, Says, Wanted};
use crate::finding::{Code, Finding, Findings};
use crate::hash::LineHash;
use crate::link::Prev;

/// What a walk over an inline chain found.
#[derive(Debug, Clone)]
pub struct InlineWalk {
    /// The chain after its last whole line.
    pub state: ChainState,
    /// Bytes after the last newline.
    pub torn_bytes: u64,
    /// The hash of those bytes, if there are any: what the line's hash would be if its newline were there.
    pub torn_hash: Option<LineHash>,
    /// The lines that do not fit, in order.
    pub breaks: Findings,
    /// What the breaks look like: lines that repeat others, or follow a line that another one follows already.
    pub looks: Findings,
    /// The line that was watched for, if the stream reaches it.
    pub watched: Option<WatchedLine>,
    /// The lines that carry no link.
    pub unchained: LineRanges,
    /// Nothing binds lines `1..=unbound_through`: a gap after them was closed without a `gap_hash`.
    pub unbound_through: u64,
    /// Line 1 names as its predecessor something that is neither a hash nor [`GENESIS`](crate::GENESIS).
    pub foreign_genesis: bool,
    /// The first line in which the host says that it found the file rewritten, and where it begins.
    pub tampered: Option<(u64, u64)>,
    /// The first line that says that the session ended.
    pub ended: Option<u64>,
    /// Lines that end in a carriage return, which no writer of ours leaves.
    pub carriage_returns: u64,
    /// Empty lines after the last line that is not empty.
    pub empty_at_end: u64,
}

/// The line that a walk was told to watch for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedLine {
    /// Where it begins: bytes from the first byte that was fed.
    pub offset: u64,
    /// Its hash.
    pub hash: LineHash,
}

impl InlineWalk {
    fn after(state: ChainState) -> Self {
        InlineWalk {
            state,
            torn_bytes: 0,
            torn_hash: None,
            breaks: Findings::new(),
            looks: Findings::new(),
            watched: None,
            unchained: LineRanges::default(),
            unbound_through: 0,
            foreign_genesis: false,
            tampered: None,
            ended: None,
            carriage_returns: 0,
            empty_at_end: 0,
        }
    }
}

/// Walks an inline chain, fed with blocks of bytes of any size. Its memory does not depend on the length of a line or of
/// the stream. Offsets count from the first byte that is fed.
#[derive(Debug, Clone)]
pub struct InlineWalker {
    walk: InlineWalk,
    watched_line: Option<u64>,
    partial: PartialLine,
    at: Offsets,
    recent: Option<Box<Recent>>,
}

/// Where the lines begin that a finding may be about.
#[derive(Debug, Clone, Copy, Default)]
struct Offsets {
    next: u64,
    last: u64,
    /// Of the first line that an open gap's `gap_hash` has to bind.
    gap: u64,
}

impl InlineWalker {
    /// At the start of a stream.
    pub fn new() -> Self {
        Self::resume(ChainState::new())
    }

    /// After the lines of `state`. The first byte fed is the first of the next line.
    pub fn resume(state: ChainState) -> Self {
        InlineWalker {
            walk: InlineWalk::after(state),
            watched_line: None,
            partial: PartialLine::new(),
            at: Offsets::default(),
            recent: None,
        }
    }

    /// Also finds out what breaks look like, from the last lines' hashes, which it keeps for that.
    pub(crate) fn looking_closer(mut self) -> Self {
        self.recent = Some(Box::default());
        self
    }

    /// The same place in the stream, with nothing found yet: what is found from here on is new.
    #[cfg(all(feature = "std", unix))]
    pub(crate) fn onwards(self) -> Self {
        InlineWalker { walk: InlineWalk::after(self.walk.state), watched_line: None, ..self }
    }

    /// What was found so far. Bytes after the last newline are in [`torn_bytes`](Self::torn_bytes).
    pub fn so_far(&self) -> &InlineWalk {
        &self.walk
    }

    /// Bytes fed since the last newline.
    pub fn torn_bytes(&self) -> u64 {
        self.partial.len()
    }

    /// Keeps the hash of line `line`, counted from 1: the line that a seal says is the last it covers. Line 0 is the
    /// genesis.
    pub fn watch(mut self, line: u64) -> Self {
        self.watched_line = Some(line);
        if line == 0 {
            self.walk.watched = Some(WatchedLine { offset: 0, hash: LineHash::GENESIS });
        }
        self
    }

    /// Feeds the next bytes of the stream.
    pub fn update(&mut self, mut block: &[u8]) {
        if !self.partial.is_empty()
            && let Some(end) = memchr::memchr(b'\n', block)
        {
            self.partial.extend(&block[..end]);
            block = &block[end + 1..];
            let whole = core::mem::replace(&mut self.partial, PartialLine::new());
            self.push(&whole.digest());
        }
        // If that line is still not at its end, there is no newline here.
        let mut lines = LineDigests::of(block, Wanted::Link);
        for line in &mut lines {
            self.push(&line);
        }
        self.partial.extend(lines.rest());
    }

    /// The end of the stream.
    pub fn finish(mut self) -> InlineWalk {
        self.walk.torn_bytes = self.partial.len();
        self.walk.torn_hash = (!self.partial.is_empty()).then(|| self.partial.hash());
        self.walk
    }

    /// Adds the next line, which came whole. Only between lines: no bytes of this line may have been fed.
    #[inline]
    pub(crate) fn push(&mut self, line: &LineDigest) {
        let LineDigest { hash, len, ends_in_return, ref end, says } = *line;
        let walk = &mut self.walk;
        let number = walk.state.lines() + 1;
        let offset = self.at.next;
        walk.carriage_returns += u64::from(ends_in_return);
        walk.empty_at_end = if len == 0 { walk.empty_at_end + 1 } else { 0 };
        match says {
            Says::Nothing => {}
            Says::Tampered => walk.tampered = walk.tampered.or(Some((number, offset))),
            Says::Ended => walk.ended = walk.ended.or(Some(number)),
        }
        match &end.prev {
            None => {
                walk.unchained.push(number);
                if walk.state.gap_first().is_none() {
                    self.at.gap = if number == 1 { offset } else { self.at.last };
                }
                walk.state.push_unchained(hash);
            }
            Some(prev) => {
                if let Some(found) = check_link(walk, self.at, number, prev, end.gap.as_deref()) {
                    if let (Some(recent), Prev::Hash(named)) = (&self.recent, prev)
                        && let Some(look) = recent.look_of(number, offset, *named, hash)
                    {
                        walk.looks.add(|| look);
                    }
                    walk.breaks.add(|| found);
                }
                walk.state.push_chained(hash);
            }
        }
        if self.watched_line == Some(number) {
            walk.watched = Some(WatchedLine { offset, hash });
            if walk.state.gap_first().is_some() {
                // The line that a seal ends on has no link, so it binds itself and nothing before it.
                walk.unbound_through = walk.unbound_through.max(number - 1);
            }
        }
        if let Some(recent) = &mut self.recent {
            recent.push(number, hash);
        }
        self.at.last = offset;
        self.at.next = offset + len + 1;
    }
}

impl Default for InlineWalker {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks the link that line `number` carries against the lines before it.
fn check_link(
    walk: &mut InlineWalk,
    at: Offsets,
    number: u64,
    prev: &Prev,
    gap: Option<&Option<LineHash>>,
) -> Option<Finding> {
    let this = |code, text: &str| Some(Finding::new(code, text).at(number, Some(at.next)));
    if number == 1 {
        if gap.is_some() {
            return this(Code::GapMisplaced, "line 1 carries a gap_hash, but no line stands before it");
        }
        return match prev {
            Prev::Hash(hash) if *hash == LineHash::GENESIS => None,
            Prev::Hash(_) => {
                this(Code::BeginningMissing, "line 1 names a line before it: the stream's beginning is missing")
            }
            Prev::Other => {
                walk.foreign_genesis = true;
                None
            }
        };
    }
    let last = number - 1;
    if *prev != Prev::Hash(walk.state.head()) {
        let text = format!("line {last} is not the line that line {number} follows");
        let found = Finding::new(Code::LineChanged, text).at(last, Some(at.last));
        return Some(match prev {
            Prev::Hash(named) => found.hashes(*named, walk.state.head()),
            Prev::Other => found,
        });
    }
    let (Some(first), Some(bound)) = (walk.state.gap_first(), walk.state.gap_hash()) else {
        return gap.and_then(|_| {
            this(Code::GapMisplaced, &format!("line {number} carries a gap_hash, but follows a chained line"))
        });
    };
    match gap {
        None => {
            // This link binds line `number - 1`, which binds nothing itself.
            walk.unbound_through = walk.unbound_through.max(number - 2);
            None
        }
        Some(found) if *found == Some(bound) => None,
        Some(named) => {
            let text = format!("one of lines {first}..={last} is not what line {number} binds by its gap_hash");
            let found = Finding::new(Code::GapChanged, text).at(first, Some(at.gap));
            Some(match named {
                Some(named) => found.hashes(*named, bound),
                None => found,
            })
        }
    }
}

/// The hashes of the last lines, by which a break is told to be a repeated line or a fork.
#[derive(Debug, Clone)]
struct Recent {
    hashes: [LineHash; Recent::LINES],
    /// Lines seen in all; line `n` is at `n` modulo the room there is.
    lines: u64,
}

impl Recent {
    const LINES: usize = 64;

    fn place(line: u64) -> usize {
        // The remainder is smaller than the array.
        (line % Recent::LINES as u64) as usize
    }

    fn push(&mut self, line: u64, hash: LineHash) {
        self.hashes[Self::place(line)] = hash;
        self.lines = line;
    }

    /// What line `number` is, which names `named` and not the line before it.
    fn look_of(&self, number: u64, offset: u64, named: LineHash, hash: LineHash) -> Option<Finding> {
        let first = self.lines.saturating_sub(Recent::LINES as u64 - 1).max(1);
        let follows = (first..=self.lines).rev().find(|line| self.hashes[Self::place(*line)] == named);
        // A line that follows the genesis again.
        let follows = follows.or_else(|| (named == LineHash::GENESIS && first == 1).then_some(0))?;
        let twin = follows + 1;
        let repeats = self.hashes[Self::place(twin)] == hash;
        let (code, text) = if repeats {
            (Code::LineRepeated, format!("line {number} repeats line {twin}"))
        } else if follows == 0 {
            (Code::ChainForked, format!("line {number} begins a chain, as line 1 does: another writer's, or put in"))
        } else {
            (
                Code::ChainForked,
                format!(
                    "line {number} follows line {follows}, as line {twin} does: two writers did not wait for each other, \
                     or lines were put in between"
                ),
            )
        };
        Some(Finding::new(code, text).at(number, Some(offset)))
    }
}

impl Default for Recent {
    fn default() -> Self {
        Recent { hashes: [LineHash::GENESIS; Recent::LINES], lines: 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::{String, ToString};

    use proptest::prelude::*;

    use super::*;
    use crate::chain::TAMPERED_EVENT;
    use crate::digest::TAMPERED_PREFIX;
    use crate::hash::line_hash;
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
        assert_eq!(walk(text.as_bytes()).breaks.first(), None);
        assert_eq!(walk(text.replacen("\"b\"", "\"B\"", 1).as_bytes()).breaks.first().unwrap().line, Some(2));
    }

    #[test]
    fn a_missing_beginning_is_found_on_line_one() {
        let text = chain_of(&["{\"event\":\"a\"}", "{\"event\":\"b\"}"]);
        let rest = text.split_once('\n').unwrap().1;
        assert_eq!(walk(rest.as_bytes()).breaks.first().unwrap().line, Some(1));
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
        let text = format!("{first}\n{{\"torn\nmore\n{bound}\n");
        let good = walk(text.as_bytes());
        assert_eq!(
            (good.breaks.first(), good.unbound_through, good.unchained.to_string()),
            (None, 0, "lines 2..=3".into())
        );
        // The first line of the gap is bound by the gap hash alone.
        assert_eq!(walk(text.replacen("torn", "TORN", 1).as_bytes()).breaks.first().unwrap().line, Some(1));
        assert_eq!(walk(text.replacen("\"a\"", "\"A\"", 1).as_bytes()).breaks.first().unwrap().line, Some(1));

        let unbound = link("{\"event\":\"b\"}", &state.head(), None).unwrap();
        let text = format!("{first}\n{{\"torn\nmore\n{unbound}\n");
        assert_eq!(walk(text.as_bytes()).unbound_through, 2);
    }

    fn listed_of(lines: &[&str]) -> LineHash {
        let hashes: Vec<LineHash> = lines.iter().map(|line| line_hash(line.as_bytes())).collect();
        crate::hash::listed_head(&hashes)
    }

    proptest! {
        #[test]
        fn a_walk_does_not_depend_on_how_the_bytes_are_cut(
            lines in proptest::collection::vec("[a-z]{0,200}", 0..12),
            torn in "[a-z]{0,5}",
            foreign in proptest::collection::vec("[ -~]{0,300}", 0..3),
            cut in 1usize..400,
        ) {
            let events: Vec<String> = lines.iter().map(|text| format!("{{\"event_type\":\"{text}\"}}")).collect();
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
            prop_assert_eq!(format!("{whole:?}"), format!("{cut:?}"));
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
            let first = text.find('\n').unwrap() as u64 + 1;
            assert_eq!(walker.finish().tampered, Some((2, first)), "cut {cut}");
        }
        assert_eq!(TAMPERED_PREFIX, format!("{{\"event_type\":\"{TAMPERED_EVENT}\"").as_bytes());
    }
}
