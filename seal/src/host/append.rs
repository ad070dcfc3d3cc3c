//! Appending to an inline chain, by any number of threads and processes, without ever vouching for what this process did
//! not see.
//!
//! One [`InlineChain`] stands for one file in one process. It remembers how long the file was and what its last line
//! hashed to. Before each append, and each seal, it compares the file with what it remembers, under the file's lock: a
//! file that is shorter, or another one, or that goes on from anything but the remembered head, was rewritten. That is
//! written into the record as an event, and from then on this process seals it no more.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::chain_file::{FileId, FileLock, Missing, feed, id_of, look, open_file, real_path};
use super::host_key::HostKey;
use super::sealing::{SealingError, read_seal, write_seal};
use super::witnessed::{Event, NOTHING, Witnessed, head_of};
use crate::chain::TAMPERED_EVENT;
use crate::hash::LineHash;
use crate::inline::InlineWalker;
use crate::link::LinkError;
use crate::seal::{ConversationPointer, SealDraft, SealedHead};
use crate::verify::ChainKind;

/// A chain's head after its last line: the genesis and 0 for an empty file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The hash of the last line.
    pub head: LineHash,
    /// Whole lines.
    pub lines: u64,
}

/// Who appends to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appenders {
    /// This process alone, which holds the file's lock as long as the chain is open. A line that it did not write is a
    /// rewrite, however well it fits.
    Sole,
    /// Other processes too: their lines are adopted when they continue from the remembered head.
    Shared,
}

/// A file was rewritten between two appends of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tampering {
    /// What this process remembered.
    pub expected: ChainHead,
    /// What it found.
    pub found: ChainHead,
}

impl Tampering {
    /// The members that an event of type [`TAMPERED_EVENT`] carries, without braces.
    pub fn members(&self) -> String {
        let Tampering { expected, found } = self;
        format!(
            "\"expected_lines\":{},\"expected_head\":\"{}\",\"found_lines\":{},\"found_head\":\"{}\"",
            expected.lines, expected.head, found.lines, found.head
        )
    }
}

/// How a chain is opened.
pub struct ChainOptions {
    /// Who appends to the file.
    pub appenders: Appenders,
    /// Told whenever the file is found rewritten; answers with the event to record it with: a compact JSON object that
    /// begins with the member `event_type`, whose value is [`TAMPERED_EVENT`].
    pub on_tampering: Box<dyn Fn(&Tampering) -> String + Send + Sync>,
    /// How long to wait while another process holds the file's lock, before that is an error.
    pub lock_wait: Duration,
}

impl ChainOptions {
    /// How long the lock is waited for where nothing else is said.
    pub const LOCK_WAIT: Duration = Duration::from_secs(10);

    /// For a file with these appenders; tampering is told on stderr and recorded without an envelope.
    pub fn new(appenders: Appenders) -> Self {
        ChainOptions {
            appenders,
            lock_wait: Self::LOCK_WAIT,
            on_tampering: Box::new(|tampering| {
                // That nobody reads stderr any more must not end the process.
                let _ = writeln!(
                    io::stderr(),
                    "warning: the record was rewritten behind this process: expected {} lines, found {}; it will not be sealed",
                    tampering.expected.lines,
                    tampering.found.lines
                );
                format!("{{\"event_type\":\"{TAMPERED_EVENT}\",{}}}", tampering.members())
            }),
        }
    }
}

/// Why a line could not be appended.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The event cannot become a line.
    #[error(transparent)]
    Event(#[from] LinkError),
    /// The operating system refused something.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Another process held the file's lock all the while.
    #[error("{}: another process has held its lock for {waited:?}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// The file's name was given to something that is no regular file.
    #[error("{}: it is no longer a regular file", .0.display())]
    Replaced(PathBuf),
}

/// One file's chain, shared by every appender of this process.
pub struct InlineChain {
    /// As it was given, made absolute: what stands under this name is what a reader finds.
    given: PathBuf,
    /// With the links on the way to it resolved when it was opened.
    path: PathBuf,
    /// Which file it is; another one once it was replaced. Not among what was witnessed: whoever opens some file asks for
    /// it, and must not wait until an append is done.
    id: Mutex<FileId>,
    /// Whether it could be opened, once that is known. Until then its opener alone uses it.
    opened: OnceLock<bool>,
    options: ChainOptions,
    witnessed: Mutex<Witnessed>,
}

/// The chains that are open in this process.
static OPEN: LazyLock<Mutex<Vec<Weak<InlineChain>>>> = LazyLock::new(Mutex::default);

impl InlineChain {
    /// The chain of the file at `path`, made when there is none. Two calls for one file give one chain.
    ///
    /// A file that already has lines is walked once; where it has a seal, that must hold for a prefix of it, or the file
    /// counts as rewritten.
    pub fn open(path: &Path, options: ChainOptions) -> Result<Arc<Self>, ChainError> {
        Self::open_or(Missing::Create, path, options)
    }

