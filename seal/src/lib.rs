//! The format `murmur.seal/1`: a session's records, made checkable by anyone who holds the host's public key and
//! nothing else.
//!
//! A record is a directory of *streams*. Two devices make a stream checkable:
//!
//! - **The chain.** Every line of `trace.jsonl` ends with the hash of the line before it ([`CHAIN_INLINE`]). Every other
//!   stream keeps its bytes, and its line hashes are listed in its seal ([`CHAIN_LISTED`]).
//! - **The seal.** `<stream>.seal`, beside the stream, is signed with the host's Ed25519 key over the chain's head, the
//!   line count, the stream's name and the session.
//!
//! The crate is one implementation for everything that reads or writes such records. What decides a verdict is pure,
//! bytes in and report out, needs `alloc` and no operating system, and keeps constant memory at any line length and file
//! size. The feature `std` (on by default) adds the host's half: reading a directory everywhere, and on Unix the private
//! key, appending and sealing.
//!
//! | module | what lives there |
//! |---|---|
//! | `hash` | line hashes, listed heads, key ids |
//! | `link` | one line of a chain: giving it its link, reading the link |
//! | `chain` | what must be known of an inline chain to continue it |
//! | `digest` | what a walk needs to know of a line |
//! | `lanes` | SHA-256 of several lines side by side |
//! | `inline`, `listed` | walking a stream that is chained in itself, or by its seal |
//! | `key` | public keys |
//! | `seal` | the seal file and what it signs |
//! | `verdict`, `finding`, `report` | how a stream reads, what was found in it, and the report of a check |
//! | `verify` | one stream and its seal, to a report |
//! | `judge` | what was seen of a stream, to findings, the one that decides the verdict first |
//! | `diagnosis` | what a copy through some tools does to a file, told apart from what people do to it |
//! | `knowledge` | what a check of a record established, what it left open, and what no check can tell |
//! | `record` | a whole record over a [`RecordSource`], to a report |
//! | `text` | escaping record text before it reaches a terminal |
//! | `host` | files, the private key, appending, sealing |
//!
//! # Checking one stream
//!
//! ```
//! use mur_seal::{Expectation, PublicKey, Verdict, verify_inline};
//!
//! let key = PublicKey::from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")?;
//! let expectation = Expectation { stream: "trace.jsonl", session: None, keys: &[key] };
//! let report = verify_inline(&expectation, b"{\"event\":\"a\"}\n", None);
//! assert_eq!(report.verdict, Verdict::Unverifiable); // neither chained nor sealed: written by something older
//! # Ok::<(), mur_seal::KeyError>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod chain;
mod diagnosis;
mod digest;
mod finding;
mod hash;
mod inline;
mod judge;
mod key;
mod knowledge;
mod lanes;
mod link;
mod listed;
mod record;
mod report;
mod seal;
mod text;
mod verdict;
mod verify;

#[cfg(feature = "std")]
mod host;

pub use chain::{CHAIN_INLINE, CHAIN_LISTED, ChainState, LineRanges, TAMPERED_EVENT};
pub use finding::{Code, Finding, Findings, MAX_FINDINGS};
pub use hash::{GENESIS, KeyId, LineHash, ListedHasher, key_id_of, line_hash, listed_head};
pub use inline::{InlineWalk, InlineWalker, WatchedLine};
pub use key::{KeyError, PublicKey};
pub use link::{GAP_HASH_KEY, LinkError, PREV_HASH_KEY, link};
pub use listed::Lines;
pub use record::{
    COMPLETION_STREAM, CONVERSATION_STREAM_PREFIX, CONVERSATIONS_DIR, EVAL_STREAM, Found, Place, RecordExpectation,
    RecordSource, StreamBytes, TRACE_STREAM, Unfit, conversation_stream, verify_record,
};
pub use report::{PublicKeyReport, Question, REPORT_SCHEMA, RecordReport, Statement, StreamReport};
pub use seal::{
    CLI_SEALER, ConversationPointer, ParsedSeal, SEAL_ALGORITHM, SEAL_FORMAT, SEAL_SUFFIX, Seal, SealDraft, SealError,
    SealedHead, Signatures, members_message, signed_message,
};
pub use text::escape;
pub use verdict::{
    EXIT_ABSENT, EXIT_CHANGED, EXIT_ERROR, EXIT_NOTED, EXIT_UNSEALED, EXIT_UNVERIFIABLE, EXIT_VERIFIED, Verdict, worst,
};
pub use verify::{ChainKind, Expectation, StreamVerifier, verify_inline, verify_listed};

#[cfg(feature = "std")]
pub use host::{DirectoryError, DirectoryRecord, FileBytes, verify_session_records};

#[cfg(all(feature = "std", unix))]
pub use host::{
    Appenders, ChainError, ChainHead, ChainOptions, HostKey, HostKeyError, InlineChain, KEYS_DIR, KEYS_DIR_MODE,
    ListedStream, PRIVATE_KEY_FILE, PRIVATE_KEY_MODE, PUBLIC_KEY_FILE, PUBLIC_KEY_MODE, SealingError, Tampering,
    appended_conversation, keys_dir, note_conversation_append, private_key_path, public_key_path, read_seal,
    seal_conversation, seal_inline, seal_listed, seal_session_end, seal_session_teardown,
};
