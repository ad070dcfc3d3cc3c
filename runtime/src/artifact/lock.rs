//! `murmur.lock`: the bytes of each artifact that a project uses.
//!
//! ```yaml
//! lock_version: 2
//! artifacts:
//!   - name: some-tool
//!     resolved_version: "1.2.3"
//!     sha256:
//!       any: "<hex>"
//!   - name: some-native-tool
//!     resolved_version: "0.4.2"
//!     sha256:
//!       platforms:
//!         linux-x86_64: "<hex>"
//! ```
//!
//! A component or a text has one hash, `any`; a native artifact has one for each platform that it was installed on. A lock is
//! written by programs only, sorted by name, and the same content is always the same text. What it holds beyond this
//! shape is refused, because it could not be kept.

mod read;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::error::ArtifactError;
use super::file;
use super::id::ArtifactId;
use super::platform::Platform;
use crate::content::ContentHash;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{ArtifactName, Version};

/// The lock's name, beside `murmur.yaml`.
pub const LOCK_FILE: &str = "murmur.lock";
/// The version that is read and written.
const LOCK_VERSION: u64 = 2;
/// The largest lock that is read, in bytes.
const LOCK_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What a project pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    pins: BTreeMap<ArtifactName, Pin>,
}

/// One artifact's pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    version: Version,
    hashes: Hashes,
}

/// A pin's hashes, in exactly one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hashes {
    /// The same bytes on every platform.
    Any(ContentHash),
    /// Other bytes on each; never empty.
    Platforms(BTreeMap<Platform, ContentHash>),
}

/// One hash as a pin holds it: for every platform, or for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinned {
    /// A component or a text.
    Any(ContentHash),
    /// A native payload.
    For(Platform, ContentHash),
}

impl Pinned {
    /// The hash of an archive that is filed, or to be filed, under `platform`.
    pub fn of(platform: Option<Platform>, sha256: ContentHash) -> Self {
        platform.map_or(Self::Any(sha256), |platform| Self::For(platform, sha256))
    }

    /// The hash.
    pub fn sha256(self) -> ContentHash {
        match self {
            Self::Any(sha256) | Self::For(_, sha256) => sha256,
        }
    }
}

