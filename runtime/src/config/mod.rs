//! The configuration: `config.yaml` in the murmur home, and in `.murmur` of the directory that a command is run in.
//!
//! [`Config::load`] reads and merges both. A field of the project's file wins over the same of the global one, with these
//! exceptions: credentials and keys are the global file's alone, of two containments the stronger holds, and of two
//! ceilings the lower.
//!
//! | file | what lives there |
//! |---|---|
//! | `schema`, `reference` | which keys there are, and the page made of them |
//! | `read` | one file to its fields |
//! | `credentials` | providers' keys, looked up anew each time |
//! | `edit` | changing one value of a file and nothing else in it |
//! | `write` | which keys a command may set, and the file on disk |
//! | `error` | why the configuration cannot be used |
//!
//! It reads YAML as the manifest does and knows that room; no room above it.

mod credentials;
mod edit;
mod error;
mod read;
mod reference;
mod schema;
mod write;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

pub use credentials::{Credential, CredentialOrigin, Credentials};
pub use error::ConfigError;
pub use reference::reference_page;
pub use write::{Settable, Target, refuse_links, set};

use crate::diagnostic::Code;
use crate::hosts::BaseUrl;
use crate::manifest::{Containment, Place, Warning};
use crate::secret::Secret;
use read::File;

/// The file's name, in the murmur home and in a project's `.murmur`.
pub const CONFIG_FILE: &str = "config.yaml";
/// A project's own directory.
pub const PROJECT_DIR: &str = ".murmur";

/// The configuration that holds for one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Where artifacts come from.
    pub registry: Registry,
    /// The weakest containment that is accepted.
    pub containment: Containment,
    /// Tokens that all sessions of this host may use in a day.
    pub machine_tokens_per_day: Option<NonZeroU64>,
    /// What new capsules begin with.
    pub inference: InferenceDefaults,
    /// Features that are tried out.
    pub beta: Vec<String>,
}

/// Where artifacts come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    /// The source, or `local`, that is meant where none is named.
    pub default: Option<String>,
    /// An index to search in.
    pub index_url: Option<String>,
    /// The sources, in their order; no two have the same name.
    pub sources: Vec<Source>,
}

/// A source of artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is declared.
    pub place: Place,
}

/// What a source of artifacts is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// A directory of archives; absolute.
    Directory(PathBuf),
    /// A server that hands out archives.
    Http(BaseUrl),
    /// Releases on GitHub. Not served by this version.
    GitHub {
        /// `owner/name`.
        repo: String,
        /// For what is not public.
        token: Option<Secret>,
    },
    /// A Nexus registry. Not served by this version.
    Nexus {
        /// Where it is, if it is said.
        url: Option<BaseUrl>,
        /// For what is not public.
        token: Option<Secret>,
    },
}

impl SourceKind {
    /// The word in the file.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Directory(_) => "directory",
            Self::Http(_) => "http",
            Self::GitHub { .. } => "github",
            Self::Nexus { .. } => "nexus",
        }
    }
}

impl Source {
    /// Refuses a source of a type that this version cannot fetch from. For whoever is about to use it.
    ///
    /// # Errors
    /// The source is of such a type.
    pub fn served(&self) -> Result<&Self, ConfigError> {
        match self.kind {
            SourceKind::Directory(_) | SourceKind::Http(_) => Ok(self),
            SourceKind::GitHub { .. } | SourceKind::Nexus { .. } => Err(ConfigError::SourceNotServed {
                place: self.place.clone(),
                name: self.name.clone(),
                kind: self.kind.as_str(),
            }),
        }
    }
}

/// What new capsules begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InferenceDefaults {
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The provider's key; the global file's alone.
    pub api_key: Option<Secret>,
    /// Where the provider is.
    pub endpoint: Option<String>,
}

/// What came of reading the configuration.
#[derive(Debug)]
#[must_use]
pub struct ConfigReading {
    /// What is to be told, the global file's first.
    pub warnings: Vec<Warning>,
    /// The configuration, or the first reason why it cannot be used.
    pub outcome: Result<Config, ConfigError>,
}

/// The global file.
pub fn global_file(home: &Path) -> PathBuf {
    home.join(CONFIG_FILE)
}

/// The file of the project that a command is run in.
pub fn project_file(here: &Path) -> PathBuf {
    here.join(PROJECT_DIR).join(CONFIG_FILE)
}

impl Config {
    /// Reads and merges the files in `home` and of the project `here`. A file that does not exist says nothing.
    pub fn load(home: &Path, here: &Path) -> ConfigReading {
        let mut warnings = Vec::new();
        let outcome = Self::merged(home, here, &mut warnings);
        ConfigReading { warnings, outcome }
    }

    fn merged(home: &Path, here: &Path, warnings: &mut Vec<Warning>) -> Result<Self, ConfigError> {
        let (global_path, project_path) = (global_file(home), project_file(here));
        let mut global = read::file(&global_path, home, read::Scope::Global, warnings)?.unwrap_or_default();
        // In the directory that holds the murmur home, both are one file.
        let same = matches!((global_path.canonicalize(), project_path.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let mut project = File::default();
        if !same {
            project = read::file(&project_path, here, read::Scope::Project, warnings)?.unwrap_or_default();
        }
        let ceilings = [global.machine_tokens_per_day, project.machine_tokens_per_day];
        Ok(Self {
            registry: Registry {
                default: project.default.or(global.default),
                index_url: project.index_url.or(global.index_url),
                sources: project.sources.or(global.sources).unwrap_or_default(),
            },
            containment: global.containment.max(project.containment),
            machine_tokens_per_day: ceilings.into_iter().flatten().min(),
            inference: InferenceDefaults {
                provider: project.provider.take().or(global.provider.take()),
                model: project.model.take().or(global.model.take()),
                api_key: global.api_key.take(),
                endpoint: project.endpoint.take().or(global.endpoint.take()),
            },
            beta: project.beta.or(global.beta).unwrap_or_default(),
        })
    }
}

/// The warning about a file of secrets that others may use.
fn wide_mode(path: &Path, mode: u32) -> Option<Warning> {
    const OTHERS: u32 = 0o077;
    if mode & OTHERS == 0 {
        return None;
    }
    let place = Place { path: path.to_owned(), line: 1, column: 1 };
    let text = format!("others may use this file of secrets (mode {mode:04o})");
    let warning = Warning::new(Code::SecretFileMode, place, text);
    Some(warning.with_hint(format!("run: chmod 600 {}", error::quoted(path))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
