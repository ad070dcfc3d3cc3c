//! Whole records, in memory and as directories.

use std::convert::Infallible;
use std::path::Path;

use mur_seal::{
    COMPLETION_STREAM, CONVERSATION_STREAM_PREFIX, DirectoryRecord, EVAL_STREAM, Found, LineHash, Place,
    RecordExpectation, RecordReport, RecordSource, SEAL_SUFFIX, StreamBytes, TRACE_STREAM, Unfit, Verdict,
    verify_record, worst,
};

use crate::input::{SESSION, directory, keys};

/// The conversation of the golden records.
const RECORD: &str = "reviewer";
const CONTEXT: &str = "ctx_019ad735840070008000000000000001";

const STREAMS: [&str; 3] = [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM];
/// The streams and the conversation, each with its seal.
const FILES: usize = 8;

/// Any files get one report, from memory, in small blocks, and from a directory; its verdict is that of its worst stream.
///
/// A directory takes far longer than memory, so a flag asks for it. The input is a byte of flags, a byte that says which files are not there, one that says in the place of which a
/// directory stands, and the files, trace, seal, scores, seal, completion, seal, conversation, seal, with a zero byte after
/// each.
pub fn record(input: &[u8]) {
    let Some(files) = Files::read(input) else { return };
    let expectation = RecordExpectation {
        records_dir: "record",
        session: files.flag(0).then_some(SESSION),
        head: files.flag(1).then_some(LineHash::GENESIS),
        keys: if files.flag(2) { &[] } else { keys() },
    };
    let Ok(report) = verify_record(&mut Memory { files: &files, block: usize::MAX }, &expectation);
    holds(&report, &expectation);
    if files.flag(4) {
        let Ok(in_blocks) = verify_record(&mut Memory { files: &files, block: 7 }, &expectation);
        assert_eq!(in_blocks, report);
    }
    if files.flag(5) {
        compare_with_directory(&files, &expectation, &report);
    }
}

fn compare_with_directory(files: &Files<'_>, expectation: &RecordExpectation<'_>, report: &RecordReport) {
    let directory = directory();
    files.write_to(directory.path());
    let conversations = directory.path().join("conversations");
    let conversations = files.has_conversations().then_some(conversations.as_path());
    let mut on_disk = DirectoryRecord::open(&directory.path().join("record"), conversations)
        .unwrap_or_else(|error| panic!("{error}"));
    match verify_record(&mut on_disk, expectation) {
        Ok(from_disk) => assert_eq!(&from_disk, report),
        // Names of a conversation that no file system takes.
        Err(error) => assert!(conversations.is_some(), "{error}"),
    }
}

fn holds(report: &RecordReport, expectation: &RecordExpectation<'_>) {
    assert_eq!(report.verdict, worst(report.streams.iter().map(|stream| stream.verdict)));
    assert!(report.streams.iter().zip(STREAMS).all(|(stream, name)| stream.stream == name), "{report:?}");
    if report.verdict == Verdict::Verified {
        assert!(!expectation.keys.is_empty() && expectation.head.is_none(), "{report:?}");
    }
    // A session is what the caller says.
    assert!(expectation.session.is_none() || report.session_id.as_deref() == expectation.session, "{report:?}");
    let json = serde_json::to_string(report).unwrap_or_else(|error| panic!("{error}"));
    let read: RecordReport = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(&read, report);
}

/// The files of a record.
struct Files<'a> {
    flags: u8,
    missing: u8,
    directories: u8,
    files: [&'a [u8]; FILES],
}

impl<'a> Files<'a> {
    fn read(input: &'a [u8]) -> Option<Self> {
        let [flags, missing, directories, rest @ ..] = input else { return None };
        let mut files = [[].as_slice(); FILES];
        files.iter_mut().zip(rest.split(|byte| *byte == 0)).for_each(|(file, bytes)| *file = bytes);
        Some(Files { flags: *flags, missing: *missing, directories: *directories, files })
    }

    fn flag(&self, number: u8) -> bool {
        self.flags >> number & 1 != 0
    }

    fn has_conversations(&self) -> bool {
        self.flag(3)
    }

    fn at(&self, index: usize) -> Found<&'a [u8]> {
        if self.missing >> index & 1 != 0 {
            Found::Absent
        } else if self.directories >> index & 1 != 0 {
            Found::Unfit(Unfit::Directory)
        } else {
            Found::File(self.files[index])
        }
    }

    /// The paths of the streams, below the directory that all of it is written to.
    fn paths() -> impl Iterator<Item = String> {
        let streams = STREAMS.map(|stream| format!("record/{stream}"));
        let conversation = format!("conversations/{RECORD}/{CONTEXT}/conversation.jsonl");
        streams.into_iter().chain([conversation]).flat_map(|stream| [stream.clone(), stream + SEAL_SUFFIX])
    }

    fn write_to(&self, root: &Path) {
        let done = (|| {
            std::fs::create_dir_all(root.join("record/hooks"))?;
            std::fs::create_dir_all(root.join("conversations").join(RECORD).join(CONTEXT))?;
            for (index, path) in Files::paths().enumerate() {
                match self.at(index) {
                    Found::Absent => {}
                    Found::Unfit(_) => std::fs::create_dir(root.join(path))?,
                    Found::File(bytes) => std::fs::write(root.join(path), bytes)?,
                }
            }
            std::io::Result::Ok(())
        })();
        done.unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    }
}

/// The record as it lies in memory, read in blocks of this size.
struct Memory<'a> {
    files: &'a Files<'a>,
    block: usize,
}

impl<'a> Memory<'a> {
    fn find(&self, place: Place<'_>, beside: usize) -> Found<&'a [u8]> {
        match place {
            Place::Record(name) => match STREAMS.iter().position(|stream| *stream == name) {
                Some(index) => self.files.at(2 * index + beside),
                None => panic!("{name} is no stream"),
            },
            Place::Conversation { record, context_id } => {
                let is_segment =
                    |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
                assert!(
                    is_segment(record) && is_segment(context_id),
                    "{CONVERSATION_STREAM_PREFIX}{record}/{context_id}"
                );
                if (record, context_id) == (RECORD, CONTEXT) { self.files.at(6 + beside) } else { Found::Absent }
            }
        }
    }
}

impl<'a> RecordSource for Memory<'a> {
    type Error = Infallible;
    type Stream = Bytes<'a>;

    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<Bytes<'a>>, Infallible> {
        Ok(match self.find(place, 0) {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(bytes) => Found::File(Bytes { bytes, left: bytes, block: self.block }),
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, Infallible> {
        Ok(match self.find(place, 1) {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(bytes) => Found::File(bytes.to_vec()),
        })
    }

    fn has_conversations(&self) -> bool {
        self.files.has_conversations()
    }
}

struct Bytes<'a> {
    bytes: &'a [u8],
    left: &'a [u8],
    block: usize,
}

impl StreamBytes for Bytes<'_> {
    type Error = Infallible;

    fn read(&mut self, block: &mut [u8]) -> Result<usize, Infallible> {
        let (now, later) = self.left.split_at(block.len().min(self.left.len()).min(self.block));
        block[..now.len()].copy_from_slice(now);
        self.left = later;
        Ok(now.len())
    }

    fn read_again(&mut self, offset: u64, block: &mut [u8]) -> Result<usize, Infallible> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let read = block.len().min(rest.len());
        block[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }
}
