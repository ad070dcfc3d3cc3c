//! `upstream_auth`: the header in which requests to an artifact's provider carry the key.

use super::super::fields::{Reader, Text};
use super::super::yaml::{Node, Value};
use super::super::{ManifestError, Place};
use crate::diagnostic::{Code, Diagnostic};

/// What stands for the key in a header's value.
const KEY: &str = "{key}";

/// Headers that are the connection's own, or say more than who asks.
const REFUSED: [&str; 15] = [
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
];

/// The header that carries a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamAuth {
    header: http::HeaderName,
    before: String,
    after: String,
}

impl UpstreamAuth {
    /// The header's name.
    pub fn header(&self) -> &http::HeaderName {
        &self.header
    }

    /// The header's value, with `{key}` where the key goes.
    pub fn template(&self) -> String {
        format!("{}{KEY}{}", self.before, self.after)
    }

    /// The header's value with `key` in it. `None` where the key holds what no header can.
    pub fn value(&self, key: &str) -> Option<http::HeaderValue> {
        let mut value = http::HeaderValue::from_str(&format!("{}{key}{}", self.before, self.after)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Why an `upstream_auth` block cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct AuthProblem {
    /// Where.
    pub place: Place,
    /// What is wrong with which field.
    pub reason: String,
}

impl AuthProblem {
    /// The form for an author.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(Code::ManifestValue, self.to_string())
            .with_hint("for example `upstream_auth: {header: authorization, value: \"Bearer {key}\"}`")
    }
}

pub(super) fn read(reader: &Reader<'_>, node: &Node) -> Result<UpstreamAuth, AuthProblem> {
    let problem = |node: &Node, reason: String| AuthProblem { place: reader.place(node.at), reason };
    let Value::Map(entries) = &node.value else {
        return Err(problem(node, format!("`upstream_auth` must be a mapping, found {}", node.value.kind())));
    };
    let mut header = None;
    let mut value = None;
    for entry in entries {
        let field = format!("upstream_auth.{}", entry.key);
        let target = match entry.key.as_str() {
            "header" => &mut header,
            "value" => &mut value,
            _ => return Err(problem(&entry.value, format!("`{field}` is not a known key"))),
        };
        *target = Some(reader.text(&entry.value, field).map_err(|error| of_error(reader, &entry.value, &error))?);
    }
    let absent = |key: &str| problem(node, format!("`upstream_auth.{key}` is missing"));
    let Text { text: name, node: at, .. } = header.ok_or_else(|| absent("header"))?;
    let header: http::HeaderName =
        name.parse().map_err(|_| problem(at, "`upstream_auth.header` is no name of a header".to_owned()))?;
    if REFUSED.contains(&header.as_str()) {
        return Err(problem(at, format!("`upstream_auth.header` may not be `{header}`")));
    }
    let Text { text: value, node: at, .. } = value.ok_or_else(|| absent("value"))?;
    let once = value.split_once(KEY).filter(|(_, after)| !after.contains(KEY));
    let Some((before, after)) = once else {
        return Err(problem(at, format!("`upstream_auth.value` must hold `{KEY}` exactly once")));
    };
    let auth = UpstreamAuth { header, before: before.to_owned(), after: after.to_owned() };
    match auth.value("key") {
        Some(_) => Ok(auth),
        None => Err(problem(at, "`upstream_auth.value` holds what no header can".to_owned())),
    }
}

fn of_error(reader: &Reader<'_>, node: &Node, error: &ManifestError) -> AuthProblem {
    let place = reader.place(node.at);
    let text = error.to_string();
    let reason = text.strip_prefix(&format!("{place}: ")).unwrap_or(&text).to_owned();
    AuthProblem { place, reason }
}
