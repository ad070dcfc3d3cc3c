//! When a hook is called, whether it is waited for, and what its answer may change.

use super::super::fields::{Fields, Reader, Text};
use super::super::{ManifestError, yaml::Position};

macro_rules! words {
    ($($(#[$meaning:meta])+ $name:ident { $($(#[$variant:meta])+ $case:ident = $word:literal,)+ })+) => { $(
        $(#[$meaning])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant])+ $case,)+
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$case,)+];

            /// The word in a manifest.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)+
                }
            }
        }
    )+ };
}

words! {
    /// The moment of a session at which a hook is called.
    Binding {
        /// Before the session's components are compiled.
        Stage = "on-stage",
        /// When the session has begun.
        SessionStart = "on-session-start",
        /// When a task has begun.
        TaskStart = "on-task-start",
        /// Around a model's turn.
        Inference = "on-inference",
        /// Around a tool's call.
        ToolCall = "on-tool-call",
        /// Around a shell command.
        Shell = "on-shell",
        /// When the context is to be shortened.
        Compaction = "on-compaction",
        /// When a task has ended.
        TaskEnd = "on-task-end",
        /// When the session ends.
        SessionEnd = "on-session-end",
    }

    /// Whether the session waits for a hook.
    ExecutionMode {
        /// It does.
        Blocking = "blocking",
        /// It does not.
        Async = "async",
    }

    /// What a hook's answer may change.
    CommitPolicy {
        /// Nothing.
        None = "none",
        /// The tools' manifests.
        WriteManifests = "write-manifests",
        /// The messages so far.
        ReplaceContext = "replace-context",
        /// Whether the task has ended.
        ReopenTask = "reopen-task",
        /// The messages that a task begins with.
        SeedContext = "seed-context",
        /// Whether the call takes place.
        Deny = "deny",
    }
}

/// What a hook's own manifest says of its calls. Only pairs that have a meaning exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// The moment; `None` is every one.
    pub binding: Option<Binding>,
    /// Whether it is waited for.
    pub execution_mode: ExecutionMode,
    /// What its answer may change.
    pub commit_policy: CommitPolicy,
}

/// Whether an answer of this kind means something at this moment.
fn allowed(binding: Option<Binding>, policy: CommitPolicy) -> bool {
    match policy {
        CommitPolicy::None => true,
        CommitPolicy::Deny => matches!(binding, Some(Binding::Shell | Binding::ToolCall)),
        CommitPolicy::WriteManifests => matches!(binding, None | Some(Binding::Stage)),
        CommitPolicy::ReplaceContext => matches!(binding, None | Some(Binding::Compaction)),
        CommitPolicy::ReopenTask => matches!(binding, None | Some(Binding::TaskEnd)),
        CommitPolicy::SeedContext => matches!(binding, None | Some(Binding::TaskStart)),
    }
}

pub(super) fn read(reader: &Reader<'_>, root: &Fields<'_>) -> Result<Hook, ManifestError> {
    let binding = word(reader, root, "binding", Binding::ALL, Binding::as_str)?;
    let mode = word(reader, root, "execution_mode", ExecutionMode::ALL, ExecutionMode::as_str)?;
    let policy = word(reader, root, "commit_policy", CommitPolicy::ALL, CommitPolicy::as_str)?;
    let hook = Hook {
        binding: binding.map(|(binding, _)| binding),
        execution_mode: mode.map_or(ExecutionMode::Blocking, |(mode, _)| mode),
        commit_policy: policy.map_or(CommitPolicy::None, |(policy, _)| policy),
    };
    let policy_word = hook.commit_policy.as_str();
    let at = policy.map(|(_, at)| at).or(mode.map(|(_, at)| at)).unwrap_or(root.at);
    if !allowed(hook.binding, hook.commit_policy) {
        let moment = hook.binding.map_or("a hook of every event", Binding::as_str);
        let reason = format!("`commit_policy: {policy_word}` has no meaning for {moment}");
        let fitting: Vec<&str> = CommitPolicy::ALL
            .iter()
            .filter(|policy| allowed(hook.binding, **policy))
            .map(|policy| policy.as_str())
            .collect();
        return Err(reader.value(at, reason, Some(format!("what fits is {}", fitting.join(", ")))));
    }
    match (hook.execution_mode, hook.binding, hook.commit_policy) {
        (ExecutionMode::Async, Some(Binding::Stage), _) => {
            let reason = "`execution_mode: async` has no meaning for on-stage".to_owned();
            Err(reader.value(at, reason, Some("leave `execution_mode` out".to_owned())))
        }
        (ExecutionMode::Async, _, CommitPolicy::None) | (ExecutionMode::Blocking, ..) => Ok(hook),
        (ExecutionMode::Async, ..) => {
            let reason =
                format!("`commit_policy: {policy_word}` needs an answer, and `execution_mode: async` awaits none");
            Err(reader.value(at, reason, Some("use `execution_mode: blocking`, or `commit_policy: none`".to_owned())))
        }
    }
}

fn word<T: Copy>(
    reader: &Reader<'_>,
    root: &Fields<'_>,
    key: &str,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Result<Option<(T, Position)>, ManifestError> {
    let Some(Text { text, at, node, field }) = reader.string(root, key)? else { return Ok(None) };
    match all.iter().find(|word| as_str(**word) == text) {
        Some(word) => Ok(Some((*word, at))),
        None => {
            let words: Vec<&str> = all.iter().map(|word| as_str(*word)).collect();
            Err(reader.wrong_type(node, &field, &format!("one of {}", words.join(", "))))
        }
    }
}
