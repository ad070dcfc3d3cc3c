//! The file under an inline chain: finding it, opening it, locking it, and reading it through a walker.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::append::ChainError;
use crate::inline::InlineWalker;

/// Device and inode: which file it is, whatever it is called.
pub(crate) type FileId = (u64, u64);

/// What to do where there is no file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Make one.
    Create,
    /// Fail.
    Refuse,
}

/// Feeds the file from `offset` to its end, and says how long it is.
pub(crate) fn feed(mut file: &File, offset: u64, walker: &mut InlineWalker) -> io::Result<u64> {
    let mut at = file.seek(SeekFrom::Start(offset))?;
    let mut block = vec![0; 64 * 1024];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(at),
            Ok(read) => {
                walker.update(&block[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Opens the file to append to it. Neither a link nor anything else that is no regular file is one.
pub(crate) fn open_file(path: &Path, missing: Missing) -> Result<File, ChainError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = File::options()
        .read(true)
        .append(true)
        .create(missing == Missing::Create)
        .mode(0o644)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    match opened {
        Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => Ok(file),
        Ok(_) => Err(ChainError::Replaced(path.into())),
        Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(ChainError::Replaced(path.into()))
        }
        Err(cause) => Err(ChainError::Io { path: path.into(), cause }),
    }
}

/// The path with its directory's links resolved; the file itself need not exist.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(directory.canonicalize()?.join(name))
}

pub(crate) fn id_of(metadata: &std::fs::Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// What stands under a name now.
pub(crate) struct Standing {
    pub(crate) id: FileId,
    pub(crate) len: u64,
}

/// Looks at what stands at `path`, links not followed; `None` when there is nothing.
///
/// Only what is needed is asked for: a kernel that has told a file's times makes the next write record a new time of its
/// own, which costs more than the write.
#[cfg(target_os = "linux")]
pub(crate) fn look(path: &Path) -> io::Result<Option<Standing>> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO | StatxFlags::SIZE) {
        Ok(found) => {
            let device = makedev(found.stx_dev_major, found.stx_dev_minor);
            Ok(Some(Standing { id: (device, found.stx_ino), len: found.stx_size }))
        }
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Looks at what stands at `path`, links not followed; `None` when there is nothing.
#[cfg(not(target_os = "linux"))]
pub(crate) fn look(path: &Path) -> io::Result<Option<Standing>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(Standing { id: id_of(&found), len: found.len() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file's exclusive lock, let go of when dropped.
pub(crate) struct FileLock(Arc<File>);

impl FileLock {
    /// Takes the lock, and waits for it no longer than `wait`.
    pub(crate) fn acquire(file: &Arc<File>, path: &Path, wait: Duration) -> Result<Self, ChainError> {
        let taken = || match file.try_lock() {
            Ok(()) => Ok(Some(FileLock(Arc::clone(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(ChainError::Io { path: path.into(), cause }),
        };
        if let Some(lock) = taken()? {
            return Ok(lock); // most often, and without asking for the time
        }
        let start = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            let left = wait.saturating_sub(start.elapsed());
            std::thread::sleep(pause.min(left));
            match taken()? {
                Some(lock) => return Ok(lock),
                None if left.is_zero() => return Err(ChainError::Locked { path: path.into(), waited: wait }),
                None => pause = (pause * 2).min(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The lock also ends with the file; nothing can be done about an error here.
        let _ = self.0.unlock();
    }
}
