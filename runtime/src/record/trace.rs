//! The trace's writer: puts an event into its envelope and onto the chain.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mur_seal::{Appenders, ChainError, ChainOptions, HostKey, InlineChain, TAMPERED_EVENT, TRACE_STREAM, Tampering};
use serde::Serialize;

use super::event::Event;
use super::log::BootstrapLog;
use super::sealing::Sealing;
use crate::context::Context;
use crate::session::ids::{Clock, EventId, IdSource, SessionId};

/// Why an event could not be recorded. It ends the session: what is not recorded must not happen.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The chain refused the line, or the file could not be written.
    #[error("the trace could not be written: {0}")]
    Chain(#[from] ChainError),
    /// The event has no JSON form.
    #[error("the event has no JSON form: {0}")]
    Json(#[from] serde_json::Error),
    /// The trace could not be made.
    #[error("the trace could not be made: {0}")]
    Create(#[from] io::Error),
    /// Somebody wrote to the trace before its first event.
    #[error("the trace was written to before the session began")]
    NotEmpty,
}

/// One session's trace, open for writing. It is sealed while it is written, and once more by [`Trace::close`].
pub struct Trace {
    chain: Arc<InlineChain>,
    envelopes: Envelopes,
    root: EventId,
    sealing: Sealing,
}

impl Trace {
    /// Begins the trace of `session` in `records_dir` with its `session_start` event.
    ///
    /// The file must not exist: from its first line on, this process is the only one that writes it.
    ///
    /// # Errors
    /// When the file exists, cannot be written, or was written to by somebody else.
    pub fn begin(
        records_dir: &Path,
        session: SessionId,
        key: Arc<HostKey>,
        context: &Context,
        log: BootstrapLog,
        start: Event,
    ) -> Result<Self, TraceError> {
        let path = records_dir.join(TRACE_STREAM);
        // Made here and only here: a file that is there already is somebody else's.
        std::fs::File::options().append(true).create_new(true).open(&path)?;
        let envelopes = Envelopes { session, ids: Arc::clone(&context.ids), clock: Arc::clone(&context.clock) };
        let root = EventId::mint(&*context.ids);
        let on_tampering = report_tampering(envelopes.clone(), root, log.clone());
        let chain = InlineChain::open(&path, ChainOptions { on_tampering, ..ChainOptions::new(Appenders::Sole) })?;
        let head = chain.append(&envelopes.wrap(root, None, start.name(), &start)?)?;
        if head.lines != 1 {
            return Err(TraceError::NotEmpty);
        }
        let sealing = Sealing::start(Arc::clone(&chain), records_dir, session, key, log, Arc::clone(&context.clock));
        Ok(Self { chain, envelopes, root, sealing })
    }

    /// The id of `session_start`: the parent of what belongs to the session as a whole.
    pub fn root(&self) -> EventId {
        self.root
    }

    /// Records one event under `parent`, and gives its id.
    ///
    /// # Errors
    /// When it could not be written: the session must end.
    pub fn write(&self, parent: EventId, event: &Event) -> Result<EventId, TraceError> {
        let id = EventId::mint(&*self.envelopes.ids);
        let line = self.envelopes.wrap(id, Some(parent), event.name(), event).map_err(TraceError::from);
        match line.and_then(|line| Ok(self.chain.append(&line)?)) {
            Ok(head) => {
                self.sealing.appended(head.lines);
                Ok(id)
            }
            Err(error) => {
                self.sealing.event_lost();
                Err(error)
            }
        }
    }

    /// The seal at the end of a session, after its last event. Nothing may append to the record any more.
    pub fn close(&self) {
        self.sealing.finish();
    }
}

/// What an event's envelope takes besides the event.
#[derive(Debug, Clone)]
struct Envelopes {
    session: SessionId,
    ids: Arc<dyn IdSource>,
    clock: Arc<dyn Clock>,
}

#[derive(Serialize)]
struct Envelope<'a, B> {
    event_type: &'a str,
    event_id: EventId,
    parent_id: Option<EventId>,
    session_id: SessionId,
    timestamp: u64,
    #[serde(flatten)]
    body: &'a B,
}

impl Envelopes {
    fn wrap(
        &self,
        event_id: EventId,
        parent_id: Option<EventId>,
        event_type: &str,
        body: &impl Serialize,
    ) -> Result<String, serde_json::Error> {
        let timestamp = self.clock.unix_ms();
        serde_json::to_string(&Envelope { event_type, event_id, parent_id, session_id: self.session, timestamp, body })
    }
}

/// Tells stderr and the log that the record was rewritten, and makes the event that says so.
fn report_tampering(
    envelopes: Envelopes,
    root: EventId,
    log: BootstrapLog,
) -> Box<dyn Fn(&Tampering) -> String + Send + Sync> {
    #[derive(Serialize)]
    struct Tampered {
        expected_lines: u64,
        expected_head: String,
        found_lines: u64,
        found_head: String,
    }
    let told = AtomicBool::new(false);
    Box::new(move |tampering| {
        let Tampering { expected, found } = tampering;
        let text = format!(
            "trace.jsonl was rewritten while the session wrote it (expected {} lines, found {}): it will not be sealed",
            expected.lines, found.lines
        );
        // Once, so that whoever rewrites it again and again does not fill a pipe that nobody reads. That nobody reads
        // stderr any more must not end the session either.
        if !told.swap(true, Ordering::Relaxed) {
            let _ = writeln!(io::stderr(), "warning: {text}");
        }
        log.line(&text);
        let body = Tampered {
            expected_lines: expected.lines,
            expected_head: expected.head.to_string(),
            found_lines: found.lines,
            found_head: found.head.to_string(),
        };
        let id = EventId::mint(&*envelopes.ids);
        // A struct of strings and numbers always has a JSON form.
        envelopes.wrap(id, Some(root), TAMPERED_EVENT, &body).unwrap_or_default()
    })
}
