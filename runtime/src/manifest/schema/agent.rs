//! The keys that describe an agent.

use super::{Key, Mapping, key, later, refused};

pub(super) static INFERENCE: Mapping = Mapping {
    path: "inference",
    about: "",
    keys: &[
        key("transport", "`http` or `process`", "`http`", "Whether a provider answers, or a program of this machine."),
        key("model", "text", "required for `http`", "The model."),
        key("driver", "mapping", "required for `http` (E-RUN-005)", "The driver that speaks to it.").one(&DRIVER),
        key("provider", "mapping", "none", "The old name of `driver`.").one(&PROVIDER),
        key("command", "text", "required for `process` without `driver`", "The program."),
        key("max_turns", "number greater than zero", "10", "Turns of one task."),
        key("max_tokens", "number greater than zero", "8192", "Tokens of one answer."),
        key("max_session_tokens", "number greater than zero", "no limit", "Tokens of the whole session."),
        key("system_prompt", "text", "none", "The system prompt. At most one of these three is given."),
        key("system_prompt_file", "a path", "none", "A file that holds it.").code("E-RUN-009"),
        key("system_prompt_artifact", "a name", "none", "An artifact with `prompt_payload` whose payload it is."),
        key("compaction", "mapping", "its defaults", "How a long conversation is made shorter.").one(&COMPACTION),
        refused("endpoint", "move it to the driver's entry in `artifacts`, as `gateway.endpoint`"),
        refused("api_key", "move it to the driver's entry in `artifacts`, as `gateway.api_key`"),
        refused("max_task_reopens", "move it to `lifecycle.max_task_reopens`"),
        later("tool_refresh", "0.5"),
        later("alternates", "0.5"),
        later("retry", "0.8"),
    ],
};

static DRIVER: Mapping = Mapping {
    path: "inference.driver",
    about: "",
    keys: &[
        key("artifact", "a name", "required", "An artifact whose `runtime` is `driver`."),
        key("config", "mapping", "none", "The driver's settings, at most 65,536 bytes as JSON.").code("E-CAP-010"),
    ],
};

static PROVIDER: Mapping = Mapping {
    path: "inference.provider",
    about: "",
    keys: &[key("artifact", "a name", "required", "As `driver.artifact`.")],
};

static COMPACTION: Mapping = Mapping {
    path: "inference.compaction",
    about: "",
    keys: &[
        key(
            "threshold",
            "a number above 0, at most 1",
            "0.98",
            "The part of `context.max_tokens` at which it happens.",
        ),
        key("model", "text", "the agent's", "The model that does it."),
        key("system_prompt", "text", "built in", "The prompt. At most one of these two is given."),
        key("system_prompt_file", "a path", "none", "A file that holds it."),
        key("dump_summaries", "true or false", "false", "Whether summaries are written to a file."),
        later("max_tokens", "0.8"),
        later("driver_config", "0.8"),
    ],
};

pub(super) static CONTEXT: Mapping = Mapping {
    path: "context",
    about: "",
    keys: &[
        key("max_tokens", "number greater than zero", "no compaction", "Tokens of a conversation."),
        key("seed_budget", "a number from 0 to 1", "0.10", "The part of it that hooks may fill at a task's start."),
        key("seed_overflow_margin", "a number from 0 to 1", "0.10", "How much more is cut instead of refused."),
        key("record", "`on` or `off`", "`on`", "Whether conversations are recorded."),
        key("record_store", "one path segment", "the capsule's name", "The records' directory below the murmur home.")
            .code("E-CAP-011"),
        key("retain", "mapping, not empty", "everything", "What is kept.").one(&CONTEXT_RETAIN),
    ],
};

const MAX_AGE: Key = key("max_age", "a number and `s`, `m`, `h` or `d`", "any age", "How old what is kept may be.");

static CONTEXT_RETAIN: Mapping = Mapping {
    path: "context.retain",
    about: "",
    keys: &[
        key("max_messages", "number greater than zero", "any number", "The newest messages of each conversation."),
        MAX_AGE,
    ],
};

