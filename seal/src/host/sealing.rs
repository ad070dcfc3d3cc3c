//! Writing seals, and the moments at which a session writes them.
//!
//! Sealing never fails its caller. The functions that a session calls report a failure on stderr and leave the stream
//! reading as unsealed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::append::{Appenders, ChainError, ChainOptions, InlineChain};
use super::conversations::{appended_conversation, take_appended};
use super::directory::CONVERSATION_FILE;
use super::host_key::HostKey;
use super::open::Directory;
use crate::hash::{LineHash, line_hash, listed_head};
use crate::listed::{Lines, is_truncated_record};
use crate::record::{
    COMPLETION_STREAM, CONVERSATION_STREAM_PREFIX, EVAL_STREAM, Found, TRACE_STREAM, conversation_stream,
};
use crate::seal::{ConversationPointer, SEAL_SUFFIX, Seal, SealDraft, SealError, SealedHead};
use crate::text::escape;
use crate::verify::ChainKind;

/// Mode of a conversation record and of its seal.
const CONVERSATION_MODE: u32 = 0o600;

/// Why a stream was not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealingError {
    /// The stream could not be opened or appended to.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The operating system refused something.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The seal would say something that no seal may say, or the seal that stands there cannot be read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The file was rewritten while it was written: this host does not vouch for it.
    #[error("{}: it was rewritten behind this process, and is not sealed any more", .0.display())]
    Rewritten(PathBuf),
    /// The last line has no link, so sealing it would bind nothing before it.
    #[error("{}: its last line is torn; append to it before sealing", .0.display())]
    TornEnd(PathBuf),
    /// The seal that stands there is not this host's.
    #[error("{}: the seal beside it is not this host's; it was left alone", .0.display())]
    ForeignSeal(PathBuf),
    /// The seal that stands there covers lines that the file no longer begins with.
    #[error("{}: it no longer begins with the lines that its seal covers; the seal was left alone", .0.display())]
    SealedLinesLost(PathBuf),
    /// The stream, or what is on the way to it, is not a regular file.
    #[error("{}: it is {kind}", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        kind: &'static str,
    },
    /// A conversation directory's path does not end in a record and a context id.
    #[error("{}: not the directory of a conversation record", .0.display())]
    NotAConversation(PathBuf),
}

/// Seals `stream`, an inline-chained file in `records_root`, at its current head, for `session_id`. `conversation`: what a
/// trace's seal points at.
pub fn seal_inline(
    records_root: &Path,
    stream: &str,
    session_id: &str,
    key: &HostKey,
    conversation: Option<ConversationPointer>,
) -> Option<SealedHead> {
    let seal = || {
        let chain = InlineChain::open_existing(&records_root.join(stream), ChainOptions::new(Appenders::Shared))?;
        chain.seal(records_root, stream, session_id, key, now_ms(), conversation)
    };
    reported(stream, seal())
}

/// A stream that is sealed by the hashes of its lines.
#[derive(Debug, Clone, Copy)]
pub struct ListedStream<'a> {
    /// The file, relative to the directory that it is looked up in.
    pub file: &'a str,
    /// The stream's name, which the seal carries.
    pub name: &'a str,
    /// Whether its lines are sealed, or the whole file as one.
    pub lines: Lines,
    /// The seal's mode; `None` for the stream file's own.
    pub seal_mode: Option<u32>,
}

/// Seals `stream` in `root` for `session_id`: every complete line's hash in order, or the whole file as one line.
pub fn seal_listed(root: &Path, stream: &ListedStream<'_>, session_id: &str, key: &HostKey) {
    reported(stream.name, try_seal_listed(root, stream, session_id, key));
}

/// Seals the conversation record in `dir` (`…/<record>/<context-id>`) for `session_id`.
pub fn seal_conversation(dir: &Path, session_id: &str, key: &HostKey) {
    let seal = || {
        let (record, context_id) = conversation_names(dir)?;
        let stream = ListedStream {
            file: CONVERSATION_FILE,
            name: &conversation_stream(&record, &context_id),
            lines: Lines::Complete,
            seal_mode: Some(CONVERSATION_MODE),
        };
        try_seal_listed(dir, &stream, session_id, key)
    };
    reported(&dir.display().to_string(), seal());
}

