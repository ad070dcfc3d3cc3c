//! Takes down what guests do: their calls and refusals in the trace, what they print on stderr, and a capsule's own
//! output for its result.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::ids::{EventId, TaskId};
use crate::content::ContentHash;
use crate::guest::{GatewayKey, PathDenied, Status, Stream, ToolCall, ToolInput, Witness, WitnessError};
use crate::record::{Event, GatewayCredential, ProtectedPathDenied, ToolCall as ToolCallEvent, ToolStatus, Trace};

/// A longer input is recorded by its digest.
const MAX_INPUT: usize = 64 * 1024;
/// A longer name or path of a guest's is recorded by its beginning and its digest.
const MAX_TEXT: usize = 4 * 1024;
/// What is kept of a capsule's standard output for its result.
const MAX_RESULT: usize = 1024 * 1024;
/// What is shown of what guests print, in bytes as they are shown: less than a pipe holds, so that nobody needs to read it.
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
    pub(crate) tool_calls: u64,
    /// What the capsule printed.
    pub(crate) printed: Vec<u8>,
}

impl SessionWitness {
    /// For the guests of the task `task_id`, whose event is `task`.
    pub(crate) fn new(trace: Trace, task: EventId, task_id: TaskId, capsule: String) -> Self {
        Self { trace, task, task_id, capsule, seen: Mutex::default() }
    }

    /// The trace that everything is taken down in.
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What was taken down so far.
    pub(crate) fn testimony(&self) -> Testimony {
        let mut seen = self.seen();
        let mut printed = std::mem::take(&mut seen.result);
        if seen.result_cut == Cut::Yes {
            printed.extend_from_slice(b"\n[cut here: the capsule printed more than 1 MiB]\n");
        }
        Testimony { tool_calls: seen.tool_calls, printed }
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
            tool_name: recorded_text(call.name),
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
            resource_id: call.resource_id().map(recorded_text),
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
            path: recorded_text(denial.path),
            rule: denial.rule.into(),
            signal: denial.operation.as_str().into(),
            reason: denial.reason.as_str().into(),
        };
        self.trace.write(self.task, &Event::ProtectedPathDenied(event))?;
        Ok(())
    }

    fn gateway_key(&self, event: &GatewayKey<'_>) -> Result<(), WitnessError> {
        let event = GatewayCredential {
            artifact: event.guest.into(),
            source: event.origin.source.clone(),
            credential: event.origin.credential.clone(),
            change: event.change.as_str(),
            trigger: event.trigger.as_str(),
            status: event.status,
            retried: event.retried,
            reason: event.reason.map(recorded_text),
        };
        self.trace.write(self.task, &Event::GatewayCredential(event))?;
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
            let mut text = shown(guest, bytes);
            let room = MAX_SHOWN - seen.shown;
            if text.len() >= room {
                text.truncate(text.floor_char_boundary(room));
                text.push_str(&format!("\n[{guest}] [what the guests print from here on is not shown]\n"));
            }
            seen.shown += text.len();
            // That nobody reads stderr any more must not end the session.
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

/// What a guest printed as it is shown: line by line under its name, escaped.
fn shown(guest: &str, bytes: &[u8]) -> String {
    let guest = mur_seal::escape(guest);
    String::from_utf8_lossy(bytes).lines().map(|line| format!("[{guest}] {}\n", mur_seal::escape(line))).collect()
}

/// A text of a guest's as it is recorded: whole, or its beginning and its digest.
fn recorded_text(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.into();
    }
    let beginning = &text[..text.floor_char_boundary(MAX_TEXT / 2)];
    format!("{beginning}… ({} bytes, sha256 {})", text.len(), ContentHash::of(text.as_bytes()))
}

/// A tool's input as an object, such that different inputs are recorded differently.
///
/// Data that are one compact JSON object, byte for byte as it would be written, are recorded as that object. All other data
/// are recorded as the text that they are, in a member `data`, and long ones by their digest. An object that could be taken
/// for one of those forms is recorded as text too.
fn recorded_input(input: &ToolInput) -> Value {
    const RESERVED: [&str; 4] = ["data", "data_bytes", "data_sha256", "log_path"];
    let mut recorded = match &input.data {
        None => json!({ "data": null }),
        Some(data) if data.len() > MAX_INPUT => {
            json!({ "data_bytes": data.len(), "data_sha256": ContentHash::of(data.as_bytes()).to_string() })
        }
        Some(data) => {
            if input.log_path.is_none()
                && let Ok(Value::Object(members)) = serde_json::from_str(data)
                && !members.keys().any(|name| RESERVED.contains(&name.as_str()))
                && serde_json::to_string(&members).is_ok_and(|written| written == *data)
            {
                return Value::Object(members);
            }
            json!({ "data": data })
        }
    };
    if let Some(path) = &input.log_path {
        recorded["log_path"] = recorded_text(path).into();
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(data: Option<&str>, log_path: Option<&str>) -> String {
        recorded_input(&ToolInput { data: data.map(String::from), log_path: log_path.map(String::from) }).to_string()
    }

    #[test]
    fn an_input_that_is_one_compact_object_is_recorded_as_that_object() {
        for object in [r#"{"text":"x","n":[1,2.5,null]}"#, "{}"] {
            assert_eq!(recorded(Some(object), None), object);
        }
    }

    #[test]
    fn what_another_reading_could_change_is_recorded_as_the_text_that_it_is() {
        for data in [
            r#"{"cmd":"rm -rf /","cmd":"ls"}"#,
            r#"{"n":12345678901234567890123456789}"#,
            r#"{"n":0.1000000000000000055511151231257827}"#,
            r#"{ "spaced": 1 }"#,
            r#"{"data":"looks like a form"}"#,
            r#"{"data_bytes":70000,"data_sha256":"aa"}"#,
            "plain",
        ] {
            assert_eq!(recorded(Some(data), None), json!({ "data": data }).to_string());
        }
    }

    #[test]
    fn different_inputs_are_recorded_differently() {
        let long = "x".repeat(MAX_INPUT + 1);
        let inputs = [
            recorded(None, None),
            recorded(Some(""), None),
            recorded(Some("{}"), None),
            recorded(Some("x"), None),
            recorded(Some("x"), Some("y")),
            recorded(None, Some("y")),
            recorded(Some(r#"{"data":"x","log_path":"y"}"#), None),
            recorded(Some(&long), None),
            recorded(Some(&long.replace('x', "y")), None),
        ];
        let distinct: std::collections::BTreeSet<&String> = inputs.iter().collect();
        assert_eq!(distinct.len(), inputs.len(), "{inputs:#?}");
    }

    #[test]
    fn what_is_shown_is_measured_as_it_is_shown() {
        // One byte of a guest's becomes a line.
        assert_eq!(shown("guest", b"\n\n"), "[guest] \n[guest] \n");
        assert_eq!(shown("guest", b"\x1b[31m"), "[guest] \\u{1b}[31m\n");
    }

    #[test]
    fn a_long_name_is_recorded_by_its_beginning_and_its_digest() {
        let recorded = recorded_text(&"x".repeat(70_000));
        assert!(recorded.len() < MAX_TEXT && recorded.contains("70000 bytes, sha256 "), "{}", recorded.len());
    }
}
