//! All that a walk needs to know of a line. It does not depend on any other line, so it may be found out on any core, and
//! for several lines at once.

use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::hash::LineHash;
use crate::lanes::hash_lines;
use crate::link::{LineEnd, TAIL_LEN};

/// How a host's report of a rewritten file begins. The envelope of every event starts with its type.
pub(crate) const TAMPERED_PREFIX: &[u8] = b"{\"event_type\":\"record_tampered\"";
/// How the last event of a session begins.
const END_PREFIX: &[u8] = b"{\"event_type\":\"session_end\"";

/// Lines that are looked at at once: enough for their hashes to be made side by side.
const BATCH: usize = 16;

/// What the beginning of a line says to those who check the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// That the host found the file rewritten.
    Tampered,
    /// That the session ended.
    Ended,
    Nothing,
}

impl Says {
    #[inline]
    fn of(line: &[u8]) -> Self {
        if line.starts_with(TAMPERED_PREFIX) {
            Says::Tampered
        } else if line.starts_with(END_PREFIX) {
            Says::Ended
        } else {
            Says::Nothing
        }
    }
}

/// How much of its lines a stream's walk has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of a line of an inline chain.
    Link,
    /// What there is to know of a line of a listed stream, which carries no link.
    Hash,
}

/// What is known of a line.
#[derive(Debug)]
pub(crate) struct LineDigest {
    pub(crate) hash: LineHash,
    /// Bytes, the newline not counted.
    pub(crate) len: u64,
    pub(crate) ends_in_return: bool,
    pub(crate) end: LineEnd,
    pub(crate) says: Says,
}

impl LineDigest {
    #[inline]
    fn of(line: &[u8], hash: LineHash, wanted: Wanted) -> Self {
        let len = line.len() as u64;
        match wanted {
            Wanted::Link => Self::of_parts(hash, len, line, Says::of(line)),
            Wanted::Hash => Self::without_link(hash, len, line.last().copied()),
        }
    }

    /// Of a line of a listed stream that ends with the byte `last`.
    pub(crate) fn without_link(hash: LineHash, len: u64, last: Option<u8>) -> Self {
        LineDigest { hash, len, ends_in_return: last == Some(b'\r'), end: LineEnd::UNCHAINED, says: Says::Nothing }
    }

    fn of_parts(hash: LineHash, len: u64, tail: &[u8], says: Says) -> Self {
        // No more than what is kept of a line that came in pieces, so that the pieces make no difference.
        let end = LineEnd::read(&tail[tail.len().saturating_sub(TAIL_LEN)..]);
        LineDigest { hash, len, ends_in_return: tail.last() == Some(&b'\r'), end, says }
    }
}

/// The digests of the lines that lie whole in some bytes, in their order.
pub(crate) struct LineDigests<'a> {
    /// What was not looked at yet.
    rest: &'a [u8],
    wanted: Wanted,
    lines: [&'a [u8]; BATCH],
    hashes: [LineHash; BATCH],
    /// The lines of the batch, and how many of them were given away.
    filled: usize,
    given: usize,
}

impl<'a> LineDigests<'a> {
    /// Of the lines in `bytes`, which begin with the first byte of a line.
    pub(crate) fn of(bytes: &'a [u8], wanted: Wanted) -> Self {
        let hashes = [LineHash::GENESIS; BATCH];
        LineDigests { rest: bytes, wanted, lines: [&[]; BATCH], hashes, filled: 0, given: 0 }
    }

    /// Once there are no more: the bytes behind the last newline.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn next_batch(&mut self) {
        self.given = 0;
        self.filled = 0;
        while self.filled < BATCH
            && let Some(end) = memchr::memchr(b'\n', self.rest)
        {
            self.lines[self.filled] = &self.rest[..end];
            self.rest = &self.rest[end + 1..];
            self.filled += 1;
        }
        hash_lines(&self.lines[..self.filled], &mut self.hashes[..self.filled]);
    }
}

impl Iterator for LineDigests<'_> {
    type Item = LineDigest;

    #[inline]
    fn next(&mut self) -> Option<LineDigest> {
        if self.given == self.filled {
            self.next_batch();
        }
        let at = self.given;
        (at < self.filled).then(|| {
            self.given += 1;
            LineDigest::of(self.lines[at], self.hashes[at], self.wanted)
        })
    }
}

/// A line that is not yet at its end. Its memory does not depend on its length.
#[derive(Debug, Clone)]
pub(crate) struct PartialLine {
    len: u64,
    hasher: Sha256,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl PartialLine {
    pub(crate) fn new() -> Self {
        PartialLine { len: 0, hasher: Sha256::new(), head: Vec::new(), tail: Vec::new() }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn hash(self) -> LineHash {
        LineHash::of_hasher(self.hasher)
    }

    pub(crate) fn digest(self) -> LineDigest {
        LineDigest::of_parts(LineHash::of_hasher(self.hasher), self.len, &self.tail, Says::of(&self.head))
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hasher.update(bytes);
        let wanted = TAMPERED_PREFIX.len().saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        let kept = TAIL_LEN.saturating_sub(bytes.len()).min(self.tail.len());
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_LEN)..]);
    }
}
