//! `murmur.yaml`: what a capsule is, which artifacts it uses and what it may do.
//!
//! [`Manifest::load`] reads, parses and validates in one step. What comes out is right: names are names, limits are
//! greater than zero, a scope cannot leave the workdir. What this version cannot honour is refused here, before anything
//! exists on disk for the session.
//!
//! | file | what lives there |
//! |---|---|
//! | `file` | reading the file, bounded |
//! | `yaml` | text to a tree with positions |
//! | `schema` | which keys there are, and which of them this version reads |
//! | `fields` | the fields of one mapping, each with its type or refused with its place |
//! | `read` | the tree to a [`Manifest`] |
//! | `names` | names and versions |
//! | `packed` | an artifact's own manifest, a [`Packed`] |
//! | `scope` | the part of the workdir that guests see |
//! | `component` | from a manifest to the components that it names |
//! | `error` | why a manifest cannot be used |
//!
//! The room knows no other, save the codes of [`diagnostic`](crate::diagnostic). Fetching artifacts is not its matter.

mod component;
mod error;
mod fields;
mod file;
mod names;
mod packed;
mod read;
mod schema;
mod scope;
mod yaml;

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

pub use error::{ManifestError, Place, SourceProblem, UnknownKey};
pub use file::MANIFEST_MAX_BYTES;
pub use names::{ArtifactName, CapsuleName, EmptyVersion, NAME_MAX, NameError, Version};
pub(crate) use packed::SKILL_FILE;
pub use packed::{
    AuthProblem, Binding, CommitPolicy, EntryPath, EntryPathError, Execution, ExecutionMode, Hook, Kind, Packed,
    PackedError, UpstreamAuth,
};
pub use scope::{Scope, ScopeError, Subpath};

/// A script capsule's manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The capsule's name.
    pub name: CapsuleName,
    /// The capsule's version.
    pub version: Version,
    /// The artifacts in the manifest's order; no two have the same name.
    pub artifacts: Vec<Artifact>,
    /// What the capsule and its tools may do.
    pub capabilities: Capabilities,
    path: PathBuf,
}

/// An artifact that the capsule uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The name by which the capsule calls it.
    pub name: ArtifactName,
    /// Which one it is.
    pub reference: Reference,
    /// Where it is named.
    pub place: Place,
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

/// The capsule's `capabilities`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The part of the accessible workdir that guests see as `.`.
    pub scope: Scope,
    /// What each guest may use.
    pub limits: Limits,
    /// The weakest containment that the capsule accepts.
    pub containment: Containment,
}

/// What one guest may use; reaching a limit ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes. Default 512 MiB.
    pub memory_bytes: NonZeroU64,
    /// Elements of one table. Default 100,000.
    pub table_elements: NonZeroU32,
    /// Core instances. Default 1,000.
    pub instances: NonZeroU32,
    /// Wall-clock time of one run, in seconds. Default 600.
    pub deadline_seconds: NonZeroU32,
}

impl Default for Limits {
    fn default() -> Self {
        const MEMORY_BYTES: NonZeroU64 = NonZeroU64::MIN.saturating_add(512 * 1024 * 1024 - 1);
        const TABLE_ELEMENTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(100_000 - 1);
        const INSTANCES: NonZeroU32 = NonZeroU32::MIN.saturating_add(1_000 - 1);
        const DEADLINE_SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(600 - 1);
        Self {
            memory_bytes: MEMORY_BYTES,
            table_elements: TABLE_ELEMENTS,
            instances: INSTANCES,
            deadline_seconds: DEADLINE_SECONDS,
        }
    }
}

/// How strongly a session is contained, from weakest to strongest.
///
/// The class speaks of native subprocesses; guests in WASM are bounded by their preopens and limits in every class. This
/// version starts no subprocess and accepts no class above [`Containment::Advisory`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Containment {
    /// No kernel sandbox is promised.
    #[default]
    Advisory,
    /// Subprocesses are confined to the workdir and to what was granted.
    Scoped,
    /// As `scoped`, in a root file system of its own.
    Sealed,
}

impl Containment {
    /// Every class, weakest first.
    pub const ALL: [Self; 3] = [Self::Advisory, Self::Scoped, Self::Sealed];

    /// The word in manifests and traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Scoped => "scoped",
            Self::Sealed => "sealed",
        }
    }
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Manifest {
    /// Reads and validates the manifest at `path`; what it holds without effect comes back as warnings.
    ///
    /// # Errors
    /// The first reason why it cannot be used. Nothing that it names is looked at yet: that is for
    /// [`component`](Self::component) and [`payload`](Self::payload).
    pub fn load(path: &Path) -> Result<(Self, Vec<UnknownKey>), ManifestError> {
        Self::parse(path, &file::read(path)?)
    }

    /// Validates `text` as the manifest at `path`, which is not opened. `text` has no byte order mark.
    ///
    /// # Errors
    /// As [`load`](Self::load), save those of the file itself.
    pub fn parse(path: &Path, text: &str) -> Result<(Self, Vec<UnknownKey>), ManifestError> {
        read::manifest(path, text)
    }

    /// The manifest's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The refusal of the artifacts that would have to be installed, of which `first` is one.
    pub(crate) fn not_installed(&self, first: &Artifact) -> ManifestError {
        let absent = self.artifacts.iter().filter_map(|artifact| match &artifact.reference {
            Reference::Installed(version) => Some(format!("{}@{}", artifact.name, version.as_str())),
            Reference::Local(_) => None,
        });
        ManifestError::NotInstalled { place: first.place.clone(), artifacts: absent.collect() }
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
