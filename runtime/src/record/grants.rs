//! What a session may do, in the shape in which traces carry it.

use serde::Serialize;
use serde_json::Value;

use crate::session::paths::RuntimeWrite;

/// `effective_grants`. Every member is always there; what this runtime grants to nobody is empty, false or null.
#[derive(Debug, Clone, Serialize)]
pub struct EffectiveGrants {
    /// The containment floor that was asked for.
    pub declared_containment: String,
    /// The containment that is in force.
    pub achieved_containment: String,
    /// Whether the one meets the other.
    pub floor_met: bool,
    /// Why not; null when it does.
    pub shortfall_reason: Option<String>,
    /// The mechanism that contains native subprocesses; `none` where there are none.
    pub enforcement_tier: &'static str,
    /// How this host lets user namespaces be made; null where nothing asked.
    pub userns_grant: Option<String>,
    /// The part of the workdir that guests see; null for all of it.
    pub filesystem_scope: Option<String>,
    /// Whether native programs in the workdir may be run.
    pub workdir_exec: bool,
    /// Paths that tools may not write.
    pub read_only_paths: Vec<String>,
    /// Tools for which that is only advice.
    pub read_only_advisory_for: Vec<String>,
    /// The directory that each guest sees.
    pub preopens: Vec<PreopenGrant>,
    /// Hosts that guests may reach.
    pub network_allow: Vec<String>,
    /// Whether subprocesses may use Unix sockets.
    pub unix_sockets: bool,
    /// Binaries that may be run.
    pub shell_allow: Vec<String>,
    /// Capsules that may be launched.
    pub spawn_allow: Vec<String>,
    /// Host variables that guests see.
    pub env_allow: Vec<String>,
    /// Whether plans may be submitted.
    pub plan_submit: bool,
    /// Interpreters' own directories.
    pub interpreter_runtime_grants: Vec<Value>,
    /// Exported files.
    pub exports_files: Option<Value>,
    /// Files shared with peers.
    pub peer_files: Option<Value>,
    /// Peers that files may be fetched from.
    pub peer_fetch_allow: Vec<String>,
    /// Durable stores.
    pub state_stores: Vec<StateStore>,
    /// Artifacts with a `config` block.
    pub configured_artifacts: Vec<String>,
    /// Staged interpreters.
    pub staged_runtime_grants: Vec<Value>,
    /// What the runtime itself writes below the accessible workdir.
    pub runtime_writes: Vec<RuntimeWrite>,
    /// The limit on disk traffic.
    pub io_max: IoMax,
    /// How files are kept apart.
    pub filesystem_boundary: FilesystemBoundary,
}

/// The directory that one guest sees as `.`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreopenGrant {
    /// The artifact, or the capsule itself.
    pub artifact: String,
    /// What it is.
    pub role: &'static str,
    /// The part of the workdir; null for all of it.
    pub scope: Option<String>,
    /// How much that is.
    pub surface: &'static str,
}

/// A directory of an artifact's that outlasts sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateStore {
    /// The artifact that sees it, as `state`.
    pub artifact: String,
    /// Its name.
    pub store: String,
    /// Where it lies, or will lie.
    pub host_path: String,
}

/// The limit on disk traffic.
#[derive(Debug, Clone, Serialize)]
pub struct IoMax {
    /// What was declared.
    pub declared_bytes_per_sec: Option<u64>,
    /// Whether it is in force.
    pub status: &'static str,
}

/// How files are kept apart.
#[derive(Debug, Clone, Serialize)]
pub struct FilesystemBoundary {
    /// `enforced`, `advisory` or `absent`, for native subprocesses.
    pub restriction: &'static str,
    /// What it does not protect.
    pub not_protected: Vec<String>,
}