pub(super) static TRACE: Mapping = Mapping {
    path: "trace",
    about: "",
    keys: &[
        key(
            "capture",
            "`none`, `meta` or `content`",
            "`meta`",
            "Nothing of the messages, their digests, or all of them.",
        ),
        key(
            "include_tool_output",
            "true or false",
            "none",
            "The old spelling of `capture`: true is `content`. Warned about.",
        ),
        key("retain", "mapping, not empty", "everything", "What is kept.").one(&TRACE_RETAIN),
    ],
};

static TRACE_RETAIN: Mapping = Mapping {
    path: "trace.retain",
    about: "",
    keys: &[key("max_sessions", "number greater than zero", "any number", "The newest sessions."), MAX_AGE],
};

pub(super) static OBSERVABILITY: Mapping = Mapping {
    path: "observability",
    about: "",
    keys: &[
        key("otel_endpoint", "text", "none", "Where spans are sent to."),
        key("eval", "mapping", "none", "How sessions are scored.").one(&EVAL),
    ],
};

static EVAL: Mapping = Mapping {
    path: "observability.eval",
    about: "",
    keys: &[
        key("dataset_id", "text", "none", "The data set that the cases are from."),
        key("scorers", "list of mappings", "none", "The scorers.").each(&SCORER),
    ],
};

static SCORER: Mapping = Mapping {
    path: "observability.eval.scorers[]",
    about: "",
    keys: &[
        key(
            "type",
            "`exit_ok`, `max_turns`, `max_tokens`, `tool_sequence` or `llm_judge`",
            "required",
            "What it looks at. A scorer of another type is warned about and left out.",
        ),
        key("name", "text", "its type", "Its name."),
        key("max", "number greater than zero", "10 turns, 100000 tokens", "For `max_turns` and `max_tokens`."),
        key("expected", "list of names", "none", "The tools of `tool_sequence`."),
    ],
};

pub(super) static NETWORK: Mapping = Mapping {
    path: "network",
    about: "",
    keys: &[
        key("internal_port", "number from 1 to 65535", "any free one", "The port that it listens on."),
        later("authentication", "0.5"),
    ],
};

pub(super) static LIFECYCLE: Mapping = Mapping {
    path: "lifecycle",
    about: "",
    keys: &[
        key("task_acceptance", "`none`, `single` or `queue`", "`single`", "Which tasks it takes."),
        key("after_task", "`exit` or `sleep`", "`exit`", "What it does after a task."),
        key("queue_depth", "number greater than zero", "1", "Tasks that may wait."),
        key(
            "input_timeout_secs",
            "number greater than zero",
            "for ever",
            "How long it waits for an answer, in seconds.",
        ),
        key(
            "conversation",
            "`stateless` or `threaded`",
            "`stateless`",
            "Whether a task begins with the conversation so far.",
        ),
        key("max_task_reopens", "number", "1", "How often a hook may reopen a task."),
        key("shell_grace_secs", "number", "10", "How long a command is waited for, in seconds."),
        key("delegation_deadline_secs", "number greater than zero", "600", "How long a child may take, in seconds."),
        later("deadline_notice_secs", "0.8"),
        later("keep_working", "0.8"),
        later("done_check", "0.8"),
    ],
};

pub(super) static EXPORTS: Mapping = Mapping {
    path: "exports",
    about: "",
    keys: &[
        key("files", "mapping", "nothing", "Files that can be read.").one(&FILES),
        key("peer_files", "mapping", "nothing", "Files that peers may be given.").one(&PEER_FILES),
        later("peer_tasks", "0.5"),
    ],
};

const EXPORT_ROOT: Key =
    key("root", "a relative path without `..`", "required", "The directory, in the workdir.").code("E-CAP-007");
const EXPORT_MAX: Key = key("max_bytes", "bytes, or a number with `Ki`, `Mi` or `Gi`", "10Mi", "The largest file.");

static FILES: Mapping = Mapping {
    path: "exports.files",
    about: "",
    keys: &[EXPORT_ROOT, key("mode", "`read-only`", "required", "What may be done with them."), EXPORT_MAX],
};

static PEER_FILES: Mapping = Mapping {
    path: "exports.peer_files",
    about: "",
    keys: &[
        EXPORT_ROOT,
        key(
            "max_ttl",
            "a number and `s`, `m`, `h` or `d`",
            "1h",
            "How long a file can be fetched. Required, and at most 15m, where `lifecycle.after_task` is `sleep`.",
        )
        .code("E-CAP-008"),
        EXPORT_MAX,
    ],
};
