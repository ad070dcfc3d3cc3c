//! `name@version`: which artifact is meant. Both parts are fit to be parts of a path.

use std::fmt;
use std::str::FromStr;

use super::error::ArtifactError;
use crate::manifest::{ArtifactName, NameError, Version};

/// The longest version of an artifact, in bytes.
const VERSION_MAX: usize = 100;

/// Versions that a registry gives a meaning of its own, so that no artifact can have them.
const RESERVED: [&str; 3] = ["latest", "stable", "edge"];

/// One version of one artifact.
///
/// The version is a plain part of a path: no separator, no control character or space, no `.` in front.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArtifactId {
    name: ArtifactName,
    version: Version,
}

/// Why a text is no `name@version`, or a version cannot be an artifact's. Each message completes "`text` …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// There is no `@`.
    #[error("is not of the form name@version")]
    Form,
    /// The name is none.
    #[error("has a name that {0}")]
    Name(#[source] NameError),
    /// The version cannot be part of a path.
    #[error("has a version that cannot be part of a file's name")]
    Version,
}

impl ArtifactId {
    /// # Errors
    /// [`IdError::Version`].
    pub fn new(name: ArtifactName, version: Version) -> Result<Self, IdError> {
        let text = version.as_str();
        let foreign = |c: char| matches!(c, '/' | '\\') || c.is_control() || c.is_whitespace();
        if text.is_empty() || text.starts_with('.') || text.len() > VERSION_MAX || text.contains(foreign) {
            return Err(IdError::Version);
        }
        Ok(Self { name, version })
    }

    /// The same, with a refusal that says which artifact it is about.
    ///
    /// # Errors
    /// [`ArtifactError::Id`]: the version cannot be part of a path.
    pub fn of(name: &ArtifactName, version: &Version) -> Result<Self, ArtifactError> {
        Self::new(name.clone(), version.clone())
            .map_err(|reason| ArtifactError::Id { text: format!("{name}@{}", version.as_str()), reason })
    }

    /// The name.
    pub fn name(&self) -> &ArtifactName {
        &self.name
    }

    /// The version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Whether the version is one of the words that no artifact can have.
    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.version.as_str())
    }
}

impl FromStr for ArtifactId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (name, version) = text.split_once('@').ok_or(IdError::Form)?;
        let name = name.parse().map_err(IdError::Name)?;
        let version = version.parse().map_err(|_| IdError::Version)?;
        Self::new(name, version)
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_and_a_version_that_can_be_part_of_a_path() {
        let id: ArtifactId = "word-count@1.0.0-rc.1+5".parse().unwrap();
        assert_eq!((id.name().as_str(), id.version().as_str()), ("word-count", "1.0.0-rc.1+5"));
        assert_eq!(id.to_string(), "word-count@1.0.0-rc.1+5");
        for (text, reason) in [
            ("word-count", IdError::Form),
            ("A@1", IdError::Name(NameError::Character('A'))),
            ("@1", IdError::Name(NameError::Empty)),
            ("a@", IdError::Version),
            ("a@..", IdError::Version),
            ("a@.1", IdError::Version),
            ("a@1/2", IdError::Version),
            ("a@1\\2", IdError::Version),
            ("a@1 2", IdError::Version),
            ("a@1\n", IdError::Version),
        ] {
            assert_eq!(text.parse::<ArtifactId>(), Err(reason), "{text:?}");
        }
        assert_eq!(format!("a@{}", "1".repeat(101)).parse::<ArtifactId>(), Err(IdError::Version));
    }

    #[test]
    fn words_with_a_meaning_of_their_own_are_reserved() {
        assert!("a@latest".parse::<ArtifactId>().unwrap().is_reserved());
        assert!(!"a@latest-1".parse::<ArtifactId>().unwrap().is_reserved());
    }
}
