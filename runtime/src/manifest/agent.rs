//! What a manifest says of an agent: its model, its conversation, its record and how it lives.

use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use super::names::{ArtifactName, StoreName};
use super::scope::Scope;
use super::units::{Age, ByteSize, Fraction};
use super::{JsonObject, Place};

/// Turns of one task.
pub(super) const MAX_TURNS: NonZeroU32 = NonZeroU32::MIN.saturating_add(10 - 1);
/// Tokens of one answer.
pub(super) const MAX_TOKENS: NonZeroU32 = NonZeroU32::MIN.saturating_add(8192 - 1);
/// Turns of a session that a scorer lets pass.
pub(super) const MAX_SCORED_TURNS: NonZeroU64 = NonZeroU64::MIN.saturating_add(10 - 1);
/// Tokens of a session that a scorer lets pass.
pub(super) const MAX_SCORED_TOKENS: NonZeroU64 = NonZeroU64::MIN.saturating_add(100_000 - 1);

/// `inference`: what makes a capsule an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inference {
    /// Who answers.
    pub transport: Transport,
    /// The driver's own settings.
    pub driver_config: Option<JsonObject>,
    /// Turns of one task. Default 10.
    pub max_turns: NonZeroU32,
    /// Tokens of one answer. Default 8192.
    pub max_tokens: NonZeroU32,
    /// Tokens of the whole session.
    pub max_session_tokens: Option<NonZeroU64>,
    /// The system prompt.
    pub system_prompt: Option<SystemPrompt>,
    /// How a conversation that has grown too long is made shorter.
    pub compaction: Compaction,
    /// Where the block stands.
    pub place: Place,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A provider, over a driver's requests.
    Http {
        /// The model.
        model: String,
        /// One of the manifest's drivers; it has a gateway.
        driver: ArtifactName,
    },
    /// A program on this machine.
    Process {
        /// The model, where it is not the program's own choice.
        model: Option<String>,
        /// One of the manifest's drivers, that knows the program.
        driver: Option<ArtifactName>,
        /// The program; given where there is no driver.
        command: Option<String>,
    },
}

/// Where the system prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemPrompt {
    /// This text, without space around it.
    Inline(String),
    /// A file's content, as it is. Relative to the manifest's directory.
    File(PathBuf),
    /// The payload of one of the manifest's artifacts.
    Artifact(ArtifactName),
}

/// `inference.compaction`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// At which part of `context.max_tokens` it happens. Greater than 0; default 0.98.
    pub threshold: Fraction,
    /// Another model for it.
    pub model: Option<String>,
    /// Another system prompt for it, inline or in a file.
    pub system_prompt: Option<SystemPrompt>,
    /// Whether summaries are written to `out/compaction-summaries.jsonl`.
    pub dump_summaries: bool,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { threshold: Fraction::THRESHOLD, model: None, system_prompt: None, dump_summaries: false }
    }
}

/// `context`: the conversation and what is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSettings {
    /// Tokens of a conversation; without it, none is ever made shorter.
    pub max_tokens: Option<NonZeroU64>,
    /// The part of it that a hook may fill at a task's start. Default 0.10.
    pub seed_budget: Fraction,
    /// How much more than that is cut instead of refused. Default 0.10.
    pub seed_overflow_margin: Fraction,
    /// Whether conversations are recorded. Default `on`.
    pub record: Recording,
    /// The directory of the records, the capsule's name unless another is given.
    pub record_store: Option<StoreName>,
    /// What is kept.
    pub retain: ContextRetention,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            max_tokens: None,
            seed_budget: Fraction::TENTH,
            seed_overflow_margin: Fraction::TENTH,
            record: Recording::On,
            record_store: None,
            retain: ContextRetention::default(),
        }
    }
}

/// Whether conversations are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recording {
    /// They are.
    #[default]
    On,
    /// Nothing is created.
    Off,
}

/// `context.retain`. Both must be met; nothing is removed where neither is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextRetention {
    /// The newest messages of each conversation.
    pub max_messages: Option<NonZeroU64>,
    /// Conversations no older than this.
    pub max_age: Option<Age>,
}

/// `trace`: what the record of a session holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceSettings {
    /// How much of the messages. Default `meta`.
    pub capture: Capture,
    /// What is kept.
    pub retain: TraceRetention,
}

