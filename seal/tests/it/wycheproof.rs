//! Signatures and keys that a strict check refuses: the Wycheproof test set, and points and scalars that no signer makes.
//!
//! A signature that holds under some verifiers and not under others, or a key under which anyone can sign, would let two
//! honest auditors disagree about one record.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::{EdwardsPoint, Scalar};
use ed25519_dalek::{Signature, SigningKey, Verifier, VerifyingKey};
use mur_seal::{KeyError, PublicKey};
use mur_testdata::HOST_SEED;
use sha2::{Digest, Sha512};
use wycheproof::TestResult;
use wycheproof::eddsa::{TestName, TestSet};

const MESSAGE: &[u8] = b"murmur.seal/1\ntrace.jsonl\nses_1\n2\n";

/// The order of the base point, little-endian: no scalar of a signature reaches it.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn every_test_of_the_wycheproof_set_is_decided_as_it_says() {
    let set = TestSet::load(TestName::Ed25519).unwrap();
    let mut tests = 0;
    for group in &set.test_groups {
        let key = PublicKey::from_raw(group.key.pk.to_vec().try_into().unwrap()).unwrap();
        for test in &group.tests {
            let accepted = key.verifies(&test.msg, &hex::encode(&test.sig[..]));
            assert_eq!(accepted, test.result == TestResult::Valid, "test {}: {}", test.tc_id, test.comment);
            tests += 1;
        }
    }
    assert!(tests >= 150 && tests == set.number_of_tests, "{tests} tests, not {}", set.number_of_tests);
}

#[test]
fn a_signature_has_one_spelling() {
    let good = hex::encode(Signer::new().sign().to_bytes());
    let key = Signer::new().public;
    assert!(key.verifies(MESSAGE, &good));
    for other in [
        good.to_uppercase(),
        format!(" {good}"),
        format!("{good}\n"),
        format!("0x{good}"),
        good[2..].into(),
        good + "00",
    ] {
        assert!(!key.verifies(MESSAGE, &other), "{other}");
    }
}

#[test]
fn every_encoding_of_a_point_of_small_order_is_refused_as_a_key() {
    for encoding in small_order_encodings() {
        assert!(matches!(PublicKey::from_raw(encoding), Err(KeyError::Weak | KeyError::NotAPoint)), "{encoding:02x?}");
    }
}

#[test]
fn a_second_encoding_of_a_point_is_refused_as_a_key() {
    // A y coordinate below 19 fits a second time: with the field's prime added, it still is a number of 255 bits.
    for y in 0..19 {
        for sign in [0, 0x80] {
            let encoding = plus_prime(y, sign);
            let refused = PublicKey::from_raw(encoding);
            assert!(matches!(refused, Err(KeyError::NotAPoint | KeyError::Weak)), "y = p + {y}, sign {sign:#x}");
        }
    }
}

#[test]
fn a_scalar_that_is_not_reduced_is_refused() {
    let Signer { public, .. } = Signer::new();
    let mut bytes = Signer::new().sign().to_bytes();
    assert!(public.verifies(MESSAGE, &hex::encode(bytes)));
    let mut tried = 0;
    // The same scalar of the group, as long as it fits 32 bytes.
    while add(&mut bytes[32..], &ORDER) {
        assert!(!public.verifies(MESSAGE, &hex::encode(bytes)), "{tried}");
        tried += 1;
    }
    assert!(tried >= 14, "{tried}");
}

#[test]
fn a_commitment_of_small_order_is_refused_in_every_encoding() {
    let signer = Signer::new();
    for encoding in small_order_encodings() {
        // With nothing committed to, the scalar is the challenge's alone.
        let scalar = challenge(&encoding, &signer.encoding(), MESSAGE) * signer.secret;
        let signature = Signature::from_components(encoding, scalar.to_bytes());
        assert!(!signer.public.verifies(MESSAGE, &hex::encode(signature.to_bytes())), "{encoding:02x?}");
    }
    // What is refused there does hold: without the strict check the identity would pass.
    let identity = small_order_encodings()[0];
    let scalar = challenge(&identity, &signer.encoding(), MESSAGE) * signer.secret;
    let signature = Signature::from_components(identity, scalar.to_bytes());
    assert!(VerifyingKey::from_bytes(&signer.encoding()).unwrap().verify(MESSAGE, &signature).is_ok());
}

