//! What most tests here begin with: a directory, a chain, events, and a check with the host's key alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mur_seal::{
    Appenders, ChainOptions, HostKey, InlineChain, PublicKey, RecordReport, SealedHead, SealingError, StreamReport,
    TAMPERED_EVENT, TRACE_STREAM, Tampering, Verdict, verify_session_records,
};
use mur_testdata::{CLOCK_MS, SESSION};
use tempfile::TempDir;

/// A records directory of a test's own, and the host that seals it.
pub(crate) struct Records {
    directory: TempDir,
    pub(crate) key: HostKey,
}

impl Records {
    pub(crate) fn new() -> Self {
        Records { directory: tempfile::tempdir().unwrap(), key: mur_testdata::host_key() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn trace(&self) -> PathBuf {
        self.file(TRACE_STREAM)
    }

    pub(crate) fn seal_file(&self) -> PathBuf {
        self.file("trace.jsonl.seal")
    }

    /// The trace's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.trace()).unwrap()
    }

    /// The trace's lines, as text.
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.bytes()).lines().map(String::from).collect()
    }

    /// The trace's chain. What it tells of tampering is kept, and not printed.
    pub(crate) fn chain(&self, appenders: Appenders) -> Arc<InlineChain> {
        InlineChain::open(&self.trace(), quiet(appenders)).unwrap()
    }

    pub(crate) fn seal(&self, chain: &InlineChain) -> Result<SealedHead, SealingError> {
        chain.seal(self.path(), TRACE_STREAM, SESSION, &self.key, CLOCK_MS, None)
    }

    pub(crate) fn check(&self) -> RecordReport {
        let keys = [self.key.public_key().clone()];
        verify_session_records(self.path(), &keys, Some(SESSION), None).unwrap()
    }

    /// How the trace reads with the host's key.
    pub(crate) fn check_trace(&self) -> StreamReport {
        self.check().streams.swap_remove(0)
    }

    pub(crate) fn assert_trace(&self, verdict: Verdict) -> StreamReport {
        let report = self.check_trace();
        assert_eq!(report.verdict, verdict, "{report:?}");
        report
    }

    /// How another stream reads.
    pub(crate) fn check_stream(&self, name: &str) -> StreamReport {
        self.check().streams.into_iter().find(|stream| stream.stream == name).unwrap()
    }
}

/// The host's public key, as a check is given it.
pub(crate) fn host_keys() -> [PublicKey; 1] {
    [mur_testdata::host_key().public_key().clone()]
}

/// Chain options that print nothing.
pub(crate) fn quiet(appenders: Appenders) -> ChainOptions {
    told(appenders, &Arc::default())
}

/// Chain options that keep what they are told of tampering.
pub(crate) fn told(appenders: Appenders, heard: &Arc<Mutex<Vec<Tampering>>>) -> ChainOptions {
    let heard = Arc::clone(heard);
    ChainOptions {
        on_tampering: Box::new(move |tampering| {
            heard.lock().unwrap().push(*tampering);
            format!("{{\"event_type\":\"{TAMPERED_EVENT}\",{}}}", tampering.members())
        }),
        ..ChainOptions::new(appenders)
    }
}

/// An event that tells its writer and its number.
pub(crate) fn event(writer: &str, number: usize) -> String {
    format!("{{\"event_type\":\"test\",\"session_id\":\"{SESSION}\",\"writer\":\"{writer}\",\"number\":{number}}}")
}

/// The numbers of the events that `writer` wrote, in the order of the lines.
pub(crate) fn numbers(lines: &[String], writer: &str) -> Vec<usize> {
    let number = |line: &String| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        (value["writer"] == writer).then(|| usize::try_from(value["number"].as_u64().unwrap()).unwrap())
    };
    lines.iter().filter_map(number).collect()
}

/// Appends bytes to a file, as another process would, not knowing of chains.
pub(crate) fn append_raw(path: &Path, bytes: impl AsRef<[u8]>) {
    use std::io::Write;
    fs::OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes.as_ref()).unwrap();
}

/// Makes a FIFO, which whoever opens it carelessly waits at.
pub(crate) fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// The permission bits of a file or directory.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
