//! A record as a directory of files.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::open::Directory;
use crate::key::PublicKey;
use crate::record::{Found, Place, RecordExpectation, RecordSource, StreamBytes, TRACE_STREAM, Unfit, verify_record};
use crate::report::RecordReport;
use crate::seal::SEAL_SUFFIX;
#[cfg(unix)]
use crate::verify::StreamVerifier;

/// The file name of a conversation record.
pub(crate) const CONVERSATION_FILE: &str = "conversation.jsonl";

/// A trace's seal has a fixed set of short members.
const MAX_INLINE_SEAL: u64 = 64 * 1024;
/// A listed seal has 74 bytes a line. One that is larger than its stream's lines can account for is read up to this size, so
/// that a report can say how many lines are missing; beyond it, it is no seal of that stream.
const SHORTENED_LISTED_SEAL: u64 = 16 << 20;
/// Bytes of a line hash in a listed seal.
const LISTED_HASH: u64 = 74;
/// Room for some fourteen million lines.
const MAX_LISTED_SEAL: u64 = 1 << 30;

/// A stream shorter than this is hashed on the spot.
#[cfg(unix)]
const SMALL: u64 = 4 << 20;
/// More threads than this cost memory and find the disk or the memory bus busy.
const MOST_JOBS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// Why a records directory could not be checked. Never a verdict: nothing was learned about the record.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// No such directory.
    #[error("{}: there is no such directory", .0.display())]
    Missing(PathBuf),
    /// Something else than a directory.
    #[error("{}: not a directory; give the directory that holds the record's trace.jsonl", .0.display())]
    NotADirectory(PathBuf),
    /// A permission is lacking, or the device failed.
    #[error("{}: {cause}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
}

/// Checks every stream of the records directory `records_dir` with `keys` alone.
///
/// `session`: the session it must belong to, or `None` for the one that its trace names. `conversations`: the directory
/// in which to find the conversation record that its trace's seal may name.
pub fn verify_session_records(
    records_dir: &Path,
    keys: &[PublicKey],
    session: Option<&str>,
    conversations: Option<&Path>,
) -> Result<RecordReport, DirectoryError> {
    let mut record = DirectoryRecord::open(records_dir, conversations)?;
    let records_dir = records_dir.to_string_lossy();
    verify_record(&mut record, &RecordExpectation { records_dir: &records_dir, session, keys })
}

/// The streams and seals of one records directory, and of a conversations directory beside it.
#[derive(Debug)]
pub struct DirectoryRecord {
    records: Opened,
    conversations: Option<Opened>,
    jobs: NonZeroUsize,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    directory: Directory,
}

impl DirectoryRecord {
    /// Opens the directories; their streams are opened as they are asked for.
    pub fn open(records_dir: &Path, conversations: Option<&Path>) -> Result<Self, DirectoryError> {
        Ok(DirectoryRecord {
            records: Opened::open(records_dir)?,
            conversations: conversations.map(Opened::open).transpose()?,
            jobs: std::thread::available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(MOST_JOBS)),
        })
    }

    /// Hashes lines on this many threads at once; unless told otherwise, on as many as there are cores, up to eight.
    /// The report does not depend on it.
    pub fn with_jobs(self, jobs: NonZeroUsize) -> Self {
        DirectoryRecord { jobs, ..self }
    }

    fn find(&self, place: Place<'_>, suffix: &str) -> Result<Found<File>, DirectoryError> {
        let (opened, path) = match place {
            Place::Record(name) => (&self.records, format!("{name}{suffix}")),
            Place::Conversation { record, context_id } => match &self.conversations {
                Some(opened) => (opened, format!("{record}/{context_id}/{CONVERSATION_FILE}{suffix}")),
                None => return Ok(Found::Absent),
            },
        };
        let cause = match opened.directory.file(&path) {
            Ok(found) => return Ok(found),
            Err(cause) => cause,
        };
        Err(DirectoryError::Unreadable { path: opened.path.join(path), cause })
    }
}

