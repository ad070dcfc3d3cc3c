//! The fields of a manifest's mappings, taken one by one: each either comes out with its type or is refused with its
//! place. What the fields mean is not known here.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::str::FromStr;

use super::schema::{Mapping, Treatment};
use super::yaml::{self, Entry, Node, Position, Value};
use super::{ManifestError, Place, UnknownKey};

/// How many characters of a value a message repeats.
const QUOTED: usize = 60;

/// A mapping whose keys have been looked through.
pub(super) struct Fields<'n> {
    pub(super) at: Position,
    /// Its path from the root; empty for the root itself.
    pub(super) path: String,
    pub(super) entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// The path of one of its fields.
    pub(super) fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The field's value, which may be nothing.
    pub(super) fn value(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The field's value, where a key without one counts as left out.
    ///
    /// That is for lists and mappings, whose entries may all have been commented out. A scalar without its value is a
    /// mistake: `scope:` must not come to mean the whole workdir.
    pub(super) fn block(&self, key: &str) -> Option<&'n Node> {
        self.value(key).filter(|node| !matches!(node.value, Value::Null))
    }
}

/// A text field.
pub(super) struct Text<'n> {
    pub(super) text: &'n str,
    pub(super) at: Position,
    pub(super) node: &'n Node,
    /// Its path from the root.
    pub(super) field: String,
}

/// Reads one file: knows its text, and collects the keys that mean nothing.
pub(super) struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    pub(super) unknown: Vec<UnknownKey>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, text, unknown: Vec::new() }
    }
}

impl Reader<'_> {
    /// The text's tree.
    pub(super) fn parse(&self) -> Result<Node, ManifestError> {
        yaml::parse(self.text)
            .map_err(|error| ManifestError::Syntax { place: self.place(error.at), reason: error.reason })
    }

    /// The fields of the tree's root.
    pub(super) fn root<'n>(&mut self, tree: &'n Node, known: &Mapping) -> Result<Fields<'n>, ManifestError> {
        if matches!(tree.value, Value::Null) {
            // An empty file lacks its name more than it has a wrong shape.
            return Ok(Fields { at: Position::START, path: String::new(), entries: &[] });
        }
        self.mapping(tree, String::new(), known)
    }

    pub(super) fn limit(&self, fields: &Fields<'_>, key: &str, most: u64) -> Result<Option<NonZeroU64>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let wrong = |expected: &str| Err(self.wrong_type(node, &fields.field(key), expected));
        let Value::Natural(number) = node.value else { return wrong("a whole number greater than zero") };
        match NonZeroU64::new(number) {
            None => wrong("a whole number greater than zero"),
            Some(limit) if limit.get() > most => wrong(&format!("at most {most}")),
            limit => Ok(limit),
        }
    }

    pub(super) fn small_limit(&self, fields: &Fields<'_>, key: &str) -> Result<Option<NonZeroU32>, ManifestError> {
        let limit = self.limit(fields, key, u32::MAX.into())?;
        Ok(limit.and_then(|limit| NonZeroU32::try_from(limit).ok()))
    }

    /// A text field that must be there.
    pub(super) fn required<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
        hint: &'static str,
    ) -> Result<Text<'n>, ManifestError> {
        let node = fields.block(key).ok_or_else(|| self.missing(fields, key, hint))?;
        self.text(node, fields.field(key))
    }

    /// A text field that may be left out.
    pub(super) fn string<'n>(&self, fields: &Fields<'n>, key: &str) -> Result<Option<Text<'n>>, ManifestError> {
        fields.value(key).map(|node| self.text(node, fields.field(key))).transpose()
    }

    pub(super) fn text<'n>(&self, node: &'n Node, field: String) -> Result<Text<'n>, ManifestError> {
        let Value::Text(text) = &node.value else { return Err(self.wrong_type(node, &field, "a text")) };
        Ok(Text { text, at: node.at, node, field })
    }

    /// A text as a type of its own, whose errors complete "the field …".
    pub(super) fn parsed<T: FromStr<Err: fmt::Display>>(&self, field: &Text<'_>) -> Result<T, ManifestError> {
        field.text.parse().map_err(|error| self.value(field.at, format!("`{}` {error}", field.field), None))
    }

    /// A field that is a mapping itself.
    pub(super) fn block<'n>(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        known: &Mapping,
    ) -> Result<Option<Fields<'n>>, ManifestError> {
        fields.block(key).map(|node| self.mapping(node, fields.field(key), known)).transpose()
    }

    /// Looks through a mapping's keys: collects unknown ones, refuses unsupported ones.
    pub(super) fn mapping<'n>(
        &mut self,
        node: &'n Node,
        path: String,
        known: &Mapping,
    ) -> Result<Fields<'n>, ManifestError> {
        let Value::Map(entries) = &node.value else { return Err(self.wrong_type(node, &path, "a mapping")) };
        let fields = Fields { at: node.at, path, entries };
        for entry in entries {
            match known.treatment(&entry.key) {
                Some(Treatment::Read | Treatment::Accepted) => {}
                Some(Treatment::Unsupported) => {
                    return Err(ManifestError::Unsupported {
                        place: self.place(entry.at),
                        what: format!("`{}`", fields.field(&entry.key)),
                        hint: match entry.key.as_str() {
                            "inference" => "only script capsules are run: remove it, and export `murmur:capsule/run`",
                            _ => "remove it; what cannot be honoured is refused, not ignored",
                        },
                    });
                }
                None => self.unknown.push(UnknownKey {
                    place: self.place(entry.at),
                    key: fields.field(&entry.key),
                    nearest: known.nearest(&entry.key),
                }),
            }
        }
        Ok(fields)
    }

    pub(super) fn place(&self, at: Position) -> Place {
        Place::new(self.path.to_owned(), at)
    }

    pub(super) fn missing(&self, fields: &Fields<'_>, key: &str, hint: &'static str) -> ManifestError {
        // Where the key stands without a value, that is the better place to point at.
        let at = fields.entry(key).map_or(fields.at, |entry| entry.at);
        ManifestError::Missing { place: self.place(at), field: fields.field(key), hint }
    }

    pub(super) fn value(&self, at: Position, reason: String, hint: Option<String>) -> ManifestError {
        ManifestError::Value { place: self.place(at), reason, hint }
    }

    /// The field `field` is not `expected`.
    pub(super) fn wrong_type(&self, node: &Node, field: &str, expected: &str) -> ManifestError {
        let subject = if field.is_empty() { "the manifest".to_owned() } else { format!("`{field}`") };
        let written = node.written(self.text).map(quoted);
        let (found, hint) = match (&node.value, written) {
            (Value::Text(text), _) => (format!("`{}`", quoted(text)), None),
            // A version such as 1.0 is a number to YAML.
            (Value::Bool(_) | Value::Natural(_) | Value::Number, Some(written)) if expected == "a text" => {
                (format!("`{written}`, {}", node.value.kind()), Some(format!("put it in quotes: \"{written}\"")))
            }
            (Value::Bool(_) | Value::Natural(_) | Value::Number, Some(written)) => (format!("`{written}`"), None),
            (other, _) => (other.kind().to_owned(), None),
        };
        self.value(node.at, format!("{subject} must be {expected}, found {found}"), hint)
    }
}

/// `text`, cut to what a message can hold.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
