//! Bytes and their hash: hashed once, where they come in, so that what is hashed is what is used.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// A SHA-256, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// A text that is no SHA-256. The message completes "the hash …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not 64 hexadecimal digits in lower case")]
pub struct HashError;

impl ContentHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of all that a reader still gives.
    ///
    /// # Errors
    /// The reader's.
    pub fn of_reader(mut reader: impl io::Read) -> io::Result<Self> {
        const BLOCK: usize = 64 * 1024;
        let (mut hasher, mut block) = (Sha256::new(), vec![0; BLOCK]);
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(count) => hasher.update(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The hash's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        if text.contains(|c: char| c.is_ascii_uppercase()) {
            return Err(HashError);
        }
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| HashError)?;
        Ok(Self(hash))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Bytes with their hash.
#[derive(Debug, Clone)]
pub struct Content {
    bytes: Arc<[u8]>,
    sha256: ContentHash,
}

impl Content {
    /// Hashes `bytes`.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { sha256: ContentHash::of(&bytes), bytes }
    }

    /// The bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Their hash.
    pub fn sha256(&self) -> ContentHash {
        self.sha256
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_back_as_it_is_written_and_in_no_other_form() {
        let hash = Content::new(*b"abc").sha256();
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", &text[1..], &format!("{text}0"), &text.to_uppercase(), &text.replace('b', "g")] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(HashError), "{wrong}");
        }
    }

    #[test]
    fn the_hash_of_bytes_is_that_of_a_reader_of_them() {
        let bytes = vec![7; 200_000];
        assert_eq!(ContentHash::of_reader(&bytes[..]).unwrap(), ContentHash::of(&bytes));
    }
}
