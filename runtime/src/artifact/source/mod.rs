//! Where artifacts come from: stores, directories, and registries over HTTP.
//!
//! Sources are asked in their order. The first that has an artifact gives it; one that does not answer ends the search,
//! because what it would have given is not known, and what a later one gives might be another thing of the same name.

mod directory;
mod http;
mod index;

use std::path::Path;

pub use directory::DirectorySource;
pub use http::HttpSource;
pub use index::{Asset, Index, IndexEntry};

use super::archive::Limit;
use super::error::ArtifactError;
use super::id::ArtifactId;
use super::package::Package;
use super::platform::Platform;
use super::store::{Store, Stored, by_name_and_version};
use crate::content::{Content, ContentHash};
use crate::manifest::Execution;

/// One place that artifacts come from.
#[derive(Debug)]
pub enum Source {
    /// A store of this machine.
    Store(Store),
    /// A directory of archives.
    Directory(DirectorySource),
    /// A registry.
    Http(HttpSource),
}

/// The sources of a command, in the order in which they are asked.
#[derive(Debug, Default)]
pub struct Sources(Vec<Source>);

/// For which platforms an artifact is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// For this one, where there is a choice; `None` where none can be had.
    Host(Option<Platform>),
    /// For every one that there is.
    Every,
}

/// An artifact that a source gave.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The artifact.
    pub package: Package,
    /// The platform that the source has it for.
    pub platform: Option<Platform>,
}

/// An artifact that a source has, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub id: ArtifactId,
    /// What it is for, or what its payload is, as the source says.
    pub runtime: String,
    /// What is said of it.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The source.
    pub source: String,
}

