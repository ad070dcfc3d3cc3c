//! A session's record: the trace that is written while a capsule runs, and when it is sealed.
//!
//! | file | what lives there |
//! |---|---|
//! | `event` | the events of a trace, as they are written |
//! | `grants` | what `session_start` says that a session may do |
//! | `trace` | the writer: envelope, chain, what happens when the file is rewritten |
//! | `sealing` | resealing while a session runs, and the seals at its end |
//! | `log` | the session's own log, for what is not an event |
//! | `read` | a trace as it is read back, by people and by `mur trace` |
//!
//! The chain and the seals themselves are the `mur-seal` crate's.

mod event;
mod grants;
mod log;
mod read;
mod sealing;
mod trace;

pub use event::{
    Event, Exit, GatewayCredential, ProtectedPathDenied, SessionEnd, SessionStart, TaskCanceled, TaskEnd, TaskStart,
    ToolCall, ToolStatus,
};
pub use grants::{EffectiveGrants, FilesystemBoundary, IoMax, PreopenGrant, StateStore};
pub use log::BootstrapLog;
pub use read::{ReadError, Recorded, RecordedLine, read_trace};
pub use trace::{Trace, TraceError};
