//! Seal files: any bytes are parsed or refused, and what is parsed is written and read back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mur_seal::Seal;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(seal) = Seal::parse(bytes) {
        assert_eq!(Seal::parse(seal.to_file().as_bytes()).ok(), Some(seal));
    }
});
