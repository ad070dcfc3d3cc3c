//! `capabilities.filesystem.scope`: the part of the accessible workdir that guests see.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// The part of the accessible workdir that guests see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    #[default]
    Workdir,
    /// One directory in it.
    Subtree(Subpath),
}

/// A relative path of one or more plain components: neither `.` nor `..`, so it cannot lead out of what it is joined to
/// (links aside, which only the file system knows).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subpath(PathBuf);

impl Subpath {
    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Whether `other` is this path or lies below it, component by component.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for Subpath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Why a text is no scope. Each message completes "the scope …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// There is nothing.
    #[error("is empty")]
    Empty,
    /// No path holds a NUL character.
    #[error("holds a NUL character")]
    Nul,
    /// It holds `..`, whether or not it leads out of the workdir.
    #[error("leads upwards with `..`")]
    Upwards,
    /// It is an absolute path.
    #[error("is not relative to the workdir")]
    Absolute,
}

impl FromStr for Scope {
    type Err = ScopeError;

    /// `.` and doubled slashes mean nothing; a path of nothing else is the whole workdir.
    fn from_str(text: &str) -> Result<Self, ScopeError> {
        if text.is_empty() {
            return Err(ScopeError::Empty);
        }
        if text.contains('\0') {
            return Err(ScopeError::Nul);
        }
        let mut path = PathBuf::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err(ScopeError::Upwards),
                Component::RootDir | Component::Prefix(_) => return Err(ScopeError::Absolute),
            }
        }
        Ok(if path.as_os_str().is_empty() { Self::Workdir } else { Self::Subtree(Subpath(path)) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_of_plain_names_is_a_subtree() {
        for (text, path) in [("a", "a"), ("./a/./b//c/", "a/b/c"), ("...", "..."), (" ", " "), ("a..b", "a..b")] {
            assert_eq!(text.parse(), Ok(Scope::Subtree(Subpath(path.into()))), "{text}");
        }
    }

    #[test]
    fn a_path_to_where_one_is_already_is_the_whole_workdir() {
        for text in [".", "./", "././/."] {
            assert_eq!(text.parse(), Ok(Scope::Workdir), "{text}");
        }
    }

    #[test]
    fn a_path_that_could_lead_out_is_no_scope() {
        let cases = [
            ("", ScopeError::Empty),
            ("a\0b", ScopeError::Nul),
            ("..", ScopeError::Upwards),
            ("a/..", ScopeError::Upwards),
            ("a/../b", ScopeError::Upwards),
            ("/", ScopeError::Absolute),
            ("/etc", ScopeError::Absolute),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<Scope>(), Err(reason), "{text:?}");
        }
    }
}
