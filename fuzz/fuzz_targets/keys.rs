//! Runs [`mur_fuzz::keys`] on inputs that reach new code.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| mur_fuzz::keys(input));
