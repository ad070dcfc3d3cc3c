//! The `.mur.zip`: a plain zip with the author's `murmur.yaml` at its root, and the files that it requires.
//!
//! An archive may come from anywhere, so all of it is looked through before anything of it is used: how many entries
//! there are, what they are called, that no two are the same to any file system, what kind of file they would be, how
//! large they say they are, and that the two places in which a zip describes an entry agree. What an entry decompresses
//! to is counted while it does.

mod write;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{Cursor, Read as _};
use std::sync::Arc;

use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::error::ArtifactError;
use crate::manifest::EntryPath;

pub use write::Packing;

/// How the name of an archive's file ends.
pub const ARCHIVE_SUFFIX: &str = ".mur.zip";
/// The manifest's entry.
pub(super) const MANIFEST_ENTRY: &str = "murmur.yaml";
/// More files than any artifact has.
const ENTRIES_MAX: usize = 10_000;

/// The most bytes that an archive may have, and that all of its entries together may decompress to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(u64);

impl Limit {
    /// Overrides the limit.
    pub const VARIABLE: &'static str = "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES";

    /// A limit of so many bytes.
    pub const fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The process's own limit: the default, or what [`Limit::VARIABLE`] says.
    ///
    /// # Errors
    /// The variable holds no number greater than zero.
    pub fn of_process() -> Result<Self, ArtifactError> {
        match std::env::var_os(Self::VARIABLE) {
            None => Ok(Self::default()),
            Some(value) => value
                .to_str()
                .and_then(|value| value.parse().ok())
                .filter(|bytes| *bytes > 0)
                .map(Self)
                .ok_or(ArtifactError::BadLimit { value: value.to_string_lossy().into_owned() }),
        }
    }

    /// The limit in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Default for Limit {
    /// 500 MiB.
    fn default() -> Self {
        Self(500 * 1024 * 1024)
    }
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    path: EntryPath,
    /// In the archive's own list, which also holds directories.
    index: usize,
    bytes: u64,
}