impl Sources {
    /// The given sources, in this order.
    pub fn new(sources: Vec<Source>) -> Self {
        Self(sources)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks the sources for an artifact. What they give is verified: its hash where the source says one, its shape, and
    /// that it is what was asked for. For one platform one payload comes out, the tagged before the untagged one.
    ///
    /// # Errors
    /// [`ArtifactError::NotFound`] where every source answered and none has it; [`ArtifactError::Unanswered`] where one
    /// did not answer.
    pub fn fetch(&self, id: &ArtifactId, wanted: Wanted, limit: Limit) -> Result<Vec<Fetched>, ArtifactError> {
        let mut damaged = None;
        for source in &self.0 {
            match source.fetch(id, wanted, limit) {
                Ok(fetched) if fetched.is_empty() => {}
                Ok(fetched) => return Ok(fetched),
                // A copy of this machine is no word of its own: whoever it came from may still have it whole.
                Err(error @ ArtifactError::Hash { .. }) if source.is_copy() => {
                    damaged.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(match damaged {
            Some(error) => error,
            None => ArtifactError::NotFound { id: id.clone(), asked: self.0.iter().map(Source::shown).collect() },
        })
    }

    /// Everything that the sources have whose name, description or tags hold `query`, in any case; by name, newest
    /// first. Also the sources that could not be searched.
    pub fn search(&self, query: &str, limit: Limit) -> (Vec<Candidate>, Vec<ArtifactError>) {
        let query = query.to_lowercase();
        let mut found: Vec<Candidate> = Vec::new();
        let mut problems = Vec::new();
        for source in &self.0 {
            match source.candidates(limit) {
                Ok((candidates, more)) => {
                    problems.extend(more);
                    found.extend(candidates.into_iter().filter(|candidate| candidate.matches(&query)));
                }
                Err(error) => problems.push(error),
            }
        }
        // A stable sort: of the same artifact in several sources, the first one asked stays.
        found.sort_by(|a, b| a.id.name().cmp(b.id.name()).then_with(|| by_name_and_version(&b.id, &a.id)));
        found.dedup_by(|later, earlier| later.id == earlier.id);
        (found, problems)
    }
}

impl Source {
    /// What `--registry` names: `local`, a directory, or a URL.
    ///
    /// # Errors
    /// The directory does not exist, or the URL is none of a registry.
    pub fn named(text: &str, here: &Path, home: &Path) -> Result<Self, ArtifactError> {
        if text == "local" {
            return Ok(Self::Store(Store::global(home)));
        }
        if text.contains("://") {
            return HttpSource::new(text).map(Self::Http);
        }
        let directory = here.join(text);
        match std::fs::metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => Ok(Self::Directory(DirectorySource::new(&directory))),
            Ok(_) => Err(ArtifactError::NotAFile { path: directory, found: "no directory, and no registry" }),
            Err(cause) => Err(ArtifactError::Read { path: directory, cause }),
        }
    }

    /// What messages call it.
    pub fn shown(&self) -> String {
        match self {
            Self::Store(store) => store.root().display().to_string(),
            Self::Directory(directory) => directory.root().display().to_string(),
            Self::Http(registry) => registry.shown(),
        }
    }

    /// Whether what it has was copied from another source.
    fn is_copy(&self) -> bool {
        match self {
            Self::Store(_) => true,
            Self::Directory(_) | Self::Http(_) => false,
        }
    }

    fn fetch(&self, id: &ArtifactId, wanted: Wanted, limit: Limit) -> Result<Vec<Fetched>, ArtifactError> {
        let fetched = match self {
            Self::Store(store) => from_store(store, id, wanted, limit)?,
            Self::Directory(directory) => directory.fetch(id, wanted, limit)?,
            Self::Http(registry) => registry.fetch(id, wanted, limit)?,
        };
        for Fetched { package, platform } in &fetched {
            // An executable that says it is for another platform is refused before it is kept.
            package.platform(platform.or(match wanted {
                Wanted::Host(host) => host,
                Wanted::Every => None,
            }))?;
        }
        Ok(fetched)
    }

    fn candidates(&self, limit: Limit) -> Result<(Vec<Candidate>, Vec<ArtifactError>), ArtifactError> {
        match self {
            Self::Store(store) => in_store(store, limit),
            Self::Directory(directory) => directory.candidates(limit),
            Self::Http(registry) => Ok((of_index(registry.index()?, &self.shown()), Vec::new())),
        }
    }
}

impl Candidate {
    fn matches(&self, query: &str) -> bool {
        let texts = self.description.iter().chain(&self.tags).map(String::as_str);
        texts.chain([self.id.name().as_str()]).any(|text| text.to_lowercase().contains(query))
    }
}

fn from_store(store: &Store, id: &ArtifactId, wanted: Wanted, limit: Limit) -> Result<Vec<Fetched>, ArtifactError> {
    let stored: Vec<Stored> = match wanted {
        Wanted::Host(host) => store.find(id, host, limit)?.into_iter().collect(),
        Wanted::Every => store.find_all(id, limit)?,
    };
    Ok(stored.into_iter().map(|stored| Fetched { package: stored.package, platform: stored.platform }).collect())
}

fn in_store(store: &Store, limit: Limit) -> Result<(Vec<Candidate>, Vec<ArtifactError>), ArtifactError> {
    let (listed, problems) = store.list(limit)?;
    let source = store.root().display().to_string();
    let candidates = listed.into_iter().map(|listed| Candidate {
        id: listed.id,
        runtime: listed.metadata.runtime,
        description: listed.metadata.description,
        tags: listed.metadata.tags,
        source: source.clone(),
    });
    Ok((candidates.collect(), problems))
}

fn of_index(index: &Index, source: &str) -> Vec<Candidate> {
    let candidates = index.entries().iter().map(|entry| Candidate {
        id: entry.id.clone(),
        runtime: entry.runtime.clone(),
        description: entry.description.clone(),
        tags: entry.tags.clone(),
        source: source.to_owned(),
    });
    candidates.collect()
}

/// Opens what a source gave for `id`, and checks that it is that.
fn opened(
    origin: &str,
    bytes: Vec<u8>,
    sha256: Option<ContentHash>,
    id: &ArtifactId,
    platform: Option<Platform>,
    limit: Limit,
) -> Result<Fetched, ArtifactError> {
    let content = Content::new(bytes);
    match sha256 {
        Some(expected) if expected != content.sha256() => {
            return Err(ArtifactError::Hash {
                what: origin.to_owned(),
                expected: expected.to_string(),
                found: content.sha256(),
            });
        }
        Some(_) | None => {}
    }
    let package = Package::open(origin, content, limit)?;
    if package.id() != id {
        let found = package.id().to_string();
        return Err(ArtifactError::Misfiled { origin: origin.to_owned(), expected: id.clone(), found });
    }
    // Only native payloads differ by platform, whatever the file is called.
    let platform = match package.packed().execution {
        Execution::Native => platform,
        Execution::Wasm | Execution::Static => None,
    };
    Ok(Fetched { package, platform })
}

/// Of the payloads that a source has, those that are wanted: for one platform its own, or else the one that names none.
fn chosen(wanted: Wanted, there: &[Option<Platform>]) -> Vec<Option<Platform>> {
    match wanted {
        Wanted::Every => there.to_vec(),
        Wanted::Host(host) => {
            let preferred = host.map(Some).into_iter().chain([None]);
            preferred.filter(|platform| there.contains(platform)).take(1).collect()
        }
    }
}
