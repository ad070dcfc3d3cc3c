//! The keys of a check: `--key`, a file or 64 digits, and `--keys`, a directory of files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mur_seal::{KeyError, KeyId, PublicKey};

use crate::args::UsageError;

/// What the name of a public key file ends with in a directory of keys.
const KEY_EXTENSION: &str = "pub";

/// Why a directory of keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// It cannot be listed.
    #[error("{}; give a directory that holds the public keys of hosts, one *.pub file a host", listing(.0))]
    Unreadable(io::Error),
    /// No name in it ends with `.pub`.
    #[error(
        "there is no *.pub file in it; put the record-seal.pub of each host there, under a name that ends with .pub"
    )]
    Empty,
    /// A `*.pub` in it is a link, a directory or something else that is no file.
    #[error("{name}: it is {kind}; put a copy of the public key itself there")]
    NotAFile {
        /// Its name in the directory.
        name: String,
        /// What it is, with its article.
        kind: &'static str,
    },
    /// A `*.pub` in it is no public key.
    #[error("{name}: {cause}")]
    NotAKey {
        /// Its name in the directory.
        name: String,
        /// Why it is none.
        cause: KeyError,
    },
}

fn listing(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "there is no such directory".into();
    }
    if error.kind() == io::ErrorKind::NotADirectory {
        return "it is not a directory".into();
    }
    error.to_string()
}

/// The keys that were given, in the order given, files before directories. They tell of each other whether one is the
/// private half of another.
pub(crate) fn read_keys(names: &[String], directories: &[PathBuf]) -> Result<Vec<PublicKey>, UsageError> {
    let mut keys = names.iter().map(|name| read_key(name)).collect::<Result<Vec<_>, _>>()?;
    for directory in directories {
        let found = read_directory(directory)
            .map_err(|cause| UsageError::Keys { directory: directory.display().to_string(), cause })?;
        keys.extend(found);
    }
    let private = match keys.as_slice() {
        // No key is its own private half.
        [] | [_] => None,
        several => {
            let halves = PrivateHalves::among(several);
            several.iter().find_map(|other| halves.of(other.key_id()))
        }
    };
    match private {
        Some(private) => Err(refused(private.path(), KeyError::Private)),
        None => Ok(keys),
    }
}

/// Which of the keys given, taken as private ones, belong to which public keys. A private key looks like a public one, so
/// only a public key that somebody names can tell.
#[derive(Debug)]
pub(crate) struct PrivateHalves<'a> {
    keys: &'a [PublicKey],
    /// By the id of the public half. To compute one takes a multiplication on the curve, so it is done once for each key and
    /// not for each pair, and not at all where no seal asks for it.
    by_public_half: OnceLock<HashMap<KeyId, &'a PublicKey>>,
}

impl<'a> PrivateHalves<'a> {
    pub(crate) fn among(keys: &'a [PublicKey]) -> Self {
        PrivateHalves { keys, by_public_half: OnceLock::new() }
    }

    /// The key among them that is the private half of the key with the id `public`.
    pub(crate) fn of(&self, public: KeyId) -> Option<&'a PublicKey> {
        let by_public_half =
            self.by_public_half.get_or_init(|| self.keys.iter().map(|key| (key.id_as_seed(), key)).collect());
        by_public_half.get(&public).copied()
    }
}

/// Every `*.pub` file of a directory, by name. One that cannot be used is an error and not passed over: fewer keys than the
/// caller believes to have given would make good records unverifiable.
fn read_directory(directory: &Path) -> Result<Vec<PublicKey>, KeysError> {
    let entries = fs::read_dir(directory).map_err(KeysError::Unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(KeysError::Unreadable)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == KEY_EXTENSION));
    paths.sort();
    if paths.is_empty() {
        return Err(KeysError::Empty);
    }
    paths.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Result<PublicKey, KeysError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // `PublicKey::load` follows links and refuses everything else that is no file. In a directory that is taken as a whole,
    // a link is more likely to be planted than meant.
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(KeysError::NotAFile { name, kind: "a symbolic link" }),
        Ok(_) => match PublicKey::load(path) {
            Err(KeyError::NotAFile(kind)) => Err(KeysError::NotAFile { name, kind }),
            loaded => loaded.map_err(|cause| KeysError::NotAKey { name, cause }),
        },
        Err(error) => Err(KeysError::NotAKey { name, cause: KeyError::Unreadable(error.to_string()) }),
    }
}

