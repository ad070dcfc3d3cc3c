//! One directory of artifacts: a project's, or the user's.
//!
//! ```text
//! <root>/<name>/<version>/<name>-<version>[-<platform>].mur.zip
//!                                                      .sha256      the archive's hash, in hexadecimal
//!                                                      .meta.json   the artifact in short
//! <root>/<name>/.lock
//! ```
//!
//! An artifact is there when its archive is: that is the last of the three files to appear and the first to go, so a
//! writer that is cut off leaves an artifact that is whole or none. Writers of one artifact take turns through the lock
//! file, which the system takes back from a writer that ends in whatever way. A reader takes no lock. Only where it finds
//! files that do not fit together does it wait for a writer and look again; what does not fit then is damaged.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use super::archive::{ARCHIVE_SUFFIX, Limit};
use super::error::ArtifactError;
use super::file;
use super::id::ArtifactId;
use super::metadata::Metadata;
use super::package::Package;
use super::platform::Platform;
use crate::content::{Content, ContentHash};
use crate::manifest::ArtifactName;

/// Larger than any `.sha256` or `.meta.json`.
const SIDECAR_MAX: u64 = 1024 * 1024;
/// The file through which writers take turns.
const LOCK: &str = ".lock";

/// Whose a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One project's: `.murmur/artifacts` beside its `murmur.yaml`.
    Project,
    /// The user's: `artifacts` in the murmur home.
    Global,
    /// A directory of artifacts that is somebody else's.
    Directory,
}

impl Scope {
    /// The word in lists and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Global => "global",
            Self::Directory => "directory",
        }
    }
}

/// What is to happen to an artifact that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing is refused.
    Refuse,
    /// It is replaced.
    Replace,
}

/// What writing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The artifact was not there, or was another.
    Anew,
    /// The same artifact was there, whole.
    Same,
}

/// An artifact in a store, its bytes read and verified.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The artifact.
    pub package: Package,
    /// The platform that it is filed under.
    pub platform: Option<Platform>,
    /// Whose store it is in.
    pub scope: Scope,
}

/// An artifact as a list names it: all payloads of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Which.
    pub id: ArtifactId,
    /// Whose store it is in.
    pub scope: Scope,
    /// What its first payload's metadata says.
    pub metadata: Metadata,
    /// The platforms that there are payloads for; none for a portable one.
    pub platforms: Vec<Platform>,
}

/// A directory of artifacts, which need not exist.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    scope: Scope,
    /// The private directory that the store is in, where there is one.
    home: Option<PathBuf>,
}

impl Store {
    /// The store of the project in `directory`.
    pub fn project(directory: &Path) -> Self {
        Self { root: directory.join(".murmur").join("artifacts"), scope: Scope::Project, home: None }
    }

    /// The user's store.
    pub fn global(home: &Path) -> Self {
        Self { root: home.join("artifacts"), scope: Scope::Global, home: Some(home.to_owned()) }
    }

    /// Any other directory of the same shape.
    pub fn directory(root: &Path) -> Self {
        Self { root: root.to_owned(), scope: Scope::Directory, home: None }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whose it is.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Finds, reads and verifies an artifact: the payload for `platform` before the one that names none.
    ///
    /// # Errors
    /// It is there and cannot be used, with [`ArtifactError::Hash`] where its bytes are not those of its hash.
    pub fn find(
        &self,
        id: &ArtifactId,
        platform: Option<Platform>,
        limit: Limit,
    ) -> Result<Option<Stored>, ArtifactError> {
        let tagged = platform.into_iter().map(Some);
        for platform in tagged.chain([None]) {
            let files = self.files(id, platform);
            if let Some(content) = self.read(id, &files, limit)? {
                let package = Package::open(files.archive.display().to_string(), content, limit)?;
                if package.id() != id {
                    return Err(ArtifactError::Misfiled {
                        origin: files.archive.display().to_string(),
                        expected: id.clone(),
                        found: package.id().to_string(),
                    });
                }
                return Ok(Some(Stored { package, platform, scope: self.scope }));
            }
        }
        Ok(None)
    }

    /// Every payload of one version, for all platforms.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_all(&self, id: &ArtifactId, limit: Limit) -> Result<Vec<Stored>, ArtifactError> {
        let mut all = Vec::new();
        for platform in Platform::ALL.into_iter().map(Some).chain([None]) {
            match self.find(id, platform, limit)? {
                Some(stored) if stored.platform == platform => all.push(stored),
                Some(_) | None => {}
            }
        }
        Ok(all)
    }

