//! The format as a whole: files, processes and crashes, and the corpus.
//!
//! | module | what is proven there |
//! |---|---|
//! | `corpus` | every committed case is reported byte for byte as expected |
//! | `flips` | no record with a bit changed reads verified |
//! | `findings` | what a report says beside its verdict |
//! | `matrix` | every cell of the tamper matrix, at every position |
//! | `properties` | the laws of chains, seals and checks, on records chosen at random |
//! | `wycheproof` | signatures and keys that a strict check refuses |
//! | `public_key` | what is accepted as a public key file |
//! | `directory` | what a records directory may be, and hold |
//! | `host_key` | the host's key is made once, kept to the host, and never replaced |
//! | `append` | appending, by threads and by processes, after crashes too |
//! | `load` | many threads of several processes, for a while: one chain, and nothing lost |
//! | `full_disk` | an append that the operating system cuts short loses nothing |
//! | `hostile_host` | locks that are never let go of, directories that cannot be written, clocks that jump |
//! | `rewritten` | a file rewritten behind the host's back is never sealed again |
//! | `attacker` | the same, for attacks chosen at random |
//! | `opening` | what a file may be that the host did not begin |
//! | `sealing` | the moments of sealing, and what they refuse |
//! | `killed` | a host that is killed at any moment leaves a record that is not changed |
//!
//! `child` starts this very program again, for what takes another process.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod corpus;
mod findings;
mod flips;
mod matrix;
mod properties;
mod wycheproof;

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
mod hostile_host;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod load;
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
