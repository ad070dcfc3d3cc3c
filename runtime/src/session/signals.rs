//! Being told to stop: the first signal ends the guest, a second one, or too much patience, ends the process.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::diagnostic::EXIT_TERMINATED;

/// How long a session may take to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(20);

/// SIGINT and SIGTERM, from now on told instead of fatal.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Must be called within a Tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for one of them.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// After the first signal: ends the process on a second one, or when the session takes too long to end.
    pub(crate) async fn insist(mut self) {
        // Either way it is time.
        let _ = tokio::time::timeout(PATIENCE, self.received()).await;
        std::process::exit(EXIT_TERMINATED.into());
    }
}
