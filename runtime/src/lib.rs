//! The runtime: runs capsules in a sandbox and writes sealed records of what they did.
//!
//! A request flows downward through these rooms, and never back up:
//!
//! | room | what lives there |
//! |---|---|
//! | `cli` | one file a command: arguments, what is printed, exit codes |
//! | `session` | one run of a capsule: ids, directories, staging, the run itself, addresses |
//! | `guest` | WebAssembly guests: engine, grants, limits, protected paths, tools |
//! | `record` | the trace: its events, their writer, when it is sealed, reading it back |
//! | `artifact` | archives, stores, sources, `murmur.lock` |
//! | `manifest` | `murmur.yaml`. Knows no other room |
//! | `config` | `config.yaml`, the host's and the project's: sources, credentials, floors and ceilings |
//! | `diagnostic` | codes, texts and hints of what goes wrong |
//! | `hosts` | hosts and endpoints: what manifests grant and requests are judged by |
//! | `content` | bytes and their hash |
//! | `secret` | texts that are not to be seen |
//! | `home` | the murmur home and its modes |
//! | `config` | `config.yaml`, the host's and the project's: sources, credentials, floors and ceilings |
//! | `context` | clock, ids and directories that come in from outside |
//!
//! Checking a record is not done here: `mur trace verify` is the `mur-verify` library behind session addresses.

pub mod artifact;
pub mod cli;
pub mod config;
pub mod content;
pub mod context;
pub mod diagnostic;
pub mod guest;
pub mod home;
pub mod hosts;
pub mod manifest;
pub mod record;
pub mod secret;
pub mod session;
