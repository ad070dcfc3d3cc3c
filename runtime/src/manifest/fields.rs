//! The fields of a manifest's mappings, taken one by one: each either comes out with its type or is refused with its
//! place. What the fields mean is not known here.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::str::FromStr;

use super::schema::{Mapping, Standing};
use super::unserved::{Asked, Feature};
use super::warning::Warning;
use super::yaml::{self, Entry, Node, Position, Value};
use super::{ManifestError, Place, UnknownKey};
use crate::diagnostic::Code;

/// How many characters of a value a message repeats.
const QUOTED: usize = 60;

/// A mapping whose keys have been looked through.
pub(crate) struct Fields<'n> {
    pub(crate) at: Position,
    /// Its path from the root; empty for the root itself.
    pub(crate) path: String,
    pub(crate) entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// The path of one of its fields.
    pub(crate) fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The field's value, which may be nothing.
    pub(crate) fn value(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The field's value, where a key without one counts as left out.
    ///
    /// That is for lists and mappings, whose entries may all have been commented out. A scalar without its value is a
    /// mistake: `scope:` must not come to mean the whole workdir.
    pub(crate) fn block(&self, key: &str) -> Option<&'n Node> {
        self.value(key).filter(|node| !matches!(node.value, Value::Null))
    }
}

/// A text field.
pub(crate) struct Text<'n> {
    pub(crate) text: &'n str,
    pub(crate) at: Position,
    pub(crate) node: &'n Node,
    /// Its path from the root.
    pub(crate) field: String,
}

/// Reads one file: knows its text, and collects what does not stop the reading.
pub(crate) struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    /// Keys that mean nothing.
    pub(crate) unknown: Vec<UnknownKey>,
    /// Whatever else is to be told.
    pub(crate) warnings: Vec<Warning>,
    /// What a session must be able to honour.
    pub(crate) asked: Vec<Asked>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, text, unknown: Vec::new(), warnings: Vec::new(), asked: Vec::new() }
    }
}

