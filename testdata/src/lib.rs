//! Test data of the format `murmur.seal/1`: golden records, test vectors and one small record for each rule of its
//! verdicts, with the report that a check must print.
//!
//! The files are committed, so that other implementations and the tests of other crates can read them, and every one of
//! them is computed by this crate from fixed keys, ids and times: `cargo run -p mur-testdata -- write` writes them anew,
//! `-- check` says whether they are what would be written.
//!
//! | path | what stands there |
//! |---|---|
//! | `keys/` | the public keys that records are checked with |
//! | `vectors/` | hashes, messages and signatures, each beside what it is computed from |
//! | `golden/<name>/` | a record as a host writes it: `record/`, and `conversations/` where it points at one |
//! | `cases/<name>/` | a record that shows one rule |
//! | `…/case.json` | how the check is called, its exit code, and the rule in words |
//! | `…/expect.json` | what it prints on stdout with `--json`, byte for byte |
//!
//! All paths in `case.json` and `expect.json` are relative to this directory.
//!
//! | module | what lives there |
//! |---|---|
//! | `fixed` | keys, clock, ids |
//! | `session` | what is recorded: events, scores, messages |
//! | `record` | building a record line by line and seal by seal |
//! | `tree` | a directory in memory |
//! | `vectors` | the test vectors |
//! | `cases` | every case, with what the rules say of it |
//! | `corpus` | the files: computing, comparing, writing, reading |
//! | [`matrix`] | every way to tamper with a record, and what an auditor sees of it |

#![forbid(unsafe_code)]

mod cases;
mod corpus;
mod fixed;
pub mod matrix;
mod record;
mod session;
mod tree;
mod vectors;

pub use corpus::{Arguments, Case, CorpusError, case, cases, differences, generate, root, write};
pub use fixed::{
    CLOCK_MS, CONVERSATION_CONTEXT, CONVERSATION_RECORD, HOST_PUBLIC_KEY, HOST_SEED, OTHER_PUBLIC_KEY, OTHER_SEED,
    OTHER_SESSION, SEALED_AT_MS, SESSION, host_key, id, other_key,
};
pub use record::{RECORD_DIR, RecordBuilder, conversation_path, in_record};
pub use session::{completion, conversation_header, conversation_lines, eval_lines, event, message, script_events};
pub use tree::{FileInTree, Node, Tree, TreeRecord};
