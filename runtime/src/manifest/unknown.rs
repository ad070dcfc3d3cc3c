//! The look through a whole manifest for keys that have no effect: misspelt ones, and those of later versions.
//!
//! A walk of its own over the [schema](super::schema), so that every such key is told even where the manifest is refused:
//! the misspelt key is often the reason for the refusal.

use super::UnknownKey;
use super::fields::Reader;
use super::schema::{Inside, Mapping, Standing};
use super::warning::Warning;
use super::yaml::{Node, Value};
use crate::diagnostic::Code;

impl Reader<'_> {
    /// Collects a warning for each key in `node`, and in what it holds, that has no effect. `path` is its path from the
    /// root.
    pub(crate) fn warn_of_keys(&mut self, node: &Node, path: &str, known: &'static Mapping) {
        let Value::Map(entries) = &node.value else { return };
        for entry in entries {
            let field = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            let Some(key) = known.key(&entry.key) else {
                let (place, nearest) = (self.place(entry.at), known.nearest(&entry.key));
                self.unknown.push(UnknownKey { place, key: field, nearest });
                continue;
            };
            match key.standing {
                Standing::Read | Standing::Packed | Standing::Refused(_) => {}
                Standing::Elsewhere => {
                    let text = format!(
                        "`{field}` belongs to the manifest of a packed artifact and has no effect on a capsule"
                    );
                    self.warnings.push(Warning::new(Code::UnknownManifestKey, self.place(entry.at), text));
                }
                Standing::Later(version) => {
                    let text = format!("`{field}` belongs to version {version} of the format and has no effect");
                    self.warnings.push(Warning::new(Code::UnknownManifestKey, self.place(entry.at), text));
                }
            }
            match (key.inside, &entry.value.value) {
                (Inside::One(inner), _) => self.warn_of_keys(&entry.value, &field, inner),
                (Inside::Each(inner), Value::List(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        self.warn_of_keys(item, &format!("{field}[{index}]"), inner);
                    }
                }
                (Inside::Plain | Inside::Each(_), _) => {}
            }
        }
    }
}