impl Reader<'_> {
    /// The text's tree.
    pub(crate) fn parse(&self) -> Result<Node, ManifestError> {
        yaml::parse(self.text)
            .map_err(|error| ManifestError::Syntax { place: self.place(error.at), reason: error.reason })
    }

    /// The fields of the tree's root.
    pub(crate) fn root<'n>(&self, tree: &'n Node, known: &Mapping) -> Result<Fields<'n>, ManifestError> {
        if matches!(tree.value, Value::Null) {
            // An empty file lacks its name more than it has a wrong shape.
            return Ok(Fields { at: Position::START, path: String::new(), entries: &[] });
        }
        self.mapping(tree, String::new(), known)
    }

    pub(crate) fn limit(&self, fields: &Fields<'_>, key: &str, most: u64) -> Result<Option<NonZeroU64>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let wrong = |expected: &str| Err(self.wrong_type(node, &fields.field(key), expected));
        let Value::Natural(number) = node.value else { return wrong("a whole number greater than zero") };
        match NonZeroU64::new(number) {
            None => wrong("a whole number greater than zero"),
            Some(limit) if limit.get() > most => wrong(&format!("at most {most}")),
            limit => Ok(limit),
        }
    }

    pub(crate) fn small_limit(&self, fields: &Fields<'_>, key: &str) -> Result<Option<NonZeroU32>, ManifestError> {
        let limit = self.limit(fields, key, u32::MAX.into())?;
        Ok(limit.and_then(|limit| NonZeroU32::try_from(limit).ok()))
    }

    /// A text field that must be there.
    pub(crate) fn required<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
        hint: &'static str,
    ) -> Result<Text<'n>, ManifestError> {
        let node = fields.block(key).ok_or_else(|| self.missing(fields, key, hint))?;
        self.text(node, fields.field(key))
    }

    /// A text field that may be left out.
    pub(crate) fn string<'n>(&self, fields: &Fields<'n>, key: &str) -> Result<Option<Text<'n>>, ManifestError> {
        fields.value(key).map(|node| self.text(node, fields.field(key))).transpose()
    }

    pub(crate) fn text<'n>(&self, node: &'n Node, field: String) -> Result<Text<'n>, ManifestError> {
        let Value::Text(text) = &node.value else { return Err(self.wrong_type(node, &field, "a text")) };
        Ok(Text { text, at: node.at, node, field })
    }

    /// A text as a type of its own, whose errors complete "the field …".
    pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(&self, field: &Text<'_>) -> Result<T, ManifestError> {
        field.text.parse().map_err(|error| self.value(field.at, format!("`{}` {error}", field.field), None))
    }

    /// A field that is a mapping itself.
    pub(crate) fn block<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
        known: &Mapping,
    ) -> Result<Option<Fields<'n>>, ManifestError> {
        fields.block(key).map(|node| self.mapping(node, fields.field(key), known)).transpose()
    }

    /// A mapping's fields; refused if one of its keys is one that is refused.
    pub(crate) fn mapping<'n>(
        &self,
        node: &'n Node,
        path: String,
        known: &Mapping,
    ) -> Result<Fields<'n>, ManifestError> {
        let Value::Map(entries) = &node.value else { return Err(self.wrong_type(node, &path, "a mapping")) };
        let fields = Fields { at: node.at, path, entries };
        for entry in entries {
            let Some(key) = known.key(&entry.key) else { continue };
            match key.standing {
                Standing::Refused(instead) => {
                    let reason = format!("`{}` has no place here", fields.field(&entry.key));
                    return Err(self.value(entry.at, reason, Some(instead.to_owned())));
                }
                Standing::Read | Standing::Packed | Standing::Elsewhere | Standing::Later(_) => {}
            }
        }
        Ok(fields)
    }

    /// A field that is a list; each item with its path from the root.
    pub(crate) fn list<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
    ) -> Result<Option<Vec<(&'n Node, String)>>, ManifestError> {
        let Some(node) = fields.block(key) else { return Ok(None) };
        let field = fields.field(key);
        let Value::List(items) = &node.value else { return Err(self.wrong_type(node, &field, "a list")) };
        Ok(Some(items.iter().enumerate().map(|(index, item)| (item, format!("{field}[{index}]"))).collect()))
    }

    /// A field that is a list of texts.
    pub(crate) fn texts<'n>(&self, fields: &Fields<'n>, key: &str) -> Result<Option<Vec<Text<'n>>>, ManifestError> {
        let items = self.list(fields, key)?;
        items.map(|items| items.into_iter().map(|(node, field)| self.text(node, field)).collect()).transpose()
    }

    /// A field that is a list of texts, each as a type of its own whose errors complete "the field …".
    pub(crate) fn parsed_list<T: FromStr<Err: fmt::Display>>(
        &self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Result<Option<Vec<T>>, ManifestError> {
        let texts = self.texts(fields, key)?;
        texts.map(|texts| texts.iter().map(|text| self.parsed(text)).collect()).transpose()
    }

    /// A text field as a type of its own, whose errors complete "the field …".
    pub(crate) fn optional<T: FromStr<Err: fmt::Display>>(
        &self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Result<Option<T>, ManifestError> {
        self.string(fields, key)?.map(|text| self.parsed(&text)).transpose()
    }

    /// A text field that must have something visible in it.
    pub(crate) fn visible(&self, fields: &Fields<'_>, key: &str) -> Result<Option<String>, ManifestError> {
        match self.string(fields, key)? {
            Some(text) if text.text.trim().is_empty() => {
                Err(self.wrong_type(text.node, &text.field, "a text that is not empty"))
            }
            text => Ok(text.map(|text| text.text.to_owned())),
        }
    }

    /// A field that is one of a few words.
    pub(crate) fn choice<T: Copy>(
        &self,
        fields: &Fields<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let meant = |word: &str| words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
        if let Value::Text(word) = &node.value
            && let Some(meaning) = meant(word)
        {
            return Ok(Some(meaning));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let expected = match known[..] {
            [only] => format!("`{only}`"),
            _ => format!("one of {}", known.join(", ")),
        };
        Err(self.wrong_type(node, &fields.field(key), &expected))
    }

    /// A field that is `true` or `false`.
    pub(crate) fn flag(&self, fields: &Fields<'_>, key: &str) -> Result<Option<bool>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        match node.value {
            Value::Bool(value) => Ok(Some(value)),
            Value::Null
            | Value::Natural(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => Err(self.wrong_type(node, &fields.field(key), "true or false")),
        }
    }

    /// A field that is `true` or `false` and must be there: what it grants is never inferred.
    pub(crate) fn required_flag(&self, fields: &Fields<'_>, key: &str) -> Result<bool, ManifestError> {
        let missing = || self.missing(fields, key, "say `true` or `false`: it is never inferred");
        self.flag(fields, key)?.ok_or_else(missing)
    }

    /// A field that is a whole number, 0 included.
    pub(crate) fn natural(&self, fields: &Fields<'_>, key: &str) -> Result<Option<u32>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        match node.value {
            Value::Natural(number) => u32::try_from(number)
                .map(Some)
                .map_err(|_| self.wrong_type(node, &fields.field(key), &format!("at most {}", u32::MAX))),
            Value::Null
            | Value::Bool(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => Err(self.wrong_type(node, &fields.field(key), "a whole number")),
        }
    }

    /// A field that is a number, for which `new` knows the range that `expected` names.
    pub(crate) fn number<T>(
        &self,
        fields: &Fields<'_>,
        key: &str,
        expected: &str,
        new: impl Fn(f64) -> Option<T>,
    ) -> Result<Option<T>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let number = match node.value {
            // Beyond 2^53 the nearest is near enough for what is compared with 0 and 1.
            #[expect(clippy::cast_precision_loss, reason = "only small numbers are within any range")]
            Value::Natural(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            Value::Null | Value::Bool(_) | Value::Negative(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        };
        match number.and_then(new) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong_type(node, &fields.field(key), expected)),
        }
    }

    /// A refusal that has a code of its own.
    pub(crate) fn rule(&self, code: Code, at: Position, reason: String, hint: &str) -> ManifestError {
        ManifestError::Rule { code, place: self.place(at), reason, hint: hint.to_owned() }
    }

    /// A text field, whose errors have a code of their own and complete "the field …".
    pub(crate) fn ruled<T: FromStr<Err: fmt::Display>>(
        &self,
        code: Code,
        text: &Text<'_>,
        hint: &str,
    ) -> Result<T, ManifestError> {
        let refused = |error: T::Err| {
            // What stands before an `@` in a URL may be a password.
            let reason = match text.text.contains('@') {
                true => format!("`{}` {error}", text.field),
                false => format!("`{}`, `{}`, {error}", text.field, quoted(text.text)),
            };
            self.rule(code, text.at, reason, hint)
        };
        text.text.parse().map_err(refused)
    }

    /// Something that a session must be able to honour is asked for.
    pub(crate) fn ask(&mut self, feature: Feature, at: Position, what: impl Into<String>) {
        let place = self.place(at);
        self.asked.push(Asked { feature, place, what: what.into() });
    }

    /// Something is to be told.
    pub(crate) fn warn(&mut self, code: Code, at: Position, text: impl Into<String>, hint: &str) {
        let warning = Warning::new(code, self.place(at), text);
        self.warnings.push(if hint.is_empty() { warning } else { warning.with_hint(hint) });
    }

    /// Everything that is to be told, in the order of the file.
    pub(crate) fn told(&mut self) -> Vec<Warning> {
        let unknown = std::mem::take(&mut self.unknown);
        let mut told: Vec<Warning> = unknown.into_iter().map(Warning::from).collect();
        told.append(&mut self.warnings);
        told.sort_by_key(|warning| (warning.place().line, warning.place().column));
        told
    }

    pub(crate) fn place(&self, at: Position) -> Place {
        Place::new(self.path.to_owned(), at)
    }

    pub(crate) fn missing(&self, fields: &Fields<'_>, key: &str, hint: &'static str) -> ManifestError {
        // Where the key stands without a value, that is the better place to point at.
        let at = fields.entry(key).map_or(fields.at, |entry| entry.at);
        ManifestError::Missing { place: self.place(at), field: fields.field(key), hint }
    }

    pub(crate) fn value(&self, at: Position, reason: String, hint: Option<String>) -> ManifestError {
        ManifestError::Value { place: self.place(at), reason, hint }
    }

    /// The field `field` is not `expected`.
    pub(crate) fn wrong_type(&self, node: &Node, field: &str, expected: &str) -> ManifestError {
        let subject = if field.is_empty() { "the manifest".to_owned() } else { format!("`{field}`") };
        let written = node.written(self.text).map(quoted);
        let (found, hint) = match (&node.value, written) {
            (Value::Text(text), _) => (format!("`{}`", quoted(text)), None),
            // A version such as 1.0 is a number to YAML.
            (Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_), Some(written))
                if expected == "a text" =>
            {
                (format!("`{written}`, {}", node.value.kind()), Some(format!("put it in quotes: \"{written}\"")))
            }
            (Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_), Some(written)) => {
                (format!("`{written}`"), None)
            }
            (other, _) => (other.kind().to_owned(), None),
        };
        self.value(node.at, format!("{subject} must be {expected}, found {found}"), hint)
    }
}

/// `text`, cut to what a message can hold.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