impl Opened {
    fn open(path: &Path) -> Result<Self, DirectoryError> {
        let path = path.to_path_buf();
        match Directory::open(&path) {
            Ok(directory) => Ok(Opened { path, directory }),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(DirectoryError::Missing(path)),
            Err(cause) if cause.kind() == io::ErrorKind::NotADirectory => Err(DirectoryError::NotADirectory(path)),
            Err(cause) => Err(DirectoryError::Unreadable { path, cause }),
        }
    }
}

/// An open stream file, up to the length that it had when it was opened.
#[derive(Debug)]
pub struct FileBytes {
    file: File,
    left: u64,
    path: PathBuf,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are threads on Unix only"))]
    jobs: NonZeroUsize,
}

impl StreamBytes for FileBytes {
    type Error = DirectoryError;

    fn read(&mut self, block: &mut [u8]) -> Result<usize, DirectoryError> {
        let wanted = block.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        loop {
            match self.file.read(&mut block[..wanted]) {
                Ok(read) => {
                    self.left -= read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(DirectoryError::Unreadable { path: self.path.clone(), cause }),
            }
        }
    }

    #[cfg(unix)]
    fn feed(&mut self, verifier: &mut StreamVerifier, block: &mut [u8]) -> Result<(), DirectoryError> {
        // Most streams are not worth a thread.
        while self.left < SMALL {
            match self.read(block)? {
                0 => return Ok(()),
                read => verifier.update(&block[..read]),
            }
        }
        let fed = super::parallel::feed(&self.file, self.left, self.jobs, verifier);
        self.left = 0;
        fed.map_err(|cause| DirectoryError::Unreadable { path: self.path.clone(), cause })
    }
}

impl RecordSource for DirectoryRecord {
    type Error = DirectoryError;
    type Stream = FileBytes;

    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<FileBytes>, DirectoryError> {
        Ok(match self.find(place, "")? {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(file) => {
                let path = self.path_of(place);
                match file.metadata() {
                    Ok(metadata) => Found::File(FileBytes { file, left: metadata.len(), path, jobs: self.jobs }),
                    Err(cause) => return Err(DirectoryError::Unreadable { path, cause }),
                }
            }
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, DirectoryError> {
        let limit = self.seal_limit(place)?;
        Ok(match self.find(place, SEAL_SUFFIX)? {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(file) => {
                let mut bytes = Vec::new();
                let read = file.take(limit + 1).read_to_end(&mut bytes);
                let cause = match read {
                    Ok(read) if read as u64 > limit => return Ok(Found::Unfit(Unfit::Oversized)),
                    Ok(_) => return Ok(Found::File(bytes)),
                    Err(cause) => cause,
                };
                let mut path = self.path_of(place).into_os_string();
                path.push(SEAL_SUFFIX);
                return Err(DirectoryError::Unreadable { path: path.into(), cause });
            }
        })
    }

    fn has_conversations(&self) -> bool {
        self.conversations.is_some()
    }
}

impl DirectoryRecord {
    /// The size that a seal can have. A stream has at least one byte a line, so it bounds the hashes that its seal can list.
    fn seal_limit(&self, place: Place<'_>) -> Result<u64, DirectoryError> {
        if place == Place::Record(TRACE_STREAM) {
            return Ok(MAX_INLINE_SEAL);
        }
        let lines = match self.find(place, "")? {
            Found::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Found::Absent | Found::Unfit(_) => 0,
        };
        Ok(SHORTENED_LISTED_SEAL.saturating_add(lines.saturating_mul(LISTED_HASH)).min(MAX_LISTED_SEAL))
    }

    fn path_of(&self, place: Place<'_>) -> PathBuf {
        match place {
            Place::Record(name) => self.records.path.join(name),
            Place::Conversation { record, context_id } => {
                let root = self.conversations.as_ref().map(|opened| opened.path.as_path()).unwrap_or(Path::new(""));
                root.join(record).join(context_id).join(CONVERSATION_FILE)
            }
        }
    }
}
