//! `murmur:artifact-manager` for a session: what the manifest declares, and nothing else.
//!
//! A capsule can look at what it has and ask for what it was declared to have. What it may run is for its manifest and the
//! lock to say, so it fetches nothing that is not named there, and removes nothing.

use super::ids::SessionId;
use super::plan::Plan;
use crate::guest::{ArtifactInfo, ArtifactManager, ArtifactRuntime, ArtifactSummary, RuntimeState};

/// The artifacts of one session.
pub(super) struct Shelf {
    capsule: String,
    artifacts: Vec<ArtifactInfo>,
    capabilities: Vec<String>,
}

impl Shelf {
    /// The artifacts that a session of this plan was staged with.
    pub(super) fn of(plan: &Plan, session: SessionId) -> Self {
        let artifacts = plan.artifacts.iter().map(|provided| {
            let declared = &plan.manifest.artifacts[provided.index];
            let packed = provided.packed.as_ref();
            ArtifactInfo {
                name: declared.name.to_string(),
                version: declared.reference.shown_version().to_owned(),
                runtime: ArtifactRuntime::Wasm,
                description: packed.and_then(|packed| packed.description.clone()).unwrap_or_default(),
                tags: packed.map(|packed| packed.tags.clone()).unwrap_or_default(),
                // A map of JSON values always has a JSON form.
                input_schema: packed.and_then(|packed| serde_json::to_string(&packed.input_schema).ok()),
                output_schema: None,
            }
        });
        Self {
            capsule: format!("{} ({session})", plan.manifest.name),
            artifacts: artifacts.collect(),
            capabilities: super::report::capabilities(plan).into_iter().map(str::to_owned).collect(),
        }
    }

    fn find(&self, name: &str) -> Result<&ArtifactInfo, String> {
        let found = self.artifacts.iter().find(|artifact| artifact.name == name);
        found.ok_or_else(|| format!("`{name}` is not declared in the capsule's manifest"))
    }
}

fn summary(artifact: &ArtifactInfo) -> ArtifactSummary {
    ArtifactSummary { name: artifact.name.clone(), version: artifact.version.clone(), runtime: artifact.runtime }
}

impl ArtifactManager for Shelf {
    fn list(&self) -> Result<Vec<ArtifactSummary>, String> {
        Ok(self.artifacts.iter().map(summary).collect())
    }

    fn describe(&self, name: &str) -> Result<ArtifactInfo, String> {
        self.find(name).cloned()
    }

    /// What is declared was verified against the lock before the session began, so it is there already.
    fn pull(&self, name: &str, version: &str) -> Result<ArtifactSummary, String> {
        let found = self.find(name)?;
        if found.version != version {
            return Err(format!("the manifest declares `{name}` in version {}, not {version}", found.version));
        }
        Ok(summary(found))
    }

    fn diagnostics(&self) -> Result<RuntimeState, String> {
        Ok(RuntimeState {
            capsule_id: self.capsule.clone(),
            installed: self.artifacts.iter().map(summary).collect(),
            capabilities: self.capabilities.clone(),
        })
    }
}