    /// Files an artifact. The metadata is made from its bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Exists`] where it is there and is to stay; or the store cannot be written.
    pub fn write(
        &self,
        package: &Package,
        platform: Option<Platform>,
        existing: Existing,
    ) -> Result<Written, ArtifactError> {
        let id = package.id();
        let metadata = package.metadata(platform)?.to_text();
        let hash = format!("{}\n", package.sha256());
        let files = self.files(id, platform);

        self.refuse_links(Some(id))?;
        if let Some(home) = &self.home {
            file::make_directory(home, 0o700)?;
        }
        file::make_directory(&files.directory, 0o755)?;
        let _held = file::lock(&self.lock_of(id))?;
        if existing == Existing::Refuse && self.is_taken(id, platform)? {
            return Err(ArtifactError::Exists { id: id.clone(), store: self.root.clone() });
        }
        let is = |path: &Path, bytes: &[u8]| {
            let there = file::read_if_there(path, bytes.len() as u64);
            there.is_ok_and(|there| there.as_deref() == Some(bytes))
        };
        if is(&files.archive, package.bytes()) && is(&files.hash, hash.as_bytes()) {
            if !is(&files.metadata, metadata.as_bytes()) {
                put(&files.metadata, metadata.as_bytes())?;
            }
            return Ok(Written::Same);
        }
        file::remove(&files.archive)?;
        put(&files.metadata, metadata.as_bytes())?;
        put(&files.hash, hash.as_bytes())?;
        put(&files.archive, package.bytes())?;
        Ok(Written::Anew)
    }

    /// Refuses a project's store that leads elsewhere. A project may be somebody else's, cloned with every link that they
    /// put into it; one of these must not make an installation write into another project, or into the user's store.
    ///
    /// # Errors
    /// [`ArtifactError::StoreLink`]: one of the directories that an artifact is filed in is a link.
    pub(super) fn refuse_links(&self, id: Option<&ArtifactId>) -> Result<(), ArtifactError> {
        match self.scope {
            Scope::Project => {}
            Scope::Global | Scope::Directory => return Ok(()),
        }
        let above = self.root.parent().map(Path::to_owned);
        let below = id.map(|id| [self.root.join(id.name().as_str()), self.directory_of(id)]);
        let directories = above.into_iter().chain([self.root.clone()]).chain(below.into_iter().flatten());
        for path in directories {
            if std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(ArtifactError::StoreLink { path });
            }
        }
        Ok(())
    }

    /// Whether the version is there, for this platform or in another shape: a version has either one portable payload, or
    /// one for each platform.
    fn is_taken(&self, id: &ArtifactId, platform: Option<Platform>) -> Result<bool, ArtifactError> {
        let payloads = self.payloads(id)?;
        Ok(payloads.iter().any(|there| *there == platform || there.is_some() != platform.is_some()))
    }

    /// What the store holds, by name and version, and what of it could not be read.
    ///
    /// # Errors
    /// The store cannot be listed.
    pub fn list(&self, limit: Limit) -> Result<(Vec<Listed>, Vec<ArtifactError>), ArtifactError> {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        for name in file::names(&self.root)? {
            let Ok(name) = name.parse::<ArtifactName>() else { continue };
            for version in file::names(&self.root.join(name.as_str()))? {
                let Ok(version) = version.parse() else { continue };
                let Ok(id) = ArtifactId::new(name.clone(), version) else { continue };
                match self.listed(id, limit) {
                    Ok(listed) => all.extend(listed),
                    Err(error) => problems.push(error),
                }
            }
        }
        all.sort_by(|a: &Listed, b: &Listed| by_name_and_version(&a.id, &b.id));
        Ok((all, problems))
    }

    fn listed(&self, id: ArtifactId, limit: Limit) -> Result<Option<Listed>, ArtifactError> {
        let payloads = self.payloads(&id)?;
        let Some(first) = payloads.first().copied() else { return Ok(None) };
        let recorded = file::read_if_there(&self.files(&id, first).metadata, SIDECAR_MAX);
        // A file that cannot be read is as good as lost.
        let metadata = match recorded.ok().flatten().and_then(|text| Metadata::of_text(&text)) {
            Some(metadata) => metadata,
            // What the archive says is what was lost.
            None => match self.find(&id, first, limit)? {
                Some(stored) => stored.package.metadata(first)?,
                None => return Ok(None),
            },
        };
        let platforms = payloads.into_iter().flatten().collect();
        Ok(Some(Listed { id, scope: self.scope, metadata, platforms }))
    }

    /// The payloads of a version that are there.
    fn payloads(&self, id: &ArtifactId) -> Result<Vec<Option<Platform>>, ArtifactError> {
        let there = file::names(&self.directory_of(id))?;
        let all = Platform::ALL.into_iter().map(Some).chain([None]);
        Ok(all.filter(|platform| there.contains(&format!("{}{ARCHIVE_SUFFIX}", stem(id, *platform)))).collect())
    }

    /// The bytes of an archive with their hash; `None` where it is not there.
    fn read(&self, id: &ArtifactId, files: &Files, limit: Limit) -> Result<Option<Content>, ArtifactError> {
        match read_once(files, limit)? {
            Found::Nothing => return Ok(None),
            Found::Whole(content) => return Ok(Some(content)),
            Found::Unfit { .. } => {}
        }
        file::wait_for_writers(&self.lock_of(id))?;
        match read_once(files, limit)? {
            Found::Nothing => Ok(None),
            Found::Whole(content) => Ok(Some(content)),
            Found::Unfit { archive: None, .. } => Ok(None),
            Found::Unfit { archive: Some(found), expected } => {
                Err(ArtifactError::Hash { what: files.archive.display().to_string(), expected, found })
            }
        }
    }

    fn directory_of(&self, id: &ArtifactId) -> PathBuf {
        self.root.join(id.name().as_str()).join(id.version().as_str())
    }

    fn lock_of(&self, id: &ArtifactId) -> PathBuf {
        self.root.join(id.name().as_str()).join(LOCK)
    }

    fn files(&self, id: &ArtifactId, platform: Option<Platform>) -> Files {
        let directory = self.directory_of(id);
        let stem = stem(id, platform);
        let named = |suffix: &str| directory.join(format!("{stem}{suffix}"));
        Files { archive: named(ARCHIVE_SUFFIX), hash: named(".sha256"), metadata: named(".meta.json"), directory }
    }
}

