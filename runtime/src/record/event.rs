//! The events of a trace, member for member as they are written after the envelope.
//!
//! Readers skip what they do not know, so a member may be added; one that is here keeps its name and meaning.

use serde::Serialize;
use serde_json::Value;

use super::grants::EffectiveGrants;
use crate::session::ids::{ContextId, TaskId};

/// One event, without its envelope.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A session began. The first line of every trace.
    SessionStart(Box<SessionStart>),
    /// A task was taken up.
    TaskStart(TaskStart),
    /// A tool was called.
    ToolCall(ToolCall),
    /// A guest was refused a change to a path that is the runtime's.
    ProtectedPathDenied(ProtectedPathDenied),
    /// The key of a guest's gateway changed, was refused or could not be read.
    GatewayCredential(GatewayCredential),
    /// A task was stopped from outside.
    TaskCanceled(TaskCanceled),
    /// A task is over.
    TaskEnd(TaskEnd),
    /// The session is over. The last line of a trace that was not cut off.
    SessionEnd(SessionEnd),
}

impl Event {
    /// Its `event_type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionStart(_) => "session_start",
            Self::TaskStart(_) => "task_start",
            Self::ToolCall(_) => "tool_call",
            Self::ProtectedPathDenied(_) => "protected_path_denied",
            Self::GatewayCredential(_) => "gateway_credential",
            Self::TaskCanceled(_) => "task_canceled",
            Self::TaskEnd(_) => "task_end",
            Self::SessionEnd(_) => "session_end",
        }
    }
}

/// What a session is, and may do. Members that only agents have are null or empty for a script.
#[derive(Debug, Clone, Serialize)]
pub struct SessionStart {
    /// The manifest's name.
    pub capsule_name: String,
    /// The manifest's version.
    pub capsule_version: String,
    /// The model; null for a script.
    pub model: Option<String>,
    /// The turns that a task may take; null for a script.
    pub max_turns: Option<u32>,
    /// The tokens that the session may use.
    pub max_session_tokens: Option<u64>,
    /// The tokens that this machine may use a day.
    pub machine_tokens_per_day: Option<u64>,
    /// Which of `network`, `filesystem`, `shell` the capsule has.
    pub capabilities: Vec<&'static str>,
    /// The tools within reach, by name.
    pub tools_declared: Vec<String>,
    /// The containment floor that was asked for.
    pub containment_declared: String,
    /// The containment that is in force.
    pub containment_achieved: String,
    /// How this host lets user namespaces be made; null where nothing asked.
    pub userns_grant: Option<String>,
    /// Whether native programs in the workdir may be run.
    pub workdir_exec: bool,
    /// The session that this one continues.
    pub resumed_from: Option<String>,
    /// The context that was asked for.
    pub context_id: Option<String>,
    /// Where the system prompt came from.
    pub system_prompt_source: &'static str,
    /// Its digest.
    pub system_prompt_sha256: Option<String>,
    /// Where the provider's key came from.
    pub credential_source: &'static str,
    /// The gateways that artifacts reach.
    pub gateways: Vec<Value>,
    /// What the session may do, in full.
    pub effective_grants: EffectiveGrants,
}

/// A task as it was taken up.
#[derive(Debug, Clone, Serialize)]
pub struct TaskStart {
    /// Its id.
    pub task_id: TaskId,
    /// The conversation that it belongs to.
    pub context_id: ContextId,
    /// Where it came from.
    pub source: &'static str,
    /// Who asked for it.
    pub origin: &'static str,
    /// Whether its text is trusted.
    pub trust: &'static str,
    /// The queue's lane.
    pub lane: &'static str,
    /// Bytes of its text.
    pub message_parts_bytes: u64,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize)]
pub struct ToolCall {
    /// The agent's turn; null in a script, which has none.
    pub turn: Option<u32>,
    /// The task that it belongs to.
    pub task_id: TaskId,
    /// The name that was called.
    pub tool_name: String,
    /// The model's id for the call; null in a script.
    pub tool_call_id: Option<String>,
    /// What the tool was given.
    pub input: Value,
    /// Bytes of it.
    pub input_bytes: u64,
    /// Bytes that came back.
    pub output_bytes: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub status: ToolStatus,
    /// What the tool says that it did to its resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_effect: Option<String>,
    /// The resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<String>,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// The tool says that it passed.
    Ok,
    /// It failed, or gave no result.
    Error,
}