/// The seal that a session writes once `session_end` is on disk: its trace, naming the conversation record that it
/// appended to first. The head is for telemetry.
pub fn seal_session_end(records_dir: &Path, session_id: &str, key: &HostKey) -> Option<SealedHead> {
    let pointer = appended_conversation(records_dir).and_then(|dir| reported(TRACE_STREAM, pointer_to(&dir)));
    seal_inline(records_dir, TRACE_STREAM, session_id, key, pointer)
}

/// The seals that a session writes when nothing can append to its record any more: its trace again if a line landed after
/// its last seal, and what exists of eval, completion and the conversations that it appended to.
pub fn seal_session_teardown(records_dir: &Path, session_id: &str, key: &HostKey) {
    let sealed = read_seal(records_dir, TRACE_STREAM).ok().flatten().map(|seal| seal.draft.lines);
    let chain = InlineChain::open_existing(&records_dir.join(TRACE_STREAM), ChainOptions::new(Appenders::Shared));
    // Of a trace that was rewritten too: sealing looks at it once more, and writes down what it finds.
    let due = chain.and_then(|chain| Ok(chain.tampering().is_some() || sealed != Some(chain.head()?.lines)));
    if due.is_ok_and(|due| due) {
        seal_session_end(records_dir, session_id, key);
    }
    for (stream, lines) in [(EVAL_STREAM, Lines::Complete), (COMPLETION_STREAM, Lines::WholeFile)] {
        if std::fs::symlink_metadata(records_dir.join(stream)).is_ok() {
            let stream = ListedStream { file: stream, name: stream, lines, seal_mode: None };
            seal_listed(records_dir, &stream, session_id, key);
        }
    }
    for conversation in take_appended(records_dir) {
        seal_conversation(&conversation, session_id, key);
    }
}

/// The seal beside `stream_file` in `root`; `None` when there is none. Not authenticated.
pub fn read_seal(root: &Path, stream_file: &str) -> Result<Option<Seal>, SealingError> {
    let path = root.join(format!("{stream_file}{SEAL_SUFFIX}"));
    let Some(file) = open(root, &format!("{stream_file}{SEAL_SUFFIX}"))? else { return Ok(None) };
    let bytes = read_all(file).map_err(|cause| SealingError::Io { path, cause })?;
    Ok(Some(Seal::parse(&bytes)?))
}

/// Writes a seal beside `stream_file`, whole or not at all. `mode`: `None` for the stream file's own.
pub(crate) fn write_seal(root: &Path, stream_file: &str, seal: &Seal, mode: Option<u32>) -> Result<(), SealingError> {
    let io = |cause| SealingError::Io { path: root.join(format!("{stream_file}{SEAL_SUFFIX}")), cause };
    let (below, name) = stream_file.rsplit_once('/').unwrap_or(("", stream_file));
    let directory = Directory::open(root).and_then(|root| root.below(below)).map_err(io)?;
    let mode = match mode {
        Some(mode) => mode,
        None => match directory.file(name).map_err(io)? {
            Found::File(file) => file.metadata().map_err(io)?.permissions().mode() & 0o777,
            Found::Absent | Found::Unfit(_) => return Err(SealingError::Rewritten(root.join(stream_file))),
        },
    };
    directory.replace(&format!("{name}{SEAL_SUFFIX}"), seal.to_file().as_bytes(), mode).map_err(io)
}