/// Why a lock cannot be used, or does not pin what is to be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The text is not a lock's.
    #[error("{}:{line}:{column}: {reason}", .path.display())]
    Shape {
        /// The lock.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// In characters, counted from 1.
        column: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The lock has another version.
    #[error("{}:{line}:{column}: `lock_version` is {found}, and this version of mur reads {LOCK_VERSION}", .path.display())]
    Version {
        /// The lock.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// In characters, counted from 1.
        column: u64,
        /// The version.
        found: String,
    },
    /// There is no entry for an artifact.
    #[error("murmur.lock has no entry for {id}")]
    Absent {
        /// Which.
        id: ArtifactId,
    },
    /// The lock pins another version.
    #[error("murmur.lock pins {}@{}, and {id} is to be run", .id.name(), .pinned.as_str())]
    OtherVersion {
        /// What is to be run.
        id: ArtifactId,
        /// What is pinned.
        pinned: Version,
    },
    /// The lock has no hash for this platform.
    #[error("murmur.lock pins {id} for {}, and has no hash for {platform}", tags(.pinned))]
    NoHash {
        /// Which.
        id: ArtifactId,
        /// For which platform there is none.
        platform: Platform,
        /// For which there are.
        pinned: Vec<Platform>,
    },
    /// The pin is for a payload of the other shape.
    #[error("murmur.lock pins {id} {pinned}, and what is installed is {found}")]
    OtherShape {
        /// Which.
        id: ArtifactId,
        /// What the lock says.
        pinned: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// What is installed is not what is pinned.
    #[error("murmur.lock pins {id} with the SHA-256 {pinned}, and what is installed has {found}")]
    OtherHash {
        /// Which.
        id: ArtifactId,
        /// What is pinned.
        pinned: ContentHash,
        /// What is there.
        found: ContentHash,
    },
}

impl LockError {
    /// The form for people.
    pub fn diagnostic(&self) -> Diagnostic {
        let hint = match self {
            Self::Shape { .. } | Self::Version { .. } => "delete it and run `mur install`",
            Self::Absent { .. } | Self::NoHash { .. } | Self::OtherVersion { .. } | Self::OtherShape { .. } => {
                "run `mur install`"
            }
            Self::OtherHash { .. } => {
                "run `mur install` to get what is pinned; if the change is meant, remove the entry from the lock first"
            }
        };
        Diagnostic::new(Code::LockMismatch, self.to_string()).with_hint(hint)
    }
}

impl Lock {
    /// The lock at `path`; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read, or is no lock of this version.
    pub fn load(path: &Path) -> Result<Option<Self>, ArtifactError> {
        let Some(bytes) = file::read_if_there(path, LOCK_MAX_BYTES)? else {
            // A link to nothing is no absence: no lock would ever be made there, and nothing ever pinned.
            if std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
                let reason = "it is a symbolic link that leads nowhere".to_owned();
                return Err(LockError::Shape { path: path.to_owned(), line: 1, column: 1, reason }.into());
            }
            return Ok(None);
        };
        Ok(Some(Self::parse(path, &bytes)?))
    }

    /// The lock that `bytes` are. `path` is only named in messages.
    ///
    /// # Errors
    /// They are no lock of this version.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, LockError> {
        read::lock(path, bytes)
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// What is pinned of an artifact.
    pub fn pin(&self, name: &ArtifactName) -> Option<&Pin> {
        self.pins.get(name)
    }

    /// Checks that the lock pins these bytes of an artifact.
    ///
    /// # Errors
    /// It does not: there is no entry, one of another version, none for this platform, or one with another hash.
    pub fn verify(&self, id: &ArtifactId, found: Pinned) -> Result<(), LockError> {
        let pin = self.pins.get(id.name()).ok_or_else(|| LockError::Absent { id: id.clone() })?;
        if pin.version != *id.version() {
            return Err(LockError::OtherVersion { id: id.clone(), pinned: pin.version.clone() });
        }
        let shape = |pinned, found| Err(LockError::OtherShape { id: id.clone(), pinned, found });
        let pinned = match (&pin.hashes, found) {
            (Hashes::Any(pinned), Pinned::Any(_)) => pinned,
            (Hashes::Any(_), Pinned::For(..)) => return shape("for every platform", "native"),
            (Hashes::Platforms(_), Pinned::Any(_)) => return shape("for single platforms", "for every platform"),
            (Hashes::Platforms(hashes), Pinned::For(platform, _)) => {
                let pinned = || hashes.keys().copied().collect();
                let absent = || LockError::NoHash { id: id.clone(), platform, pinned: pinned() };
                hashes.get(&platform).ok_or_else(absent)?
            }
        };
        if *pinned == found.sha256() {
            Ok(())
        } else {
            Err(LockError::OtherHash { id: id.clone(), pinned: *pinned, found: found.sha256() })
        }
    }

    /// The hash that contradicts these bytes: pinned for the same version, in the same shape and for the same platform.
    pub fn conflict(&self, id: &ArtifactId, found: Pinned) -> Option<ContentHash> {
        self.pinned(id, found).filter(|pinned| *pinned != found.sha256())
    }

    /// The hash that is pinned where that of `like` would be.
    fn pinned(&self, id: &ArtifactId, like: Pinned) -> Option<ContentHash> {
        let pin = self.pins.get(id.name()).filter(|pin| pin.version == *id.version())?;
        match (&pin.hashes, like) {
            (Hashes::Any(pinned), Pinned::Any(_)) => Some(*pinned),
            (Hashes::Platforms(hashes), Pinned::For(platform, _)) => hashes.get(&platform).copied(),
            (Hashes::Any(_), Pinned::For(..)) | (Hashes::Platforms(_), Pinned::Any(_)) => None,
        }
    }

    /// Pins these bytes. Hashes of other platforms stay; a pin of another version or of the other shape is replaced, for
    /// then all of it is out of date. Every other artifact stays as it is.
    pub fn upsert(&mut self, id: &ArtifactId, found: Pinned) {
        if let (Some(Pin { version, hashes: Hashes::Platforms(hashes) }), Pinned::For(platform, sha256)) =
            (self.pins.get_mut(id.name()), found)
            && version == id.version()
        {
            hashes.insert(platform, sha256);
            return;
        }
        let hashes = match found {
            Pinned::Any(sha256) => Hashes::Any(sha256),
            Pinned::For(platform, sha256) => Hashes::Platforms(BTreeMap::from([(platform, sha256)])),
        };
        self.pins.insert(id.name().clone(), Pin { version: id.version().clone(), hashes });
    }

    /// The lock's text.
    pub fn to_text(&self) -> String {
        let mut text = format!("lock_version: {LOCK_VERSION}\n");
        // Writing to a text cannot fail.
        let _ = if self.pins.is_empty() { writeln!(text, "artifacts: []") } else { writeln!(text, "artifacts:") };
        for (name, Pin { version, hashes }) in &self.pins {
            // A JSON text is a YAML text in double quotes.
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let version = quoted(version.as_str());
            let name = if is_plain(name) { name.to_string() } else { quoted(name.as_str()) };
            let _ = writeln!(text, "  - name: {name}\n    resolved_version: {version}\n    sha256:");
            match hashes {
                Hashes::Any(sha256) => {
                    let _ = writeln!(text, "      any: \"{sha256}\"");
                }
                Hashes::Platforms(hashes) => {
                    text.push_str("      platforms:\n");
                    for (platform, sha256) in hashes {
                        let _ = writeln!(text, "        {platform}: \"{sha256}\"");
                    }
                }
            }
        }
        text
    }

    /// Writes the lock, whole or not at all, where there is none. One that appeared meanwhile stays as it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(&self, path: &Path) -> Result<(), ArtifactError> {
        file::create(path, self.to_text().as_bytes())
    }

    /// Writes the lock, whole or not at all, where it says something else than the file that is there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ArtifactError> {
        match Self::load(path) {
            Ok(Some(there)) if there == *self => Ok(()),
            Ok(_) | Err(_) => file::replace(path, self.to_text().as_bytes()),
        }
    }
}

/// Whether a name is a text to YAML also without quotes: neither a number nor one of its words.
fn is_plain(name: &ArtifactName) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    name.as_str().starts_with(|c: char| c.is_ascii_lowercase()) && !WORDS.contains(&name.as_str())
}

fn tags(platforms: &[Platform]) -> String {
    platforms.iter().map(|platform| platform.tag()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
