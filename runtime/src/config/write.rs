//! Which keys a command may set, and the file on disk.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::edit;
use super::error::ConfigError;
use crate::manifest::fields::Reader;
use crate::manifest::file::{self, BYTE_ORDER_MARK};
use crate::manifest::{CredentialName, MANIFEST_MAX_BYTES, ManifestError};
use crate::secret::Secret;

/// The keys with a fixed name.
const FIXED: [(&str, &str); 6] = [
    ("registry", "default"),
    ("registry", "index_url"),
    ("inference", "provider"),
    ("inference", "model"),
    ("inference", "api_key"),
    ("inference", "endpoint"),
];
const CREDENTIALS: &str = "credentials";
const KNOWN: &str = "known are registry.default, registry.index_url, inference.provider, inference.model, inference.api_key, \
                     inference.endpoint and credentials.NAME";

/// Which of the two files is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The one in the murmur home.
    Global,
    /// The one of the project.
    Project,
}

/// A key that a command may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settable {
    section: &'static str,
    leaf: String,
}

impl Settable {
    /// The key `text`, to be written to `target`.
    ///
    /// # Errors
    /// It is none that a command writes, or none of that file.
    pub fn parse(text: &str, target: Target) -> Result<Self, ConfigError> {
        let refused = |reason, hint: String| Err(ConfigError::Key { key: text.to_owned(), reason, hint });
        let key = match text.split_once('.') {
            Some((CREDENTIALS, name)) => match name.parse::<CredentialName>() {
                Ok(name) => Self { section: CREDENTIALS, leaf: name.as_str().to_owned() },
                Err(error) => return refused("names no credential", format!("the name {error}")),
            },
            Some((section, leaf)) => match FIXED.into_iter().find(|known| *known == (section, leaf)) {
                Some((section, leaf)) => Self { section, leaf: leaf.to_owned() },
                None => return refused("is not a key that can be set", KNOWN.to_owned()),
            },
            None => return refused("is not a key that can be set", KNOWN.to_owned()),
        };
        match target {
            Target::Project if key.is_secret() => refused(
                "belongs into the global configuration alone",
                "add -g; a project's configuration is read by everybody who has the project".to_owned(),
            ),
            Target::Project | Target::Global => Ok(key),
        }
    }

    /// Why setting it changes nothing that this version does, where that is so.
    pub fn without_effect(&self) -> Option<&'static str> {
        match (self.section, self.leaf.as_str()) {
            ("inference", _) => Some("an agent's model is the one in its murmur.yaml"),
            ("registry", "index_url") => Some("what is searched are the stores and `registry.sources`"),
            _ => None,
        }
    }

    fn is_secret(&self) -> bool {
        self.section == CREDENTIALS || self.leaf == "api_key"
    }

    fn check(&self, value: &str) -> Result<(), ConfigError> {
        let refused = |reason: String| Err(ConfigError::Value { key: self.to_string(), reason });
        if self.is_secret() && !value.chars().all(|c| c.is_ascii_graphic()) {
            return refused("holds characters that a request's header cannot".to_owned());
        }
        if value.trim().is_empty() {
            return refused("is empty".to_owned());
        }
        if value.chars().any(char::is_control) {
            return refused("holds control characters".to_owned());
        }
        Ok(())
    }
}

impl std::fmt::Display for Settable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.section, self.leaf)
    }
}

/// Writes `value` to `key` in the file at `path`, which is made if it is not there. Everything else in it stays as it is,
/// byte for byte; its mode becomes 0600. The file is there whole, the old one or the new.
///
/// # Errors
/// The value cannot be one of the key, the file cannot be read or is not YAML, it is written in a form that cannot be
/// changed safely, or it cannot be written.
pub fn set(key: &Settable, value: &Secret, path: &Path) -> Result<(), ConfigError> {
    key.check(value.expose())?;
    let written = |cause| ConfigError::Write { path: path.to_owned(), cause };
    let text = match file::read_as_is(path) {
        Ok(as_is) => as_is.text,
        // A link that leads nowhere is somebody's mistake and not to be replaced.
        Err(ManifestError::Unreadable { cause, .. })
            if cause.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() =>
        {
            String::new()
        }
        Err(error) => return Err(ConfigError::File(error)),
    };
    // A text that is no YAML is refused with its place.
    Reader::new(path, text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text)).parse().map_err(ConfigError::File)?;
    let edited =
        edit::set(&text, key.section, &key.leaf, value.expose()).map_err(|edit::NotSafe| ConfigError::NotEditable {
            path: path.to_owned(),
            reason: "it is written in a form in which more than this value would change",
            by_hand: format!("`{}:` below `{}:`", key.leaf, key.section),
        })?;
    if edited.len() as u64 > MANIFEST_MAX_BYTES {
        return Err(ConfigError::File(ManifestError::TooLarge { path: path.to_owned() }));
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(written)?;
    // Where the file is kept elsewhere behind a link, the link stays.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    replace(&place, edited.as_bytes()).map_err(written)
}

/// Refuses a project's file, at `path`, that is kept elsewhere. A project may be somebody else's, cloned with every link that
/// they put into it, and such a link must not choose which file of the user is changed.
///
/// # Errors
/// The file or its directory is a link.
pub fn refuse_links(key: &Settable, path: &Path) -> Result<(), ConfigError> {
    for place in path.parent().into_iter().chain([path]) {
        if fs::symlink_metadata(place).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(ConfigError::NotEditable {
                path: place.to_owned(),
                reason: "it is a symbolic link, and a project's configuration is not written through one",
                by_hand: format!("`{}:` below `{}:`", key.leaf, key.section),
            });
        }
    }
    Ok(())
}

/// Puts `bytes` into the place of the file at `path`, for its owner alone.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let temporary = directory.join(format!(".{}.{}.tmp", super::CONFIG_FILE, uuid::Uuid::new_v4()));
    let outcome = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if outcome.is_err() {
        // What is left of the attempt is of no use to anybody.
        let _ = fs::remove_file(&temporary);
        return outcome;
    }
    File::open(directory)?.sync_all()
}