impl Entry {
    /// Where it stands in the archive.
    pub fn path(&self) -> &EntryPath {
        &self.path
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// An archive that was looked through.
#[derive(Clone)]
pub struct Archive {
    /// What messages call it: its path or its URL.
    origin: String,
    entries: Vec<Entry>,
    zip: ZipArchive<Cursor<Arc<[u8]>>>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("origin", &self.origin).field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Archive {
    /// Looks through the archive in `bytes`. `origin` is what messages call it: its path or its URL.
    ///
    /// # Errors
    /// [`ArtifactError::Archive`] names the first entry that cannot be accepted, and where its description begins.
    pub fn open(origin: impl Into<String>, bytes: Arc<[u8]>, limit: Limit) -> Result<Self, ArtifactError> {
        let origin = origin.into();
        let refused = |reason: String| ArtifactError::Archive { origin: origin.clone(), reason };
        if bytes.len() as u64 > limit.bytes() {
            return Err(ArtifactError::TooLarge { what: origin, most: limit.bytes() });
        }
        let broken = |error: ZipError| refused(format!("not a zip that can be read: {}", plain(&error)));
        // Nothing stands before an archive: what does would be another file to another reader.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        refuse_many(&bytes).map_err(refused)?;
        let mut zip = ZipArchive::with_config(config, Cursor::new(bytes.clone())).map_err(broken)?;
        refuse_rest(&bytes, zip.central_directory_start(), zip.comment().len()).map_err(refused)?;
        if zip.len() > ENTRIES_MAX {
            return Err(refused(too_many(zip.len())));
        }
        if zip.has_duplicate_names() {
            let twice = repeated(&bytes, zip.central_directory_start());
            let named = twice.map_or(String::new(), |(name, at)| format!("`{name}` (at byte {at}) "));
            return Err(refused(format!("entry {named}has a name that another has")));
        }
        let mut checked = Checked { origin: &origin, limit, entries: Vec::new(), total: 0, seen: HashMap::new() };
        for index in 0..zip.len() {
            checked.accept(index, &zip.by_index_data(index).map_err(broken)?)?;
        }
        let entries = checked.finish()?;
        zip.validate_header_consistency().map_err(broken)?;
        Ok(Self { origin, entries, zip })
    }

    /// What messages call it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Its files, in its own order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The file at a path.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path.as_str() == path)
    }

    /// The bytes of one of its files.
    ///
    /// # Errors
    /// [`ArtifactError::Archive`]: they cannot be decompressed, are not those of their checksum, or are not as many as
    /// the archive says.
    pub fn read(&self, entry: &Entry) -> Result<Vec<u8>, ArtifactError> {
        let refused = |reason: String| ArtifactError::Archive {
            origin: self.origin.clone(),
            reason: format!("entry `{}`: {reason}", entry.path),
        };
        // A copy shares the bytes and the list, and has a position of its own.
        let mut zip = self.zip.clone();
        let file = zip.by_index(entry.index).map_err(|error| refused(plain(&error)))?;
        let mut bytes = Vec::with_capacity(usize::try_from(entry.bytes).unwrap_or(0));
        let mut reader = file.take(entry.bytes.saturating_add(1));
        reader.read_to_end(&mut bytes).map_err(|error| refused(format!("it cannot be decompressed: {error}")))?;
        if bytes.len() as u64 != entry.bytes {
            return Err(refused(format!("it is said to have {} bytes, and has others", entry.bytes)));
        }
        Ok(bytes)
    }
}

/// The entries that were accepted so far.
struct Checked<'o> {
    origin: &'o str,
    limit: Limit,
    entries: Vec<Entry>,
    /// Bytes that all entries decompress to.
    total: u64,
    /// Every path as a file system that ignores case knows it, and as it is written.
    seen: HashMap<String, String>,
}

impl Checked<'_> {
    fn accept(&mut self, index: usize, entry: &zip::read::ZipFileEntry<'_>) -> Result<(), ArtifactError> {
        let raw = entry.name_raw();
        let shown = String::from_utf8_lossy(raw).into_owned();
        let refused = |reason: String| ArtifactError::Archive {
            origin: self.origin.to_owned(),
            reason: format!("entry `{shown}` (number {index}, at byte {}): {reason}", entry.central_header_start()),
        };
        let name = std::str::from_utf8(raw).map_err(|_| refused("its name is not UTF-8".to_owned()))?;
        let directory = name.strip_suffix('/');
        let path: EntryPath =
            directory.unwrap_or(name).parse().map_err(|reason| refused(format!("its path {reason}")))?;
        if entry.encrypted() {
            return Err(refused("it is encrypted".to_owned()));
        }
        let kind = if directory.is_some() { Kind::Directory } else { Kind::File };
        check_mode(entry.external_attributes() >> 16, kind).map_err(|reason| refused(reason.to_owned()))?;
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(refused(format!("its compression, {}, is not supported", entry.compression())));
        }
        if let Some(other) = self.seen.insert(path.as_str().to_lowercase(), path.to_string()) {
            let reason = if other == path.as_str() {
                "it is a file and a directory at once"
            } else {
                "only its case tells it from another"
            };
            return Err(refused(format!("{reason}: `{other}`")));
        }
        self.total = self.total.saturating_add(entry.size());
        if self.total > self.limit.bytes() {
            return Err(refused(format!(
                "with it, the entries decompress to {} bytes, and at most {} are read",
                self.total,
                self.limit.bytes()
            )));
        }
        match kind {
            Kind::Directory if entry.size() > 0 => Err(refused("a directory has no bytes".to_owned())),
            Kind::Directory => Ok(()),
            Kind::File => {
                self.entries.push(Entry { path, index, bytes: entry.size() });
                Ok(())
            }
        }
    }

    /// No file stands where another needs a directory.
    fn finish(self) -> Result<Vec<Entry>, ArtifactError> {
        let files: HashSet<String> = self.entries.iter().map(|entry| entry.path.as_str().to_lowercase()).collect();
        for entry in &self.entries {
            let path = entry.path.as_str().to_lowercase();
            let above = path.match_indices('/').map(|(end, _)| &path[..end]).find(|above| files.contains(*above));
            if let Some(above) = above {
                let reason = format!("entry `{}`: `{above}` is a file, and would have to be a directory", entry.path);
                return Err(ArtifactError::Archive { origin: self.origin.to_owned(), reason });
            }
        }
        Ok(self.entries)
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    File,
    Directory,
}

