//! Running WebAssembly guests: capsules, and the tools that they call.
//!
//! A guest is a component. It sees what its [`Grants`] give it and nothing else: one directory, as `.`; the
//! environment variables listed; no network, no input; memory, tables, instances and time up to its
//! [`Limits`]. The files of the record lie in that directory and are closed to it for writing
//! ([`ProtectedPaths`]). What a guest prints, calls and is refused is told to a [`Witness`].
//!
//! | file | what it knows |
//! |---|---|
//! | `engine` | the Wasmtime engine and its clock |
//! | `code` | the bytes of a component |
//! | `compiled` | compiled components on disk, and when they are believed |
//! | `load` | from those bytes to a component that fits: what is imported must be served, what is called exported |
//! | `grants` | directory, environment and limits of one guest |
//! | `limits` | counting memory, tables and instances |
//! | `protect` | which paths are the runtime's, as rules over host paths |
//! | `filesystem` | `wasi:filesystem/types` in front of the real one, where those rules are kept |
//! | `output` | what guests print |
//! | `witness` | whom it is all told |
//! | `store` | one run of one guest: its state, its end, its errors |
//! | `capsule`, `tool` | the two kinds of guest, and the tools within a capsule's reach |
//!
//! This room knows no manifest and no record: its callers translate. Everything here runs inside a Tokio
//! runtime with its timer enabled, of either flavour, and may be dropped at any time, also while the guest
//! computes; that ends the guest.

mod bindings;
mod capsule;
mod code;
mod compiled;
mod engine;
mod error;
mod filesystem;
mod grants;
mod limits;
mod load;
mod output;
mod protect;
mod store;
mod tool;
mod witness;

pub use bindings::{Status, ToolInput, ToolResult};
pub use capsule::Capsule;
pub use code::Code;
pub use engine::Engine;
pub use error::{FileKind, GuestError, WitnessError};
pub use grants::{Access, Grants, Workspace};
pub use limits::{Limit, LimitHit, Limits};
pub use protect::{Operation, ProtectedPaths};
pub use tool::{Tool, Toolbox};
pub use witness::{PathDenied, Stream, ToolCall, Witness};