/// A key as `--key` takes it: 64 hexadecimal digits, or a file that holds them.
pub fn read_key(name: &str) -> Result<PublicKey, UsageError> {
    let path = Path::new(name);
    if is_key(name) || (is_meant_as_key(name) && !path.exists()) {
        return PublicKey::from_hex(name).map_err(|cause| refused(None, cause));
    }
    PublicKey::load(path).map_err(|cause| refused(Some(name), cause))
}

/// Whether `text` is 64 hexadecimal digits. Such a text is a key even where a file is called so.
fn is_key(text: &str) -> bool {
    let text = text.trim();
    text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether `text` looks more like a key, mistyped or of another kind, than like a file's name. It is judged as a key
/// then, and never repeated in a message: it may be a private one.
fn is_meant_as_key(text: &str) -> bool {
    let text = text.trim();
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    let only_digits = text.chars().all(|c| c.is_ascii_hexdigit() || c.is_whitespace());
    let of_another_kind = ["-----BEGIN", "ssh-", "ecdsa-"].iter().any(|beginning| text.starts_with(beginning));
    text.is_empty() || of_another_kind || (only_digits && digits >= 16) || (digits >= 32 && !text.contains(['/', '.']))
}

fn refused(path: Option<&str>, cause: KeyError) -> UsageError {
    UsageError::Key { name: path.unwrap_or("(given as text)").into(), cause }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn what_looks_like_a_key_is_never_taken_for_a_files_name() {
        let base64 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqL host";
        let spaced = "d75a9801 82b10ab7";
        for text in
            [&PUBLIC[1..], &format!("0x{PUBLIC}"), &format!("\"{PUBLIC}\""), "21fe31dfa154a261", base64, spaced, ""]
        {
            assert!(is_meant_as_key(text), "{text}");
        }
        for name in ["record-seal.pub", "keys/facade", "cafe", &format!("keys/{PUBLIC}"), &format!("{PUBLIC}.pub")] {
            assert!(!is_meant_as_key(name), "{name}");
        }
    }

    #[test]
    fn digits_are_a_key_of_either_case_with_white_space_around() {
        for text in [PUBLIC.to_owned(), PUBLIC.to_uppercase(), format!(" {PUBLIC}\r\n")] {
            assert_eq!(read_key(&text).unwrap().to_hex(), PUBLIC);
        }
    }

    #[test]
    fn a_private_half_is_the_one_that_the_key_itself_knows() {
        let seeds = (0..=255).map(|byte| [byte; 32]);
        let keys: Vec<PublicKey> = seeds.filter_map(|seed| PublicKey::from_raw(seed).ok()).collect();
        let halves = PrivateHalves::among(&keys);
        for byte in 0..=255 {
            let host = mur_seal::HostKey::from_seed(&[byte; 32]).unwrap();
            assert_eq!(halves.of(host.key_id()), keys.iter().find(|key| key.is_seed_of(host.key_id())));
        }
    }

    #[test]
    fn two_keys_that_are_halves_of_each_other_are_refused() {
        // A private key passes for a public one where its seed happens to be a point of the curve, as this one is.
        let seed = (0..=255).map(|byte| [byte; 32]).find(|seed| PublicKey::from_raw(*seed).is_ok()).unwrap();
        let private = PublicKey::from_raw(seed).unwrap();
        let public = mur_seal::HostKey::from_seed(&seed).unwrap().public_key().clone();
        let error = read_keys(&[public.to_hex(), private.to_hex()], &[]).unwrap_err();
        assert!(matches!(error, UsageError::Key { cause: KeyError::Private, .. }));
        assert!(!error.to_string().contains(&private.to_hex()));
    }
}
