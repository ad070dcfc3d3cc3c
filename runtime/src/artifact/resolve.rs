//! From names and versions to what a launch runs. Reads and hashes each archive once, and does nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::{Archive, Limit};
use super::error::ArtifactError;
use super::id::ArtifactId;
use super::lock::{Lock, Pinned};
use super::package::Package;
use super::platform::{Header, Platform};
use super::store::{Scope, Store, Stored};
use crate::content::Content;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{Execution, Kind, Packed, UnknownKey};

/// Where a project's artifacts are looked for: in its own store first, then in the user's.
#[derive(Debug, Clone)]
pub struct ProjectArtifacts {
    stores: Vec<Store>,
    host: Option<Platform>,
    limit: Limit,
}

/// An artifact as a launch uses it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Which.
    pub id: ArtifactId,
    /// Its own manifest.
    pub packed: Packed,
    /// That manifest's bytes, as its author wrote them.
    pub manifest: Vec<u8>,
    /// The manifest's keys that nobody reads.
    pub unknown_keys: Vec<UnknownKey>,
    /// The hash of its archive: what a lock pins.
    pub pinned: Pinned,
    /// What is run or read.
    pub payload: Payload,
    /// Everything in its archive.
    pub archive: Archive,
    /// Where it was found.
    pub scope: Scope,
    /// Under which platform it is filed.
    filed: Option<Platform>,
}

/// What of an artifact is run or read.
#[derive(Debug, Clone)]
pub enum Payload {
    /// A component.
    Component(Content),
    /// An executable file.
    Native {
        /// The file's bytes.
        bytes: Arc<[u8]>,
        /// For what it is.
        platform: Platform,
    },
    /// A skill's text.
    Skill {
        /// The text.
        text: String,
    },
    /// Nothing besides the manifest, as for a capsule that is an agent.
    Manifest,
}

impl ProjectArtifacts {
    /// The artifacts of the project in `directory`, for a user with this murmur home.
    pub fn new(directory: &Path, home: &Path, limit: Limit) -> Self {
        let stores = vec![Store::project(directory), Store::global(home)];
        Self { stores, host: Platform::host(), limit }
    }

    /// The user's artifacts alone, for a launch that belongs to no project.
    pub fn of_user(home: &Path, limit: Limit) -> Self {
        Self { stores: vec![Store::global(home)], host: Platform::host(), limit }
    }

    /// The same for another host: what it would run.
    #[must_use]
    pub fn on(mut self, host: Option<Platform>) -> Self {
        self.host = host;
        self
    }

    /// Finds each artifact, verifies its bytes, and compares them with the lock. Without a lock nothing is compared; what
    /// comes out is what a new one pins, see [`ProjectArtifacts::lock_of`].
    ///
    /// # Errors
    /// [`ArtifactError::NotInstalled`] names every artifact that is in no store. Otherwise the first one that is damaged,
    /// for another platform, or not what the lock pins.
    pub fn resolve(&self, wanted: &[ArtifactId], lock: Option<&Lock>) -> Result<Vec<Resolved>, ArtifactError> {
        let found = wanted.iter().map(|id| self.find(id)).collect::<Result<Vec<_>, _>>()?;
        let absent: Vec<String> =
            std::iter::zip(wanted, &found).filter(|(_, found)| found.is_none()).map(|(id, _)| id.to_string()).collect();
        if !absent.is_empty() {
            return Err(ArtifactError::NotInstalled { artifacts: absent });
        }
        let mut resolved = Vec::with_capacity(found.len());
        for stored in found.into_iter().flatten() {
            let artifact = self.resolved(stored)?;
            if let Some(lock) = lock {
                lock.verify(&artifact.id, artifact.pinned)?;
            }
            resolved.push(artifact);
        }
        Ok(resolved)
    }

    /// Finds a capsule that is installed as an artifact. No lock pins it.
    ///
    /// # Errors
    /// It is not installed, is damaged, or is no capsule.
    pub fn resolve_capsule(&self, id: &ArtifactId) -> Result<Resolved, ArtifactError> {
        let artifacts = || vec![id.to_string()];
        let stored = self.find(id)?.ok_or_else(|| ArtifactError::NotInstalled { artifacts: artifacts() })?;
        match &stored.package.packed().kind {
            Kind::Capsule => self.resolved(stored),
            kind @ (Kind::Tool | Kind::Driver | Kind::Hook | Kind::Skill | Kind::Other(_)) => {
                Err(ArtifactError::Payload {
                    origin: stored.package.archive().origin().to_owned(),
                    reason: format!("it is a {kind}, and a capsule is to be run"),
                    hint: "name an artifact with `runtime: capsule`".to_owned(),
                })
            }
        }
    }

    /// The lock that pins these artifacts.
    pub fn lock_of(resolved: &[Resolved]) -> Lock {
        let mut lock = Lock::default();
        for artifact in resolved {
            lock.upsert(&artifact.id, artifact.pinned);
        }
        lock
    }

    fn find(&self, id: &ArtifactId) -> Result<Option<Stored>, ArtifactError> {
        for store in &self.stores {
            if let Some(stored) = store.find(id, self.host, self.limit)? {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    fn resolved(&self, stored: Stored) -> Result<Resolved, ArtifactError> {
        let Stored { package, platform: filed, scope } = stored;
        let (payload, platform) = self.payload(&package)?;
        Ok(Resolved {
            id: package.id().clone(),
            packed: package.packed().clone(),
            manifest: package.manifest().to_owned(),
            unknown_keys: package.unknown_keys().to_owned(),
            pinned: Pinned::of(platform, package.sha256()),
            payload,
            archive: package.archive().clone(),
            scope,
            filed,
        })
    }

    /// The payload, and the platform that its hash is pinned for.
    fn payload(&self, package: &Package) -> Result<(Payload, Option<Platform>), ArtifactError> {
        let bytes = package.payload()?;
        Ok(match (package.packed().execution, bytes) {
            (Execution::Wasm, bytes) => (Payload::Component(Content::new(bytes.unwrap_or_default())), None),
            (Execution::Native, bytes) => {
                let bytes = bytes.unwrap_or_default();
                let what = || package.id().to_string();
                let platform = self.host.ok_or_else(|| ArtifactError::NoPlatform { what: what() })?;
                package.check_platform(&Header::of(&bytes), platform)?;
                (Payload::Native { bytes: bytes.into(), platform }, Some(platform))
            }
            (Execution::Static, Some(text)) => {
                let text = String::from_utf8(text).map_err(|_| ArtifactError::Payload {
                    origin: package.archive().origin().to_owned(),
                    reason: "the skill's text is not UTF-8".to_owned(),
                    hint: "save skill.md as UTF-8, and build the artifact again".to_owned(),
                })?;
                (Payload::Skill { text }, None)
            }
            (Execution::Static, None) => (Payload::Manifest, None),
        })
    }
}

impl Resolved {
    /// Where its archive is.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.archive.origin())
    }

    /// What should be told of it before it is used.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        if let (Payload::Native { platform, .. }, None) = (&self.payload, self.filed) {
            let text = format!(
                "{} is native and filed for no platform: it is used for {platform}, and nobody promises that it fits",
                self.id
            );
            warnings.push(Diagnostic::new(Code::UntaggedPayload, text));
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
