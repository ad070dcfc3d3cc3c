//! A component's bytes, read once: what is hashed is what is compiled.

use super::error::{FileKind, GuestError};
use crate::content::{Content, ContentHash};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bytes of a component and where they are from.
#[derive(Clone, Debug)]
pub struct Code {
    origin: PathBuf,
    content: Content,
}

impl Code {
    /// Takes bytes that are in memory and hashed already. `origin` names them in errors: a file, or an archive and what is in it.
    ///
    /// # Errors
    /// [`GuestError::NotAComponent`].
    pub fn new(origin: impl Into<PathBuf>, content: Content) -> Result<Self, GuestError> {
        let origin = origin.into();
        match other_kind(content.bytes()) {
            Some(kind) => Err(GuestError::NotAComponent { path: origin, kind }),
            None => Ok(Self { origin, content }),
        }
    }

    /// Reads a component's file.
    ///
    /// # Errors
    /// [`GuestError::NotFound`], [`GuestError::Unreadable`], [`GuestError::NotAComponent`].
    pub fn read(path: &Path) -> Result<Self, GuestError> {
        Self::new(path, Content::new(read(path)?))
    }

    pub(crate) fn origin(&self) -> &Path {
        &self.origin
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    pub(crate) fn digest(&self) -> ContentHash {
        self.content.sha256()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    let bytes = fs::metadata(path).and_then(|metadata| {
        if metadata.is_file() {
            fs::read(path)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
        }
    });
    bytes.map_err(|source| {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::NotFound {
            GuestError::NotFound { path }
        } else {
            GuestError::Unreadable { path, source }
        }
    })
}

/// What these bytes are, if they do not begin as a component does.
fn other_kind(bytes: &[u8]) -> Option<FileKind> {
    const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
    const CORE_MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
    if bytes.starts_with(&COMPONENT) {
        None
    } else if bytes.starts_with(&CORE_MODULE) {
        Some(FileKind::CoreModule)
    } else if bytes.is_empty() {
        Some(FileKind::Empty)
    } else if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) {
        Some(FileKind::Text)
    } else {
        Some(FileKind::Unknown)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_first_bytes() {
        assert_eq!(other_kind(b"\0asm\x0d\0\x01\0..."), None);
        assert_eq!(other_kind(b"\0asm\x01\0\0\0..."), Some(FileKind::CoreModule));
        assert_eq!(other_kind(b"(component)"), Some(FileKind::Text));
        assert_eq!(other_kind(b""), Some(FileKind::Empty));
        assert_eq!(other_kind(b"\x7fELF\0\xff"), Some(FileKind::Unknown));
    }

    #[test]
    fn a_directory_is_not_a_component_file() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path()), Err(GuestError::Unreadable { .. })));
        let missing = directory.path().join("missing.wasm");
        assert!(matches!(read(&missing), Err(GuestError::NotFound { path }) if path == missing));
    }
}