/// Refuses what would become something else than a plain file or directory.
///
/// `mode` is what Unix keeps beside an entry, and zero where an archive was not made there. The zip reader's own view of it
/// leaves the special bits out.
fn check_mode(mode: u32, kind: Kind) -> Result<(), &'static str> {
    const TYPE: u32 = 0o170_000;
    const SPECIAL: u32 = 0o7_000;
    match (mode & TYPE, kind) {
        (0, _) | (0o100_000, Kind::File) | (0o040_000, Kind::Directory) => {}
        (0o120_000, _) => return Err("it is a symbolic link"),
        _ => return Err("it is neither a file nor a directory, or not what its name says"),
    }
    if mode & SPECIAL == 0 { Ok(()) } else { Err("it has a set-user, set-group or sticky bit") }
}

/// Refuses a list of absurd length before anything is made of it. Every place at which the end of such a list could be
/// read is looked at, for which of them counts is the zip reader's matter. A file in the archive may hold what looks like such
/// an end, so what says of itself what cannot be is none.
fn refuse_many(bytes: &[u8]) -> Result<(), String> {
    const END: [u8; 4] = *b"PK\x05\x06";
    const LENGTH: usize = 22;
    /// An end record, with the longest comment.
    const LONGEST: usize = LENGTH + 0xffff;
    let first = bytes.len().saturating_sub(LONGEST);
    let tail = &bytes[first..];
    for (at, end) in tail.windows(LENGTH).enumerate().filter(|(_, end)| end.starts_with(&END)) {
        let short = |at: usize| u16::from_le_bytes([end[at], end[at + 1]]);
        let long = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
        // The largest numbers stand for ones that are written elsewhere.
        let elsewhere = long(12) == u32::MAX || long(16) == u32::MAX;
        let whole = [short(4), short(6)].iter().all(|disk| matches!(*disk, 0 | u16::MAX));
        let fits = elsewhere || u64::from(long(12)) + u64::from(long(16)) <= (first + at) as u64;
        let count = usize::from(short(10));
        if whole && fits && count > ENTRIES_MAX {
            return Err(too_many(count));
        }
    }
    Ok(())
}

/// Refuses whatever stands behind the list of entries, save the one record that ends it and its comment. A reader that looks
/// for the end elsewhere would find another archive there.
fn refuse_rest(bytes: &[u8], list: u64, comment: usize) -> Result<(), String> {
    const RECORD: usize = 22;
    let end = bytes.len().checked_sub(RECORD.saturating_add(comment));
    let record = end.and_then(|end| bytes.get(end..)).filter(|record| record.starts_with(b"PK\x05\x06"));
    let (Some(end), Some(&[a, b, c, d])) = (end, record.and_then(|record| record.get(12..16))) else {
        return Err("something stands behind its end".to_owned());
    };
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    if list.saturating_add(size) == end as u64 {
        Ok(())
    } else {
        Err("something stands between its list of entries and its end".to_owned())
    }
}

fn too_many(count: usize) -> String {
    format!("it lists {count} or more entries, and at most {ENTRIES_MAX} are read")
}

/// The first name in a zip's list that stood there before, and where the list says it again.
fn repeated(bytes: &[u8], start: u64) -> Option<(String, usize)> {
    const HEADER: usize = 46;
    let mut seen = HashSet::new();
    let mut at = usize::try_from(start).ok()?;
    loop {
        let header = bytes.get(at..at + HEADER).filter(|header| header.starts_with(b"PK\x01\x02"))?;
        let length = |offset: usize| usize::from(u16::from_le_bytes([header[offset], header[offset + 1]]));
        let name = bytes.get(at + HEADER..at + HEADER + length(28))?;
        if !seen.insert(name) {
            return Some((String::from_utf8_lossy(name).into_owned(), at));
        }
        at += HEADER + length(28) + length(30) + length(32);
    }
}

/// The zip reader's message, as it fits into one of ours.
fn plain(error: &ZipError) -> String {
    if let ZipError::InvalidArchive(reason) = error {
        reason.to_string()
    } else if let ZipError::UnsupportedArchive(reason) = error {
        (*reason).to_owned()
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests;
