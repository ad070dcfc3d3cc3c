//! `murmur.yaml`: what a capsule is, which artifacts it uses and what it may do.
//!
//! [`Manifest::load`] reads, parses and validates in one step. What comes out is right: names are names, limits are
//! greater than zero, a scope cannot leave the workdir. What is right and cannot be honoured by this version is named by
//! [`Manifest::unserved`].
//!
//! | file | what lives there |
//! |---|---|
//! | `file` | reading the file, bounded |
//! | `yaml` | text to a tree with positions |
//! | `schema` | which keys there are, as data, and the reference page made of it |
//! | `unknown` | the look for keys that have no effect |
//! | `fields` | the fields of one mapping, each with its type or refused with its place |
//! | `read` | the tree to a [`Manifest`] |
//! | `agent`, `capabilities`, `gateway` | the types of its blocks |
//! | `environment`, `json`, `names`, `scope`, `units` | the types of its values |
//! | `grants` | what each artifact may do |
//! | `unserved` | what is declared and not honoured by this version |
//! | `packed` | an artifact's own manifest, a [`Packed`] |
//! | `component` | from a manifest to the components that it names |
//! | `error`, `warning` | why a manifest cannot be used, and what is told of one that can |
//!
//! The room knows no other, save the codes of [`diagnostic`](crate::diagnostic) and [`hosts`](crate::hosts). Fetching artifacts is not its matter.

mod agent;
mod capabilities;
mod component;
mod environment;
mod error;
pub(crate) mod fields;
pub(crate) mod file;
mod gateway;
mod grants;
mod json;
mod names;
mod packed;
mod read;
pub(crate) mod schema;
mod scope;
mod units;
mod unknown;
mod unserved;
mod warning;
pub(crate) mod yaml;

use std::path::{Path, PathBuf};

pub use agent::{
    AfterTask, Capture, Compaction, ContextRetention, ContextSettings, Eval, Exports, FilesExport, Inference,
    Lifecycle, NetworkSettings, Observability, PeerFilesExport, Recording, RegistryChoice, RegistrySettings, Scorer,
    ScorerKind, SystemPrompt, TaskAcceptance, Threading, TraceRetention, TraceSettings, Transport,
};
pub use capabilities::{
    ArtifactCapabilities, Capabilities, Containment, InterpreterRuntime, Limits, Placed, Resources, RuntimeDirectory,
    Shell, StagedRuntime,
};
pub use environment::{BACKSTOP, EnvName, EnvPattern, NoEnvName, NoEnvPattern};
pub use error::{ManifestError, Place, SourceProblem, UnknownKey};
pub use file::MANIFEST_MAX_BYTES;
pub use gateway::{CredentialName, Gateway, GatewayKey, NoCredentialName};
pub use grants::{ArtifactGrants, Surface};
pub use json::{CONFIG_MAX_BYTES, JsonObject};
pub use names::{
    ArtifactName, BinaryName, CapsuleName, EmptyVersion, NAME_MAX, NameError, NoBinaryName, StoreName, StoreNameError,
    Version,
};
pub(crate) use packed::SKILL_FILE;
pub use packed::{
    AuthProblem, Binding, CommitPolicy, EntryPath, EntryPathError, Execution, ExecutionMode, Hook, Kind, Packed,
    PackedError,
};
pub use schema::reference_page;
pub use scope::{Scope, ScopeError, Subpath};
pub use units::{Age, ByteSize, Fraction, NoAge, NoByteSize};
pub use warning::Warning;

use unserved::Asked;

