//! What is told about a manifest that can be used all the same.

use std::fmt;

use super::{Place, UnknownKey};
use crate::diagnostic::{Code, Diagnostic};

/// Something in a manifest that its author should know, and that changes no exit code.
///
/// Its text is made once, where it is found, so that every command prints the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    code: Code,
    place: Place,
    text: String,
    hint: Option<String>,
}

impl Warning {
    pub(crate) fn new(code: Code, place: Place, text: impl Into<String>) -> Self {
        Self { code, place, text: text.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What it is about.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The form for people.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.code, self.to_string());
        match &self.hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        }
    }
}

/// Not escaped, as it quotes the manifest.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

impl From<UnknownKey> for Warning {
    fn from(unknown: UnknownKey) -> Self {
        let UnknownKey { place, key, nearest } = unknown;
        let meant = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        Self::new(Code::UnknownManifestKey, place, format!("`{key}` is not a known key and has no effect{meant}"))
    }
}
