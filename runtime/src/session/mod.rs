//! One run of a capsule: its ids, its directories, the run itself, and how people name it afterwards.
//!
//! | file | what lives there |
//! |---|---|
//! | `ids` | session, task, context and event ids |
//! | `paths` | the table of every path that the runtime writes |
//! | `staging` | from a manifest to directories on disk and guests in memory |
//! | `result` | a script capsule's final output |
//! | `script` | a script capsule's session, from its first event to its seals |
//! | `witness` | taking down what guests do |
//! | `signals` | being told to stop |
//! | `address` | from `@1` or a suffix to a recorded session |

pub mod address;
pub mod ids;
pub mod paths;
mod result;
pub mod script;
mod signals;
pub mod staging;
mod witness;