/// How much of its messages a trace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Capture {
    /// Nothing.
    None,
    /// Their digests.
    #[default]
    Meta,
    /// Their digests, and the messages as blobs.
    Content,
}

/// `trace.retain`. Both must be met; nothing is removed where neither is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceRetention {
    /// The newest sessions.
    pub max_sessions: Option<NonZeroU64>,
    /// Sessions no older than this.
    pub max_age: Option<Age>,
}

/// `observability`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observability {
    /// Where spans are sent to.
    pub otel_endpoint: Option<String>,
    /// How sessions are scored.
    pub eval: Option<Eval>,
}

/// `observability.eval`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Eval {
    /// The data set that the cases are from.
    pub dataset_id: Option<String>,
    /// The scorers. Those of unknown types are warned about and left out.
    pub scorers: Vec<Scorer>,
}

/// One scorer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scorer {
    /// Its name; that of its type unless another is given.
    pub name: String,
    /// What it looks at.
    pub kind: ScorerKind,
}

/// What a scorer looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScorerKind {
    /// The session ended `ok`.
    ExitOk,
    /// It took at most so many turns. Default 10.
    MaxTurns(NonZeroU64),
    /// It took at most so many tokens. Default 100,000.
    MaxTokens(NonZeroU64),
    /// It called these tools, in this order.
    ToolSequence(Vec<String>),
    /// A model says so.
    LlmJudge,
}

/// `network`: the capsule's own door.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// The port that it listens on; any free one unless given.
    pub internal_port: Option<NonZeroU16>,
}

/// `lifecycle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle {
    /// Which tasks it takes. Default `single`.
    pub task_acceptance: TaskAcceptance,
    /// What it does after one. Default `exit`.
    pub after_task: AfterTask,
    /// Tasks that may wait. Default 1.
    pub queue_depth: NonZeroU32,
    /// How long it waits for an answer to a question, in seconds; for ever unless given.
    pub input_timeout_secs: Option<NonZeroU64>,
    /// What a task begins with. Default `stateless`.
    pub conversation: Threading,
    /// How often a hook may reopen a task. Default 1.
    pub max_task_reopens: u32,
    /// How long a command is waited for before it goes on in the background, in seconds. Default 10.
    pub shell_grace_secs: u32,
    /// How long a child may take, in seconds. Default 600.
    pub delegation_deadline_secs: NonZeroU32,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            task_acceptance: TaskAcceptance::Single,
            after_task: AfterTask::Exit,
            queue_depth: NonZeroU32::MIN,
            input_timeout_secs: None,
            conversation: Threading::Stateless,
            max_task_reopens: 1,
            shell_grace_secs: 10,
            delegation_deadline_secs: NonZeroU32::MIN.saturating_add(600 - 1),
        }
    }
}

/// Which tasks a capsule takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAcceptance {
    /// None but its first.
    None,
    /// One at a time.
    Single,
    /// Several, one after the other.
    Queue,
}

/// What a capsule does after a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTask {
    /// It ends.
    Exit,
    /// It waits for the next.
    Sleep,
}

/// What a task begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threading {
    /// Nothing.
    Stateless,
    /// The conversation so far.
    Threaded,
}

/// `exports`: what others may fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// Files that can be read.
    pub files: Option<FilesExport>,
    /// Files that peers may be given.
    pub peer_files: Option<PeerFilesExport>,
}

/// `exports.files`, always read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesExport {
    /// The part of the workdir.
    pub root: Scope,
    /// The largest file. Default 10 MiB.
    pub max_bytes: ByteSize,
}

/// `exports.peer_files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerFilesExport {
    /// The part of the workdir.
    pub root: Scope,
    /// How long a file can be fetched. Default an hour; at most a quarter of one where the capsule stays.
    pub max_ttl: Age,
    /// The largest file. Default 10 MiB.
    pub max_bytes: ByteSize,
}

/// `registry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Where artifacts are looked for first.
    pub default: Option<RegistryChoice>,
    /// The remote one.
    pub remote_url: Option<String>,
}

/// Where artifacts are looked for first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryChoice {
    /// The stores of this machine.
    Local,
    /// The configured sources.
    Remote,
}
