//! Which keys `config.yaml` may hold.

use crate::manifest::schema::{Mapping, key};

pub(super) static ROOT: Mapping = Mapping {
    path: "",
    about: "",
    keys: &[
        key("registry", "mapping", "nothing", "Where artifacts come from.").one(&REGISTRY),
        key("inference", "mapping", "nothing", "What new capsules begin with. Nothing reads it yet.").one(&INFERENCE),
        key("credentials", "mapping of names to keys", "nothing", "Providers' keys. The global file's alone."),
        key("containment", "a class", "`advisory`", "The weakest containment; the strongest that is said holds."),
        key("spend", "mapping", "no ceiling", "What all sessions together may use.").one(&SPEND),
        key("beta", "mapping", "nothing", "Features that are tried out.").one(&BETA),
    ],
};

static REGISTRY: Mapping = Mapping {
    path: "registry",
    about: "",
    keys: &[
        key("default", "text", "none", "The source that is meant where none is named."),
        key("index_url", "text", "none", "An index to search in. Nothing reads it yet."),
        key("sources", "list of mappings", "none", "The sources.").each(&SOURCE),
    ],
};

static SOURCE: Mapping = Mapping {
    path: "registry.sources[]",
    about: "",
    keys: &[
        key("name", "text", "required", "Its name."),
        key("type", "`directory`, `http`, `github` or `nexus`", "required", "What it is."),
        key("path", "a path", "required for `directory`", "The directory."),
        key("url", "a URL", "required for `http`", "The server."),
        key("repo", "`owner/name`", "required for `github`", "The repository."),
        key("token", "text", "none", "For what is not public."),
    ],
};

static INFERENCE: Mapping = Mapping {
    path: "inference",
    about: "",
    keys: &[
        key("provider", "text", "none", "The provider."),
        key("model", "text", "none", "The model."),
        key("api_key", "text", "none", "The provider's key. The global file's alone."),
        key("endpoint", "text", "none", "Where the provider is."),
    ],
};

static SPEND: Mapping = Mapping {
    path: "spend",
    about: "",
    keys: &[key("machine_tokens_per_day", "number greater than zero", "no ceiling", "Tokens a day; the lowest holds.")],
};

static BETA: Mapping =
    Mapping { path: "beta", about: "", keys: &[key("enabled", "list of names", "none", "Their names.")] };
