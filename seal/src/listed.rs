//! The listed chain: walking a stream whose line hashes stand in its seal, in constant memory beside them.

use sha2::{Digest, Sha256};

use alloc::string::String;

use crate::chain::LineDigest;
use crate::hash::{LineHash, ListedHasher};
use crate::seal::ConversationPointer;

/// What counts as a line of a listed stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// The bytes before each newline.
    Complete,
    /// The whole file, its newlines included, is one line.
    WholeFile,
}

/// Newlines, and how many of them follow a carriage return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineEnds {
    pub(crate) newlines: u64,
    pub(crate) after_returns: u64,
}

/// Another stream's pointer to the first lines of this one, and the head that they have.
pub(crate) struct Pointed {
    pub(crate) pointer: ConversationPointer,
    /// `None` until there are so many lines.
    pub(crate) head: Option<LineHash>,
    hasher: ListedHasher,
}

/// What a walk over a listed stream found.
pub(crate) struct ListedWalk {
    pub(crate) lines: u64,
    pub(crate) counted_as: Lines,
    /// Bytes after the last newline.
    pub(crate) torn_bytes: u64,
    pub(crate) line_ends: LineEnds,
    /// The first line whose hash is not the recorded one.
    pub(crate) edited: Option<u64>,
    pub(crate) pointed: Option<Pointed>,
}

/// Walks a listed stream, fed with blocks of bytes of any size, comparing line hashes with the recorded ones as they come.
pub(crate) struct ListedWalker {
    walk: ListedWalk,
    partial: Sha256,
    partial_len: u64,
    /// The last byte that came.
    last_byte: Option<u8>,
}

impl ListedWalker {
    pub(crate) fn new(counted_as: Lines) -> Self {
        let walk = ListedWalk {
            lines: 0,
            counted_as,
            torn_bytes: 0,
            line_ends: LineEnds::default(),
            edited: None,
            pointed: None,
        };
        ListedWalker { walk, partial: Sha256::new(), partial_len: 0, last_byte: None }
    }

    #[cfg(all(feature = "std", unix))]
    pub(crate) fn counts(&self) -> Lines {
        self.walk.counted_as
    }

    /// Also finds the head of the lines that `pointer` names.
    pub(crate) fn point_at(&mut self, pointer: ConversationPointer) {
        let hasher = ListedHasher::new();
        let head = (pointer.lines == 0).then(|| hasher.head());
        self.walk.pointed = Some(Pointed { pointer, head, hasher });
    }

    /// Feeds the next bytes. `recorded`: the seal's line hashes, if there are any.
    pub(crate) fn update(&mut self, mut block: &[u8], recorded: Option<&[LineHash]>) {
        match self.walk.counted_as {
            Lines::Complete => {
                while let Some(end) = memchr::memchr(b'\n', block) {
                    let (line, rest) = block.split_at(end);
                    block = &rest[1..];
                    let whole = self.partial_len == 0;
                    let digest = if whole { LineDigest::without_link(line) } else { self.end_partial(line) };
                    self.push(&digest, recorded);
                }
            }
            Lines::WholeFile => {
                for end in memchr::memchr_iter(b'\n', block) {
                    let before = if end == 0 { self.last_byte } else { block.get(end - 1).copied() };
                    self.count_line_end(before == Some(b'\r'));
                }
            }
        }
        self.partial.update(block);
        self.partial_len += block.len() as u64;
        self.last_byte = block.last().copied().or(self.last_byte);
    }

    /// Adds the next line, which came whole. Only between lines.
    pub(crate) fn push(&mut self, line: &LineDigest, recorded: Option<&[LineHash]>) {
        self.count_line_end(line.ends_in_return);
        self.end_line(line.hash, recorded);
    }

    /// The end of the stream.
    pub(crate) fn finish(mut self, recorded: Option<&[LineHash]>) -> ListedWalk {
        match self.walk.counted_as {
            Lines::Complete => self.walk.torn_bytes = self.partial_len,
            Lines::WholeFile => {
                let hash = LineHash::of_hasher(core::mem::take(&mut self.partial));
                self.end_line(hash, recorded);
            }
        }
        self.walk
    }

    /// Ends a line that came in pieces.
    fn end_partial(&mut self, rest: &[u8]) -> LineDigest {
        self.partial.update(rest);
        self.partial_len = 0;
        let last = rest.last().copied().or(self.last_byte);
        LineDigest::listed(LineHash::of_hasher(core::mem::take(&mut self.partial)), last)
    }

    fn count_line_end(&mut self, after_return: bool) {
        self.walk.line_ends.newlines += 1;
        self.walk.line_ends.after_returns += u64::from(after_return);
    }

    fn end_line(&mut self, hash: LineHash, recorded: Option<&[LineHash]>) {
        let walk = &mut self.walk;
        let index = usize::try_from(walk.lines).ok();
        walk.lines += 1;
        let recorded = recorded.zip(index).and_then(|(hashes, index)| hashes.get(index));
        if walk.edited.is_none() && recorded.is_some_and(|recorded| *recorded != hash) {
            walk.edited = Some(walk.lines);
        }
        if let Some(pointed) = &mut walk.pointed
            && pointed.head.is_none()
        {
            pointed.hasher.push(&hash);
            if walk.lines == pointed.pointer.lines {
                pointed.head = Some(pointed.hasher.head());
            }
        }
    }
}

/// Whether the first line of a conversation record is a header that says that the record was truncated.
pub(crate) fn is_truncated_record(first_line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Header {
        r#type: String,
        truncated: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Header>(first_line)
        .is_ok_and(|header| header.r#type == "murmur.record" && header.truncated.is_some())
}
