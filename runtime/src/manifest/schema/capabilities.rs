//! The keys of `capabilities`: the capsule's and an artifact's.

use super::{Key, Mapping, key, later};

/// `capabilities`.
pub(crate) static CAPABILITIES: Mapping = Mapping {
    path: "capabilities",
    about: "What is not granted here is not there. Tools and drivers begin with all of it, hooks with none.",
    keys: &[
        key("network", "mapping", "nothing", "Hosts.").one(&NETWORK_ALLOW),
        key("peer_fetch", "mapping", "nothing", "Peers that shared files may be fetched from.").one(&PEER_FETCH),
        key("filesystem", "mapping", "the whole workdir", "Files.").one(&FILESYSTEM),
        key("shell", "mapping", "nothing", "Programs of the host.").one(&SHELL),
        key("spawn", "mapping", "nothing", "Capsules that may be launched.").one(&SPAWN),
        key("env", "mapping", "nothing", "Variables of the host.").one(&ENV),
        key("limits", "mapping", "its defaults", "What one guest may use.").one(&LIMITS),
        key("resources", "mapping", "its defaults", "What subprocesses may use.").one(&RESOURCES),
        key(
            "containment",
            "`advisory`, `scoped` or `sealed`",
            "`advisory`",
            "The weakest containment of subprocesses that is accepted; the strongest of the manifest, the configuration \
             and the command line counts.",
        )
        .code("E-CAP-003"),
        key("plan", "mapping", "nothing", "Plans.").one(&PLAN),
        STATE,
        TASK_IO,
        CONVERSATION,
        later("install", "0.5"),
    ],
};

const STATE: Key =
    key("state", "mapping", "nothing", "A durable store. For an artifact only: W-SEC-014 for the capsule.")
        .one(&STATE_STORE);
const TASK_IO: Key =
    key("task_io", "mapping", "nothing", "A task's input and output. For a hook only.").one(&TASK_IO_READ);
const CONVERSATION: Key =
    key("conversation", "mapping", "nothing", "The conversation. For a hook only: W-SEC-016 for the capsule.")
        .one(&CONVERSATION_READ);

/// `artifacts[].capabilities`.
pub(crate) static ARTIFACT_CAPABILITIES: Mapping = Mapping {
    path: "artifacts[].capabilities",
    about: "For a tool or a driver, `network.allow` and `filesystem.scope` narrow what the capsule has (what lies outside of \
            that is dropped, W-SEC-007; an empty list is nothing), and `state` adds a store. For a hook, `network`, \
            `filesystem`, `state`, `task_io` and `conversation` are all that it gets. Other blocks have no effect \
            (W-SEC-006, W-SEC-008). Not for skills.",
    keys: &[
        key("network", "mapping", "as the role says", "Hosts.").one(&NETWORK_ALLOW),
        key("filesystem", "mapping", "as the role says", "Files; `scope` may be an empty list for none.")
            .one(&FILESYSTEM),
        STATE,
        TASK_IO,
        CONVERSATION,
        key("peer_fetch", "mapping", "no effect", "For the capsule only.").one(&PEER_FETCH),
        key("shell", "mapping", "no effect", "For the capsule only.").one(&SHELL),
        key("spawn", "mapping", "no effect", "For the capsule only.").one(&SPAWN),
        key("env", "mapping", "no effect", "For the capsule only.").one(&ENV),
        key("limits", "mapping", "no effect", "For the capsule only.").one(&LIMITS),
        key("resources", "mapping", "no effect", "For the capsule only.").one(&RESOURCES),
        key("containment", "a class", "no effect", "For the capsule only."),
        key("plan", "mapping", "no effect", "For the capsule only.").one(&PLAN),
        later("install", "0.5"),
    ],
};

/// `capabilities.network`.
pub(crate) static NETWORK_ALLOW: Mapping = Mapping {
    path: "capabilities.network",
    about: "",
    keys: &[
        key(
            "allow",
            "list of hosts",
            "nothing",
            "`host`, `host:port`, `scheme://host` or `scheme://host:port`. Without a port, the scheme's own; no wildcard, no \
             path; an IPv6 address stands in brackets.",
        )
        .code("E-CAP-001"),
        key("unix_sockets", "true or false", "false", "Whether subprocesses may use Unix sockets."),
    ],
};

pub(super) static PEER_FETCH: Mapping = Mapping {
    path: "capabilities.peer_fetch",
    about: "",
    keys: &[key("allow", "list of hosts, not empty", "required", "As in `network.allow`, and apart from it.")
        .code("E-CAP-001")],
};

/// `capabilities.filesystem`.
pub(crate) static FILESYSTEM: Mapping = Mapping {
    path: "capabilities.filesystem",
    about: "",
    keys: &[
        key("scope", "a relative path without `..`", "the whole workdir", "The directory that guests see as `.`.")
            .code("E-CAP-002"),
        key("read_only", "list of relative paths without `..`", "none", "Paths that tools may not change.")
            .code("E-CAP-012"),
        key("workdir_exec", "true or false", "false", "Whether programs in the workdir may be run (W-SEC-011)."),
        later("records", "0.8"),
    ],
};

