//! Takes down what guests do: their calls and refusals in the trace, what they print on stderr, and a capsule's own
//! output for its result.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ids::{EventId, TaskId};
use crate::guest::{PathDenied, Status, Stream, ToolCall, ToolInput, Witness, WitnessError};
use crate::record::{Event, ProtectedPathDenied, ToolCall as ToolCallEvent, ToolStatus, Trace};

/// A longer input is recorded by its digest.
const MAX_INPUT: usize = 64 * 1024;
/// What is kept of a capsule's standard output for its result.
const MAX_RESULT: usize = 1024 * 1024;
/// What is shown of what guests print, in bytes: less than a pipe holds, so that nobody needs to read it.
const MAX_SHOWN: usize = 32 * 1024;

/// The witness of one session's guests.
pub(crate) struct SessionWitness {
    trace: Trace,
    task: EventId,
    task_id: TaskId,
    capsule: String,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    tool_calls: u64,
    result: Vec<u8>,
    result_cut: Cut,
    shown: usize,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Cut {
    #[default]
    No,
    Yes,
}

/// What a session's guests did, after they are gone.
pub(crate) struct Testimony {
    pub(crate) trace: Trace,
    pub(crate) task: EventId,
    pub(crate) tool_calls: u64,
    /// What the capsule printed.
    pub(crate) printed: Vec<u8>,
}

impl SessionWitness {
    /// For the guests of the task `task_id`, whose event is `task`.
    pub(crate) fn new(trace: Trace, task: EventId, task_id: TaskId, capsule: String) -> Self {
        Self { trace, task, task_id, capsule, seen: Mutex::default() }
    }

    pub(crate) fn finish(self) -> Testimony {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut printed = seen.result;
        if seen.result_cut == Cut::Yes {
            printed.extend_from_slice(b"\n[cut here: the capsule printed more than 1 MiB]\n");
        }
        Testimony { trace: self.trace, task: self.task, tool_calls: seen.tool_calls, printed }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for SessionWitness {
    fn tool_called(&self, call: &ToolCall<'_>) -> Result<(), WitnessError> {
        let event = ToolCallEvent {
            turn: None,
            task_id: self.task_id,
            tool_name: call.name.into(),
            tool_call_id: None,
            input: recorded_input(call.input),
            input_bytes: call.input_bytes() as u64,
            output_bytes: call.output_bytes() as u64,
            duration_ms: u64::try_from(call.duration.as_millis()).unwrap_or(u64::MAX),
            status: match call.status() {
                Status::Passed => ToolStatus::Ok,
                Status::Failed | Status::Error => ToolStatus::Error,
            },
            state_effect: call.state_effect().filter(|effect| matches!(*effect, "read" | "mutate")).map(String::from),
            resource_id: call.resource_id().map(String::from),
        };
        self.trace.write(self.task, &Event::ToolCall(event))?;
        self.seen().tool_calls += 1;
        Ok(())
    }

    fn path_denied(&self, denial: &PathDenied<'_>) -> Result<(), WitnessError> {
        let event = ProtectedPathDenied {
            turn: None,
            call: "tool",
            target: denial.guest.into(),
            path: denial.path.into(),
            rule: denial.rule.into(),
            signal: denial.operation.as_str().into(),
            reason: "the path belongs to the session's record".into(),
        };
        self.trace.write(self.task, &Event::ProtectedPathDenied(event))?;
        Ok(())
    }

    fn output(&self, guest: &str, stream: Stream, bytes: &[u8]) {
        let mut seen = self.seen();
        if stream == Stream::Stdout && guest == self.capsule {
            let room = MAX_RESULT - seen.result.len();
            seen.result.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                seen.result_cut = Cut::Yes;
            }
        }
        if seen.shown < MAX_SHOWN {
            let room = MAX_SHOWN - seen.shown;
            let piece = &bytes[..bytes.len().min(room)];
            seen.shown += piece.len();
            show(guest, piece);
            if seen.shown == MAX_SHOWN {
                show(guest, b"[what the guests print from here on is not shown]\n");
            }
        }
    }
}

/// Shows what a guest printed, line by line under its name, escaped.
fn show(guest: &str, bytes: &[u8]) {
    let mut text = String::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        text.push_str(&format!("[{}] {}\n", mur_seal::escape(guest), mur_seal::escape(line)));
    }
    // That nobody reads stderr any more must not end the session.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A tool's input as an object: the one that its data are, or one that holds them.
fn recorded_input(input: &ToolInput) -> Value {
    let data = match &input.data {
        None => Value::Null,
        Some(data) if data.len() > MAX_INPUT => json!({ "bytes": data.len(), "sha256": digest(data) }),
        Some(data) => match serde_json::from_str(data) {
            Ok(object @ Value::Object(_)) => object,
            Ok(_) | Err(_) => Value::String(data.clone()),
        },
    };
    match (data, &input.log_path) {
        (object @ Value::Object(_), None) => object,
        (Value::Null, None) => json!({}),
        (data, None) => json!({ "data": data }),
        (data, Some(path)) => json!({ "data": data, "log_path": path }),
    }
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
