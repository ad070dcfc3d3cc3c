//! When a session's record is sealed: now and then while it runs, so that a killed session still has an authenticated
//! prefix, and at its end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mur_seal::{HostKey, InlineChain, TRACE_STREAM, seal_session_end, seal_session_teardown};

use super::log::BootstrapLog;
use crate::session::ids::{Clock, SessionId};

/// A running session's trace is sealed when this many lines came after its last seal,
const LINES: u64 = 1000;
/// or when any came and this much time went by.
const INTERVAL: Duration = Duration::from_secs(5);

/// The sealing of one session's record. A thread of its own seals while the session runs, so that neither a guest that
/// computes nor a slow disk is in the way of the other.
pub(crate) struct Sealing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    chain: Arc<InlineChain>,
    records_dir: PathBuf,
    session: String,
    key: Arc<HostKey>,
    log: BootstrapLog,
    clock: Arc<dyn Clock>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    written: u64,
    sealed: u64,
    last_seal: Instant,
    phase: Phase,
}

#[derive(PartialEq, Eq)]
enum Phase {
    Running,
    Over,
}

impl Sealing {
    pub(crate) fn start(
        chain: Arc<InlineChain>,
        records_dir: &Path,
        session: SessionId,
        key: Arc<HostKey>,
        log: BootstrapLog,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let progress = Progress { written: 1, sealed: 0, last_seal: Instant::now(), phase: Phase::Running };
        let shared = Arc::new(Shared {
            chain,
            records_dir: records_dir.into(),
            session: session.to_string(),
            key,
            log,
            clock,
            progress: Mutex::new(progress),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name("sealing".into()).spawn(move || of_thread.reseal());
        let thread = match spawned {
            Ok(thread) => Some(thread),
            Err(error) => {
                shared.log.line(&format!("the trace is sealed at the end only: {error}"));
                None
            }
        };
        Self { shared, thread }
    }

    /// A line was appended; the trace now has `lines`.
    pub(crate) fn appended(&self, lines: u64) {
        let mut progress = self.shared.progress();
        progress.written = lines;
        if lines - progress.sealed >= LINES {
            self.shared.changed.notify_one();
        }
    }

    /// The seals at the session's end.
    pub(crate) fn finish(mut self) {
        self.stop();
        let Shared { records_dir, session, key, .. } = &*self.shared;
        seal_session_end(records_dir, session, key);
        seal_session_teardown(records_dir, session, key);
    }

    fn stop(&mut self) {
        self.shared.progress().phase = Phase::Over;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is reported by its own hook; the final seals do not depend on it.
            let _ = thread.join();
        }
    }
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals whenever it is due, until the session is over.
    fn reseal(&self) {
        let mut progress = self.progress();
        while progress.phase == Phase::Running {
            let unsealed = progress.written - progress.sealed;
            let waited = progress.last_seal.elapsed();
            if unsealed >= LINES || (unsealed > 0 && waited >= INTERVAL) {
                let written = progress.written;
                drop(progress);
                self.seal();
                progress = self.progress();
                // A seal that failed is not tried again before the next interval: sealing must not become the session.
                progress.sealed = progress.sealed.max(written);
                progress.last_seal = Instant::now();
            } else {
                let timeout = if unsealed > 0 { INTERVAL - waited } else { INTERVAL };
                progress = self.changed.wait_timeout(progress, timeout).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn seal(&self) {
        let sealed_at = self.clock.unix_ms();
        let sealed = self.chain.seal(&self.records_dir, TRACE_STREAM, &self.session, &self.key, sealed_at, None);
        if let Err(error) = sealed {
            let text = format!("trace.jsonl was not sealed: {error}");
            eprintln!("warning: {}", mur_seal::escape(&text));
            self.log.line(&text);
        }
    }
}
