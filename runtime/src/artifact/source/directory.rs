//! A directory that artifacts come from: of the shape of a store, or archives side by side.
//!
//! Side by side the archives are called `<name>-<version>[-<platform>].mur.zip`. An `artifacts-index.json` may say other
//! names, and hashes; without one, a `.sha256` beside an archive is its hash.

use std::path::{Path, PathBuf};

use super::super::archive::{ARCHIVE_SUFFIX, Limit};
use super::super::error::ArtifactError;
use super::super::file;
use super::super::id::ArtifactId;
use super::super::package::Package;
use super::super::platform::Platform;
use super::super::store::{Store, stem};
use super::index::{Asset, INDEX_FILE, INDEX_MAX_BYTES, Index};
use super::{Candidate, Fetched, Wanted, chosen, from_store, in_store, of_index, opened};
use crate::content::{Content, ContentHash};

/// Larger than any `.sha256`.
const HASH_MAX_BYTES: u64 = 4096;

/// A directory of archives.
#[derive(Debug, Clone)]
pub struct DirectorySource {
    root: PathBuf,
}

impl DirectorySource {
    /// The directory at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// # Errors
    /// The directory is not there or cannot be read, or what it has of the artifact cannot be used.
    pub(super) fn fetch(&self, id: &ArtifactId, wanted: Wanted, limit: Limit) -> Result<Vec<Fetched>, ArtifactError> {
        self.is_there()?;
        let stored = from_store(&Store::directory(&self.root), id, wanted, limit)?;
        if !stored.is_empty() {
            return Ok(stored);
        }
        let assets = match self.index()? {
            Some(index) => index.entry(id).map(|entry| entry.assets.clone()).unwrap_or_default(),
            None => self.beside(id)?,
        };
        let there: Vec<Option<Platform>> = assets.iter().map(|asset| asset.platform).collect();
        let mut fetched = Vec::new();
        for platform in chosen(wanted, &there) {
            for asset in assets.iter().filter(|asset| asset.platform == platform).take(1) {
                let path = self.root.join(asset.file.as_str());
                let bytes = file::read(&path, limit.bytes())?;
                fetched.push(opened(&path.display().to_string(), bytes, asset.sha256, id, platform, limit)?);
            }
        }
        Ok(fetched)
    }

    pub(super) fn candidates(&self, limit: Limit) -> Result<(Vec<Candidate>, Vec<ArtifactError>), ArtifactError> {
        self.is_there()?;
        let (mut candidates, mut problems) = in_store(&Store::directory(&self.root), limit)?;
        if let Some(index) = self.index()? {
            candidates.extend(of_index(&index, &self.root.display().to_string()));
            return Ok((candidates, problems));
        }
        for name in file::names(&self.root)?.into_iter().filter(|name| name.ends_with(ARCHIVE_SUFFIX)) {
            let path = self.root.join(name);
            let opened = file::read(&path, limit.bytes())
                .and_then(|bytes| Package::open(path.display().to_string(), Content::new(bytes), limit))
                .and_then(|package| Ok((package.id().clone(), package.metadata(None)?)));
            match opened {
                Ok((id, metadata)) => candidates.push(Candidate {
                    id,
                    runtime: metadata.runtime,
                    description: metadata.description,
                    tags: metadata.tags,
                    source: self.root.display().to_string(),
                }),
                Err(error) => problems.push(error),
            }
        }
        Ok((candidates, problems))
    }

    /// A directory that is gone does not say that it has nothing.
    fn is_there(&self) -> Result<(), ArtifactError> {
        let reason = match std::fs::metadata(&self.root) {
            Ok(metadata) if metadata.is_dir() => return Ok(()),
            Ok(_) => "it is no directory".to_owned(),
            Err(cause) => cause.to_string(),
        };
        Err(ArtifactError::Unanswered { source_name: self.root.display().to_string(), reason })
    }

    fn index(&self) -> Result<Option<Index>, ArtifactError> {
        let Some(text) = file::read_if_there(&self.root.join(INDEX_FILE), INDEX_MAX_BYTES)? else { return Ok(None) };
        let source_name = self.root.display().to_string();
        Index::parse(&text).map(Some).map_err(|reason| ArtifactError::Unanswered { source_name, reason })
    }

    /// The archives of an artifact that lie in the directory itself.
    fn beside(&self, id: &ArtifactId) -> Result<Vec<Asset>, ArtifactError> {
        let names = file::names(&self.root)?;
        let mut assets = Vec::new();
        for platform in Platform::ALL.into_iter().map(Some).chain([None]) {
            let stem = stem(id, platform);
            let name = format!("{stem}{ARCHIVE_SUFFIX}");
            if !names.contains(&name) {
                continue;
            }
            // A version that makes no path has no file here.
            let Ok(file) = name.parse() else { continue };
            let recorded = self.root.join(format!("{stem}.sha256"));
            let sha256 = match file::read_if_there(&recorded, HASH_MAX_BYTES)? {
                None => None,
                Some(text) => Some(recorded_hash(&recorded, &text)?),
            };
            assets.push(Asset { file, platform, sha256 });
        }
        Ok(assets)
    }
}

/// The hash in a `.sha256`, which other programs write with the file's name behind it.
fn recorded_hash(path: &Path, text: &[u8]) -> Result<ContentHash, ArtifactError> {
    let text = String::from_utf8_lossy(text);
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(|reason| ArtifactError::BadHash { path: path.to_owned(), reason })
}
