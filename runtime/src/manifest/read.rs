//! The tree of a manifest's text to a [`Manifest`]: types, ranges and what must not occur together.

use std::collections::HashMap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::schema::{self, Mapping, Treatment};
use super::yaml::{self, Entry, Node, Position, Value};
use super::{
    Artifact, ArtifactName, Capabilities, CapsuleName, Containment, Limits, Manifest, ManifestError, Place, UnknownKey,
    Version,
};

/// How many characters of a value a message repeats.
const QUOTED: usize = 60;

pub(super) fn manifest(path: &Path, text: &str) -> Result<(Manifest, Vec<UnknownKey>), ManifestError> {
    let mut reader = Reader { path, text, unknown: Vec::new() };
    let root = yaml::parse(text)
        .map_err(|error| ManifestError::Syntax { place: reader.place(error.at), reason: error.reason })?;
    let root = if matches!(root.value, Value::Null) {
        // An empty file lacks its name more than it has a wrong shape.
        Fields { at: Position::START, path: String::new(), entries: &[] }
    } else {
        reader.mapping(&root, String::new(), &schema::ROOT)?
    };

    let name = reader.required(&root, "name", "add `name:` with a name of a-z, 0-9 and `-`")?;
    let name: CapsuleName = reader.parsed(&name)?;
    let version = reader.required(&root, "version", "add `version: 0.1.0`")?;
    let version = reader.parsed(&version)?;
    let artifacts = reader.artifacts(&root)?;
    if let Some(namesake) = artifacts.iter().find(|artifact| artifact.name.as_str() == name.as_str()) {
        // What guests do and print is told by their names.
        let reason = format!("`{}.name` is the capsule's own name, `{name}`", namesake.path);
        return Err(reader.value(namesake.at, reason, Some("give one of them another name".to_owned())));
    }
    let capabilities = reader.capabilities(&root)?;

    // Last, so that an error in the manifest itself is told before what is missing around it.
    let artifacts = reader.installed(artifacts)?;
    let mut unknown = reader.unknown;
    unknown.sort_by_key(|key| (key.place.line, key.place.column));
    Ok((Manifest { name, version, artifacts, capabilities, path: path.to_owned() }, unknown))
}

/// An artifact as declared; one without a source would have to be installed.
struct Declared {
    name: ArtifactName,
    version: Option<Version>,
    source: Option<(PathBuf, Position)>,
    at: Position,
    /// Its path from the root, for example `artifacts[0]`.
    path: String,
}

/// A mapping whose keys have been looked through.
struct Fields<'n> {
    at: Position,
    /// Its path from the root; empty for the root itself.
    path: String,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// The path of one of its fields.
    fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The field's value, which may be nothing.
    fn value(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The field's value, where a key without one counts as left out.
    ///
    /// That is for lists and mappings, whose entries may all have been commented out. A scalar without its value is a
    /// mistake: `scope:` must not come to mean the whole workdir.
    fn block(&self, key: &str) -> Option<&'n Node> {
        self.value(key).filter(|node| !matches!(node.value, Value::Null))
    }
}

/// A text field.
struct Text<'n> {
    text: &'n str,
    at: Position,
    node: &'n Node,
    /// Its path from the root.
    field: String,
}

struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    unknown: Vec<UnknownKey>,
}

