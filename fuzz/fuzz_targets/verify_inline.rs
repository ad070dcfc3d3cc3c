//! Traces with their seals: any bytes get a verdict, and the same one however they are cut into blocks.
//!
//! The input is a block size (one byte, 0 counts as 256), the seal file, a zero byte, and the trace.
//! Without a zero byte there is no seal.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mur_seal::{Expectation, PublicKey, StreamVerifier, TRACE_STREAM, Verdict, verify_inline};

/// The public key of RFC 8032's first test, which the golden records are sealed with.
const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fuzz_target!(|input: &[u8]| {
    let Some((block_size, rest)) = input.split_first() else { return };
    let (seal, trace) = match rest.iter().position(|byte| *byte == 0) {
        Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
        None => (None, rest),
    };
    let Ok(key) = PublicKey::from_hex(KEY) else { return };
    let expectation = Expectation { stream: TRACE_STREAM, session: None, keys: &[key] };

    let at_once = verify_inline(&expectation, trace, seal);
    let mut in_blocks = StreamVerifier::inline(seal);
    for block in trace.chunks(usize::from(block_size.wrapping_sub(1)) + 1) {
        in_blocks.update(block);
    }
    assert_eq!(in_blocks.finish(&expectation), at_once);
    assert!(seal.is_some() || at_once.verdict != Verdict::Verified);
});
