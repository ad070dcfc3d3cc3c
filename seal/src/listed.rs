//! The listed chain: walking a stream whose line hashes stand in its seal, in constant memory beside them.

use alloc::format;
use alloc::string::String;

use sha2::{Digest, Sha256};

use crate::digest::{LineDigest, LineDigests, Wanted};
use crate::finding::{Code, Finding, Findings};
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
    /// The hash of those bytes, if there are any.
    pub(crate) torn_hash: Option<LineHash>,
    pub(crate) line_ends: LineEnds,
    /// Empty lines after the last line that is not empty.
    pub(crate) empty_at_end: u64,
    /// The lines that are not the recorded ones, in order.
    pub(crate) unlike: Findings,
    /// What such lines look like: lines that repeat others.
    pub(crate) looks: Findings,
    pub(crate) pointed: Option<Pointed>,
}

/// Walks a listed stream, fed with blocks of bytes of any size, comparing line hashes with the recorded ones as they come.
pub(crate) struct ListedWalker {
    walk: ListedWalk,
    partial: Sha256,
    partial_len: u64,
    /// The last byte that came.
    last_byte: Option<u8>,
    /// Where the next line begins.
    next_offset: u64,
    /// The recorded hash that the next line is held against.
    next_recorded: usize,
    /// A line that is not the recorded one. Whether it was edited or put in is told by the line after it.
    doubtful: Option<Doubtful>,
}

struct Doubtful {
    line: u64,
    offset: u64,
    hash: LineHash,
}

impl ListedWalker {
    pub(crate) fn new(counted_as: Lines) -> Self {
        let walk = ListedWalk {
            lines: 0,
            counted_as,
            torn_bytes: 0,
            torn_hash: None,
            line_ends: LineEnds::default(),
            empty_at_end: 0,
            unlike: Findings::new(),
            looks: Findings::new(),
            pointed: None,
        };
        ListedWalker {
            walk,
            partial: Sha256::new(),
            partial_len: 0,
            last_byte: None,
            next_offset: 0,
            next_recorded: 0,
            doubtful: None,
        }
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
                if self.partial_len > 0
                    && let Some(end) = memchr::memchr(b'\n', block)
                {
                    let line = self.end_partial(&block[..end]);
                    block = &block[end + 1..];
                    self.push(&line, recorded);
                }
                // If that line is still not at its end, there is no newline here.
                let mut lines = LineDigests::of(block, Wanted::Hash);
                for line in &mut lines {
                    self.push(&line, recorded);
                }
                block = lines.rest();
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
        self.walk.empty_at_end = if line.len == 0 { self.walk.empty_at_end + 1 } else { 0 };
        self.end_line(line.hash, line.len, recorded);
    }

    /// The end of the stream.
    pub(crate) fn finish(mut self, recorded: Option<&[LineHash]>) -> ListedWalk {
        match self.walk.counted_as {
            Lines::Complete => {
                self.walk.torn_bytes = self.partial_len;
                let partial = core::mem::take(&mut self.partial);
                self.walk.torn_hash = (self.partial_len > 0).then(|| LineHash::of_hasher(partial));
            }
            Lines::WholeFile => {
                let hash = LineHash::of_hasher(core::mem::take(&mut self.partial));
                self.end_line(hash, self.partial_len, recorded);
            }
        }
        if let Some(doubtful) = self.doubtful.take() {
            self.edited(&doubtful, recorded.unwrap_or_default());
        }
        self.walk
    }

    /// Ends a line that came in pieces.
    fn end_partial(&mut self, rest: &[u8]) -> LineDigest {
        self.partial.update(rest);
        let len = self.partial_len + rest.len() as u64;
        self.partial_len = 0;
        let last = rest.last().copied().or(self.last_byte);
        LineDigest::without_link(LineHash::of_hasher(core::mem::take(&mut self.partial)), len, last)
    }

    fn count_line_end(&mut self, after_return: bool) {
        self.walk.line_ends.newlines += 1;
        self.walk.line_ends.after_returns += u64::from(after_return);
    }

    fn end_line(&mut self, hash: LineHash, len: u64, recorded: Option<&[LineHash]>) {
        let walk = &mut self.walk;
        walk.lines += 1;
        if let Some(pointed) = &mut walk.pointed
            && pointed.head.is_none()
        {
            pointed.hasher.push(&hash);
            if walk.lines == pointed.pointer.lines {
                pointed.head = Some(pointed.hasher.head());
            }
        }
        if let Some(recorded) = recorded {
            let line = Doubtful { line: walk.lines, offset: self.next_offset, hash };
            self.compare(line, recorded);
        }
        self.next_offset += len + 1;
    }

    /// Holds a line against the recorded hashes. After a line that does not fit, the lines that follow are held against the
    /// hashes that they still fit, so that one inserted or removed line does not make every line behind it a finding.
    fn compare(&mut self, line: Doubtful, recorded: &[LineHash]) {
        if let Some(before) = self.doubtful.take() {
            if recorded.get(self.next_recorded) == Some(&line.hash) {
                self.inserted(&before, recorded);
                self.next_recorded += 1;
                return;
            }
            self.edited(&before, recorded);
            self.next_recorded += 1;
        }
        match (recorded.get(self.next_recorded), recorded.get(self.next_recorded + 1)) {
            // Beyond what is recorded.
            (None, _) => {}
            (Some(expected), _) if *expected == line.hash => self.next_recorded += 1,
            (Some(expected), Some(after)) if *after == line.hash => {
                let number = line.line;
                self.walk.unlike.add(|| {
                    let text = format!("line {number} is not what was sealed: the sealed line before it is missing");
                    Finding::new(Code::LineRemoved, text).at(number, Some(line.offset)).hashes(*expected, line.hash)
                });
                self.next_recorded += 2;
            }
            (Some(_), _) => self.doubtful = Some(line),
        }
    }

    fn edited(&mut self, line: &Doubtful, recorded: &[LineHash]) {
        let text = match self.walk.counted_as {
            Lines::Complete => format!("line {} is not what was sealed", line.line),
            Lines::WholeFile => "the file is not what was sealed".into(),
        };
        self.unlike(Code::LineChanged, text, line, recorded);
    }

    fn inserted(&mut self, line: &Doubtful, recorded: &[LineHash]) {
        let text = format!("line {} is not what was sealed: it was put in before the line that is", line.line);
        self.unlike(Code::LineInserted, text, line, recorded);
        let before = self.next_recorded.checked_sub(1).and_then(|index| recorded.get(index));
        if before == Some(&line.hash) {
            let (number, last) = (line.line, line.line - 1);
            self.walk.looks.add(|| {
                let text = format!("line {number} repeats line {last}");
                Finding::new(Code::LineRepeated, text).at(number, Some(line.offset))
            });
        }
    }

    fn unlike(&mut self, code: Code, text: String, line: &Doubtful, recorded: &[LineHash]) {
        let expected = recorded.get(self.next_recorded).copied();
        self.walk.unlike.add(|| Finding {
            code,
            line: Some(line.line),
            offset: Some(line.offset),
            expected,
            found: Some(line.hash),
            text,
        });
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