/// A capsule's manifest.
///
/// Blocks that a manifest leaves out have their documented defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The capsule's name.
    pub name: CapsuleName,
    /// The capsule's version.
    pub version: Version,
    /// The artifacts in the manifest's order; no two have the same name.
    pub artifacts: Vec<Artifact>,
    /// What the capsule and its artifacts may do.
    pub capabilities: Capabilities,
    /// What makes the capsule an agent; without it, it is a script.
    pub inference: Option<Inference>,
    /// The conversation and what is kept of it.
    pub context: ContextSettings,
    /// Spans and scores.
    pub observability: Observability,
    /// What the record of a session holds.
    pub trace: TraceSettings,
    /// The capsule's own door.
    pub network: NetworkSettings,
    /// Which tasks it takes, and how long it lives.
    pub lifecycle: Lifecycle,
    /// What others may fetch.
    pub exports: Exports,
    /// Where artifacts are looked for.
    pub registry: RegistrySettings,
    /// The version of mur that the capsule is deployed with.
    pub mur_version: Option<String>,
    path: PathBuf,
    asked: Vec<Asked>,
}

/// An artifact that the capsule uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The name by which the capsule calls it.
    pub name: ArtifactName,
    /// What it is.
    pub role: Role,
    /// Which one it is.
    pub reference: Reference,
    /// Whether its payload may be the system prompt.
    pub prompt_payload: bool,
    /// What its own block says of what it may do.
    pub capabilities: ArtifactCapabilities,
    /// What it is handed as `MURMUR_ARTIFACT_CONFIG`. Never a skill's.
    pub config: Option<JsonObject>,
    /// The provider that it reaches. Never a skill's.
    pub gateway: Option<Gateway>,
    /// What happens when events come too fast for it; `None` but for hooks.
    pub on_overflow: Option<Overflow>,
    /// Where it is named.
    pub place: Place,
}

/// What an artifact is to the capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Called by the model or by the capsule's code.
    Tool,
    /// Speaks to the model's provider.
    Driver,
    /// Called at the moments of a session.
    Hook,
    /// A text that the model reads.
    Skill,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Driver, Self::Hook, Self::Skill];

    /// The word in manifests and traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Driver => "driver",
            Self::Hook => "hook",
            Self::Skill => "skill",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What happens to events that come too fast for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// They are left out.
    Drop,
    /// The session waits.
    Block,
}

/// What came of reading a manifest.
#[derive(Debug)]
#[must_use]
pub struct Reading {
    /// What is to be told, in the order of the file, also of a manifest that cannot be used: a misspelt key is often
    /// the reason.
    pub warnings: Vec<Warning>,
    /// The manifest, or the first reason why it cannot be used.
    pub outcome: Result<Manifest, ManifestError>,
}

/// Which artifact is meant by an entry of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The one of this version in an artifact store.
    Installed(Version),
    /// The one that stands at a path, always used as it stands there.
    Local(Source),
}

/// A path that an artifact is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As written: relative to [`Manifest::directory`] unless absolute.
    pub path: PathBuf,
    /// Where it is named, for what is found out about it later.
    place: Place,
    /// Its field, as a path from the manifest's root.
    field: String,
}

impl Manifest {
    /// Reads and validates the manifest at `path`.
    ///
    /// Nothing that it names is looked at yet: that is for [`component`](Self::component) and
    /// [`payload`](Self::payload).
    pub fn load(path: &Path) -> Reading {
        match file::read(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) => Reading { warnings: Vec::new(), outcome: Err(error) },
        }
    }

    /// Validates `text` as the manifest at `path`, which is not opened. `text` has no byte order mark.
    pub fn parse(path: &Path, text: &str) -> Reading {
        read::manifest(path, text)
    }

    /// The manifest's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that the manifest stands in, and that its paths start from. Never empty.
    pub fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

/// `names` as a message lists them: the first few, then how many more.
fn listed(names: &[String]) -> String {
    const NAMED: usize = 6;
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "nothing".to_owned(),
        count if count > NAMED => format!("{shown} and {} more", count - NAMED),
        _ => shown,
    }
}

impl Reference {
    /// The version to show and to record; `local` for a source, which may change without its version changing.
    pub fn shown_version(&self) -> &str {
        match self {
            Self::Installed(version) => version.as_str(),
            Self::Local(_) => "local",
        }
    }
}
