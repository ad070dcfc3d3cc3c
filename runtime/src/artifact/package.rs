//! An archive that holds together: its manifest can be used, and its payload has the shape that the manifest promises.

use std::path::Path;

use super::archive::{Archive, Entry, Limit, MANIFEST_ENTRY};
use super::contracts::Contracts;
use super::error::ArtifactError;
use super::file;
use super::id::ArtifactId;
use super::metadata::Metadata;
use super::platform::{Header, Platform};
use crate::content::{Content, ContentHash};
use crate::manifest::{Execution, Kind, Packed, SKILL_FILE, UnknownKey};

/// The component that is preferred where there are several.
pub(super) const PREFERRED_COMPONENT: &str = "capsule.wasm";

/// An artifact's archive, with its manifest read and its payload found.
#[derive(Debug, Clone)]
pub struct Package {
    id: ArtifactId,
    packed: Packed,
    unknown: Vec<UnknownKey>,
    manifest: Vec<u8>,
    archive: Archive,
    payload: Option<Entry>,
    content: Content,
}

impl Package {
    /// Opens the archive in `content`. `origin` is what messages call it: its path or its URL.
    ///
    /// # Errors
    /// The archive cannot be accepted, has no manifest that can be used, or lacks its payload.
    pub fn open(origin: impl Into<String>, content: Content, limit: Limit) -> Result<Self, ArtifactError> {
        let archive = Archive::open(origin, content.bytes().clone(), limit)?;
        let entry = archive.entry(MANIFEST_ENTRY).ok_or_else(|| ArtifactError::Archive {
            origin: archive.origin().to_owned(),
            reason: format!("there is no {MANIFEST_ENTRY} at its root"),
        })?;
        let manifest = archive.read(entry)?;
        let path = Path::new(archive.origin()).join(MANIFEST_ENTRY);
        let (packed, unknown) = Packed::parse(&path, &manifest)?;
        let id = ArtifactId::of(&packed.name, &packed.version)?;
        let names: Vec<&str> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
        let payload = payload_name(archive.origin(), &packed, &names)?.and_then(|name| archive.entry(&name)).cloned();
        Ok(Self { id, packed, unknown, manifest, archive, payload, content })
    }

    /// Its name and version.
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Its manifest.
    pub fn packed(&self) -> &Packed {
        &self.packed
    }

    /// The manifest's keys that nobody reads.
    pub fn unknown_keys(&self) -> &[UnknownKey] {
        &self.unknown
    }

    /// The manifest's bytes, as its author wrote them.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// Its files.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The hash of the archive's bytes.
    pub fn sha256(&self) -> ContentHash {
        self.content.sha256()
    }

    /// The archive's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    /// The payload's bytes: a component, an executable or a skill's text. `None` for an artifact that is its manifest.
    ///
    /// # Errors
    /// They cannot be decompressed.
    pub fn payload(&self) -> Result<Option<Vec<u8>>, ArtifactError> {
        self.payload.as_ref().map(|entry| self.archive.read(entry)).transpose()
    }

    /// The platform that a native payload is to be filed under: the one that is asked for, or the one that its header
    /// tells, or this host's where the header tells nothing. `None` for every other payload.
    ///
    /// # Errors
    /// The header tells another platform than the one asked for, or one that there is no tag for.
    pub fn platform(&self, asked: Option<Platform>) -> Result<Option<Platform>, ArtifactError> {
        match self.packed.execution {
            Execution::Wasm | Execution::Static => return Ok(None),
            Execution::Native => {}
        }
        let what = || self.archive.origin().to_owned();
        let header = Header::of(&self.payload()?.unwrap_or_default());
        let host = Platform::host();
        let chosen = match (&header, asked) {
            (_, Some(asked)) => Some(asked),
            (Header::For(platforms), None) => {
                host.filter(|host| platforms.contains(host)).or(platforms.first().copied())
            }
            (Header::Foreign(_) | Header::Unverified, None) => host,
        };
        let platform = chosen.ok_or_else(|| ArtifactError::NoPlatform { what: what() })?;
        self.check_platform(&header, platform)?;
        Ok(Some(platform))
    }

