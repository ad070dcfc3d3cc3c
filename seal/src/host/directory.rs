//! A record as a directory of files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::OnceLock;

use super::long_seal;
use super::open::Directory;
use crate::key::PublicKey;
use crate::record::{Found, Place, RecordExpectation, RecordSource, StreamBytes, TRACE_STREAM, Unfit, verify_record};
use crate::report::RecordReport;
use crate::seal::{ParsedSeal, SEAL_SUFFIX};
#[cfg(unix)]
use crate::verify::StreamVerifier;

/// The file name of a conversation record.
pub(crate) const CONVERSATION_FILE: &str = "conversation.jsonl";

/// A trace's seal has a fixed set of short members.
const MAX_INLINE_SEAL: u64 = 64 * 1024;
/// A seal larger than this is read piece by piece: its bytes would take more memory than the hashes that it lists.
const LONG_SEAL: u64 = 1 << 20;
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
    verify_record(&mut record, &RecordExpectation { records_dir: &records_dir, session, head: None, keys })
}

/// The streams and seals of one records directory, and of a conversations directory beside it.
#[derive(Debug)]
pub struct DirectoryRecord {
    records: Opened,
    conversations: Option<Opened>,
    jobs: Option<NonZeroUsize>,
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
            jobs: None,
        })
    }

    /// Hashes lines on this many threads at once; unless told otherwise, on as many as there are cores, up to eight.
    /// The report does not depend on it.
    pub fn with_jobs(self, jobs: NonZeroUsize) -> Self {
        DirectoryRecord { jobs: Some(jobs), ..self }
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
    /// When it was opened.
    len: u64,
    left: u64,
    path: PathBuf,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are threads on Unix only"))]
    jobs: Option<NonZeroUsize>,
}

/// As many threads as this machine runs at once. To ask for it costs more than to check a short stream.
#[cfg(unix)]
fn all_cores() -> NonZeroUsize {
    static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
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

    fn read_again(&mut self, offset: u64, block: &mut [u8]) -> Result<usize, DirectoryError> {
        let mut read = || {
            self.file.seek(SeekFrom::Start(offset))?;
            let mut filled = 0;
            while filled < block.len() {
                match self.file.read(&mut block[filled..]) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(filled)
        };
        read().map_err(|cause| DirectoryError::Unreadable { path: self.path.clone(), cause })
    }

    fn has_grown(&mut self) -> Result<bool, DirectoryError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|cause| DirectoryError::Unreadable { path: self.path.clone(), cause })?;
        Ok(metadata.len() > self.len)
    }

    #[cfg(unix)]
    fn feed(&mut self, verifier: &mut StreamVerifier, block: &mut [u8]) -> Result<(), DirectoryError> {
        // Most streams are not worth a thread, and one thread is this one.
        while self.left < SMALL || self.jobs == Some(NonZeroUsize::MIN) {
            match self.read(block)? {
                0 => return Ok(()),
                read => verifier.update(&block[..read]),
            }
        }
        let fed = super::parallel::feed(&self.file, self.left, self.jobs.unwrap_or_else(all_cores), verifier);
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
                    Ok(metadata) => {
                        let len = metadata.len();
                        Found::File(FileBytes { file, len, left: len, path, jobs: self.jobs })
                    }
                    Err(cause) => return Err(DirectoryError::Unreadable { path, cause }),
                }
            }
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, DirectoryError> {
        self.seal_with(place, |file, _, limit| {
            let mut bytes = Vec::new();
            let read = file.take(limit + 1).read_to_end(&mut bytes)?;
            Ok(if read as u64 > limit { Found::Unfit(Unfit::Oversized) } else { Found::File(bytes) })
        })
    }

    fn parse_seal(&mut self, place: Place<'_>) -> Result<Found<ParsedSeal>, DirectoryError> {
        self.seal_with(place, |file, len, limit| {
            if len > limit {
                return Ok(Found::Unfit(Unfit::Oversized));
            }
            if len > LONG_SEAL {
                // A seal is replaced and never appended to, so its length stays what it was.
                return long_seal::parse(file).map(|seal| Found::File(ParsedSeal(seal)));
            }
            // The length is at most `LONG_SEAL`.
            let mut bytes = Vec::with_capacity(len as usize + 1);
            file.take(LONG_SEAL).read_to_end(&mut bytes)?;
            Ok(Found::File(ParsedSeal::from_bytes(&bytes)))
        })
    }

    fn has_conversations(&self) -> bool {
        self.conversations.is_some()
    }
}

impl DirectoryRecord {
    /// Opens the seal beside a stream and does `read` with it, the length that it has, and the largest it can have.
    fn seal_with<T>(
        &self,
        place: Place<'_>,
        read: impl FnOnce(File, u64, u64) -> io::Result<Found<T>>,
    ) -> Result<Found<T>, DirectoryError> {
        let file = match self.find(place, SEAL_SUFFIX)? {
            Found::Absent => return Ok(Found::Absent),
            Found::Unfit(kind) => return Ok(Found::Unfit(kind)),
            Found::File(file) => file,
        };
        let limit = self.seal_limit(place)?;
        let len = file.metadata().map(|metadata| metadata.len());
        let read = len.and_then(|len| {
            // A stream can be so long that its seal is genuine all the same: it is not accused, but it is not read either.
            if limit == MAX_LISTED_SEAL && len > limit {
                let text = format!("a seal of {len} bytes; no more than {limit} are read");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
            }
            read(file, len, limit)
        });
        read.map_err(|cause| {
            let mut path = self.path_of(place).into_os_string();
            path.push(SEAL_SUFFIX);
            DirectoryError::Unreadable { path: path.into(), cause }
        })
    }

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
