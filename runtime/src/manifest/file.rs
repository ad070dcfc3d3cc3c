//! Reading a file that people write: bounded, and without waiting on what is no file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::ManifestError;

/// The largest manifest that is read, in bytes.
pub const MANIFEST_MAX_BYTES: u64 = 1024 * 1024;

/// What UTF-8 files may begin with.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The manifest's text, without a byte order mark.
pub(super) fn read(path: &Path) -> Result<String, ManifestError> {
    let mut text = read_as_is(path)?.text;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// A file as it is on disk.
pub(crate) struct AsIs {
    /// With its byte order mark, if it has one.
    pub(crate) text: String,
    /// Who may do what with it: the nine low bits.
    pub(crate) mode: u32,
}

/// A file of text, of at most [`MANIFEST_MAX_BYTES`].
pub(crate) fn read_as_is(path: &Path) -> Result<AsIs, ManifestError> {
    let unreadable = |cause: io::Error| ManifestError::Unreadable { path: path.to_owned(), cause };
    // Without NONBLOCK, opening a FIFO that nobody writes to would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| unreadable(errno.into()))?);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        return Err(ManifestError::NotAFile { path: path.to_owned(), found });
    }

    // The length is checked on what was read: a file may grow between two looks at it.
    let mut bytes = Vec::new();
    file.take(MANIFEST_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MANIFEST_MAX_BYTES {
        return Err(ManifestError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| ManifestError::not_text(path, error.as_bytes(), error.utf8_error()))?;
    Ok(AsIs { text, mode: metadata.permissions().mode() & 0o777 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;

    use super::*;

    fn refusal(path: &Path) -> String {
        let shown = read(path).unwrap_err().diagnostic().to_string();
        shown.replace(&path.parent().unwrap().display().to_string(), "DIR")
    }

    #[test]
    fn what_is_no_readable_text_is_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("directory")).unwrap();
        fs::create_dir(at("project")).unwrap();
        fs::write(at("project/murmur.yaml"), "").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        fs::write(at("latin1"), b"name: a\ndescription: caf\xe9\n").unwrap();
        fs::write(at("large"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        let names = ["absent", "directory", "project", "fifo", "latin1", "large", "dangling", "loop"];
        insta::assert_snapshot!(names.map(|name| refusal(&at(name))).join("\n"), @r#"
        error[E-IO-001]: DIR/absent does not exist
          hint: run mur in a capsule's directory, or pass the path of its murmur.yaml with --manifest
        error[E-IO-003]: DIR/directory is a directory
        error[E-IO-003]: DIR/project is a directory
          hint: the manifest is DIR/project/murmur.yaml
        error[E-IO-003]: DIR/fifo is not a regular file
        error[E-MAN-002]: DIR/latin1:2: the text is not UTF-8
          hint: save the file as UTF-8
        error[E-IO-003]: DIR/large is larger than 1048576 bytes
        error[E-IO-001]: DIR/dangling does not exist
          hint: run mur in a capsule's directory, or pass the path of its murmur.yaml with --manifest
        error[E-IO-003]: DIR/loop cannot be read: Too many levels of symbolic links (os error 40)
        "#);
    }

    #[test]
    fn a_link_to_a_file_and_a_byte_order_mark_are_read_through() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("real"), b"\xef\xbb\xbfname: a\n").unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("murmur.yaml")).unwrap();
        assert_eq!(read(&directory.path().join("murmur.yaml")).unwrap(), "name: a\n");
    }

    #[test]
    fn a_manifest_of_exactly_the_largest_size_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("murmur.yaml");
        fs::write(&path, vec![b'#'; 1024 * 1024]).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1024 * 1024);
    }
}
