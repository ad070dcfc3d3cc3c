//! Public keys: what a seal is checked against.

use alloc::string::String;
use core::fmt;

use ed25519_dalek::{Signature, SigningKey, VerifyingKey};

use crate::hash::{KeyId, decode_lower_hex, key_id_of, to_hex};

/// Why something is not a public key. The texts end with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing but white space.
    #[error("it is empty; a public key is 64 hexadecimal digits, as in the host's record-seal.pub")]
    Empty,
    /// A PEM block.
    #[error("it is a PEM file; give the host's record-seal.pub, which holds the raw key as 64 hexadecimal digits")]
    Pem,
    /// An OpenSSH public key.
    #[error("it is an SSH public key; records are sealed with a key of their own: give the host's record-seal.pub")]
    Ssh,
    /// A character that no hexadecimal text has.
    #[error(
        "character {position} is not a hexadecimal digit; a public key is 64 hexadecimal digits, as in the host's record-seal.pub"
    )]
    NotHex {
        /// Which character, counted from 1.
        position: usize,
    },
    /// Too few or too many digits.
    #[error("it has {found} hexadecimal digits; a public key has 64, as in the host's record-seal.pub")]
    Length {
        /// How many digits there are.
        found: usize,
    },
    /// 32 bytes that encode no usable point of the curve.
    #[error(
        "these 32 bytes are not an Ed25519 public key; give the host's record-seal.pub, not its private key or another hash"
    )]
    NotAPoint,
    /// A point of small order: any signature can be made to hold under it.
    #[error(
        "it is a weak key (a point of small order), under which anyone can sign; no host makes such a key: give the host's record-seal.pub"
    )]
    Weak,
    /// The private half of a host key.
    #[error(
        "it is the host's private key; give the public half, record-seal.pub beside it, and keep this file to the host"
    )]
    Private,
    /// Not a regular file.
    #[error("it is {0}; give the host's record-seal.pub, or its 64 hexadecimal digits")]
    NotAFile(&'static str),
    /// It could not be read.
    #[error("{0}; give the host's record-seal.pub, or its 64 hexadecimal digits")]
    Unreadable(String),
}

/// A public key that seals are checked against, with the id that seals name it by.
#[derive(Clone)]
pub struct PublicKey {
    key: VerifyingKey,
    id: KeyId,
    path: Option<String>,
}

impl PublicKey {
    /// From the raw 32 bytes.
    ///
    /// Points of small order and second spellings of a point are refused: under the first anyone can sign, and the
    /// second would give one key two ids.
    pub fn from_raw(raw: [u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&raw).map_err(|_| KeyError::NotAPoint)?;
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        if key.to_edwards().compress().to_bytes() != raw {
            return Err(KeyError::NotAPoint);
        }
        Ok(PublicKey { key, id: key_id_of(&raw), path: None })
    }

    /// From 64 hexadecimal digits of either case; white space around them is ignored.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        Self::from_raw(decode(text)?)
    }

    /// The same key, remembered as read from `path`.
    pub fn at_path(self, path: impl Into<String>) -> Self {
        PublicKey { path: Some(path.into()), ..self }
    }

    /// The id that seals name this key by.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The file this key was read from, as the caller named it.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The raw key as 64 lowercase hexadecimal digits.
    pub fn to_hex(&self) -> String {
        to_hex(self.key.as_bytes())
    }

    /// Whether `signature`, 128 lowercase hexadecimal digits, is this key's over `message`. The check is strict: a
    /// signature has one spelling, and keys of small order sign nothing.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        decode_lower_hex(signature.as_bytes()).is_some_and(|signature| self.verifies_raw(message, &signature))
    }

    pub(crate) fn verifies_raw(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.key.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }

    /// Whether these 32 bytes, taken as a private seed, belong to the key with id `sealer`: that is, whether someone gave
    /// a private key as a public one. One in two seeds is also a point of the curve, so only a seal can tell.
    pub fn is_seed_of(&self, sealer: KeyId) -> bool {
        self.id_as_seed() == sealer
    }

    /// The id of the public key that belongs to this one's bytes, were they a private seed. It takes a multiplication on the
    /// curve: whoever has many keys to ask asks each once, and not [`is_seed_of`](Self::is_seed_of) for each pair.
    pub fn id_as_seed(&self) -> KeyId {
        key_id_of(&public_half(self.key.as_bytes()))
    }
}

/// Decodes 64 hexadecimal digits of either case with white space around, or says what the text is instead. A byte order
/// mark, which some editors put before a text, counts as white space.
pub(crate) fn decode(text: &str) -> Result<[u8; 32], KeyError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(KeyError::Empty);
    }
    if text.starts_with("-----BEGIN") {
        return Err(KeyError::Pem);
    }
    if text.starts_with("ssh-") || text.starts_with("ecdsa-") {
        return Err(KeyError::Ssh);
    }
    if let Some(at) = text.chars().position(|c| !c.is_ascii_hexdigit()) {
        return Err(KeyError::NotHex { position: at + 1 });
    }
    decode_lower_hex(text.to_ascii_lowercase().as_bytes()).ok_or(KeyError::Length { found: text.len() })
}

/// The public half of a private seed.
pub(crate) fn public_half(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.key.as_bytes() == other.key.as_bytes()
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

    #[test]
    fn a_public_key_is_64_digits_of_either_case_with_white_space_around() {
        let key = PublicKey::from_hex(PUBLIC).unwrap();
        assert_eq!(alloc::format!("{}", key.key_id()), "21fe31dfa154a261");
        for spelled in [PUBLIC.to_uppercase(), alloc::format!("  {PUBLIC}\r\n")] {
            assert_eq!(PublicKey::from_hex(&spelled).unwrap(), key);
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        assert_eq!(PublicKey::from_hex(" \r\n"), Err(KeyError::Empty));
        assert_eq!(PublicKey::from_hex(&PUBLIC[1..]), Err(KeyError::Length { found: 63 }));
        assert_eq!(PublicKey::from_hex(&alloc::format!("{PUBLIC}0")), Err(KeyError::Length { found: 65 }));
        assert_eq!(PublicKey::from_hex(&PUBLIC.replacen('0', " ", 1)), Err(KeyError::NotHex { position: 7 }));
        assert_eq!(PublicKey::from_hex("-----BEGIN PUBLIC KEY-----\n"), Err(KeyError::Pem));
        assert_eq!(PublicKey::from_hex("ssh-ed25519 AAAA x@y"), Err(KeyError::Ssh));
    }

    #[test]
    fn weak_points_and_second_spellings_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        assert_eq!(PublicKey::from_raw(identity), Err(KeyError::Weak));
        assert_eq!(PublicKey::from_raw([0; 32]), Err(KeyError::Weak));
        // y = p + 3 encodes the point with y = 3 a second time.
        let mut second = [0xff; 32];
        second[0] = 0xf0;
        second[31] = 0x7f;
        assert!(matches!(PublicKey::from_raw(second), Err(KeyError::NotAPoint | KeyError::Weak)));
    }

    #[test]
    fn a_seed_given_as_a_public_key_is_recognised_by_the_seal_it_made() {
        // Not every seed is a point of the curve; this one happens to be none, and is refused before any seal is read.
        match PublicKey::from_hex(SEED) {
            Ok(seed) => assert!(seed.is_seed_of(PublicKey::from_hex(PUBLIC).unwrap().key_id())),
            Err(error) => assert_eq!(error, KeyError::NotAPoint),
        }
    }
}