/// A refused change of a protected path.
#[derive(Debug, Clone, Serialize)]
pub struct ProtectedPathDenied {
    /// The agent's turn; null in a script.
    pub turn: Option<u32>,
    /// What kind of call it was.
    pub call: &'static str,
    /// The guest that made it.
    pub target: String,
    /// The path as the guest named it.
    pub path: String,
    /// The rule that forbids it.
    pub rule: String,
    /// What gave it away.
    pub signal: String,
    /// Why it was refused, in words.
    pub reason: String,
}

/// What happened to the key of a guest's gateway. The key itself stands nowhere.
#[derive(Debug, Clone, Serialize)]
pub struct GatewayCredential {
    /// The guest.
    pub artifact: String,
    /// Where the key comes from.
    pub source: String,
    /// The name that it has there, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// `rotated`, `rejected` or `unreadable`.
    pub change: &'static str,
    /// `request` or `rejection`: when the key was read.
    pub trigger: &'static str,
    /// The endpoint's answer that was the occasion.
    pub status: Option<u16>,
    /// Whether the request was sent a second time.
    pub retried: bool,
    /// More about it, in words.
    pub reason: Option<String>,
}

/// A task that was stopped from outside.
#[derive(Debug, Clone, Serialize)]
pub struct TaskCanceled {
    /// Its id.
    pub task_id: TaskId,
    /// What it was doing.
    pub phase: &'static str,
    /// Commands that it leaves running.
    pub detached_work_ids: Vec<String>,
    /// Children that it leaves running.
    pub delegation_ids: Vec<String>,
}

/// How a task or a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It did what it was asked.
    Ok,
    /// It did not.
    Failed,
    /// It was stopped from outside.
    Canceled,
}

/// A task that is over.
#[derive(Debug, Clone, Serialize)]
pub struct TaskEnd {
    /// Its id.
    pub task_id: TaskId,
    /// How it ended.
    pub exit_status: Exit,
    /// How long it took.
    pub duration_ms: u64,
    /// The turns that it took.
    pub turns: u64,
    /// The tokens that went in.
    pub input_tokens: u64,
    /// The tokens that came out.
    pub output_tokens: u64,
    /// The tools that it called.
    pub tool_calls: u64,
    /// The commands that it ran.
    pub shell_calls: u64,
    /// How often it was reopened.
    pub reopen_count: u64,
}

/// A session that is over.
#[derive(Debug, Clone, Serialize)]
pub struct SessionEnd {
    /// All turns.
    pub total_turns: u64,
    /// All tokens in.
    pub total_input_tokens: u64,
    /// All tokens out.
    pub total_output_tokens: u64,
    /// All calls of tools.
    pub total_tool_calls: u64,
    /// All commands.
    pub total_shell_calls: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub exit_status: Exit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateways_key_is_recorded_by_what_became_of_it() {
        let event = |credential: Option<&str>, reason: Option<&str>| {
            Event::GatewayCredential(GatewayCredential {
                artifact: "driver".into(),
                source: "config".into(),
                credential: credential.map(String::from),
                change: "rotated",
                trigger: "rejection",
                status: Some(401),
                retried: true,
                reason: reason.map(String::from),
            })
        };
        let written = |event: &Event| format!("{} {}", event.name(), serde_json::to_string(event).unwrap_or_default());
        insta::assert_snapshot!(
            [written(&event(Some("NAME"), None)), written(&event(None, Some("why")))].join("\n"),
            @r#"
        gateway_credential {"artifact":"driver","source":"config","credential":"NAME","change":"rotated","trigger":"rejection","status":401,"retried":true,"reason":null}
        gateway_credential {"artifact":"driver","source":"config","change":"rotated","trigger":"rejection","status":401,"retried":true,"reason":"why"}
        "#
        );
    }
}
