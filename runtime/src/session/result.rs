//! A script capsule's final output, `out/result.txt` in the accessible workdir.
//!
//! The workdir is somebody else's and its capsules may change it, `out` too. So no link in that place is followed,
//! neither one that is found there nor one that the capsule puts there: it could lead anywhere on the host.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use super::paths::RESULT_FILE;

/// Mode of the file, before the process's umask.
const MODE: u32 = 0o666;

/// The result's path, and the directory and the name that it consists of.
fn place(accessible: &Path) -> (PathBuf, PathBuf, &'static str) {
    let path = accessible.join(RESULT_FILE);
    let (directory, name) = RESULT_FILE.rsplit_once('/').unwrap_or((".", RESULT_FILE));
    (path, accessible.join(directory), name)
}

/// What stands where the result is to be written and must not be replaced, in words. Changes nothing.
pub(crate) fn obstacle(accessible: &Path) -> Option<String> {
    let (path, directory, _) = place(accessible);
    let stands = |path: &Path| fs::symlink_metadata(path).ok();
    if stands(&directory).is_some_and(|metadata| !metadata.is_dir()) {
        Some(format!("{} is a link or a file, and a directory is needed there", directory.display()))
    } else if stands(&path).is_some_and(|metadata| metadata.is_dir()) {
        Some(format!("{} is a directory, and the result is written there", path.display()))
    } else {
        None
    }
}

/// Makes the result's directory, and takes away what an earlier session left: it must not pass for this one's.
pub(crate) fn prepare(accessible: &Path) -> io::Result<()> {
    let (_, directory, name) = place(accessible);
    match fs::create_dir(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    match unlinkat(open(&directory)?, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Leaves what the capsule printed as its result, unless it left one itself.
pub(crate) fn leave(accessible: &Path, printed: &[u8]) -> io::Result<()> {
    let (_, directory, name) = place(accessible);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(open(&directory)?, name, flags, Mode::from_raw_mode(MODE)) {
        Ok(file) => File::from(file).write_all(printed),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Where the result is, if there is one.
pub(crate) fn found(accessible: &Path) -> Option<PathBuf> {
    let (path, directory, name) = place(accessible);
    let stat = statat(open(&directory).ok()?, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(path)
}

/// Opens the directory itself, not what a link in its place leads to.
fn open(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, directory, flags, Mode::empty())?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn workdir() -> TempDir {
        let workdir = tempfile::tempdir().unwrap();
        prepare(workdir.path()).unwrap();
        workdir
    }

    #[test]
    fn what_was_printed_is_the_result_where_the_capsule_left_none() {
        let workdir = workdir();
        let path = workdir.path().join(RESULT_FILE);
        assert_eq!(found(workdir.path()), None);
        leave(workdir.path(), b"printed").unwrap();
        assert_eq!(found(workdir.path()), Some(path.clone()));
        leave(workdir.path(), b"printed later").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"printed");
        prepare(workdir.path()).unwrap();
        assert_eq!(found(workdir.path()), None);
    }

    #[test]
    fn a_link_in_the_directorys_place_leads_nowhere() {
        let workdir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let precious = elsewhere.path().join("result.txt");
        fs::write(&precious, "precious").unwrap();
        assert_eq!(obstacle(workdir.path()), None);
        symlink(elsewhere.path(), workdir.path().join("out")).unwrap();
        assert!(obstacle(workdir.path()).unwrap().contains("is a link"));
        assert!(prepare(workdir.path()).is_err());
        assert!(leave(workdir.path(), b"printed").is_err());
        assert_eq!(found(workdir.path()), None);
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }

    #[test]
    fn a_link_in_the_files_place_is_no_result_and_is_not_followed() {
        let workdir = workdir();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("target");
        symlink(&target, workdir.path().join(RESULT_FILE)).unwrap();
        leave(workdir.path(), b"printed").unwrap();
        assert_eq!(found(workdir.path()), None);
        assert!(!target.exists());
    }
}
