//! What a manifest may declare and this version of the runtime does not honour yet.
//!
//! It parses like everything else, so that every command can work with the manifest; only running the capsule is refused.
//! To ignore a restriction would be unsafe, and to ignore a grant would surprise.

use super::{Manifest, ManifestError, Place};

/// Something that a manifest can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// An agent's model.
    Inference,
    /// One of the blocks that describe an agent, such as `lifecycle`.
    AgentBlock,
    /// The roles beside that of a tool.
    Role,
    /// An artifact's own grants.
    ArtifactCapabilities,
    /// An artifact's own settings.
    ArtifactConfig,
    /// A provider with a key.
    Gateway,
    /// Hosts that guests may reach.
    Network,
    /// Unix sockets of subprocesses.
    UnixSockets,
    /// Files fetched from peers.
    PeerFetch,
    /// Paths that tools may not change.
    ReadOnly,
    /// Programs in the workdir.
    WorkdirExec,
    /// Programs of the host.
    Shell,
    /// Launching capsules.
    Spawn,
    /// Variables that guests see.
    Environment,
    /// Limits on subprocesses.
    Resources,
    /// Submitting plans.
    Plan,
    /// More than `advisory`; what was declared.
    Containment(&'static str),
}

/// A [`Feature`] and where it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) feature: Feature,
    pub(crate) place: Place,
    /// The key or the key and its value.
    pub(crate) what: String,
}

impl Feature {
    /// Whether a session honours it. What becomes `true` here is granted, bounded and recorded by the session's rooms.
    const fn is_served(self) -> bool {
        match self {
            Self::ArtifactCapabilities
            | Self::ArtifactConfig
            | Self::Gateway
            | Self::Network
            | Self::ReadOnly
            | Self::Environment => true,
            Self::Inference
            | Self::AgentBlock
            | Self::Role
            | Self::UnixSockets
            | Self::PeerFetch
            | Self::WorkdirExec
            | Self::Shell
            | Self::Spawn
            | Self::Resources
            | Self::Plan
            | Self::Containment(_) => false,
        }
    }
}

impl Manifest {
    /// Why a session of this capsule would not be what its manifest says: each thing that is asked for and not honoured
    /// by this version, in the order of the file. Empty for a capsule that can run.
    pub fn unserved(&self) -> Vec<ManifestError> {
        self.asked.iter().filter(|asked| !asked.feature.is_served()).map(Asked::refusal).collect()
    }
}

impl Asked {
    fn refusal(&self) -> ManifestError {
        let Self { feature, place, what } = self;
        let place = place.clone();
        let hint = match feature {
            Feature::Containment(declared) => return ManifestError::Containment { place, declared },
            Feature::Inference => "only script capsules are run: remove it, and export `murmur:capsule/run`",
            Feature::Role => "remove the artifact; only tools are run",
            Feature::AgentBlock
            | Feature::ArtifactCapabilities
            | Feature::ArtifactConfig
            | Feature::Gateway
            | Feature::Network
            | Feature::UnixSockets
            | Feature::PeerFetch
            | Feature::ReadOnly
            | Feature::WorkdirExec
            | Feature::Shell
            | Feature::Spawn
            | Feature::Environment
            | Feature::Resources
            | Feature::Plan => "remove it; what cannot be honoured is refused, not ignored",
        };
        ManifestError::Unsupported { place, what: format!("`{what}`"), hint }
    }
}