fn try_seal_listed(
    root: &Path,
    stream: &ListedStream<'_>,
    session_id: &str,
    key: &HostKey,
) -> Result<(), SealingError> {
    let path = root.join(stream.file);
    let io = |cause| SealingError::Io { path: path.clone(), cause };
    let Some(file) = open(root, stream.file)? else { return Err(io(io::ErrorKind::NotFound.into())) };
    let handle = file.try_clone().map_err(io)?;
    let bytes = read_all(file).map_err(io)?;
    let hashes = line_hashes(&bytes, stream.lines);
    if stream.lines == Lines::Complete
        && let Some(old) = read_seal(root, stream.file)?
    {
        if !key.made(&old, stream.name) {
            return Err(SealingError::ForeignSeal(path));
        }
        if !continues(&old, &hashes) && !was_truncated_by_policy(stream.name, &bytes) {
            return Err(SealingError::SealedLinesLost(path));
        }
    }
    handle.sync_data().map_err(io)?;
    let seal = key.seal(SealDraft {
        stream: stream.name.into(),
        chain: ChainKind::Listed,
        session_id: session_id.into(),
        lines: hashes.len() as u64,
        head: listed_head(&hashes),
        line_hashes: Some(hashes),
        sealed_at: now_ms(),
        conversation: None,
    })?;
    write_seal(root, stream.file, &seal, stream.seal_mode)
}

/// Whether a file whose lines have these hashes still begins with the lines that `old` covers. A new seal must not cover up
/// that sealed lines are gone.
///
/// Only what is signed tells: the number of lines and their head. The list of hashes can be taken out of a seal without
/// its signature becoming a bad one.
fn continues(old: &Seal, hashes: &[LineHash]) -> bool {
    let sealed = usize::try_from(old.draft.lines).ok().and_then(|lines| hashes.get(..lines));
    sealed.is_some_and(|sealed| listed_head(sealed) == old.draft.head)
}

/// Whether this is a conversation record whose header says that it was truncated. Nothing else ever is.
fn was_truncated_by_policy(stream: &str, bytes: &[u8]) -> bool {
    let first_line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    stream.starts_with(CONVERSATION_STREAM_PREFIX) && is_truncated_record(first_line)
}

fn line_hashes(bytes: &[u8], lines: Lines) -> Vec<LineHash> {
    match lines {
        Lines::WholeFile => vec![line_hash(bytes)],
        Lines::Complete => bytes
            .split_inclusive(|&byte| byte == b'\n')
            .filter_map(|line| line.strip_suffix(b"\n"))
            .map(line_hash)
            .collect(),
    }
}

/// The pointer of a trace's seal to the conversation record in `dir`, as the record stands now.
fn pointer_to(dir: &Path) -> Result<ConversationPointer, SealingError> {
    let (record, context_id) = conversation_names(dir)?;
    let path = dir.join(CONVERSATION_FILE);
    let io = |cause| SealingError::Io { path: path.clone(), cause };
    let Some(file) = open(dir, CONVERSATION_FILE)? else { return Err(io(io::ErrorKind::NotFound.into())) };
    let hashes = line_hashes(&read_all(file).map_err(io)?, Lines::Complete);
    Ok(ConversationPointer { record, context_id, lines: hashes.len() as u64, head: listed_head(&hashes) })
}

fn conversation_names(dir: &Path) -> Result<(String, String), SealingError> {
    let name = |path: Option<&'_ Path>| path.and_then(Path::file_name).and_then(|name| name.to_str()).map(String::from);
    name(dir.parent()).zip(name(Some(dir))).ok_or_else(|| SealingError::NotAConversation(dir.into()))
}

fn open(root: &Path, file: &str) -> Result<Option<File>, SealingError> {
    let path = root.join(file);
    match Directory::open(root).and_then(|root| root.file(file)) {
        Ok(Found::File(file)) => Ok(Some(file)),
        Ok(Found::Absent) => Ok(None),
        Ok(Found::Unfit(kind)) => Err(SealingError::NotAFile { path, kind: kind.as_str() }),
        Err(cause) => Err(SealingError::Io { path, cause }),
    }
}

fn read_all(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn reported<T>(what: &str, sealed: Result<T, SealingError>) -> Option<T> {
    let tell = |error: SealingError| {
        let text = format!("{what} is not sealed: {error}");
        // That nobody reads stderr any more must not end the process.
        let _ = writeln!(io::stderr(), "warning: {}", escape(&text));
    };
    sealed.map_err(tell).ok()
}
