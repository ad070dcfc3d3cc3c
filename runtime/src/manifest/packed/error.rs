//! Why an artifact's own manifest cannot be used, where in it, and what mends that.

use super::super::{ManifestError, NameError, Place};
use super::EntryPathError;
use crate::diagnostic::{Code, Diagnostic};

/// Why an artifact's own manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackedError {
    /// What can be wrong with every manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The name is none.
    #[error("{place}: the name {reason}")]
    Name {
        /// Where.
        place: Place,
        /// Why.
        #[source]
        reason: NameError,
    },
    /// A path in `requires_files` is none of an archive.
    #[error("{place}: `requires_files` names `{path}`: the path {reason}")]
    RequiredPath {
        /// Where.
        place: Place,
        /// The path as written.
        path: String,
        /// Why.
        #[source]
        reason: EntryPathError,
    },
    /// There is an `inference_auth` block.
    #[error("{place}: `inference_auth` is no longer read")]
    Retired {
        /// Where.
        place: Place,
    },
}

impl PackedError {
    /// The form for people: code, text and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let with = |code, hint: &str| Diagnostic::new(code, self.to_string()).with_hint(hint);
        match self {
            Self::Manifest(error) => error.diagnostic(),
            Self::Name { .. } => with(Code::ArtifactName, "a name has 1 to 100 characters of a-z, 0-9 and inner `-`"),
            Self::RequiredPath { .. } => {
                with(Code::RequiredPath, "name files below the directory of murmur.yaml, with `/` between the parts")
            }
            Self::Retired { .. } => with(Code::RetiredBlock, "rename the block to `upstream_auth`"),
        }
    }
}
