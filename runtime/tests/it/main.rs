//! The runtime from outside, one module a room.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "what a test does not expect ends it"
)]

mod artifacts;
mod component;
mod config;
mod diagnostics;
mod doctor;
mod guest;
mod kill;
mod load;
mod matrix;
mod printing;
mod run;
mod servers;
mod signals;
mod support;
mod tampering;
mod trace;
