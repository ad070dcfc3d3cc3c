//! The host's half of the format: everything that needs an operating system.
//!
//! Reading a directory works everywhere; the private key, appending and sealing are there on Unix.

mod directory;
mod long_seal;
mod open;
mod public_key;

#[cfg(unix)]
mod append;
#[cfg(unix)]
mod chain_file;
#[cfg(unix)]
mod conversations;
#[cfg(unix)]
mod host_key;
#[cfg(unix)]
mod parallel;
#[cfg(unix)]
mod sealing;
#[cfg(unix)]
mod witnessed;
#[cfg(unix)]
mod write;

pub use directory::{DirectoryError, DirectoryRecord, FileBytes, verify_session_records};

#[cfg(unix)]
pub use append::{Appenders, ChainError, ChainHead, ChainOptions, InlineChain, Tampering};
#[cfg(unix)]
pub use conversations::{appended_conversation, note_conversation_append};
#[cfg(unix)]
pub use host_key::{
    HostKey, HostKeyError, KEYS_DIR, KEYS_DIR_MODE, PRIVATE_KEY_FILE, PRIVATE_KEY_MODE, PUBLIC_KEY_FILE,
    PUBLIC_KEY_MODE, keys_dir, private_key_path, public_key_path,
};
#[cfg(unix)]
pub use sealing::{
    ListedStream, SealingError, read_seal, seal_conversation, seal_inline, seal_listed, seal_session_end,
    seal_session_teardown,
};