    /// Refuses an executable whose header tells another platform.
    pub(super) fn check_platform(&self, header: &Header, platform: Platform) -> Result<(), ArtifactError> {
        if header.fits(platform) {
            return Ok(());
        }
        let what = match &self.payload {
            Some(entry) => format!("{}: `{}`", self.archive.origin(), entry.path()),
            None => self.archive.origin().to_owned(),
        };
        Err(ArtifactError::ForeignBinary { what, found: header.to_string(), platform })
    }

    /// The metadata of this archive, filed under `platform`. Decompresses the payload.
    ///
    /// # Errors
    /// The payload cannot be decompressed.
    pub fn metadata(&self, platform: Option<Platform>) -> Result<Metadata, ArtifactError> {
        let wit_contracts = match self.packed.execution {
            Execution::Wasm => self.payload()?.and_then(|bytes| Contracts::of(&bytes)),
            Execution::Native | Execution::Static => None,
        };
        Ok(Metadata {
            name: self.packed.name.to_string(),
            version: self.packed.version.as_str().to_owned(),
            runtime: self.packed.execution.to_string(),
            artifact_runtime: self.packed.kind.to_string(),
            platforms: platform.into_iter().map(|platform| platform.parts().map(str::to_owned)).collect(),
            description: self.description()?,
            tags: self.packed.tags.clone(),
            wit_contracts,
        })
    }

    /// What a model is told of it: a skill without a description has its first line that is not empty.
    fn description(&self) -> Result<Option<String>, ArtifactError> {
        match (&self.packed.description, &self.packed.kind) {
            (Some(description), _) => Ok(Some(description.clone())),
            (None, Kind::Skill) => {
                let text = self.payload()?.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
            }
            (None, Kind::Tool | Kind::Driver | Kind::Hook | Kind::Capsule | Kind::Other(_)) => Ok(None),
        }
    }
}

/// The package in the archive at `path`.
///
/// # Errors
/// As [`Package::open`], or the archive cannot be read.
pub fn package_of(path: &Path, limit: Limit) -> Result<Package, ArtifactError> {
    Package::open(path.display().to_string(), Content::new(file::read(path, limit.bytes())?), limit)
}

/// The name of the payload among `files`, the archive's. `None` for a static artifact that is its manifest, or a skill
/// whose author packs no text.
pub(super) fn payload_name(origin: &str, packed: &Packed, files: &[&str]) -> Result<Option<String>, ArtifactError> {
    let refused = |reason: String, hint: &str| ArtifactError::Payload {
        origin: origin.to_owned(),
        reason,
        hint: hint.to_owned(),
    };
    match packed.execution {
        Execution::Wasm => {
            let components: Vec<&str> =
                files.iter().copied().filter(|name| !name.contains('/') && name.ends_with(".wasm")).collect();
            match components[..] {
                _ if components.contains(&PREFERRED_COMPONENT) => Ok(Some(PREFERRED_COMPONENT.to_owned())),
                [one] => Ok(Some(one.to_owned())),
                [] => Err(refused(
                    "the artifact is a component, and no *.wasm is packed at its root".to_owned(),
                    "name the component in `requires_files`",
                )),
                _ => Err(refused(
                    format!(
                        "several components are packed, and none is {PREFERRED_COMPONENT}: {}",
                        components.join(", ")
                    ),
                    "leave one of them in `requires_files`, or name one capsule.wasm",
                )),
            }
        }
        Execution::Native => {
            let binary = format!("bin/{}", packed.name);
            if files.contains(&binary.as_str()) {
                Ok(Some(binary))
            } else {
                Err(refused(
                    format!("the artifact is native, and its executable, `{binary}`, is not packed"),
                    "name the executable in `requires_files`",
                ))
            }
        }
        Execution::Static => Ok(match packed.kind {
            Kind::Skill => files.iter().find(|name| **name == SKILL_FILE).map(|name| (*name).to_owned()),
            Kind::Tool | Kind::Driver | Kind::Hook | Kind::Capsule | Kind::Other(_) => None,
        }),
    }
}
