//! Reading and replacing files: bounded, without waiting on what is no file, and whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};

use super::error::ArtifactError;

/// How a file is opened so that a FIFO is never waited for.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The bytes of the regular file at `path`, of which there are at most `most`.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, ArtifactError> {
    let file = rustix::fs::open(path, READ, Mode::empty()).map_err(|errno| unreadable(path, errno.into()))?;
    drain(File::from(file), path, most)
}

/// The same; `None` where nothing is there.
pub(super) fn read_if_there(path: &Path, most: u64) -> Result<Option<Vec<u8>>, ArtifactError> {
    match read(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of a file below `directory`, reached through no link. The parts of its path are plain names. Also whether
/// it may be executed.
pub(super) fn read_below(directory: &Path, parts: &[&str], most: u64) -> Result<(Vec<u8>, Executable), ArtifactError> {
    let at = |count: usize| parts[..count].iter().fold(directory.to_owned(), |path, part| path.join(part));
    let mut parent = rustix::fs::open(directory, READ | OFlags::DIRECTORY, Mode::empty())
        .map_err(|errno| unreadable(directory, errno.into()))?;
    for (index, part) in parts.iter().enumerate() {
        let here = at(index + 1);
        let failed = |errno: rustix::io::Errno| {
            // A link is refused as one whatever the system calls it: ELOOP here, ENOTDIR or EMLINK elsewhere.
            if fs::symlink_metadata(&here).is_ok_and(|metadata| metadata.is_symlink()) {
                ArtifactError::Link { path: here.clone() }
            } else {
                unreadable(&here, errno.into())
            }
        };
        let last = index + 1 == parts.len();
        let flags = READ | OFlags::NOFOLLOW | if last { OFlags::empty() } else { OFlags::DIRECTORY };
        parent = rustix::fs::openat(&parent, *part, flags, Mode::empty()).map_err(failed)?;
    }
    let path = at(parts.len());
    let mode = rustix::fs::fstat(&parent).map_err(|errno| unreadable(&path, errno.into()))?.st_mode;
    let executable = if mode & 0o111 == 0 { Executable::No } else { Executable::Yes };
    Ok((drain(File::from(parent), &path, most)?, executable))
}

/// Whether a file may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executable {
    /// By somebody.
    Yes,
    /// By nobody.
    No,
}

fn drain(file: File, path: &Path, most: u64) -> Result<Vec<u8>, ArtifactError> {
    let metadata = file.metadata().map_err(|cause| unreadable(path, cause))?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        return Err(ArtifactError::NotAFile { path: path.to_owned(), found });
    }
    // The length is checked on what was read: a file may grow between two looks at it.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|cause| unreadable(path, cause))?;
    if bytes.len() as u64 > most {
        return Err(ArtifactError::TooLarge { what: path.display().to_string(), most });
    }
    Ok(bytes)
}

/// Whether a file operation failed because nothing is there.
pub(super) fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unreadable(path: &Path, cause: io::Error) -> ArtifactError {
    ArtifactError::Read { path: path.to_owned(), cause }
}

/// Puts `bytes` at `path`, whole or not at all, over a file that is there.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    replace_through(path, &temporary(path), bytes)
}

/// Puts `bytes` at `path`, whole or not at all, unless something is there.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    let temporary = temporary(path);
    // A second name is given only where there is no such name yet.
    let written = write_new(&temporary, bytes).and_then(|()| match fs::hard_link(&temporary, path) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked.and_then(|()| sync_parent(path)),
    });
    let _ = fs::remove_file(&temporary);
    written.map_err(|cause| unwritable(path, cause))
}

/// A name beside `path` that nobody else uses.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", uuid::Uuid::new_v4().simple()))
}

/// The same, through a temporary file of a given name beside it, which may be left from a writer that was cut off.
pub(super) fn replace_through(path: &Path, temporary: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    write_new(temporary, bytes).and_then(|()| fs::rename(temporary, path)).and_then(|()| sync_parent(path)).map_err(
        |cause| {
            let _ = fs::remove_file(temporary);
            unwritable(path, cause)
        },
    )
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        Ok(()) | Err(_) => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the names in a file's directory last.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Removes a file that may be there.
pub(super) fn remove(path: &Path) -> Result<(), ArtifactError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(unwritable(path, cause)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes a directory and those above it, each new one with `mode`.
pub(super) fn make_directory(path: &Path, mode: u32) -> Result<(), ArtifactError> {
    fs::DirBuilder::new().recursive(true).mode(mode).create(path).map_err(|cause| unwritable(path, cause))
}

pub(super) fn unwritable(path: &Path, cause: io::Error) -> ArtifactError {
    ArtifactError::Write { path: path.to_owned(), cause }
}

/// A lock that this process holds until it is dropped, or ends in whatever way.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "closing it gives the lock back")] File);

/// Waits for the lock file at `path`, made where it is not there.
pub(super) fn lock(path: &Path) -> Result<Held, ArtifactError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let file = File::from(rustix::fs::open(path, flags, mode).map_err(|errno| unwritable(path, errno.into()))?);
    rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|errno| unwritable(path, errno.into()))?;
    Ok(Held(file))
}

/// Waits until nobody writes under the lock file at `path`. Nothing is made where there is none: then nobody does.
pub(super) fn wait_for_writers(path: &Path) -> Result<(), ArtifactError> {
    let flags = READ | OFlags::NOFOLLOW;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => {
            rustix::fs::flock(&file, FlockOperation::LockShared).map_err(|errno| unreadable(path, errno.into()))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(unreadable(path, errno.into())),
    }
}

/// The names in a directory, sorted; none where there is none. Names that are no text are left out: nothing here has one.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, ArtifactError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(unreadable(directory, cause)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|cause| unreadable(directory, cause))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound_and_nothing_else_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(ArtifactError::TooLarge { most: 4, .. })));
        assert!(matches!(read(directory.path(), 4), Err(ArtifactError::NotAFile { .. })));
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(matches!(read(&fifo, 4), Err(ArtifactError::NotAFile { .. })));
        assert!(read_if_there(&directory.path().join("absent"), 4).unwrap().is_none());
        assert!(read_if_there(&path.join("below"), 4).unwrap().is_none());
    }

    #[test]
    fn no_link_is_followed_to_a_file_that_is_packed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), "x").unwrap();
        symlink("real", at("linked")).unwrap();
        symlink("file", at("real/link")).unwrap();
        assert_eq!(read_below(directory.path(), &["real", "file"], 9).unwrap(), (b"x".to_vec(), Executable::No));
        for parts in [["linked", "file"], ["real", "link"]] {
            let error = read_below(directory.path(), &parts, 9).unwrap_err();
            assert!(matches!(error, ArtifactError::Link { .. }), "{error}");
        }
        assert!(matches!(read_below(directory.path(), &["real"], 9), Err(ArtifactError::NotAFile { .. })));
        assert!(matches!(read_below(directory.path(), &["real", "no"], 9), Err(ArtifactError::Read { .. })));
    }

    #[test]
    fn a_file_is_replaced_whole_and_a_left_over_is_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let temporary = directory.path().join(".file.partial");
        fs::write(&path, "old").unwrap();
        fs::write(&temporary, "cut off").unwrap();
        replace_through(&path, &temporary, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()).unwrap(), ["file"]);
        replace(&path, b"newer").unwrap();
        assert_eq!(names(directory.path()).unwrap(), ["file"]);
        assert!(replace(&directory.path().join("absent/file"), b"x").is_err());
    }
}
