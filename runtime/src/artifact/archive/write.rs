//! Writing an archive: the same input gives the same bytes.

use std::io::{Cursor, Write as _};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::super::error::ArtifactError;
use super::super::file::Executable;
use super::MANIFEST_ENTRY;
use crate::manifest::EntryPath;

/// What an archive is to hold.
///
/// The entries stand in the order in which they were added, with the date on which zip's calendar begins, and with one
/// of two modes. Nothing of the place or the time at which an archive is written gets into it.
#[derive(Debug, Clone)]
pub struct Packing {
    manifest: Vec<u8>,
    files: Vec<(EntryPath, Vec<u8>, Executable)>,
}

impl Packing {
    /// An archive with this manifest.
    pub fn new(manifest: Vec<u8>) -> Self {
        Self { manifest, files: Vec::new() }
    }

    /// Adds a file.
    pub fn add(&mut self, path: EntryPath, bytes: Vec<u8>, executable: Executable) {
        self.files.push((path, bytes, executable));
    }

    /// The archive's bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Archive`]: two files have one path, or one is larger than zip can say.
    pub fn write(&self) -> Result<Vec<u8>, ArtifactError> {
        let failed = |error: &ZipError| ArtifactError::Archive {
            origin: "the archive".to_owned(),
            reason: format!("it cannot be written: {}", super::plain(error)),
        };
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let manifest = (MANIFEST_ENTRY, &self.manifest, Executable::No);
        let files = self.files.iter().map(|(path, bytes, executable)| (path.as_str(), bytes, *executable));
        for (name, bytes, executable) in std::iter::once(manifest).chain(files) {
            let mode = match executable {
                Executable::Yes => 0o755,
                Executable::No => 0o644,
            };
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .compression_level(Some(6))
                .last_modified_time(DateTime::default())
                .unix_permissions(mode);
            zip.start_file(name, options).map_err(|error| failed(&error))?;
            zip.write_all(bytes).map_err(|error| failed(&ZipError::Io(error)))?;
        }
        Ok(zip.finish().map_err(|error| failed(&error))?.into_inner())
    }
}
