//! `upstream_auth`: the header in which requests to an artifact's provider carry the key.

use super::super::fields::{Reader, Text};
use super::super::yaml::{Node, Value};
use super::super::{ManifestError, Place};
use crate::diagnostic::{Code, Diagnostic};
use crate::hosts::{AuthHeader, HeaderError};

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

pub(super) fn read(reader: &Reader<'_>, node: &Node) -> Result<AuthHeader, AuthProblem> {
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
    let Text { text: value, node: value_at, .. } = value.ok_or_else(|| absent("value"))?;
    AuthHeader::new(name, value).map_err(|error| match error {
        HeaderError::Name | HeaderError::Forbidden => problem(at, format!("`upstream_auth.header` {error}: `{name}`")),
        HeaderError::Template | HeaderError::Value => problem(value_at, format!("`upstream_auth.value` {error}")),
    })
}

fn of_error(reader: &Reader<'_>, node: &Node, error: &ManifestError) -> AuthProblem {
    let place = reader.place(node.at);
    let text = error.to_string();
    let reason = text.strip_prefix(&format!("{place}: ")).unwrap_or(&text).to_owned();
    AuthProblem { place, reason }
}
