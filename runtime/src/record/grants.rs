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
    pub state_stores: Vec<Value>,
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

impl EffectiveGrants {
    /// The grants of a session without native subprocesses: what its guests see, and nothing else.
    ///
    /// `scope`: the part of the workdir that they see; `None` for all of it.
    pub fn of_guests(scope: Option<String>, preopens: Vec<PreopenGrant>, runtime_writes: Vec<RuntimeWrite>) -> Self {
        Self {
            declared_containment: "advisory".into(),
            achieved_containment: "advisory".into(),
            floor_met: true,
            shortfall_reason: None,
            enforcement_tier: "none",
            userns_grant: None,
            filesystem_scope: scope,
            workdir_exec: false,
            read_only_paths: Vec::new(),
            read_only_advisory_for: Vec::new(),
            preopens,
            network_allow: Vec::new(),
            unix_sockets: false,
            shell_allow: Vec::new(),
            spawn_allow: Vec::new(),
            env_allow: Vec::new(),
            plan_submit: false,
            interpreter_runtime_grants: Vec::new(),
            exports_files: None,
            peer_files: None,
            peer_fetch_allow: Vec::new(),
            state_stores: Vec::new(),
            configured_artifacts: Vec::new(),
            staged_runtime_grants: Vec::new(),
            runtime_writes,
            io_max: IoMax { declared_bytes_per_sec: None, status: "not-required" },
            filesystem_boundary: FilesystemBoundary { restriction: "absent", not_protected: Vec::new() },
        }
    }
}