/// `capabilities.shell`.
pub(crate) static SHELL: Mapping = Mapping {
    path: "capabilities.shell",
    about: "",
    keys: &[
        key("allow", "list of bare names, not empty", "required", "The programs."),
        key("strip_env", "list of patterns", "none", "Variables that they do not see, besides those they never see."),
        key("baseline_env", "list of patterns", "the built-in ones", "Variables that they see."),
        key("interpreter_runtime", "list of mappings", "none", "Directories that interpreters read (W-SEC-009).")
            .each(&INTERPRETER),
        key("staged_runtime", "list of mappings", "none", "Interpreters copied into the session; they need `sealed`.")
            .each(&STAGED)
            .code("E-CAP-004"),
    ],
};

static INTERPRETER: Mapping = Mapping {
    path: "capabilities.shell.interpreter_runtime[]",
    about: "",
    keys: &[
        key("binary", "a bare name", "required", "One of `shell.allow`."),
        key("dirs", "list of mappings, not empty", "required", "The directories.").each(&INTERPRETER_DIR),
    ],
};

static INTERPRETER_DIR: Mapping = Mapping {
    path: "capabilities.shell.interpreter_runtime[].dirs[]",
    about: "",
    keys: &[
        key("path", "an absolute path without `..`", "required", "The directory."),
        key("list_dir", "true or false", "required", "Whether its entries can be listed."),
    ],
};

static STAGED: Mapping = Mapping {
    path: "capabilities.shell.staged_runtime[]",
    about: "Not for a binary that also has an `interpreter_runtime`.",
    keys: &[
        key("binary", "a bare name", "required", "One of `shell.allow`."),
        key("source_path", "an absolute path without `..`", "required", "Where it stands."),
        key("pin", "text", "required", "What it must be."),
    ],
};

static SPAWN: Mapping = Mapping {
    path: "capabilities.spawn",
    about: "",
    keys: &[key("allow", "list of names", "required", "The capsules.")],
};

static ENV: Mapping = Mapping {
    path: "capabilities.env",
    about: "Names such as `*_TOKEN`, `*_API_KEY`, `*_SECRET`, `*_ACCESS_KEY`, `LD_*` and `MURMUR_*`, and those of \
            `shell.strip_env`, are refused (E-CAP-016). Names with a word such as KEY, PASSWORD, CREDENTIALS or DSN are \
            warned about (W-SEC-024). A provider's key belongs into `gateway`.",
    keys: &[key("allow", "list of names of variables", "nothing", "The variables that guests see.").code("E-CAP-016")],
};

/// `capabilities.limits`.
pub(crate) static LIMITS: Mapping = Mapping {
    path: "capabilities.limits",
    about: "Reaching a limit ends the guest. All are whole numbers greater than zero.",
    keys: &[
        key("memory_bytes", "number", "536870912", "Linear memory, in bytes."),
        key("table_elements", "number", "100000", "Elements of one table."),
        key("instances", "number", "1000", "Core instances."),
        key("deadline_seconds", "number", "600, and 30 for one call of a hook", "Time of one run, in seconds."),
    ],
};

/// `capabilities.resources`.
pub(crate) static RESOURCES: Mapping = Mapping {
    path: "capabilities.resources",
    about: "Limits on subprocesses. All are whole numbers greater than zero.",
    keys: &[
        key("max_processes", "number", "128", "Processes."),
        key("max_open_files", "number", "1024", "Open files of one process."),
        key("max_file_size_bytes", "number", "4294967296", "The largest file that is written, in bytes."),
        key("cpu_seconds", "number", "3600", "Processor time of one process, in seconds."),
        key("memory_bytes", "number", "2147483648", "Address space of one process, in bytes."),
        key("cgroup_memory_bytes", "number", "4294967296", "Memory of all together, in bytes."),
        key("cgroup_pids_max", "number", "256", "Processes of all together."),
        key("cgroup_cpu_percent", "number", "200", "Processor time of all together, in percent of one processor."),
        key("cgroup_io_bytes_per_sec", "number", "104857600", "Disk traffic of all together, in bytes a second."),
        key("workdir_max_bytes", "number", "10737418240", "Size of the workdir, in bytes."),
    ],
};

static PLAN: Mapping = Mapping {
    path: "capabilities.plan",
    about: "",
    keys: &[key("submit", "true or false", "required", "Whether plans may be submitted.")],
};

static STATE_STORE: Mapping = Mapping {
    path: "artifacts[].capabilities.state",
    about: "",
    keys: &[key("store", "one path segment", "the capsule's name", "The store's directory below the murmur home.")
        .code("E-CAP-009")],
};

static TASK_IO_READ: Mapping = Mapping {
    path: "artifacts[].capabilities.task_io",
    about: "",
    keys: &[key("read", "true or false", "required", "Whether the hook may read them.")],
};

static CONVERSATION_READ: Mapping = Mapping {
    path: "artifacts[].capabilities.conversation",
    about: "",
    keys: &[key("read", "true or false", "required", "Whether the hook may read it.")],
};
