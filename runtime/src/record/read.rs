//! A trace read back: leniently, since it may be cut off or of another writer's making. Nothing here judges it; that is
//! what `mur trace verify` is for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mur_seal::TRACE_STREAM;
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::content::ContentHash;

/// A longer line is not shown: no event comes near it.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        cause: io::Error,
    },
    /// It is not a regular file.
    #[error("{}: not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// There is nothing in it: a session's first event is on disk before anything else happens.
    #[error("{}: empty: the session did not begin", .0.display())]
    Empty(PathBuf),
    /// A whole line is not a JSON object.
    #[error("{}:{line}: not a JSON object: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A line is too long to be an event.
    #[error("{}:{line}: longer than {MAX_LINE} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
    },
}

/// One line of a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedLine {
    /// An event.
    Event(Recorded),
    /// A line that a crash cut short: the last one, or one that the next appender ended.
    Torn {
        /// Counted from 1.
        line: u64,
        /// How much of it there is.
        bytes: u64,
    },
}

/// An event as it was recorded: those of its members that are of use to a reader, cut to what a line can show.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    members: BTreeMap<&'static str, Member>,
}

/// A member's value. Objects and lists are known by their digest alone.
#[derive(Debug, Clone, PartialEq)]
enum Member {
    Text(String),
    Number(u64),
}

/// The members that are kept. A trace may be large, and its events may hold anything.
const KEPT: [&str; 20] = [
    "capsule_name",
    "capsule_version",
    "duration_ms",
    "event_type",
    "exit_status",
    "expected_lines",
    "found_lines",
    "input",
    "input_bytes",
    "output_bytes",
    "path",
    "rule",
    "session_id",
    "signal",
    "status",
    "target",
    "task_id",
    "timestamp",
    "tool_name",
    "turn",
];

/// Bytes of a text that are kept.
const MAX_TEXT: usize = 4 * 1024;

impl Recorded {
    /// Its `event_type`, empty where it has none.
    pub fn kind(&self) -> &str {
        self.text("event_type").unwrap_or_default()
    }

    /// A member that is a string, or the digest of one that is an object or a list.
    pub fn text(&self, member: &str) -> Option<&str> {
        match self.members.get(member)? {
            Member::Text(text) => Some(text),
            Member::Number(_) => None,
        }
    }

    /// A member that is a count.
    pub fn number(&self, member: &str) -> Option<u64> {
        match self.members.get(member)? {
            Member::Number(number) => Some(*number),
            Member::Text(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Recorded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Recorded;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Recorded, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    match KEPT.into_iter().find(|kept| *kept == name) {
                        Some(kept) => {
                            let value = map.next_value::<&RawValue>()?.get();
                            members.extend(member(value).map(|member| (kept, member)));
                        }
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Recorded { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// What is kept of a value, given as the JSON that it is; `None` of what says nothing.
fn member(json: &str) -> Option<Member> {
    match json.as_bytes().first()? {
        b'"' if json.len() <= 8 * MAX_TEXT => serde_json::from_str(json).ok().map(|text: String| {
            let end = text.floor_char_boundary(MAX_TEXT);
            Member::Text(text[..end].to_owned())
        }),
        b'"' | b'{' | b'[' => Some(Member::Text(format!("sha256 {}", ContentHash::of(json.as_bytes())))),
        _ => json.parse().ok().map(Member::Number),
    }
}

/// Reads the trace in `records_dir`, line by line.
///
/// A line without a link that is not a whole object was torn by a crash, and is told as such. Any other line that is not
/// a JSON object is an error.
///
/// # Errors
/// Every one of [`ReadError`].
pub fn read_trace(records_dir: &Path) -> Result<Vec<RecordedLine>, ReadError> {
    let path = records_dir.join(TRACE_STREAM);
    let io = |cause| ReadError::Io { path: path.clone(), cause };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let opened = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(&path);
    let file = match opened {
        Err(cause) if cause.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(ReadError::NotAFile(path));
        }
        opened => opened.map_err(io)?,
    };
    if !file.metadata().map_err(io)?.is_file() {
        return Err(ReadError::NotAFile(path));
    }
    let mut reader = BufReader::new(file);
    let mut lines = Vec::new();
    let mut number = 0;
    loop {
        let mut bytes = Vec::new();
        number += 1;
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(io)?;
        if read == 0 {
            return if lines.is_empty() { Err(ReadError::Empty(path)) } else { Ok(lines) };
        }
        let whole = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if !whole && read as u64 == MAX_LINE {
            return Err(ReadError::TooLong { path, line: number });
        }
        lines.push(match serde_json::from_slice(&bytes) {
            Ok(event) if whole => RecordedLine::Event(event),
            Err(error) if whole && !is_torn(&bytes) => {
                return Err(ReadError::Malformed { path, line: number, reason: error.to_string() });
            }
            Ok(_) | Err(_) => RecordedLine::Torn { line: number, bytes: bytes.len() as u64 },
        });
    }
}

/// Whether a line looks like the beginning of an event and not like its end.
fn is_torn(line: &[u8]) -> bool {
    line.starts_with(b"{") && !line.ends_with(b"}")
}
