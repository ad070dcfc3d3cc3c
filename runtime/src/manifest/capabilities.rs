//! What a capsule and its artifacts may do.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use super::environment::{EnvName, EnvPattern};
use super::names::{BinaryName, CapsuleName, StoreName};
use super::scope::{Scope, Subpath};
use super::{Place, Surface};
use crate::hosts::HostRule;

/// The capsule's `capabilities`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Hosts that the capsule, its tools and its drivers may send requests to.
    pub network: Vec<HostRule>,
    /// Whether subprocesses may use Unix sockets.
    pub unix_sockets: bool,
    /// Peers that shared files may be fetched from.
    pub peer_fetch: Vec<HostRule>,
    /// The part of the accessible workdir that guests see as `.`.
    pub scope: Scope,
    /// Paths of the workdir that tools may not change.
    pub read_only: Vec<Subpath>,
    /// Whether programs in the workdir may be run.
    pub workdir_exec: bool,
    /// Programs that may be run.
    pub shell: Option<Shell>,
    /// Capsules that may be launched.
    pub spawn: Vec<CapsuleName>,
    /// Variables of the host that guests see.
    pub env: Vec<EnvName>,
    /// What each guest may use.
    pub limits: Limits,
    /// What subprocesses may use together.
    pub resources: Resources,
    /// The weakest containment that the capsule accepts.
    pub containment: Containment,
    /// Whether plans may be submitted.
    pub plan_submit: bool,
}

/// `capabilities.shell`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// The programs, at least one.
    pub allow: Vec<BinaryName>,
    /// Variables that they do not see, besides those that they never see.
    pub strip_env: Vec<EnvPattern>,
    /// Variables that they see, instead of the built-in ones.
    pub baseline_env: Option<Vec<EnvPattern>>,
    /// Directories of the host that interpreters read.
    pub interpreter_runtime: Vec<InterpreterRuntime>,
    /// Interpreters that are copied into the session.
    pub staged_runtime: Vec<StagedRuntime>,
}

/// An interpreter and the directories of the host that it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpreterRuntime {
    /// One of the allowed programs.
    pub binary: BinaryName,
    /// The directories.
    pub dirs: Vec<RuntimeDirectory>,
}

/// A directory of the host, for an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeDirectory {
    /// Absolute, without `..`.
    pub path: PathBuf,
    /// Whether its entries can be listed.
    pub list: bool,
}

/// An interpreter that is copied into the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedRuntime {
    /// Its name.
    pub binary: BinaryName,
    /// Where it stands; absolute, without `..`.
    pub source_path: PathBuf,
    /// What it must be.
    pub pin: String,
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
    /// The same for one call of a hook. Default 30, or what `deadline_seconds` says.
    pub hook_deadline_seconds: NonZeroU32,
}

const fn wide(value: u64) -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(value - 1)
}

const fn small(value: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(value - 1)
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: wide(512 << 20),
            table_elements: small(100_000),
            instances: small(1_000),
            deadline_seconds: small(600),
            hook_deadline_seconds: small(30),
        }
    }
}

/// What the subprocesses of a session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Processes of one command. Default 128.
    pub max_processes: NonZeroU64,
    /// Open files of one process. Default 1,024.
    pub max_open_files: NonZeroU64,
    /// The largest file that a process can write, in bytes. Default 4 GiB.
    pub max_file_size_bytes: NonZeroU64,
    /// Processor time of one process, in seconds. Default 3,600.
    pub cpu_seconds: NonZeroU64,
    /// Address space of one process, in bytes. Default 2 GiB.
    pub memory_bytes: NonZeroU64,
    /// Memory of all together, in bytes. Default 4 GiB.
    pub cgroup_memory_bytes: NonZeroU64,
    /// Processes of all together. Default 256.
    pub cgroup_pids_max: NonZeroU64,
    /// Processor time of all together, in percent of one processor. Default 200.
    pub cgroup_cpu_percent: NonZeroU64,
    /// Disk traffic of all together, in bytes a second. Default 100 MiB.
    pub cgroup_io_bytes_per_sec: NonZeroU64,
    /// Size of the accessible workdir, in bytes. Default 10 GiB.
    pub workdir_max_bytes: NonZeroU64,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            max_processes: wide(128),
            max_open_files: wide(1024),
            max_file_size_bytes: wide(4 << 30),
            cpu_seconds: wide(3600),
            memory_bytes: wide(2 << 30),
            cgroup_memory_bytes: wide(4 << 30),
            cgroup_pids_max: wide(256),
            cgroup_cpu_percent: wide(200),
            cgroup_io_bytes_per_sec: wide(100 << 20),
            workdir_max_bytes: wide(10 << 30),
        }
    }
}

/// How strongly a session is contained, from weakest to strongest.
///
/// The class speaks of native subprocesses; guests in WASM are bounded by their preopens and limits in every class. This
/// version starts no subprocess and meets no class above [`Containment::Advisory`].
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

/// A value and where it stands in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub place: Place,
}

/// `artifacts[].capabilities`, as declared: what the artifact gets is
/// [`Manifest::grants_of`](super::Manifest::grants_of).
///
/// Blocks that have no effect for the artifact's role are warned about and not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactCapabilities {
    /// Hosts; `None` where nothing is said of them.
    pub network: Option<Vec<Placed<HostRule>>>,
    /// The part of the workdir; `None` where nothing is said of it, and never [`Surface::Nothing`] but where the list is
    /// empty.
    pub scope: Option<Placed<Surface>>,
    /// The durable store, its name the capsule's unless another is given.
    pub state: Option<StoreName>,
    /// Whether a hook may read a task's input and output.
    pub task_io: bool,
    /// Whether a hook may read the conversation.
    pub conversation: bool,
}
