//! Line hashes, the head of a listed chain, and key ids: everything in the format that is a SHA-256.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// The `prev_hash` of line 1: `sha256:` and 64 zeros.
pub const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

const PREFIX: &[u8] = b"sha256:";

/// A SHA-256 in the text form of the format: `sha256:` and 64 lowercase hexadecimal digits.
///
/// It is the hash of one line, or the head of a chain. 32 bytes in memory, aligned so that copies of it are whole vectors
/// also inside larger values: a walk makes one for every line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(align(16))]
pub struct LineHash([u8; 32]);

impl LineHash {
    /// What line 1 names as the line before it; [`GENESIS`] as a value.
    pub const GENESIS: LineHash = LineHash([0; 32]);

    /// Bytes of the text form.
    pub const TEXT_LEN: usize = PREFIX.len() + 64;

    /// Reads the text form. `None` unless `text` is exactly `sha256:` and 64 lowercase hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?.try_into().ok()?;
        decode_hash(digits).map(LineHash)
    }

    /// The text form as ASCII bytes.
    pub fn to_text(self) -> [u8; Self::TEXT_LEN] {
        let mut text = [0; Self::TEXT_LEN];
        text[..PREFIX.len()].copy_from_slice(PREFIX);
        for (pair, byte) in text[PREFIX.len()..].chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX_DIGITS[usize::from(byte >> 4)];
            pair[1] = HEX_DIGITS[usize::from(byte & 0xf)];
        }
        text
    }

    pub(crate) fn of_hasher(hasher: Sha256) -> Self {
        LineHash(hasher.finalize().into())
    }

    /// Of the words that SHA-256 ends with.
    pub(crate) fn of_words(words: &[u32; 8]) -> Self {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_be_bytes();
        }
        LineHash(bytes)
    }
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text form is ASCII.
        f.pad(core::str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LineHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        Self::parse(text.as_bytes()).ok_or(NotAHash)
    }
}

/// A text is not `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not `sha256:` and 64 lowercase hexadecimal digits")]
pub struct NotAHash;

impl Serialize for LineHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LineHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText("`sha256:` and 64 lowercase hexadecimal digits", Self::parse))
    }
}

/// The first 16 lowercase hexadecimal digits of SHA-256 over a raw public key: the name a seal gives the key it was made
/// with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 8]);

impl KeyId {
    /// Reads 16 lowercase hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        decode_lower_hex(text).map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText("16 lowercase hexadecimal digits", Self::parse))
    }
}

/// The id of a raw 32-byte public key.
pub fn key_id_of(public_key: &[u8; 32]) -> KeyId {
    let digest: [u8; 32] = Sha256::digest(public_key).into();
    let mut id = [0; 8];
    id.copy_from_slice(&digest[..8]);
    KeyId(id)
}

/// The hash of one line as stored: without its newline, with its own `prev_hash`. Nothing is normalised; a `\r` before
/// the newline belongs to the line.
pub fn line_hash(line: &[u8]) -> LineHash {
    LineHash(Sha256::digest(line).into())
}

/// The head of a listed chain: SHA-256 over the text forms of the line hashes, joined by `\n`. Of no lines, the hash of
/// nothing.
pub fn listed_head<'a>(hashes: impl IntoIterator<Item = &'a LineHash>) -> LineHash {
    let mut hasher = ListedHasher::new();
    for hash in hashes {
        hasher.push(hash);
    }
    hasher.head()
}

/// [`listed_head`], one line hash at a time.
#[derive(Clone)]
pub struct ListedHasher {
    hasher: Sha256,
    empty: bool,
}

impl ListedHasher {
    /// A chain of no lines.
    pub fn new() -> Self {
        ListedHasher { hasher: Sha256::new(), empty: true }
    }

    /// Adds the next line's hash.
    pub fn push(&mut self, hash: &LineHash) {
        if !self.empty {
            self.hasher.update(b"\n");
        }
        self.empty = false;
        self.hasher.update(hash.to_text());
    }

    /// The head after the lines pushed so far.
    pub fn head(&self) -> LineHash {
        LineHash::of_hasher(self.hasher.clone())
    }
}

impl Default for ListedHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ListedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedHasher({})", self.head())
    }
}

/// Decodes exactly `2 * N` lowercase hexadecimal digits.
///
/// The format has one spelling of every value, so that one value has one byte form; `hex` reads either case.
pub(crate) fn decode_lower_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    let mut seen = 0;
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let (high, low) = (digit_value(pair[0]), digit_value(pair[1]));
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen < 16).then_some(bytes)
}

/// The same for a hash. Every line of a chain is decoded by this, so it is written in steps that compilers turn into vector
/// instructions.
fn decode_hash(text: &[u8; 64]) -> Option<[u8; 32]> {
    let values = text.map(digit_value);
    let seen = values.iter().fold(0, |seen, value| seen | value);
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(values.as_chunks::<2>().0) {
        *byte = pair[0] << 4 | pair[1];
    }
    (seen < 16).then_some(bytes)
}

/// The value of a lowercase hexadecimal digit; of every other byte, one that no digit has. Without a branch.
const fn digit_value(byte: u8) -> u8 {
    let (digit, letter) = (byte.wrapping_sub(b'0'), byte.wrapping_sub(b'a'));
    let of_letter = if letter < 6 { letter + 10 } else { 0xff };
    if digit < 10 { digit } else { of_letter }
}

/// A serde visitor for a value that is parsed from a string without owning it.
pub(crate) struct FromText<T>(pub(crate) &'static str, pub(crate) fn(&[u8]) -> Option<T>);

impl<T> de::Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text.as_bytes()).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// Lowercase hexadecimal text of `bytes`.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_hash_has_one_spelling() {
        let hash = line_hash(b"{}");
        let text = hash.to_string();
        assert_eq!(text.parse::<LineHash>().unwrap(), hash);
        for wrong in [
            text.to_uppercase(),
            text.replace("sha256:", ""),
            text.replace("sha256:", "SHA256:"),
            text[..70].into(),
            text.clone() + "0",
        ] {
            assert_eq!(wrong.parse::<LineHash>(), Err(NotAHash), "{wrong}");
        }
    }

    #[test]
    fn genesis_is_all_zeros_and_is_read_as_such() {
        assert_eq!(GENESIS.parse::<LineHash>().unwrap(), LineHash::GENESIS);
        assert_eq!(LineHash::GENESIS.to_string(), GENESIS);
    }

    #[test]
    fn the_head_of_no_lines_is_the_hash_of_nothing() {
        assert_eq!(listed_head([]), line_hash(b""));
    }

    #[test]
    fn a_listed_head_is_the_hash_of_the_joined_texts() {
        let (a, b) = (line_hash(b"a"), line_hash(b"b"));
        let mut joined = a.to_string();
        joined.push('\n');
        joined.push_str(&b.to_string());
        assert_eq!(listed_head([&a, &b]), line_hash(joined.as_bytes()));
    }
}