    /// The chain of the file at `path`, which is open in this process or exists.
    pub(crate) fn open_existing(path: &Path, options: ChainOptions) -> Result<Arc<Self>, ChainError> {
        Self::open_or(Missing::Refuse, path, options)
    }

    fn open_or(missing: Missing, path: &Path, options: ChainOptions) -> Result<Arc<Self>, ChainError> {
        loop {
            let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|chain| chain.strong_count() > 0);
            let (given, path, file, id) = match find_or_open(&open, missing, path)? {
                Place::File { given, path, file, id } => (given, path, file, id),
                Place::Chain(chain) => {
                    drop(open);
                    // Whoever began to open it may still be waiting for the file's lock.
                    if *chain.opened.wait() {
                        return Ok(chain);
                    }
                    continue; // and waited in vain
                }
            };
            let chain = Arc::new(InlineChain {
                given,
                path,
                id: Mutex::new(id),
                opened: OnceLock::new(),
                options,
                witnessed: Mutex::new(Witnessed::nothing_of(file)),
            });
            open.push(Arc::downgrade(&chain));
            // Other files can be opened while this one's lock is waited for.
            drop(open);
            let outcome = OpeningOutcome(&chain.opened);
            chain.look_for_the_first_time()?;
            outcome.succeeded();
            return Ok(chain);
        }
    }

    fn look_for_the_first_time(&self) -> Result<(), ChainError> {
        let mut witnessed = self.lock();
        let lock = FileLock::acquire(&witnessed.file, &self.path, self.options.lock_wait)?;
        witnessed.first_look(&self.path).map_err(|cause| ChainError::Io { path: self.path.clone(), cause })?;
        witnessed.lock = (self.options.appenders == Appenders::Sole).then_some(lock);
        Ok(())
    }

    fn id(&self) -> FileId {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic while the lock was held left a memory that the next comparison with the file mends.
    fn lock(&self) -> MutexGuard<'_, Witnessed> {
        self.witnessed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends one event, a compact JSON object, as the next line. Readers see it at once.
    ///
    /// A torn last line is ended first, its bytes kept. After an error, the file holds what it held, and perhaps the
    /// beginning of the line.
    pub fn append(&self, event: &str) -> Result<ChainHead, ChainError> {
        let event = Event::of(event)?;
        let mut witnessed = self.lock();
        let witnessed = &mut *witnessed;
        let _lock = self.synchronise(witnessed)?;
        witnessed.write(&event, &self.path)?;
        Ok(witnessed.head())
    }

    /// The chain's head as the file holds it now, whoever wrote it: the file is read from its start.
    pub fn head(&self) -> Result<ChainHead, ChainError> {
        let io = |cause| ChainError::Io { path: self.path.clone(), cause };
        // Not while a line of this process is being written.
        let _witnessed = self.lock();
        if look(&self.path).map_err(io)?.is_none() {
            return Ok(NOTHING);
        }
        let mut walker = InlineWalker::new();
        feed(&open_file(&self.path, Missing::Refuse)?, 0, &mut walker).map_err(io)?;
        Ok(head_of(&walker.so_far().state))
    }

    /// Whether this process found the file rewritten, and what it found.
    pub fn tampering(&self) -> Option<Tampering> {
        self.lock().tampering
    }

    /// Seals the file at its head: puts its bytes on disk, then writes the seal `<stream>.seal` beside it.
    ///
    /// `stream` is the stream's name and its path below `records_root`; `sealed_at` is in milliseconds since the Unix
    /// epoch. A file that was rewritten is not sealed, nor one whose last line has no link.
    pub fn seal(
        &self,
        records_root: &Path,
        stream: &str,
        session_id: &str,
        key: &HostKey,
        sealed_at: u64,
        conversation: Option<ConversationPointer>,
    ) -> Result<SealedHead, SealingError> {
        let mut witnessed = self.lock();
        let witnessed = &mut *witnessed;
        let _lock = self.synchronise(witnessed)?;
        if witnessed.tampering.is_some() {
            return Err(SealingError::Rewritten(self.path.clone()));
        }
        if witnessed.walker.torn_bytes() > 0 || witnessed.chain().gap_hash().is_some() {
            return Err(SealingError::TornEnd(self.path.clone()));
        }
        let io = |cause| SealingError::Io { path: self.path.clone(), cause };
        witnessed.check_inherited(stream, key, &self.path)?;
        // What cannot be read as a seal vouches for nothing, and is replaced.
        if let Ok(Some(standing)) = read_seal(records_root, stream)
            && standing.draft.session_id == session_id
            && witnessed.last_seal != Some(standing.signature)
            && key.made(&standing, stream)
            && witnessed.hash_of_line(standing.draft.lines).map_err(io)? != Some(standing.draft.head)
        {
            // Another process of this session sealed lines that are gone.
            return Err(SealingError::SealedLinesLost(self.path.clone()));
        }
        witnessed.file.sync_data().map_err(io)?;
        let ChainHead { head, lines } = witnessed.head();
        let seal = key.seal(SealDraft {
            stream: stream.into(),
            chain: ChainKind::Inline,
            session_id: session_id.into(),
            lines,
            line_hashes: None,
            head,
            sealed_at,
            conversation,
        })?;
        write_seal(records_root, stream, &seal, None)?;
        witnessed.last_seal = Some(seal.signature);
        Ok(SealedHead { head, lines, key_id: key.key_id() })
    }

    /// Takes the file's lock and brings the memory up to date with the file, or finds it rewritten.
    ///
    /// The lock is held until what is returned is dropped, at least.
    fn synchronise(&self, witnessed: &mut Witnessed) -> Result<Option<FileLock>, ChainError> {
        let mut lock = match &witnessed.lock {
            Some(_) => None,
            None => Some(FileLock::acquire(&witnessed.file, &self.path, self.options.lock_wait)?),
        };
        let io = |cause| ChainError::Io { path: self.path.clone(), cause };
        let expected = witnessed.head();
        let now = look(&self.path).map_err(io)?;
        let same_file = now.filter(|now| now.id == self.id());
        let rewritten = match same_file.map(|file| file.len) {
            // Of a file that was rewritten before, the length says nothing.
            Some(_) if witnessed.tampering.is_some() && witnessed.differs().map_err(io)? => true,
            Some(len) if len == witnessed.len => false,
            Some(len) if len > witnessed.len => {
                self.options.appenders == Appenders::Sole || !witnessed.adopt().map_err(io)?
            }
            Some(_) => true,
            None => {
                // The name now stands for another file, or for none: go on in the one that a reader will find. Where that
                // is not possible it was rewritten all the same.
                let (file, id, taken) = self.open_again().inspect_err(|_| {
                    witnessed.found_rewritten(Tampering { expected, found: NOTHING });
                })?;
                lock = Some(taken);
                witnessed.file = file;
                *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
                if self.options.appenders == Appenders::Sole {
                    witnessed.lock = lock.take();
                }
                true
            }
        };
        if rewritten {
            let found = witnessed.walk(InlineWalker::new()).map_err(io)?;
            witnessed.found_rewritten(Tampering { expected, found });
        }
        if let Some(tampering) = witnessed.unrecorded {
            let event = (self.options.on_tampering)(&tampering);
            witnessed.write(&Event::of(&event)?, &self.path)?;
            witnessed.unrecorded = None;
        }
        Ok(lock)
    }

    /// What now stands under the file's name, made where there is nothing, and locked.
    fn open_again(&self) -> Result<(Arc<File>, FileId, FileLock), ChainError> {
        let file = Arc::new(open_file(&self.path, Missing::Create)?);
        let metadata = file.metadata().map_err(|cause| ChainError::Io { path: self.path.clone(), cause })?;
        let lock = FileLock::acquire(&file, &self.path, self.options.lock_wait)?;
        Ok((file, id_of(&metadata), lock))
    }
}

