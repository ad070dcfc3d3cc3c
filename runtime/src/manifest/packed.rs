//! An artifact's own manifest: the `murmur.yaml` at the root of its archive.
//!
//! The same file may also be a capsule's manifest, so the keys of one are known here where the artifact is a capsule.
//! Every other key that nobody reads is told, with the nearest known one.
//!
//! | file | what lives there |
//! |---|---|
//! | `credentials` | values that look like credentials written down as they are |
//! | `error` | why an artifact's manifest cannot be used |
//! | `hook` | when a hook is called, and what it may do then |
//! | `path` | the paths of an archive |
//! | `schema` | a tool's input schema, as JSON |
//! | `upstream` | how a request to a provider carries its key |

mod credentials;
mod error;
mod hook;
mod path;
mod schema;
mod upstream;

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::hosts::AuthHeader;

pub use error::PackedError;
pub use hook::{Binding, CommitPolicy, ExecutionMode, Hook};
pub use path::{EntryPath, EntryPathError};
pub use upstream::AuthProblem;

use super::fields::{Fields, Reader, Text};
use super::yaml::{Node, Position, Value};
use super::{ArtifactName, ManifestError, Place, UnknownKey, Version};

/// What every artifact's manifest may hold.
const KEYS: [&str; 10] = [
    "name",
    "version",
    "runtime",
    "implementation",
    "execution",
    "requires_files",
    "description",
    "tags",
    "input_schema",
    "upstream_auth",
];
/// What a hook's may hold besides.
const HOOK_KEYS: [&str; 3] = ["binding", "execution_mode", "commit_policy"];
/// What a capsule's may hold besides: what `mur run` reads or refuses.
const CAPSULE_KEYS: [&str; 14] = [
    "artifacts",
    "capabilities",
    "inference",
    "context",
    "observability",
    "trace",
    "network",
    "lifecycle",
    "exports",
    "control",
    "deploy",
    "mur_version",
    "config",
    "registry",
];
/// The block that `upstream_auth` replaced.
const RETIRED: &str = "inference_auth";

/// The text of a skill, by its name in the archive.
pub(crate) const SKILL_FILE: &str = "skill.md";

/// An artifact's own manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// Its name.
    pub name: ArtifactName,
    /// Its version.
    pub version: Version,
    /// What it is for.
    pub kind: Kind,
    /// What its payload is.
    pub execution: Execution,
    /// Everything in its archive besides `murmur.yaml`, in the manifest's order.
    pub requires_files: Vec<EntryPath>,
    /// Where each of them is named. Empty where the files follow from the kind.
    pub(crate) file_places: Vec<Place>,
    /// What a model is told of it.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The JSON Schema of a tool's input, an object.
    pub input_schema: Map<String, Json>,
    /// How requests to its provider carry the key. A block that cannot be used matters only to who uses it.
    pub upstream_auth: Option<Result<AuthHeader, AuthProblem>>,
    /// When it is called, for a hook.
    pub hook: Option<Hook>,
}

/// What an artifact is for: its `runtime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Called by a model or a capsule.
    Tool,
    /// Speaks with a model's provider.
    Driver,
    /// Called at moments of a session.
    Hook,
    /// A text for a model.
    Skill,
    /// A capsule.
    Capsule,
    /// A word that this version gives no meaning to.
    Other(String),
}

impl Kind {
    fn of(word: &str) -> Self {
        match word {
            "tool" => Self::Tool,
            "driver" => Self::Driver,
            "hook" => Self::Hook,
            "skill" => Self::Skill,
            "capsule" => Self::Capsule,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The word in manifests and in metadata.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tool => "tool",
            Self::Driver => "driver",
            Self::Hook => "hook",
            Self::Skill => "skill",
            Self::Capsule => "capsule",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What an artifact's payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// A component.
    Wasm,
    /// An executable file of one platform.
    Native,
    /// Text.
    Static,
}

impl Execution {
    /// Every kind of payload.
    pub const ALL: [Self; 3] = [Self::Wasm, Self::Native, Self::Static];

    /// The word in manifests and in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Native => "native",
            Self::Static => "static",
        }
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Packed {
    /// Validates `bytes` as the manifest at `path`, which is not opened and only named in messages. A byte order mark
    /// is passed over.
    ///
    /// # Errors
    /// The first reason why it cannot be used. What it names is not looked at.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<(Self, Vec<UnknownKey>), PackedError> {
        let text = text_of(path, bytes)?;
        let mut reader = PackedReader { reader: Reader::new(path, text) };
        let packed = reader.manifest()?;
        let mut unknown = reader.reader.unknown;
        unknown.sort_by_key(|key| (key.place.line, key.place.column));
        Ok((packed, unknown))
    }

    /// The places in a manifest where a credential seems to be written down as it is, each with its field. Nothing of
    /// the values comes out. A text that is no manifest holds none.
    pub fn literal_credentials(path: &Path, bytes: &[u8]) -> Vec<(Place, String)> {
        text_of(path, bytes).map(|text| credentials::find(&Reader::new(path, text))).unwrap_or_default()
    }
}

fn text_of<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, ManifestError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.len() as u64 > super::MANIFEST_MAX_BYTES {
        return Err(ManifestError::TooLarge { path: path.to_owned() });
    }
    std::str::from_utf8(bytes).map_err(|error| ManifestError::not_text(path, bytes, error))
}

struct PackedReader<'t> {
    reader: Reader<'t>,
}

