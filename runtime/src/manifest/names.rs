//! The names and versions of capsules and artifacts: checked once, where they enter, and right from then on.

use std::fmt;
use std::str::FromStr;

/// The longest name of a capsule or artifact, in characters.
pub const NAME_MAX: usize = 100;

/// Why a text is no name. Each message completes "the name …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is nothing.
    #[error("is empty")]
    Empty,
    /// It is longer than [`NAME_MAX`].
    #[error("is {0} characters long, and at most {NAME_MAX} are allowed")]
    TooLong(usize),
    /// It holds a character that names do not have.
    #[error("holds `{0}`, and only a-z, 0-9 and `-` are allowed")]
    Character(char),
    /// It begins or ends with `-`.
    #[error("begins or ends with `-`")]
    OuterHyphen,
}

macro_rules! names {
    ($($(#[$meaning:meta])+ $name:ident,)+) => { $(
        $(#[$meaning])+
        ///
        /// 1 to [`NAME_MAX`] characters of `a-z`, `0-9` and `-`, not beginning or ending with `-`. It is therefore
        /// also a safe path segment.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check_name(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )+ };
}

names! {
    /// The name of a capsule.
    CapsuleName,
    /// The name of an artifact: for a tool, the name by which it is called.
    ArtifactName,
}

fn check_name(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    let foreign = |c: &char| !matches!(c, 'a'..='z' | '0'..='9' | '-');
    if let Some(character) = text.chars().find(foreign) {
        return Err(NameError::Character(character));
    }
    if text.len() > NAME_MAX {
        return Err(NameError::TooLong(text.len()));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Err(NameError::OuterHyphen);
    }
    Ok(())
}

/// The version of a capsule or artifact: any text with something visible in it, kept as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

/// A version without anything visible in it. The message completes "the version …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is empty")]
pub struct EmptyVersion;

impl Version {
    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Version {
    type Err = EmptyVersion;

    fn from_str(text: &str) -> Result<Self, EmptyVersion> {
        if text.trim().is_empty() { Err(EmptyVersion) } else { Ok(Self(text.to_owned())) }
    }
}

impl AsRef<str> for Version {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One segment of a path, for a directory of the murmur home: a state store or a conversation record.
///
/// 1 to 255 bytes without `/`, `\\` and control characters, not beginning with a dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreName(String);

/// Why a text is no [`StoreName`]. Each message completes "the name …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoreNameError {
    /// There is nothing.
    #[error("is empty")]
    Empty,
    /// It begins with a dot, as `.` and `..` do.
    #[error("begins with a dot")]
    Dot,
    /// It is longer than file names can be.
    #[error("is {0} bytes long, and at most 255 are allowed")]
    TooLong(usize),
    /// It holds a separator or a control character.
    #[error("holds `{}`, and one plain directory name is needed", .0.escape_default())]
    Character(char),
}

impl StoreName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&CapsuleName> for StoreName {
    fn from(name: &CapsuleName) -> Self {
        Self(name.0.clone())
    }
}

impl FromStr for StoreName {
    type Err = StoreNameError;

    fn from_str(text: &str) -> Result<Self, StoreNameError> {
        if text.is_empty() {
            return Err(StoreNameError::Empty);
        }
        if text.starts_with('.') {
            return Err(StoreNameError::Dot);
        }
        if let Some(foreign) = text.chars().find(|&c| matches!(c, '/' | '\\') || c.is_control()) {
            return Err(StoreNameError::Character(foreign));
        }
        if text.len() > 255 {
            return Err(StoreNameError::TooLong(text.len()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The bare name of a program, without a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BinaryName(String);

/// Why a text is no [`BinaryName`]. The message completes "the name …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the bare name of a program, such as `git`")]
pub struct NoBinaryName;

impl BinaryName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BinaryName {
    type Err = NoBinaryName;

    fn from_str(text: &str) -> Result<Self, NoBinaryName> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
        let bare = !text.is_empty() && text.len() <= 255 && text.chars().all(plain) && !text.starts_with(['.', '-']);
        if bare { Ok(Self(text.to_owned())) } else { Err(NoBinaryName) }
    }
}

impl fmt::Display for BinaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lower_case_letters_digits_and_inner_hyphens() {
        for good in ["a", "0", "audit-pipeline", "a--b", &"n".repeat(NAME_MAX)] {
            assert_eq!(good.parse::<CapsuleName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn everything_else_is_no_name_and_the_reason_is_told() {
        let cases = [
            ("", NameError::Empty),
            ("Audit", NameError::Character('A')),
            ("scope/name", NameError::Character('/')),
            ("naïve", NameError::Character('ï')),
            ("..", NameError::Character('.')),
            ("a\n", NameError::Character('\n')),
            ("-a", NameError::OuterHyphen),
            ("a-", NameError::OuterHyphen),
            ("-", NameError::OuterHyphen),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<ArtifactName>(), Err(reason), "{text:?}");
        }
        assert_eq!("n".repeat(101).parse::<CapsuleName>(), Err(NameError::TooLong(101)));
    }

    #[test]
    fn a_version_is_any_visible_text_kept_as_written() {
        assert_eq!("1.0.0-rc.1+5".parse::<Version>().unwrap().as_str(), "1.0.0-rc.1+5");
        assert_eq!(" \t".parse::<Version>(), Err(EmptyVersion));
        assert_eq!("".parse::<Version>(), Err(EmptyVersion));
    }

    #[test]
    fn a_store_is_named_by_one_plain_segment() {
        for good in ["notes", "Notes v2", "a.b", "é"] {
            assert_eq!(good.parse::<StoreName>().unwrap().as_str(), good);
        }
        let cases = [
            ("", StoreNameError::Empty),
            (".", StoreNameError::Dot),
            ("..", StoreNameError::Dot),
            (".hidden", StoreNameError::Dot),
            ("a/b", StoreNameError::Character('/')),
            ("a\\b", StoreNameError::Character('\\')),
            ("a\0", StoreNameError::Character('\0')),
            ("a\n", StoreNameError::Character('\n')),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<StoreName>(), Err(reason), "{text:?}");
        }
        assert_eq!("n".repeat(256).parse::<StoreName>(), Err(StoreNameError::TooLong(256)));
    }

    #[test]
    fn a_binary_is_a_bare_name() {
        for good in ["git", "g++", "python3.12", "x86_64-linux-gnu-gcc", "a_b"] {
            assert_eq!(good.parse::<BinaryName>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "/bin/sh", "./x", "a b", "-c", "*", "a;b", "a\n"] {
            assert_eq!(bad.parse::<BinaryName>(), Err(NoBinaryName), "{bad:?}");
        }
    }
}
