//! One run of a capsule: its ids, its directories, the run itself, and how people name it afterwards.
//!
//! | file | what lives there |
//! |---|---|
//! | `ids` | session, task, context and event ids |
//! | `paths` | the table of every path that the runtime writes |
//! | `plan` | what a launch would be: guests, grants, and what stands against it |
//! | `environment`, `credentials` | what of the host's variables and keys a launch uses |
//! | `report` | what a session may do, as it is reported |
//! | `staging` | from a plan to directories on disk and guests in memory |
//! | `granting` | from a plan's grants to open directories and what else guests are given |
//! | `shelf` | what a capsule is told of its artifacts |
//! | `result` | a script capsule's final output |
//! | `script` | a script capsule's session, from its first event to its seals |
//! | `witness` | taking down what guests do |
//! | `signals` | being told to stop |
//! | `address` | from `@1` or a suffix to a recorded session |

pub mod address;
mod credentials;
pub mod environment;
mod granting;
pub mod ids;
pub mod paths;
pub mod plan;
pub mod report;
mod result;
pub mod script;
mod shelf;
mod signals;
pub mod staging;
mod witness;
