//! What a copy through some tools does to a file, told apart from what people do to it.
//!
//! A stream that reads as changed is looked at once more around the first lines that do not fit. A diagnosis is made only
//! where it is proven: undone, the damage gives the very line whose hash the chain or the seal names. It never changes the
//! verdict.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::hash::{LineHash, line_hash};
use crate::listed::Lines;
use crate::report::StreamReport;
use crate::verdict::Verdict;

/// Bytes looked at before a line that does not fit; behind it, as many as the buffer holds.
const BEFORE: u64 = 64 * 1024;
/// Lines that do not fit, and are looked at.
const LINES: usize = 4;
/// Places in one line at which it is taken apart.
const PLACES: usize = 16;

/// Characters that some programs take for the end of a line, as their users know them.
const SEPARATORS: [(&str, &[u8]); 9] = [
    ("U+2028", "\u{2028}".as_bytes()),
    ("U+2029", "\u{2029}".as_bytes()),
    ("U+0085", "\u{85}".as_bytes()),
    ("a vertical tab", b"\x0b"),
    ("a form feed", b"\x0c"),
    ("a carriage return", b"\r"),
    ("U+001C", b"\x1c"),
    ("U+001D", b"\x1d"),
    ("U+001E", b"\x1e"),
];

/// Adds to `report` what is proven of the damage. `read` gives the stream's bytes from an offset on, as far as the buffer
/// reaches.
pub(crate) fn examine<E>(
    report: &mut StreamReport,
    kind: Lines,
    block: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<usize, E>,
) -> Result<(), E> {
    if report.verdict != Verdict::Changed {
        return Ok(());
    }
    let unlike: Vec<(u64, u64, LineHash)> = report
        .findings
        .iter()
        .filter(|found| matches!(found.code, Code::LineChanged | Code::LineInserted | Code::LineRemoved))
        .filter_map(|found| Some((found.line?, found.offset?, found.expected?)))
        .take(LINES)
        .collect();
    for (line, offset, expected) in unlike {
        let proven = match kind {
            Lines::WholeFile => {
                let filled = read(0, block)?;
                // A file that does not fit into the buffer is not looked at.
                if filled == block.len() { None } else { end_of_file(&block[..filled], expected) }
            }
            Lines::Complete => {
                let start = offset.saturating_sub(BEFORE);
                let filled = read(start, block)?;
                // The difference is at most `BEFORE`.
                Window::around(&block[..filled], (offset - start) as usize, start, line)
                    .and_then(|window| window.explain(expected))
            }
        };
        if let Some(proven) = proven {
            report.note(proven);
            return Ok(());
        }
    }
    Ok(())
}

/// Whether newlines at a whole file's end are all that is wrong with it.
/// Line ends that are taken away, one after the other: more than any program adds.
const MOST_LINE_ENDS: usize = 16;

fn end_of_file(bytes: &[u8], expected: LineHash) -> Option<Finding> {
    let with_one = [bytes, b"\n"].concat();
    if line_hash(&with_one) == expected {
        let text = "all that the file lacks is the newline at its end";
        return Some(Finding::new(Code::FinalNewlineMissing, text));
    }
    let mut shorter = bytes;
    for _ in 0..MOST_LINE_ENDS {
        let Some(rest) = shorter.strip_suffix(b"\n") else { break };
        shorter = rest;
        if line_hash(shorter) == expected {
            let text = "all that is too much are line ends at the end of the file";
            return Some(Finding::new(Code::FinalNewlineDoubled, text));
        }
    }
    None
}

/// Whole lines around one that does not fit.
struct Window<'a> {
    lines: Vec<&'a [u8]>,
    /// The number of the first, and where each of them begins.
    first: u64,
    offsets: Vec<u64>,
}

impl<'a> Window<'a> {
    /// The line that begins at `at`, and up to two on either side of it.
    fn around(bytes: &'a [u8], at: usize, start: u64, line: u64) -> Option<Self> {
        let (before, from) = bytes.split_at_checked(at)?;
        let before = before.strip_suffix(b"\n").unwrap_or_default();
        let mut earlier: Vec<&[u8]> = before.rsplit(|byte| *byte == b'\n').take(2).collect();
        if start > 0 && earlier.len() < 2 {
            // It begins before the window.
            earlier.pop();
        }
        if at == 0 {
            earlier.clear();
        }
        let mut later: Vec<&[u8]> = from.split(|byte| *byte == b'\n').take(4).collect();
        if later.len() < 4 {
            // What follows the last newline is no whole line.
            later.pop();
        }
        later.truncate(3);
        let first = line - earlier.len() as u64;
        let lines: Vec<&[u8]> = earlier.into_iter().rev().chain(later).collect();
        let offset_of = |line: &&[u8]| start + (line.as_ptr() as usize - bytes.as_ptr() as usize) as u64;
        let offsets = lines.iter().map(offset_of).collect();
        Some(Window { lines, first, offsets })
    }

    /// Finds the line of hash `expected` in pieces of the lines, or in lines put together.
    fn explain(&self, expected: LineHash) -> Option<Finding> {
        self.split(expected).or_else(|| self.joined(expected))
    }

    fn at(&self, index: usize, code: Code, text: String) -> Finding {
        Finding::new(code, text).at(self.first + index as u64, self.offsets.get(index).copied())
    }

    fn split(&self, expected: LineHash) -> Option<Finding> {
        for count in [2, 3] {
            for (index, lines) in self.lines.windows(count).enumerate() {
                for (name, separator) in SEPARATORS {
                    if line_hash(&lines.join(separator)) == expected {
                        let (first, last) = (self.first + index as u64, self.first + (index + count - 1) as u64);
                        let text = format!(
                            "lines {first}..={last} with {name} between them are the line that was there: something took \
                             that character for the end of a line"
                        );
                        return Some(self.at(index, Code::LineSplit, text));
                    }
                }
            }
        }
        None
    }

    fn joined(&self, expected: LineHash) -> Option<Finding> {
        let one_of_two_is_it = |first: &[u8], second: &[u8]| {
            !first.is_empty() && !second.is_empty() && [first, second].map(line_hash).contains(&expected)
        };
        for (index, line) in self.lines.iter().enumerate() {
            let number = self.first + index as u64;
            for (name, separator) in SEPARATORS {
                let mut places = memchr::memmem::find_iter(line, separator).take(PLACES);
                if places.any(|at| one_of_two_is_it(&line[..at], &line[at + separator.len()..])) {
                    let text = format!(
                        "line {number} is two lines with {name} between them: something put that in the place of a newline"
                    );
                    return Some(self.at(index, Code::LinesJoined, text));
                }
            }
            let mut places = memchr::memmem::find_iter(line, b"}{").take(PLACES);
            if places.any(|at| one_of_two_is_it(&line[..=at], &line[at + 1..])) {
                let text = format!("line {number} is two lines: the newline between them is missing");
                return Some(self.at(index, Code::LinesJoined, text));
            }
        }
        None
    }
}
