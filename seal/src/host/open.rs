//! Opening files of a record: no link is followed, nothing is waited for, and what is not a regular file is not read.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::record::{Found, Unfit};

/// A directory below which files are opened by relative paths of plain segments.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Directory(rustix::fd::OwnedFd);

#[cfg(unix)]
mod unix {
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, statat};
    use rustix::io::Errno;

    use super::{Directory, File, Found, Path, Unfit, io};

    impl Directory {
        /// Opens the directory at `path`, which may itself be reached through links.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Directory(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
        }

        /// The open directory.
        pub(crate) fn handle(&self) -> &rustix::fd::OwnedFd {
            &self.0
        }

        /// Opens the directory at `path` below this one, without following links.
        pub(crate) fn below(&self, path: &str) -> io::Result<Self> {
            let mut at = self.0.try_clone()?;
            for segment in path.split('/').filter(|segment| !segment.is_empty()) {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                at = openat(&at, segment, flags, Mode::empty())?;
            }
            Ok(Directory(at))
        }

        /// Opens the regular file at `path` below this directory for reading.
        pub(crate) fn file(&self, path: &str) -> io::Result<Found<File>> {
            let (directories, name) = path.rsplit_once('/').map_or((None, path), |(before, name)| (Some(before), name));
            let mut at = None;
            for segment in directories.into_iter().flat_map(|path| path.split('/')) {
                let parent = at.as_ref().unwrap_or(&self.0);
                match kind(statat(parent, segment, AtFlags::SYMLINK_NOFOLLOW))? {
                    Some(FileType::Directory) => {}
                    Some(FileType::Symlink) => return Ok(Found::Unfit(Unfit::Link)),
                    _ => return Ok(Found::Absent),
                }
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                at = Some(openat(parent, segment, flags, Mode::empty())?);
            }
            let parent = at.as_ref().unwrap_or(&self.0);
            // Looked at before it is opened, since opening a device can have effects, and after, since the name may have
            // been given to something else in between.
            match kind(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW))? {
                None => return Ok(Found::Absent),
                Some(kind) if kind != FileType::RegularFile => return Ok(Found::Unfit(unfit(kind))),
                Some(_) => {}
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = match openat(parent, name, flags, Mode::empty()) {
                Ok(file) => file,
                Err(Errno::NOENT) => return Ok(Found::Absent),
                Err(Errno::LOOP) => return Ok(Found::Unfit(Unfit::Link)),
                Err(error) => return Err(error.into()),
            };
            let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
            if kind == FileType::RegularFile { Ok(Found::File(file.into())) } else { Ok(Found::Unfit(unfit(kind))) }
        }
    }

    fn kind(stat: rustix::io::Result<rustix::fs::Stat>) -> io::Result<Option<FileType>> {
        match stat {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn unfit(kind: FileType) -> Unfit {
        match kind {
            FileType::Symlink => Unfit::Link,
            FileType::Directory => Unfit::Directory,
            FileType::Fifo => Unfit::Fifo,
            FileType::Socket => Unfit::Socket,
            FileType::RegularFile | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                Unfit::Device
            }
        }
    }
}

/// A directory below which files are opened by relative paths of plain segments.
///
/// Without handles to open from, each name is looked at and then opened: whoever can swap files while a check runs can
/// have a link followed. What is read is still judged by its bytes.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Directory(std::path::PathBuf);

#[cfg(not(unix))]
impl Directory {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Directory(path.into()))
    }

    pub(crate) fn file(&self, path: &str) -> io::Result<Found<File>> {
        let mut at = self.0.clone();
        let mut segments = path.split('/').peekable();
        while let Some(segment) = segments.next() {
            at.push(segment);
            let metadata = match std::fs::symlink_metadata(&at) {
                Ok(metadata) => metadata,
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    return Ok(Found::Absent);
                }
                Err(error) => return Err(error),
            };
            let last = segments.peek().is_none();
            if metadata.is_symlink() {
                return Ok(Found::Unfit(Unfit::Link));
            }
            if last && metadata.is_dir() {
                return Ok(Found::Unfit(Unfit::Directory));
            }
            if last && !metadata.is_file() {
                return Ok(Found::Unfit(Unfit::Device));
            }
            if !last && !metadata.is_dir() {
                return Ok(Found::Absent);
            }
        }
        match File::open(&at) {
            Ok(file) => Ok(Found::File(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Absent),
            Err(error) => Err(error),
        }
    }
}

/// Opens the regular file at `path`, following links, without waiting for a writer of a FIFO.
pub(crate) fn regular_file(path: &Path) -> io::Result<Found<File>> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        return Ok(Found::Unfit(Unfit::Directory));
    }
    if !metadata.is_file() {
        return Ok(Found::Unfit(other(&metadata)));
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed());
    }
    options.open(path).map(Found::File)
}

#[cfg(unix)]
fn other(metadata: &std::fs::Metadata) -> Unfit {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        Unfit::Fifo
    } else if kind.is_socket() {
        Unfit::Socket
    } else {
        Unfit::Device
    }
}

#[cfg(not(unix))]
fn other(_: &std::fs::Metadata) -> Unfit {
    Unfit::Device
}
