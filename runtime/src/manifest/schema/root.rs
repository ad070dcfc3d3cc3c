//! The keys of the manifest itself and of its artifacts.

use super::agent::{CONTEXT, EXPORTS, INFERENCE, LIFECYCLE, NETWORK, OBSERVABILITY, TRACE};
use super::capabilities::{ARTIFACT_CAPABILITIES, CAPABILITIES};
use super::{Mapping, elsewhere, key, later, packed, refused};

/// The manifest itself.
pub(crate) static ROOT: Mapping = Mapping {
    path: "",
    about: "A capsule with `inference` is an agent. One without is a script: it has a component beside its manifest, \
            `capsule.wasm` or the only `*.wasm` there.",
    keys: &[
        key("name", "a name", "required", "The capsule's name: 1 to 100 of a-z, 0-9 and inner `-`."),
        key("version", "text", "required", "The capsule's version; in quotes where it looks like a number."),
        key("artifacts", "list of mappings", "none", "The tools, drivers, hooks and skills that the capsule uses.")
            .each(&ARTIFACT),
        key("capabilities", "mapping", "nothing", "What the capsule and its artifacts may do.").one(&CAPABILITIES),
        key("inference", "mapping", "a script", "The model that makes the capsule an agent.").one(&INFERENCE),
        key("context", "mapping", "its defaults", "The conversation, and what is kept of it.").one(&CONTEXT),
        key("observability", "mapping", "nothing", "Spans and scores.").one(&OBSERVABILITY),
        key("trace", "mapping", "its defaults", "What the record of a session holds, and how long it is kept.")
            .one(&TRACE),
        key("network", "mapping", "its defaults", "The door at which an agent takes tasks.").one(&NETWORK),
        key("lifecycle", "mapping", "its defaults", "Which tasks an agent takes, and how long it lives.")
            .one(&LIFECYCLE),
        key("exports", "mapping", "nothing", "Files that others may fetch.").one(&EXPORTS),
        key("registry", "mapping", "the configuration's", "Where artifacts are looked for.").one(&REGISTRY),
        key(
            "mur_version",
            "text",
            "any",
            "The version of mur that the capsule is deployed with; a run does not look at it.",
        ),
        refused("config", "give each artifact its own `config`"),
        packed("runtime", "What the file is as an artifact."),
        packed("implementation", "How it is implemented."),
        packed("execution", "How it is packed."),
        packed("requires_files", "What is packed besides the manifest."),
        packed("description", "What it is for."),
        packed("tags", "Words to find it by."),
        packed("input_schema", "What it takes."),
        elsewhere("upstream_auth", "A driver's, tool's or hook's."),
        elsewhere("binding", "A hook's."),
        elsewhere("execution_mode", "A hook's."),
        elsewhere("commit_policy", "A hook's."),
        later("models", "0.8"),
        later("control", "0.5"),
        later("deploy", "0.8"),
    ],
};

/// `artifacts[]`.
pub(crate) static ARTIFACT: Mapping = Mapping {
    path: "artifacts[]",
    about: "Something that the capsule uses. Names differ from each other and from the capsule's own.",
    keys: &[
        key(
            "name",
            "a name",
            "required",
            "By which the capsule calls it. `share-file`, `fetch-peer-file`, `delegate-task` and `submit-plan` are the \
             runtime's own (E-CAP-013).",
        ),
        key("version", "text", "required without `source`", "The version that is installed."),
        key("runtime", "`tool`, `driver`, `hook` or `skill`", "`tool`", "What it is."),
        key("source", "a path", "none", "A component or an artifact's directory, used as it stands there.")
            .code("E-IO-001"),
        key("local_source", "true or false", "true with `source`", "Whether there is a `source`."),
        key("prompt_payload", "true or false", "true for a skill", "Whether its payload may be the system prompt."),
        key(
            "capabilities",
            "mapping",
            "for a tool or driver the capsule's, for a hook nothing",
            "What the artifact may do. Not for skills.",
        )
        .one(&ARTIFACT_CAPABILITIES),
        key(
            "config",
            "mapping",
            "none",
            "Handed to this artifact alone, as JSON of at most 65,536 bytes in `MURMUR_ARTIFACT_CONFIG`. Not for skills.",
        )
        .code("E-CAP-010"),
        key(
            "gateway",
            "mapping",
            "none",
            "The provider that it reaches with a key it never sees. Required for the driver of `inference`, allowed for \
             WASM tools and hooks.",
        )
        .one(&GATEWAY),
        key("on_overflow", "`drop` or `block`", "`drop`", "What happens when a hook's events come too fast. Hooks only."),
    ],
};

/// `artifacts[].gateway`.
pub(crate) static GATEWAY: Mapping = Mapping {
    path: "artifacts[].gateway",
    about: "Requests go to the endpoint with the key added by the runtime. Either `api_key` or `keyless: true` is given.",
    keys: &[
        key(
            "endpoint",
            "a URL",
            "required",
            "`https://` and any host, or `http://` and this machine; no user, query or fragment.",
        ),
        key(
            "api_key",
            "`${NAME}`, or the key",
            "required without `keyless`",
            "The name under which the key is found in the global configuration's `credentials` or else in the \
             environment. A key in plain text is warned about.",
        )
        .code("E-CAP-018"),
        key("keyless", "true or false", "false", "That the provider needs no key."),
    ],
};

static REGISTRY: Mapping = Mapping {
    path: "registry",
    about: "Where `mur install` looks for artifacts.",
    keys: &[
        key("default", "`local` or `remote`", "the configuration's", "The stores of this machine, or the sources."),
        key("remote_url", "text", "none", "A registry's URL, asked instead of the configured sources."),
    ],
};