impl Reader<'_> {
    fn artifacts(&mut self, root: &Fields<'_>) -> Result<Vec<Declared>, ManifestError> {
        let Some(node) = root.block("artifacts") else { return Ok(Vec::new()) };
        let Value::List(items) = &node.value else { return Err(self.wrong_type(node, "artifacts", "a list")) };
        let mut lines: HashMap<ArtifactName, u64> = HashMap::new();
        let mut artifacts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let fields = self.mapping(item, format!("artifacts[{index}]"), &schema::ARTIFACT)?;
            let artifact = self.artifact(fields)?;
            if let Some(line) = lines.insert(artifact.name.clone(), artifact.at.line) {
                let reason = format!("`{}.name` repeats `{}` of line {line}", artifact.path, artifact.name);
                return Err(self.value(artifact.at, reason, Some("give each artifact a name of its own".to_owned())));
            }
            artifacts.push(artifact);
        }
        Ok(artifacts)
    }

    fn artifact(&mut self, fields: Fields<'_>) -> Result<Declared, ManifestError> {
        let name = self.required(&fields, "name", "add `name:`, by which the capsule calls it")?;
        let (at, name) = (name.at, self.parsed::<ArtifactName>(&name)?);
        if schema::RESERVED_TOOLS.contains(&name.as_str()) {
            return Err(ManifestError::ReservedName { place: self.place(at), name: name.to_string() });
        }
        self.role(&fields)?;
        let version = self.string(&fields, "version")?.map(|version| self.parsed(&version)).transpose()?;
        let source = self.source(&fields)?;
        if version.is_none() && source.is_none() {
            return Err(self.missing(&fields, "version", "add `source:`, the path of its component, or `version:`"));
        }
        Ok(Declared { name, version, source, at, path: fields.path })
    }

    /// Refuses every role but that of a tool.
    fn role(&self, fields: &Fields<'_>) -> Result<(), ManifestError> {
        let Some(Text { text: role, at, node, field }) = self.string(fields, "runtime")? else { return Ok(()) };
        if role == "tool" {
            Ok(())
        } else if schema::ROLES.contains(&role) {
            Err(ManifestError::Unsupported {
                place: self.place(at),
                what: format!("`{field}: {role}`"),
                hint: "remove the artifact; only tools are run",
            })
        } else if matches!(role, "wasm" | "native") {
            let reason = format!("`{field}` is the artifact's role, and `{role}` is a format");
            Err(self.value(at, reason, Some("leave `runtime` out for a tool".to_owned())))
        } else {
            Err(self.wrong_type(node, &field, &format!("one of {}", schema::ROLES.join(", "))))
        }
    }

    fn source(&self, fields: &Fields<'_>) -> Result<Option<(PathBuf, Position)>, ManifestError> {
        let source = match self.string(fields, "source")? {
            Some(Text { text, at, field, .. }) if text.is_empty() || text.contains('\0') => {
                let hint = "write the path of the artifact's component".to_owned();
                return Err(self.value(at, format!("`{field}` is no path"), Some(hint)));
            }
            Some(Text { text, at, .. }) => Some((PathBuf::from(text), at)),
            None => None,
        };
        let Some(node) = fields.value("local_source") else { return Ok(source) };
        let field = fields.field("local_source");
        match (&node.value, &source) {
            (Value::Bool(true), Some(_)) | (Value::Bool(false), None) => Ok(source),
            (Value::Bool(true), None) => {
                let reason = format!("`{field}` is true, and there is no `source`");
                Err(self.value(node.at, reason, Some("add `source:`, the path of the artifact's component".to_owned())))
            }
            (Value::Bool(false), Some(_)) => {
                let reason = format!("`{field}` is false, and there is a `source`");
                Err(self.value(node.at, reason, Some("remove one of the two".to_owned())))
            }
            _ => Err(self.wrong_type(node, &field, "true or false")),
        }
    }

    /// Turns declared artifacts into ones that can be used; those without a source cannot.
    fn installed(&self, declared: Vec<Declared>) -> Result<Vec<Artifact>, ManifestError> {
        let mut artifacts = Vec::with_capacity(declared.len());
        let mut absent: Vec<String> = Vec::new();
        let mut first_absent = None;
        for Declared { name, version, source, at, path } in declared {
            if let Some((source, source_at)) = source {
                let field = format!("{path}.source");
                artifacts.push(Artifact { name, version, source, place: self.place(source_at), field });
            } else {
                absent.push(version.map_or_else(|| name.to_string(), |version| format!("{name}@{version}")));
                first_absent.get_or_insert(at);
            }
        }
        match first_absent {
            None => Ok(artifacts),
            Some(at) => Err(ManifestError::NotInstalled { place: self.place(at), artifacts: absent }),
        }
    }

    fn capabilities(&mut self, root: &Fields<'_>) -> Result<Capabilities, ManifestError> {
        let mut capabilities = Capabilities::default();
        let Some(fields) = self.block(root, "capabilities", &schema::CAPABILITIES)? else { return Ok(capabilities) };
        if let Some(filesystem) = self.block(&fields, "filesystem", &schema::FILESYSTEM)?
            && let Some(Text { text, at, .. }) = self.string(&filesystem, "scope")?
        {
            capabilities.scope =
                text.parse().map_err(|reason| ManifestError::Scope { place: self.place(at), reason })?;
        }
        if let Some(limits) = self.block(&fields, "limits", &schema::LIMITS)? {
            capabilities.limits = self.limits(&limits)?;
        }
        if let Some(Text { text: word, at, node, field }) = self.string(&fields, "containment")? {
            let Some(declared) = Containment::ALL.into_iter().find(|class| class.as_str() == word) else {
                let expected = format!("one of {}", Containment::ALL.map(Containment::as_str).join(", "));
                return Err(self.wrong_type(node, &field, &expected));
            };
            match declared {
                Containment::Advisory => capabilities.containment = declared,
                Containment::Scoped | Containment::Sealed => {
                    let place = self.place(at);
                    return Err(ManifestError::Containment { place, declared: declared.as_str() });
                }
            }
        }
        Ok(capabilities)
    }

    fn limits(&self, fields: &Fields<'_>) -> Result<Limits, ManifestError> {
        let default = Limits::default();
        Ok(Limits {
            memory_bytes: self.limit(fields, "memory_bytes", u64::MAX)?.unwrap_or(default.memory_bytes),
            table_elements: self.small_limit(fields, "table_elements")?.unwrap_or(default.table_elements),
            instances: self.small_limit(fields, "instances")?.unwrap_or(default.instances),
            deadline_seconds: self.small_limit(fields, "deadline_seconds")?.unwrap_or(default.deadline_seconds),
        })
    }

    fn limit(&self, fields: &Fields<'_>, key: &str, most: u64) -> Result<Option<NonZeroU64>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let wrong = |expected: &str| Err(self.wrong_type(node, &fields.field(key), expected));
        let Value::Natural(number) = node.value else { return wrong("a whole number greater than zero") };
        match NonZeroU64::new(number) {
            None => wrong("a whole number greater than zero"),
            Some(limit) if limit.get() > most => wrong(&format!("at most {most}")),
            limit => Ok(limit),
        }
    }

    fn small_limit(&self, fields: &Fields<'_>, key: &str) -> Result<Option<NonZeroU32>, ManifestError> {
        let limit = self.limit(fields, key, u32::MAX.into())?;
        Ok(limit.and_then(|limit| NonZeroU32::try_from(limit).ok()))
    }

    /// A text field that must be there.
    fn required<'n>(&self, fields: &Fields<'n>, key: &str, hint: &'static str) -> Result<Text<'n>, ManifestError> {
        let node = fields.block(key).ok_or_else(|| self.missing(fields, key, hint))?;
        self.text(node, fields.field(key))
    }

    /// A text field that may be left out.
    fn string<'n>(&self, fields: &Fields<'n>, key: &str) -> Result<Option<Text<'n>>, ManifestError> {
        fields.value(key).map(|node| self.text(node, fields.field(key))).transpose()
    }

    fn text<'n>(&self, node: &'n Node, field: String) -> Result<Text<'n>, ManifestError> {
        let Value::Text(text) = &node.value else { return Err(self.wrong_type(node, &field, "a text")) };
        Ok(Text { text, at: node.at, node, field })
    }

    /// A text as a type of its own, whose errors complete "the field …".
    fn parsed<T: FromStr<Err: fmt::Display>>(&self, field: &Text<'_>) -> Result<T, ManifestError> {
        field.text.parse().map_err(|error| self.value(field.at, format!("`{}` {error}", field.field), None))
    }

    /// A field that is a mapping itself.
    fn block<'n>(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        known: &Mapping,
    ) -> Result<Option<Fields<'n>>, ManifestError> {
        fields.block(key).map(|node| self.mapping(node, fields.field(key), known)).transpose()
    }

    /// Looks through a mapping's keys: collects unknown ones, refuses unsupported ones.
    fn mapping<'n>(&mut self, node: &'n Node, path: String, known: &Mapping) -> Result<Fields<'n>, ManifestError> {
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

    fn place(&self, at: Position) -> Place {
        Place::new(self.path.to_owned(), at)
    }

    fn missing(&self, fields: &Fields<'_>, key: &str, hint: &'static str) -> ManifestError {
        // Where the key stands without a value, that is the better place to point at.
        let at = fields.entry(key).map_or(fields.at, |entry| entry.at);
        ManifestError::Missing { place: self.place(at), field: fields.field(key), hint }
    }

    fn value(&self, at: Position, reason: String, hint: Option<String>) -> ManifestError {
        ManifestError::Value { place: self.place(at), reason, hint }
    }

    /// The field `field` is not `expected`.
    fn wrong_type(&self, node: &Node, field: &str, expected: &str) -> ManifestError {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
