//! The keys, the clock and the ids that everything here is made with.

use mur_seal::HostKey;

/// The seed of the host that writes the records: test 1 of RFC 8032, section 7.1.
pub const HOST_SEED: [u8; 32] = [
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5,
    0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
];

/// The seed of another host: test 2 of RFC 8032, section 7.1.
pub const OTHER_SEED: [u8; 32] = [
    0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31,
    0x9f, 0x35, 0xab, 0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb,
];

/// The host's public key file, relative to [`root`](crate::root).
pub const HOST_PUBLIC_KEY: &str = "keys/host.pub";
/// The other host's public key file, relative to [`root`](crate::root).
pub const OTHER_PUBLIC_KEY: &str = "keys/other.pub";

/// When the recorded session began, in milliseconds since the Unix epoch: 2025-12-01 00:00:00 UTC.
pub const CLOCK_MS: u64 = 1_764_547_200_000;
/// When its seals were made.
pub const SEALED_AT_MS: u64 = CLOCK_MS + 61_000;

/// The session that most records here belong to.
pub const SESSION: &str = "ses_019ad735840070008000000000000001";
/// Another session of the same host.
pub const OTHER_SESSION: &str = "ses_019ad7358400700080000000000000ff";

/// The record store's name of the conversation that a session appends to.
pub const CONVERSATION_RECORD: &str = "reviewer";
/// Its context id.
pub const CONVERSATION_CONTEXT: &str = "ctx_019ad735840070008000000000000001";

/// The host that writes the records.
///
/// # Panics
/// Never: the seed is a published test vector.
pub fn host_key() -> HostKey {
    key_of(&HOST_SEED)
}

/// Another host.
///
/// # Panics
/// Never: the seed is a published test vector.
pub fn other_key() -> HostKey {
    key_of(&OTHER_SEED)
}

fn key_of(seed: &[u8; 32]) -> HostKey {
    HostKey::from_seed(seed).unwrap_or_else(|error| panic!("a seed of RFC 8032 makes a key: {error}"))
}

/// The id number `number` of a kind: `<prefix>_` and a UUIDv7 of [`CLOCK_MS`] as 32 hexadecimal digits.
pub fn id(prefix: &str, number: u64) -> String {
    format!("{prefix}_{CLOCK_MS:012x}7000{:016x}", 0x8000_0000_0000_0000 | number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_ids_are_made_like_all_others() {
        assert_eq!(SESSION, id("ses", 1));
        assert_eq!(OTHER_SESSION, id("ses", 0xff));
        assert_eq!(CONVERSATION_CONTEXT, id("ctx", 1));
    }

    #[test]
    fn the_keys_are_those_of_the_rfc() {
        let public = |key: HostKey| key.public_key().to_hex();
        assert_eq!(public(host_key()), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(public(other_key()), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    }
}
