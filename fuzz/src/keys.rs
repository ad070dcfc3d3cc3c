//! Keys and signatures: the input is 32 bytes of a key, 64 of a signature, and a message; it is also read as a key's text.

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use mur_seal::{HostKey, KeyError, PublicKey};

/// A key has one spelling in bytes, and its text reads back. What the strict check accepts, a plain one accepts; what a
/// private key signs holds, and no changed signature does.
pub fn keys(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        read_as_text(text);
    }
    let Some((raw, rest)) = input.split_first_chunk::<32>() else { return };
    let Some((signature, message)) = rest.split_first_chunk::<64>() else { return };
    if let Ok(key) = PublicKey::from_raw(*raw) {
        assert_eq!(PublicKey::from_hex(&key.to_hex()).as_ref(), Ok(&key));
        let plain = VerifyingKey::from_bytes(raw).unwrap_or_else(|error| panic!("{error}"));
        assert!(!plain.is_weak());
        assert_eq!(&plain.to_bytes(), raw);
        if key.verifies(message, &hex(signature)) {
            assert!(plain.verify(message, &Signature::from_bytes(signature)).is_ok());
        }
    }
    let Ok(private) = HostKey::from_seed(raw) else { return };
    signs(&private, message, signature);
}

fn read_as_text(text: &str) {
    match PublicKey::from_hex(text) {
        Ok(key) => {
            let digits = text.trim_start_matches('\u{feff}').trim();
            assert_eq!(digits.to_ascii_lowercase(), key.to_hex());
        }
        // A message about a key's text never repeats it: it may be a private one.
        Err(error @ (KeyError::NotHex { .. } | KeyError::Length { .. } | KeyError::NotAPoint | KeyError::Weak)) => {
            let text = text.trim();
            assert!(text.len() < 40 || !error.to_string().contains(text), "{error}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The signature of a seal by this key holds, and with any bit of it changed it does not.
fn signs(private: &HostKey, message: &[u8], noise: &[u8; 64]) {
    let session: String = String::from_utf8_lossy(message).chars().filter(|c| !c.is_control()).take(40).collect();
    let draft = mur_seal::SealDraft {
        stream: "trace.jsonl".into(),
        chain: mur_seal::ChainKind::Inline,
        session_id: session,
        lines: 1,
        line_hashes: None,
        head: mur_seal::line_hash(message),
        sealed_at: 0,
        conversation: None,
    };
    let text = draft.signed_message();
    let seal = private.seal(draft).unwrap_or_else(|error| panic!("{error}"));
    let key = private.public_key();
    assert_eq!(seal.key_id, key.key_id());
    assert!(key.verifies(text.as_bytes(), &hex(&seal.signature)));
    let mut changed = seal.signature;
    changed.iter_mut().zip(noise).for_each(|(byte, noise)| *byte ^= noise);
    assert_eq!(key.verifies(text.as_bytes(), &hex(&changed)), changed == seal.signature);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