impl PackedReader<'_> {
    fn manifest(&mut self) -> Result<Packed, PackedError> {
        let tree = self.reader.parse()?;
        let root = match &tree.value {
            Value::Null => Fields { at: Position::START, path: String::new(), entries: &[] },
            Value::Map(entries) => Fields { at: tree.at, path: String::new(), entries },
            Value::Bool(_)
            | Value::Natural(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::List(_) => {
                return Err(self.reader.wrong_type(&tree, "", "a mapping").into());
            }
        };
        if let Some(entry) = root.entry(RETIRED) {
            return Err(PackedError::Retired { place: self.reader.place(entry.at) });
        }
        let name = self.reader.required(&root, "name", "add `name:` with a name of a-z, 0-9 and `-`")?;
        let name =
            name.text.parse().map_err(|reason| PackedError::Name { place: self.reader.place(name.at), reason })?;
        let version = self.reader.required(&root, "version", "add `version: 0.1.0`")?;
        let version = self.reader.parsed(&version)?;
        let hint = "add `runtime:` with what it is: tool, driver, hook, skill or capsule";
        let kind = Kind::of(self.reader.required(&root, "runtime", hint)?.text);
        let execution = self.execution(&root, &kind)?;
        let (requires_files, file_places) = self.requires_files(&root, &kind)?;
        let hook = match kind {
            Kind::Hook => Some(hook::read(&self.reader, &root)?),
            Kind::Tool | Kind::Driver | Kind::Skill | Kind::Capsule | Kind::Other(_) => None,
        };
        let packed = Packed {
            name,
            version,
            execution,
            requires_files,
            file_places,
            description: self.reader.string(&root, "description")?.map(|text| text.text.trim().to_owned()),
            tags: self.tags(&root)?,
            input_schema: schema::read(&self.reader, &root)?,
            upstream_auth: root.block("upstream_auth").map(|node| upstream::read(&self.reader, node)),
            hook,
            kind,
        };
        self.unknown_keys(&root, &packed.kind);
        Ok(packed)
    }

    fn execution(&self, root: &Fields<'_>, kind: &Kind) -> Result<Execution, ManifestError> {
        let native = match self.reader.string(root, "implementation")? {
            None => false,
            Some(Text { text: "wasm", .. }) => false,
            Some(Text { text: "native", .. }) => true,
            Some(Text { node, field, .. }) => return Err(self.reader.wrong_type(node, &field, "wasm or native")),
        };
        if let Some(Text { text: word, node, field, .. }) = self.reader.string(root, "execution")? {
            let named = Execution::ALL.into_iter().find(|execution| word.eq_ignore_ascii_case(execution.as_str()));
            return named.ok_or_else(|| self.reader.wrong_type(node, &field, "one of wasm, native, static"));
        }
        Ok(match kind {
            Kind::Skill => Execution::Static,
            Kind::Tool if native => Execution::Native,
            Kind::Tool | Kind::Driver | Kind::Hook | Kind::Capsule | Kind::Other(_) => Execution::Wasm,
        })
    }

    fn requires_files(&self, root: &Fields<'_>, kind: &Kind) -> Result<(Vec<EntryPath>, Vec<Place>), PackedError> {
        let Some(node) = root.block("requires_files") else {
            return Ok(match kind {
                Kind::Skill => (vec![EntryPath::skill()], Vec::new()),
                Kind::Tool | Kind::Driver | Kind::Hook | Kind::Capsule | Kind::Other(_) => Default::default(),
            });
        };
        let mut files: Vec<EntryPath> = Vec::new();
        let mut places = Vec::new();
        for Text { text, at, .. } in self.texts(node, "requires_files")? {
            let place = self.reader.place(at);
            let path = EntryPath::written(text).map_err(|reason| PackedError::RequiredPath {
                place: place.clone(),
                path: text.to_owned(),
                reason,
            })?;
            if !files.contains(&path) {
                files.push(path);
                places.push(place);
            }
        }
        Ok((files, places))
    }

    fn tags(&self, root: &Fields<'_>) -> Result<Vec<String>, ManifestError> {
        let Some(node) = root.block("tags") else { return Ok(Vec::new()) };
        Ok(self.texts(node, "tags")?.into_iter().map(|tag| tag.text.to_owned()).collect())
    }

    fn texts<'n>(&self, node: &'n Node, field: &str) -> Result<Vec<Text<'n>>, ManifestError> {
        let Value::List(items) = &node.value else { return Err(self.reader.wrong_type(node, field, "a list")) };
        items.iter().enumerate().map(|(index, item)| self.reader.text(item, format!("{field}[{index}]"))).collect()
    }

    fn unknown_keys(&mut self, root: &Fields<'_>, kind: &Kind) {
        let more: &[&'static str] = match kind {
            Kind::Hook => &HOOK_KEYS,
            Kind::Capsule => &CAPSULE_KEYS,
            Kind::Tool | Kind::Driver | Kind::Skill | Kind::Other(_) => &[],
        };
        let known: Vec<&'static str> = KEYS.iter().chain(more).copied().collect();
        for entry in root.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let place = self.reader.place(entry.at);
            self.reader.unknown.push(UnknownKey {
                place,
                key: entry.key.clone(),
                nearest: nearest(&entry.key, &known),
            });
        }
    }
}

/// The known key that was probably meant: one slip of the fingers away, or one for every three characters.
fn nearest(unknown: &str, known: &[&'static str]) -> Option<&'static str> {
    let length = unknown.chars().count();
    let allowed = (length / 3).max(1);
    let near = known.iter().copied().filter(|name| name.len().abs_diff(length) <= allowed);
    near.map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
