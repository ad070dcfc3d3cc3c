//! How the bytes of an input become a stream and its seal, and what both are checked with.

use std::path::Path;
use std::sync::LazyLock;

use mur_seal::{Expectation, HostKey, PublicKey};
use tempfile::TempDir;

/// The seed of RFC 8032's first test, which the golden records are sealed with.
const SEED: [u8; 32] = [
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5,
    0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
];

/// The session of the golden records.
pub(crate) const SESSION: &str = "ses_019ad735840070008000000000000001";

static HOST: LazyLock<HostKey> =
    LazyLock::new(|| HostKey::from_seed(&SEED).unwrap_or_else(|error| panic!("a seed of RFC 8032: {error}")));
static KEYS: LazyLock<[PublicKey; 1]> = LazyLock::new(|| [HOST.public_key().clone()]);

/// The host that seals.
pub(crate) fn host() -> &'static HostKey {
    &HOST
}

/// Its public key.
pub(crate) fn keys() -> &'static [PublicKey] {
    KEYS.as_slice()
}

/// A stream that is sealed for [`SESSION`] by [`host`].
pub(crate) fn expectation(stream: &'static str) -> Expectation<'static> {
    Expectation { stream, session: Some(SESSION), keys: keys() }
}

/// A stream and its seal: a byte of flags, a byte for sizes, the seal file, a zero byte, the stream. Without a zero byte
/// there is no seal.
pub(crate) struct Input<'a> {
    flags: u8,
    /// From 1 to 256.
    pub(crate) size: usize,
    /// The seal file.
    pub(crate) seal: Option<&'a [u8]>,
    /// The stream.
    pub(crate) stream: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn read(input: &'a [u8]) -> Option<Self> {
        let [flags, size, rest @ ..] = input else { return None };
        let (seal, stream) = match rest.iter().position(|byte| *byte == 0) {
            Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
            None => (None, rest),
        };
        Some(Input { flags: *flags, size: usize::from(*size) + 1, seal, stream })
    }

    /// Whether the host is to seal the stream as it is, so that an input need not hold a signature to be signed.
    pub(crate) fn is_to_be_sealed(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Another flag, for what a target likes.
    pub(crate) fn flag(&self) -> bool {
        self.flags & 2 != 0
    }
}

/// An empty directory; on Linux one that is in memory, since a disk takes longer than all that is tested.
pub(crate) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    directory.unwrap_or_else(|error| panic!("{error}"))
}

/// The lines of a stream without their newlines, and the bytes after the last one.
pub(crate) fn lines(stream: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let torn = lines.pop().unwrap_or_default();
    (lines, torn)
}
