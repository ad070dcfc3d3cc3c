//! What each fuzz target does with its input, and what must hold whatever the input is.
//!
//! A target panics where something does not hold. None is content with the absence of panics: reports are compared with
//! those of another way to the same answer, and what is verified is verified again, slowly and by other means.
//!
//! | target | input | what must hold |
//! |---|---|---|
//! | [`seal_parse`] | a seal file | what is read is written and read back the same, and is what a general JSON parser reads |
//! | [`verify_inline`] | a trace and its seal | one report, however the bytes are cut; verified means chained, sealed and signed |
//! | [`verify_listed`] | a listed stream and its seal | the same |
//! | [`keys`] | a key, a signature, a message | strict means no looser than a plain check; a private key's signatures hold |
//! | [`record`] | the files of a record | one report from memory and from a directory; its verdict is that of its worst stream |
//! | [`parallel`] | a large stream and its seal | one report, by however many threads |
//!
//! The functions are called by the programs in `fuzz_targets`, and once for every file of `corpus` by the test of this
//! crate, which needs no fuzzer.

#![forbid(unsafe_code)]

mod input;
mod keys;
mod parallel;
mod record;
mod report;
mod seal_parse;
mod verify_inline;
mod verify_listed;

pub use keys::keys;
pub use parallel::parallel;
pub use record::record;
pub use seal_parse::seal_parse;
pub use verify_inline::verify_inline;
pub use verify_listed::verify_listed;

/// A target by its name, as `cargo fuzz` and the directories of `corpus` have it.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// What it does with an input.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 6] = [
    Target { name: "keys", run: keys },
    Target { name: "parallel", run: parallel },
    Target { name: "record", run: record },
    Target { name: "seal_parse", run: seal_parse },
    Target { name: "verify_inline", run: verify_inline },
    Target { name: "verify_listed", run: verify_listed },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_committed_input_passes() {
        for Target { name, run } in TARGETS {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let mut inputs = 0;
            for entry in std::fs::read_dir(&corpus).unwrap() {
                let path = entry.unwrap().path();
                println!("{}", path.display()); // shown when it panics
                run(&std::fs::read(path).unwrap());
                inputs += 1;
            }
            assert!(inputs > 0, "{} is empty", corpus.display());
        }
    }

    #[test]
    fn nothing_and_one_byte_pass() {
        for Target { run, .. } in TARGETS {
            run(&[]);
            (0..=u8::MAX).for_each(|byte| run(&[byte]));
        }
    }
}
