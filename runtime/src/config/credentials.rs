//! Providers' keys: the global file's `credentials`, or else the environment's variables.

use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::{global_file, read};
use crate::context::Context;
use crate::diagnostic::Code;
use crate::manifest::{CredentialName, ManifestError, Place, Warning};
use crate::secret::Secret;

/// Where providers' keys are looked up.
///
/// Nothing is kept: a key that is changed in the file is the new one at the next look.
#[derive(Debug, Clone)]
pub struct Credentials {
    file: PathBuf,
    home: PathBuf,
    context: Context,
}

/// A key, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The key.
    pub value: Secret,
    /// Where.
    pub origin: CredentialOrigin,
}

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialOrigin {
    /// In the global file, which is read again for every request.
    Config,
    /// In the environment, which does not change until the next launch.
    Environment,
}

impl CredentialOrigin {
    /// The word in traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Environment => "environment",
        }
    }
}

impl Credentials {
    /// The keys of the murmur home `home`, and of the context's environment.
    pub fn new(home: &Path, context: &Context) -> Self {
        Self { file: global_file(home), home: home.to_owned(), context: context.clone() }
    }

    /// The key of this name, if there is one. The file is read anew.
    ///
    /// # Errors
    /// The file is there and cannot be read or used.
    pub fn lookup(&self, name: &CredentialName) -> Result<Option<Credential>, ConfigError> {
        // What is to be told of the file is told once, where the configuration is loaded.
        let file = read::file(&self.file, &self.home, read::Scope::Global, &mut Vec::new())?.unwrap_or_default();
        let found = file.credentials.into_iter().find(|(known, _)| known == name);
        if let Some((_, value)) = found {
            return Ok(Some(Credential { value, origin: CredentialOrigin::Config }));
        }
        let value = self.context.variable(name.as_str()).and_then(|value| value.into_string().ok());
        Ok(value.map(|value| Credential { value: Secret::new(value), origin: CredentialOrigin::Environment }))
    }

    /// What is to be told of a key that a gateway at `place` uses, once it is found.
    pub fn warning(name: &CredentialName, credential: &Credential, place: &Place) -> Option<Warning> {
        match credential.origin {
            CredentialOrigin::Config => None,
            CredentialOrigin::Environment => {
                let text =
                    format!("the key `{name}` comes from the environment, and another one counts from the next launch");
                let warning = Warning::new(Code::KeyFixedAtLaunch, place.clone(), text);
                Some(warning.with_hint(format!("store it with `mur config set -g credentials.{name} KEY`")))
            }
        }
    }

    /// The refusal of a gateway at `place` whose key is nowhere.
    pub fn missing(name: &CredentialName, place: &Place) -> ManifestError {
        ManifestError::Value {
            place: place.clone(),
            reason: format!("the key `{name}` is neither in the global configuration nor in the environment"),
            hint: Some(format!("store it with `mur config set -g credentials.{name} KEY`")),
        }
    }
}
