//! The inline chain: what must be known of one to continue it.
//!
//! A line is whatever stands between two newlines. Its link names the hash of the line before it, and the link of the next
//! line covers all of it, so nothing about the rest of a line can mislead the walk.
//!
//! A line without a link cuts the chain: the next link covers that line, and nothing covers what stands before it. So the
//! first chained line after such a *gap* also carries `"gap_hash"`, the listed head over the last chained line and every
//! line of the gap.

use alloc::vec::Vec;
use core::fmt;

use crate::hash::{LineHash, ListedHasher};

/// `chain` of a seal whose stream carries its own `prev_hash` on every line.
pub const CHAIN_INLINE: &str = "inline";
/// `chain` of a seal that lists every line's hash itself.
pub const CHAIN_LISTED: &str = "listed";
/// The `event_type` of the line in which a host says that the file was rewritten behind its back.
pub const TAMPERED_EVENT: &str = "record_tampered";

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

    /// The first line that the next chained line has to bind by its `gap_hash`: `None` unless the chain ends with lines that
    /// have no link.
    pub(crate) fn gap_first(&self) -> Option<u64> {
        self.gap.as_ref().map(|gap| gap.first)
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

/// Ranges of line numbers, as many as a report can use; the rest are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineRanges {
    shown: Vec<(u64, u64)>,
    lines: u64,
    open: bool,
}

impl LineRanges {
    const SHOWN: usize = 8;

    pub(crate) fn push(&mut self, line: u64) {
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

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ranges_of_lines_stay_short() {
        let mut ranges = LineRanges::default();
        for line in (1..1000).step_by(2) {
            ranges.push(line);
        }
        assert_eq!(ranges.count(), 500);
        assert_eq!(ranges.to_string(), "lines 1, 3, 5, 7, 9, 11, 13, 15 and more, 500 in all");
    }
}
