//! Whom it is told what a guest does.

use super::bindings::{Status, ToolInput, ToolResult};
use super::error::WitnessError;
use super::gateway::KeyOrigin;
use super::protect::{Operation, Reason};
use std::time::Duration;

/// Takes down what guests do, while they do it.
///
/// The guest waits for each method, and so does the thread: they should be quick. The capsule and its tools
/// share one witness.
pub trait Witness: Send + Sync {
    /// A tool was called and came back, or did not.
    ///
    /// # Errors
    /// An error ends the capsule's run with [`GuestError::Witness`](super::GuestError::Witness): what cannot
    /// be recorded must not go on.
    fn tool_called(&self, call: &ToolCall<'_>) -> Result<(), WitnessError>;

    /// A guest was refused a change to a protected path.
    ///
    /// # Errors
    /// As for [`tool_called`](Self::tool_called).
    fn path_denied(&self, denial: &PathDenied<'_>) -> Result<(), WitnessError>;

    /// A guest printed something: a piece of at most 8 KiB, which need not end where a line or a character
    /// does. The guest waits until it is taken, so nothing piles up here however much it prints; how much of
    /// it is kept is the witness's affair. The call comes from a task beside the guest's; what the guest had
    /// not flushed when it was ended is lost.
    fn output(&self, guest: &str, stream: Stream, bytes: &[u8]);

    /// A guest tells of its work while it is at it. Text comes in pieces of at most 8 KiB. By default, text is output to
    /// standard error, and the rest goes unheard.
    fn emitted(&self, guest: &str, emission: Emission<'_>) {
        match emission {
            Emission::Text(text) | Emission::Thinking(text) => self.output(guest, Stream::Stderr, text.as_bytes()),
            Emission::ToolCallStarted { .. } | Emission::ToolCallInput { .. } => {}
        }
    }

    /// Something happened to the key of a guest's gateway.
    ///
    /// # Errors
    /// As for [`tool_called`](Self::tool_called): the request is not sent, and the guest that made it ends.
    fn gateway_key(&self, event: &GatewayKey<'_>) -> Result<(), WitnessError>;
}

/// What a guest tells while it works, through `murmur:text/chunks` or `murmur:stream/events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission<'a> {
    /// A piece of its answer.
    Text(&'a str),
    /// A piece of what led there.
    Thinking(&'a str),
    /// It began to ask for a tool.
    ToolCallStarted {
        /// Its id of the call.
        id: &'a str,
        /// The tool.
        name: &'a str,
    },
    /// How far it has come with that tool's input.
    ToolCallInput {
        /// Its id of the call.
        id: &'a str,
        /// All bytes so far.
        bytes: u64,
    },
}

/// Something that happened to the key of a guest's gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayKey<'a> {
    /// The guest whose gateway it is.
    pub guest: &'a str,
    /// Where the key comes from.
    pub origin: &'a KeyOrigin,
    /// What happened.
    pub change: KeyChange,
    /// At which occasion it was seen.
    pub trigger: Trigger,
    /// The endpoint's answer that was the occasion.
    pub status: Option<u16>,
    /// Whether the request was, or is about to be, sent a second time.
    pub retried: bool,
    /// More about it, in words. It holds nothing of the key.
    pub reason: Option<&'a str>,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// It is another one than before.
    Rotated,
    /// The endpoint does not accept it.
    Rejected,
    /// It cannot be read, or is none.
    Unreadable,
}

impl KeyChange {
    /// Its name in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rotated => "rotated",
            Self::Rejected => "rejected",
            Self::Unreadable => "unreadable",
        }
    }
}

/// When a key is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// For a request.
    Request,
    /// After the endpoint answered 401.
    Rejection,
}

impl Trigger {
    /// Its name in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Rejection => "rejection",
        }
    }
}

/// Where a guest printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One call of a tool by a capsule.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The name that the capsule called.
    pub name: &'a str,
    /// What it handed over.
    pub input: &'a ToolInput,
    /// The tool's result, or why there is none: the text that the capsule was given instead.
    pub outcome: Result<&'a ToolResult, &'a str>,
    /// How long it took.
    pub duration: Duration,
}

impl ToolCall<'_> {
    /// How the call ended: the result's status, and [`Status::Error`] where there is no result.
    pub fn status(&self) -> Status {
        self.outcome.map_or(Status::Error, |result| result.status)
    }

    /// Bytes of the input: of its data, and of its path.
    pub fn input_bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        length(&self.input.data) + length(&self.input.log_path)
    }

    /// Bytes of the output: of the result's data, of its summary where there are no data, and of the reason
    /// where there is no result.
    pub fn output_bytes(&self) -> usize {
        match self.outcome {
            Ok(result) => result.data.as_ref().or(result.summary.as_ref()).map_or(0, String::len),
            Err(reason) => reason.len(),
        }
    }

    /// The first `state_effect` that the tool claims, in its own words.
    pub fn state_effect(&self) -> Option<&str> {
        self.metadata("state_effect")
    }

    /// The first `resource_id` that the tool claims.
    pub fn resource_id(&self) -> Option<&str> {
        self.metadata("resource_id")
    }

    fn metadata(&self, name: &str) -> Option<&str> {
        let (_, value) = self.outcome.ok()?.metadata.iter().find(|(key, _)| key == name)?;
        Some(value)
    }
}

/// One refused change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathDenied<'a> {
    /// The guest that asked for it.
    pub guest: &'a str,
    /// What it asked for.
    pub operation: Operation,
    /// The path as the guest named it, relative to a directory that it holds; for a change through an open
    /// file, the file's path on the host.
    pub path: &'a str,
    /// The rule that forbids it, by the name that it was given in
    /// [`ProtectedPaths`](super::ProtectedPaths).
    pub rule: &'a str,
    /// Why that rule stands.
    pub reason: Reason,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// One that minds output alone.
    #[derive(Default)]
    struct Listener(Mutex<Vec<String>>);

    impl Witness for Listener {
        fn tool_called(&self, _: &ToolCall<'_>) -> Result<(), WitnessError> {
            Ok(())
        }

        fn path_denied(&self, _: &PathDenied<'_>) -> Result<(), WitnessError> {
            Ok(())
        }

        fn gateway_key(&self, _: &GatewayKey<'_>) -> Result<(), WitnessError> {
            Ok(())
        }

        fn output(&self, guest: &str, stream: Stream, bytes: &[u8]) {
            self.0.lock().unwrap().push(format!("{guest} {stream:?} {}", String::from_utf8_lossy(bytes)));
        }
    }

    #[test]
    fn text_that_is_told_is_output_unless_a_witness_minds() {
        let listener = Listener::default();
        listener.emitted("tool", Emission::Text("text"));
        listener.emitted("tool", Emission::Thinking("thought"));
        listener.emitted("tool", Emission::ToolCallStarted { id: "1", name: "hammer" });
        listener.emitted("tool", Emission::ToolCallInput { id: "1", bytes: 5 });
        assert_eq!(*listener.0.lock().unwrap(), ["tool Stderr text", "tool Stderr thought"]);
    }
}
