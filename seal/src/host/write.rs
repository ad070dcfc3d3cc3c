//! Replacing a small file so that a crash at any point leaves the old one or the new one.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::open::Directory;

/// A file under a temporary name in its directory, complete and on disk, to be given its own name.
pub(crate) struct Prepared<'a> {
    directory: &'a Directory,
    pub(crate) name: String,
    named: bool,
}

impl Directory {
    /// Writes `bytes` to `.<name>.<uuid>.tmp` with exactly `mode`, and to disk.
    pub(crate) fn prepare(&self, name: &str, bytes: &[u8], mode: u32) -> io::Result<Prepared<'_>> {
        let temporary = format!(".{name}.{}.tmp", uuid::Uuid::new_v4());
        let mode = Mode::from_raw_mode(mode);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(self.handle(), temporary.as_str(), flags, mode)?);
        let prepared = Prepared { directory: self, name: temporary, named: false };
        fchmod(&file, mode)?; // the process's umask has no say in it
        file.write_all(bytes)?;
        fsync(&file)?;
        Ok(prepared)
    }

    /// Replaces the file `name`, or makes it. A link or anything else that is no regular file is not replaced.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        match statat(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                return Err(io::Error::other("what stands in its place is not a regular file; it was left alone"));
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut prepared = self.prepare(name, bytes, mode)?;
        renameat(self.handle(), prepared.name.as_str(), self.handle(), name)?;
        prepared.named = true;
        self.sync()
    }

    /// Puts the directory's entries on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fsync(self.handle())?)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if !self.named {
            // Nothing depends on it: a temporary file that stays behind is never read.
            let _ = unlinkat(self.directory.handle(), self.name.as_str(), AtFlags::empty());
        }
    }
}
