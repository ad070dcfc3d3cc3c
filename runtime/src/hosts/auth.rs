//! In which header a provider is shown a key.

use std::str::FromStr as _;

use http::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

/// A header that carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthHeader {
    name: HeaderName,
    before: String,
    after: String,
}

impl AuthHeader {
    /// A header of that name, whose value is the template with the key in place of `{key}`.
    ///
    /// # Errors
    /// When is no header's name or value, one that belongs to the connection or the body, or when `{key}` does not
    /// stand in the template exactly once.
    pub fn new(name: &str, template: &str) -> Result<Self, HeaderError> {
        let name = HeaderName::from_str(name).map_err(|_| HeaderError::Name)?;
        if FORBIDDEN.contains(&name.as_str()) {
            return Err(HeaderError::Forbidden);
        }
        let (before, after) = template.split_once("{key}").ok_or(HeaderError::Template)?;
        if after.contains("{key}") {
            return Err(HeaderError::Template);
        }
        let fits = |text: &str| HeaderValue::from_str(text).is_ok();
        if !fits(before) || !fits(after) {
            return Err(HeaderError::Value);
        }
        Ok(Self { name, before: before.to_owned(), after: after.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// The value with that key, unless the key is empty or holds what no header may.
    pub fn value(&self, key: &str) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("{}{key}{}", self.before, self.after));
        let mut value = HeaderValue::from_str(&text).ok().filter(|_| !key.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Headers that no key is sent in: they say where a request goes and how its body is read.
const FORBIDDEN: [&str; 16] = [
    "host",
    "origin",
    "referer",
    "cookie",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
    "http2-settings",
];

/// Why a header cannot carry a key. Each message completes "the header …" or "its value …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No header's name.
    #[error("is no header's name")]
    Name,
    /// A header with a meaning of its own.
    #[error("says where a request goes or how it is read, and carries no key")]
    Forbidden,
    /// Not exactly one place for the key.
    #[error("must hold `{{key}}` exactly once")]
    Template,
    /// Characters that no header may hold.
    #[error("holds characters that no header may")]
    Value,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_is_wrong_with_it() {
        let mut said = String::new();
        for (name, template) in [
            ("", "{key}"),
            ("a b", "{key}"),
            ("Host", "{key}"),
            ("authorization", "Bearer"),
            ("authorization", "{key}{key}"),
            ("authorization", "Bearer\n{key}"),
        ] {
            said += &format!("{name}: {}\n", AuthHeader::new(name, template).unwrap_err());
        }
        insta::assert_snapshot!(said, @r"
        : is no header's name
        a b: is no header's name
        Host: says where a request goes or how it is read, and carries no key
        authorization: must hold `{key}` exactly once
        authorization: must hold `{key}` exactly once
        authorization: holds characters that no header may
        ");
    }

    #[test]
    fn a_key_is_not_shown_and_does_not_break_out_of_its_header() {
        let header = AuthHeader::new("authorization", "Bearer {key}").unwrap();
        let value = header.value("secret").unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer secret");
        assert!(!format!("{value:?}").contains("secret"));
        for key in ["", "a\r\nb: c", "a\n"] {
            assert_eq!(header.value(key), None);
        }
    }
}