/// What a path leads to.
enum Place {
    /// The chain of a file that is open, or is just being opened.
    Chain(Arc<InlineChain>),
    /// A file without one: how it was named, where it is, and itself.
    File { given: PathBuf, path: PathBuf, file: Arc<File>, id: FileId },
}

/// Looks for `path` among the chains that are open, by every way that two names can mean one file; then opens it.
fn find_or_open(open: &[Weak<InlineChain>], missing: Missing, path: &Path) -> Result<Place, ChainError> {
    let io = |cause| ChainError::Io { path: path.into(), cause };
    let find = |is_it: &dyn Fn(&InlineChain) -> bool| {
        let could_be_opened = |chain: &InlineChain| chain.opened.get() != Some(&false);
        open.iter().filter_map(Weak::upgrade).find(|chain| could_be_opened(chain) && is_it(chain)).map(Place::Chain)
    };
    // By name first: what was put in the place of a file that is open, or of a directory that leads to it, is not
    // another file, but a rewritten one.
    let given = std::path::absolute(path).map_err(io)?;
    if let Some(chain) = find(&|chain| chain.given == given) {
        return Ok(chain);
    }
    let path = real_path(path).map_err(io)?;
    if let Some(chain) = find(&|chain| chain.path == path) {
        return Ok(chain);
    }
    let file = Arc::new(open_file(&path, missing)?);
    let id = id_of(&file.metadata().map_err(io)?);
    Ok(find(&|chain| chain.id() == id).unwrap_or(Place::File { given, path, file, id }))
}

/// Tells those who wait for a chain to be opened when it is not going to be, by an error or a panic.
struct OpeningOutcome<'a>(&'a OnceLock<bool>);

impl OpeningOutcome<'_> {
    fn succeeded(self) {
        // Nobody else sets it; dropping sets it to no avail.
        let _ = self.0.set(true);
    }
}

impl Drop for OpeningOutcome<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(false);
    }
}
