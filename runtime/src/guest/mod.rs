//! Running WebAssembly guests: capsules, and the tools that they call.
//!
//! A guest is a component. It sees what its [`Grants`] give it and nothing else: a directory as `.`, and one as
//! `state`; the environment variables listed; requests to the hosts listed, and to a gateway; no sockets, no
//! input; memory, tables, instances and time up to its [`Limits`]. The files of the record lie in its directory
//! and are closed to it for writing, as is what it was given to read only ([`ProtectedPaths`]). What a guest
//! prints, calls and is refused is told to a [`Witness`].
//!
//! | file | what it knows |
//! |---|---|
//! | `engine` | the Wasmtime engine and its clock |
//! | `code` | the bytes of a component |
//! | `compiled` | compiled components on disk, and when they are believed |
//! | `load` | from those bytes to a component that fits: what is imported must be served, what is called exported |
//! | `grants` | directories, environment, hosts and limits of one guest |
//! | `limits` | counting memory, tables and instances |
//! | `protect` | which paths are closed for writing, as rules over host paths |
//! | `filesystem` | `wasi:filesystem/types` in front of the real one, where those rules are kept |
//! | `network` | which hosts a guest may reach |
//! | `gateway` | an endpoint that it reaches with a key that it does not see |
//! | `http` | `wasi:http`: judging requests and sending them |
//! | `replay` | a request's body that may have to be sent again |
//! | `served` | the `murmur:` packages, one file each |
//! | `output` | what guests print |
//! | `witness` | whom it is all told |
//! | `store` | one run of one guest: its state, its end, its errors |
//! | `capsule`, `tool` | the two kinds of guest, and the tools within a capsule's reach |
//!
//! This room knows no manifest and no record: its callers translate. Everything here runs inside a Tokio
//! runtime of either flavour, with its timer enabled, and its I/O where guests have hosts to reach, and may be dropped at any time, also while the guest
//! computes; that ends the guest.

mod bindings;
mod capsule;
mod code;
mod compiled;
mod engine;
mod error;
mod filesystem;
mod gateway;
mod grants;
mod http;
mod limits;
mod load;
mod network;
mod output;
mod protect;
mod replay;
mod served;
mod store;
mod tool;
mod witness;

pub use bindings::{Status, ToolInput, ToolResult};
pub use capsule::Capsule;
pub use code::Code;
pub use engine::Engine;
pub use error::{FileKind, GuestError, WitnessError};
pub use gateway::{Credential, Gateway, KeyError, KeyOrigin, KeySource};
pub use grants::{Access, Grants, Workspace};
pub use limits::{Limit, LimitHit, Limits};
pub use network::Network;
pub use protect::{Operation, ProtectedPaths, Reason};
pub use served::artifact_manager::{ArtifactInfo, ArtifactManager, ArtifactRuntime, ArtifactSummary, RuntimeState};
pub use tool::{Tool, Toolbox};
pub use witness::{Emission, GatewayKey, KeyChange, PathDenied, Stream, ToolCall, Trigger, Witness};
