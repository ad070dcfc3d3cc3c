//! When a session's record is sealed: now and then while it runs, so that a killed session still has an authenticated
//! prefix, and at its end.
//!
//! Always through the chain that wrote the trace, never by its path: only the chain knows what this process wrote. And
//! only while every event is in it: a trace that lost one is not sealed any more. A script's session has no other stream
//! of the runtime's, so whatever stands under their names is not sealed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mur_seal::{HostKey, InlineChain, SealingError, TRACE_STREAM};

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
    thread: Mutex<Option<JoinHandle<()>>>,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// An event could not be recorded.
    Incomplete,
    Over,
}

impl Progress {
    /// Lines after the last seal. A trace that was rewritten may have fewer lines than were sealed.
    fn unsealed(&self) -> u64 {
        self.written.saturating_sub(self.sealed)
    }
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
        Self { shared, thread: Mutex::new(thread) }
    }

    /// A line was appended; the trace now has `lines`.
    pub(crate) fn appended(&self, lines: u64) {
        let mut progress = self.shared.progress();
        progress.written = lines;
        if progress.unsealed() >= LINES {
            self.shared.changed.notify_one();
        }
    }

    /// An event happened and is not in the trace: from now on a seal would say that it did not happen.
    pub(crate) fn event_lost(&self) {
        self.shared.progress().phase = Phase::Incomplete;
    }

    /// The seal at the session's end.
    pub(crate) fn finish(&self) {
        match self.stop() {
            Phase::Running | Phase::Over => self.shared.seal(),
            Phase::Incomplete => self.shared.not_sealed("an event could not be recorded"),
        }
    }

    /// Stops the thread, and says in which phase that was.
    fn stop(&self) -> Phase {
        let phase = std::mem::replace(&mut self.shared.progress().phase, Phase::Over);
        self.shared.changed.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread is reported by its own hook; the final seals do not depend on it.
            let _ = thread.join();
        }
        phase
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
            let unsealed = progress.unsealed();
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
        match sealed {
            Ok(_) => {}
            // That was told when it was found, and that there will be no seal.
            Err(SealingError::Rewritten(_)) => {}
            Err(error) => self.not_sealed(&error.to_string()),
        }
    }

    fn not_sealed(&self, reason: &str) {
        let text = format!("trace.jsonl was not sealed: {reason}");
        // That nobody reads stderr any more must not end the session.
        let _ = writeln!(std::io::stderr(), "warning: {}", mur_seal::escape(&text));
        self.log.line(&text);
    }
}
