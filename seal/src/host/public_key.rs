//! Reading a public key file, and telling apart what people give instead of one.

use std::io::Read;
use std::path::Path;

use super::open::regular_file;
use crate::key::{KeyError, PublicKey, decode, public_half};
use crate::record::Found;

/// The private and the public file's names stand in the code of every platform: a check may be given either.
pub(crate) const PRIVATE_NAME: &str = "record-seal.key";
pub(crate) const PUBLIC_NAME: &str = "record-seal.pub";

/// More than any file that holds one key, of whatever format.
const MAX_LEN: u64 = 64 * 1024;

impl PublicKey {
    /// Reads a public key file: 64 hexadecimal digits of either case, white space around them ignored.
    ///
    /// A FIFO or a device is refused without waiting for it; a host's private key is refused by name, and where the
    /// public file beside it tells.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |error: std::io::Error| KeyError::Unreadable(error.to_string());
        let file = match regular_file(path).map_err(unreadable)? {
            Found::File(file) => file,
            Found::Absent => return Err(KeyError::Unreadable("there is no such file".into())),
            Found::Unfit(kind) => return Err(KeyError::NotAFile(kind.as_str())),
        };
        if path.file_name().is_some_and(|name| name == PRIVATE_NAME) {
            return Err(KeyError::Private);
        }
        let text = read_text(file).map_err(unreadable)?;
        let raw = decode(&text)?;
        if is_private(&raw, path) {
            return Err(KeyError::Private);
        }
        Ok(PublicKey::from_raw(raw)?.at_path(path.to_string_lossy()))
    }
}

/// The file's beginning, decoded leniently: what is no UTF-8 is no hexadecimal digit either.
fn read_text(file: std::fs::File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether `raw`, taken as a seed, is the private half of the public key file beside `path`.
fn is_private(raw: &[u8; 32], path: &Path) -> bool {
    // Beside the file itself, where `path` is a link to it.
    let beside = path.canonicalize().unwrap_or_else(|_| path.into()).with_file_name(PUBLIC_NAME);
    let Ok(Found::File(file)) = regular_file(&beside) else { return false };
    let Ok(text) = read_text(file) else { return false };
    decode(&text).is_ok_and(|public| public == public_half(raw))
}
