//! The format as a whole: files, processes and crashes, and the corpus.
//!
//! | module | what is proven there |
//! |---|---|
//! | `corpus` | every committed case is reported byte for byte as expected |
//! | `flips` | no record with a bit changed reads verified |
//! | `public_key` | what is accepted as a public key file |
//! | `directory` | what a records directory may be, and hold |
//! | `host_key` | the host's key is made once, kept to the host, and never replaced |
//! | `append` | appending, by threads and by processes, after crashes too |
//! | `full_disk` | an append that the operating system cuts short loses nothing |
//! | `rewritten` | a file rewritten behind the host's back is never sealed again |
//! | `attacker` | the same, for attacks chosen at random |
//! | `opening` | what a file may be that the host did not begin |
//! | `sealing` | the moments of sealing, and what they refuse |
//! | `killed` | a host that is killed at any moment leaves a record that is not changed |
//!
//! `child` starts this very program again, for what takes another process.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod corpus;
mod flips;

#[cfg(unix)]
mod append;
#[cfg(unix)]
mod attacker;
#[cfg(unix)]
mod child;
#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod full_disk;
#[cfg(unix)]
mod host_key;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod opening;
#[cfg(unix)]
mod public_key;
#[cfg(unix)]
mod rewritten;
#[cfg(unix)]
mod sealing;
#[cfg(unix)]
mod support;