/// The files of one payload.
struct Files {
    directory: PathBuf,
    archive: PathBuf,
    hash: PathBuf,
    metadata: PathBuf,
}

enum Found {
    Nothing,
    Whole(Content),
    /// Files that do not fit together: the archive's hash, if there is one, and what it should be.
    Unfit {
        archive: Option<ContentHash>,
        expected: String,
    },
}

fn read_once(files: &Files, limit: Limit) -> Result<Found, ArtifactError> {
    let archive = file::read_if_there(&files.archive, limit.bytes())?;
    let hash = file::read_if_there(&files.hash, SIDECAR_MAX)?;
    let hash = hash.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    Ok(match (archive, hash) {
        (None, None) => Found::Nothing,
        (None, Some(expected)) => Found::Unfit { archive: None, expected },
        (Some(bytes), hash) => {
            let content = Content::new(bytes);
            match hash {
                Some(hash) if hash.parse() == Ok(content.sha256()) => Found::Whole(content),
                Some(hash) if !hash.is_empty() => Found::Unfit { archive: Some(content.sha256()), expected: hash },
                Some(_) | None => {
                    let expected = "the one in the .sha256 file beside it, which is missing or empty".to_owned();
                    Found::Unfit { archive: Some(content.sha256()), expected }
                }
            }
        }
    })
}

/// Puts a file into place, under the lock: so the temporary name need not be new.
fn put(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    file::replace_through(path, &path.with_file_name(format!(".{name}.partial")), bytes)
}

/// The stem of an archive's files, here and in sources.
pub(super) fn stem(id: &ArtifactId, platform: Option<Platform>) -> String {
    let (name, version) = (id.name(), id.version().as_str());
    match platform {
        Some(platform) => format!("{name}-{version}-{platform}"),
        None => format!("{name}-{version}"),
    }
}

/// By name, then by version: as semantic versions are ordered, and before them what is none.
pub(super) fn by_name_and_version(a: &ArtifactId, b: &ArtifactId) -> Ordering {
    let version = |id: &ArtifactId| semver::Version::parse(id.version().as_str()).ok();
    let by_text = || a.version().as_str().cmp(b.version().as_str());
    a.name().cmp(b.name()).then_with(|| version(a).cmp(&version(b))).then_with(by_text)
}

#[cfg(test)]
mod tests;
