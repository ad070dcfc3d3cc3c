//! The paths of an archive: relative, plain, and the same on every platform.

use std::fmt;
use std::str::FromStr;

/// The longest path, in bytes.
const PATH_MAX: usize = 512;

/// A path in an archive, with `/` between its parts.
///
/// No part is empty, `.` or `..`, and no character is a backslash or a control character, so joined to a directory it
/// leads to nothing outside (links aside, which only the file system knows).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryPath(String);

/// Why a text is no path of an archive. Each message completes "the path …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryPathError {
    /// There is nothing, or nothing between two slashes.
    #[error("is empty, or has an empty part")]
    Empty,
    /// It begins with `/`.
    #[error("is absolute")]
    Absolute,
    /// It holds `.` or `..` as a part.
    #[error("holds `.` or `..`")]
    Dots,
    /// It holds a backslash, which separates on some platforms.
    #[error("holds a backslash")]
    Backslash,
    /// It holds NUL or another control character.
    #[error("holds a control character")]
    Control,
    /// It is longer than 512 bytes.
    #[error("is longer than {PATH_MAX} bytes")]
    TooLong,
}

impl EntryPath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether it stands in a directory of the archive, not at its root.
    pub(crate) fn is_nested(&self) -> bool {
        self.0.contains('/')
    }

    /// Whether it is a component at the archive's root.
    pub(crate) fn is_root_component(&self) -> bool {
        !self.is_nested() && self.0.ends_with(".wasm")
    }

    /// What people write: `./` in front means nothing.
    pub(super) fn written(text: &str) -> Result<Self, EntryPathError> {
        let mut plain = text;
        while let Some(rest) = plain.strip_prefix("./") {
            plain = rest.trim_start_matches('/');
        }
        plain.parse()
    }

    pub(super) fn skill() -> Self {
        Self(super::SKILL_FILE.to_owned())
    }
}

impl FromStr for EntryPath {
    type Err = EntryPathError;

    fn from_str(text: &str) -> Result<Self, EntryPathError> {
        if text.starts_with('/') {
            return Err(EntryPathError::Absolute);
        }
        if text.len() > PATH_MAX {
            return Err(EntryPathError::TooLong);
        }
        if text.contains('\\') {
            return Err(EntryPathError::Backslash);
        }
        if text.contains(char::is_control) {
            return Err(EntryPathError::Control);
        }
        for part in text.split('/') {
            match part {
                "" => return Err(EntryPathError::Empty),
                "." | ".." => return Err(EntryPathError::Dots),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_and_plain() {
        for good in ["a", "bin/tool", "a b/ü.md", "...", ".hidden"] {
            assert_eq!(good.parse::<EntryPath>().unwrap().as_str(), good);
        }
        assert_eq!(EntryPath::written("././a/b").unwrap().as_str(), "a/b");
    }

    #[test]
    fn everything_else_is_no_path_and_the_reason_is_told() {
        let cases = [
            ("", EntryPathError::Empty),
            ("a//b", EntryPathError::Empty),
            ("a/", EntryPathError::Empty),
            ("/a", EntryPathError::Absolute),
            ("..", EntryPathError::Dots),
            ("a/../b", EntryPathError::Dots),
            ("a/./b", EntryPathError::Dots),
            ("a\\b", EntryPathError::Backslash),
            ("a\0", EntryPathError::Control),
            ("a\nb", EntryPathError::Control),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<EntryPath>(), Err(reason), "{text:?}");
        }
        assert_eq!("n".repeat(513).parse::<EntryPath>(), Err(EntryPathError::TooLong));
    }
}
