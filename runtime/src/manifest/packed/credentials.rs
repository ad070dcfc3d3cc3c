//! Values that look like credentials written down as they are: whoever gets the archive gets them too.

use super::super::Place;
use super::super::fields::Reader;
use super::super::yaml::{Node, Value};

/// Last parts of a key's name that make its value a secret.
const SECRET_NAMES: [&str; 8] = ["key", "apikey", "token", "password", "passwd", "secret", "credential", "credentials"];
/// How credentials of well-known services begin.
const SECRET_PREFIXES: [&str; 11] =
    ["sk-", "sk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "-----BEGIN"];
/// What is shorter is a word, not a credential.
const SHORTEST: usize = 8;

/// The places of such values, in the order of the text.
pub(super) fn find(reader: &Reader<'_>) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    if let Ok(tree) = reader.parse() {
        walk(reader, &tree, "", "", &mut found);
    }
    found
}

fn walk(reader: &Reader<'_>, node: &Node, path: &str, key: &str, found: &mut Vec<(Place, String)>) {
    match &node.value {
        Value::Text(text) => {
            if is_literal(key, text) {
                found.push((reader.place(node.at), path.to_owned()));
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(reader, item, &format!("{path}[{index}]"), key, found);
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                // What a schema says of a parameter called `token` is no token.
                if path != "input_schema" {
                    walk(reader, &entry.value, &path, &entry.key, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_) => {}
    }
}

fn is_literal(key: &str, text: &str) -> bool {
    if text.contains("${") || text.contains("{key}") || text.len() < SHORTEST {
        return false;
    }
    let key = key.to_ascii_lowercase();
    let last = key.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let one_word = !text.contains(char::is_whitespace);
    (one_word && SECRET_NAMES.contains(&last)) || SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}