#[test]
fn a_commitment_of_mixed_order_is_refused() {
    let signer = Signer::new();
    let nonce = scalar_of(b"a nonce");
    for torsion in &EIGHT_TORSION[1..] {
        // Multiplied by eight, both sides of the equation agree, so that a verifier which does that accepts.
        let commitment = (ED25519_BASEPOINT_POINT * nonce + torsion).compress().to_bytes();
        let challenge = challenge(&commitment, &signer.encoding(), MESSAGE);
        let scalar = nonce + challenge * signer.secret;
        let left = ED25519_BASEPOINT_POINT * scalar;
        let right = ED25519_BASEPOINT_POINT * nonce + torsion + signer.point() * challenge;
        assert_eq!(left.mul_by_cofactor(), right.mul_by_cofactor());
        let signature = Signature::from_components(commitment, scalar.to_bytes());
        assert!(!signer.public.verifies(MESSAGE, &hex::encode(signature.to_bytes())));
    }
}

#[test]
fn a_signature_under_a_key_of_mixed_order_is_refused_unless_it_holds_exactly() {
    let signer = Signer::new();
    let nonce = scalar_of(b"a nonce");
    let commitment = (ED25519_BASEPOINT_POINT * nonce).compress().to_bytes();
    let (mut refused, mut held) = (0, 0);
    for torsion in &EIGHT_TORSION[1..] {
        let point = signer.point() + torsion;
        let key = PublicKey::from_raw(point.compress().to_bytes()).unwrap();
        for message in [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7"] {
            let challenge = challenge(&commitment, point.compress().as_bytes(), message);
            let scalar = nonce + challenge * signer.secret;
            let exactly = torsion * challenge == EIGHT_TORSION[0];
            let signature = Signature::from_components(commitment, scalar.to_bytes());
            assert_eq!(key.verifies(message, &hex::encode(signature.to_bytes())), exactly);
            if exactly { held += 1 } else { refused += 1 }
        }
    }
    assert!(refused > held, "{refused} refused, {held} held");
}

/// A key whose parts are at hand.
struct Signer {
    key: SigningKey,
    secret: Scalar,
    public: PublicKey,
}

impl Signer {
    fn new() -> Self {
        let key = SigningKey::from_bytes(&HOST_SEED);
        let public = PublicKey::from_raw(key.verifying_key().to_bytes()).unwrap();
        Signer { secret: key.to_scalar(), public, key }
    }

    fn sign(&self) -> Signature {
        ed25519_dalek::Signer::sign(&self.key, MESSAGE)
    }

    fn encoding(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    fn point(&self) -> EdwardsPoint {
        ED25519_BASEPOINT_POINT * self.secret
    }
}

/// What a signature's scalar is multiplied with.
fn challenge(commitment: &[u8; 32], key: &[u8; 32], message: &[u8]) -> Scalar {
    let digest = Sha512::new().chain_update(commitment).chain_update(key).chain_update(message).finalize();
    Scalar::from_bytes_mod_order_wide(&digest.into())
}

fn scalar_of(text: &[u8]) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&Sha512::digest(text).into())
}

/// The eight points of small order, the identity first, then every further encoding that reads as one of them: a sign on an
/// x coordinate of zero, and a y coordinate with the field's prime added.
fn small_order_encodings() -> Vec<[u8; 32]> {
    let canonical = EIGHT_TORSION.map(|point| point.compress().to_bytes());
    let with_sign = [0, 4].map(|index: usize| {
        let mut encoding = canonical[index];
        encoding[31] |= 0x80;
        encoding
    });
    let plus_prime = [(0, 0), (0, 0x80), (1, 0), (1, 0x80)].map(|(y, sign)| plus_prime(y, sign));
    canonical.into_iter().chain(with_sign).chain(plus_prime).collect()
}

/// The encoding of the y coordinate `y` + 2^255 - 19, with this sign.
fn plus_prime(y: u8, sign: u8) -> [u8; 32] {
    let mut encoding = [0xff; 32];
    encoding[0] = 0xed + y;
    encoding[31] = 0x7f | sign;
    encoding
}

/// Adds little-endian numbers. `false` when the sum does not fit.
fn add(number: &mut [u8], summand: &[u8; 32]) -> bool {
    let mut carry = 0;
    for (digit, summand) in number.iter_mut().zip(summand) {
        let sum = u16::from(*digit) + u16::from(*summand) + carry;
        *digit = sum as u8;
        carry = sum >> 8;
    }
    carry == 0
}
