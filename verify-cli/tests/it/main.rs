//! `mur-verify` from outside: the program itself, run on records in directories of their own.
//!
//! | module | what is asked of the program |
//! |---|---|
//! | `corpus` | the committed records: each reads as the report beside it says |
//! | `exit_codes` | one verdict, one code; of several records the worst |
//! | `usage` | help, version, and arguments that make no sense |
//! | `explain` | what words mean, the manual page, completions |
//! | `recursive` | records in trees of directories |
//! | `follow` | a record that is verified while it is written |
//! | `keys` | what is a public key, what is not, and that no private one is ever repeated |
//! | `human` | the text that is pasted into a report |
//! | `json` | the report that programs read |
//! | `streams` | stdout closed, full, a pipe |
//! | `terminal` | what only a person at a terminal gets |
//! | `places` | what may stand where a record, a stream or a seal is expected |
//! | `escapes` | text of a record that would steer a terminal |
//! | `growing` | a record that is written while it is read |
//! | `large` | memory that does not grow with a record |
//! | `matrix` | every cell of the tamper matrix |
//! | `documents` | what the documents say can be run is run, and what they link to is there |
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what a test does not expect ends it")]

mod corpus;
mod documents;
mod escapes;
mod exit_codes;
mod explain;
mod follow;
mod growing;
mod human;
mod json;
mod keys;
#[cfg(target_os = "linux")]
mod large;
mod matrix;
mod places;
mod recursive;
mod streams;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod usage;
