//! Why the configuration cannot be used or changed.

use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{ManifestError, Place};

/// Why the configuration cannot be used or changed. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read, or what it holds cannot be used.
    #[error(transparent)]
    File(ManifestError),
    /// A source is of a type that this version cannot fetch from.
    #[error("{place}: the source `{name}` is of the type `{kind}`, which this version of mur does not serve")]
    SourceNotServed {
        /// Where it is declared.
        place: Place,
        /// Its name.
        name: String,
        /// Its type.
        kind: &'static str,
    },
    /// No command writes this key.
    #[error("`{key}` {reason}")]
    Key {
        /// The key.
        key: String,
        /// Why.
        reason: &'static str,
        /// What to write instead.
        hint: String,
    },
    /// A value cannot be written to this key. The message does not hold it.
    #[error("the value of `{key}` {reason}")]
    Value {
        /// The key.
        key: String,
        /// Why.
        reason: String,
    },
    /// The file is written in a way that cannot be changed without touching more than the value.
    #[error("{} is not changed: {reason}", .path.display())]
    NotEditable {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        reason: &'static str,
        /// The key and where to write it, without its value.
        by_hand: String,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {cause}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
}

impl ConfigError {
    /// The form for people: code, text and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = |code| Diagnostic::new(code, self.to_string());
        match self {
            Self::File(error) => {
                let shown = error.diagnostic();
                let of_manifests = [Code::ManifestField, Code::ManifestSyntax, Code::ManifestValue];
                let code = if of_manifests.contains(&shown.code()) { Code::ConfigFile } else { shown.code() };
                match (error, shown.hint()) {
                    // What a manifest is told of missing or other files is not to the point here.
                    (ManifestError::Unreadable { .. } | ManifestError::NotAFile { .. }, _) | (_, None) => {
                        diagnostic(code)
                    }
                    (_, Some(hint)) => diagnostic(code).with_hint(hint),
                }
            }
            Self::SourceNotServed { .. } => {
                diagnostic(Code::ConfigFile).with_hint("use a source of the type `directory` or `http`")
            }
            Self::Key { hint, .. } => diagnostic(Code::ConfigKey).with_hint(hint),
            Self::Value { .. } => diagnostic(Code::ConfigFile),
            Self::NotEditable { by_hand, .. } => {
                diagnostic(Code::ConfigFile).with_hint(format!("write it by hand: {by_hand}"))
            }
            Self::Write { cause, .. } => diagnostic(Code::for_io(cause)),
        }
    }
}

/// A path as a shell takes it, where it is plain enough; escaping what is not is the diagnostic's.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | ',' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
