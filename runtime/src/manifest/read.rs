//! The tree of a manifest's text to a [`Manifest`]: types, ranges and what must not occur together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::fields::{Fields, Reader, Text};
use super::schema;
use super::yaml::{Position, Value};
use super::{
    Artifact, ArtifactName, Capabilities, CapsuleName, Containment, Limits, Manifest, ManifestError, Reference, Source,
    UnknownKey,
};

pub(super) fn manifest(path: &Path, text: &str) -> Result<(Manifest, Vec<UnknownKey>), ManifestError> {
    let mut reader = Reader::new(path, text);
    let tree = reader.parse()?;
    let root = reader.root(&tree, &schema::ROOT)?;

    let name = reader.required(&root, "name", "add `name:` with a name of a-z, 0-9 and `-`")?;
    let name: CapsuleName = reader.parsed(&name)?;
    let version = reader.required(&root, "version", "add `version: 0.1.0`")?;
    let version = reader.parsed(&version)?;
    let artifacts = reader.artifacts(&root)?;
    if let Some(index) = artifacts.iter().position(|artifact| artifact.name.as_str() == name.as_str()) {
        // What guests do and print is told by their names.
        return Err(ManifestError::Value {
            place: artifacts[index].place.clone(),
            reason: format!("`artifacts[{index}].name` is the capsule's own name, `{name}`"),
            hint: Some("give one of them another name".to_owned()),
        });
    }
    let capabilities = reader.capabilities(&root)?;

    let mut unknown = reader.unknown;
    unknown.sort_by_key(|key| (key.place.line, key.place.column));
    Ok((Manifest { name, version, artifacts, capabilities, path: path.to_owned() }, unknown))
}

impl Reader<'_> {
    fn artifacts(&mut self, root: &Fields<'_>) -> Result<Vec<Artifact>, ManifestError> {
        let Some(node) = root.block("artifacts") else { return Ok(Vec::new()) };
        let Value::List(items) = &node.value else { return Err(self.wrong_type(node, "artifacts", "a list")) };
        let mut lines: HashMap<ArtifactName, u64> = HashMap::new();
        let mut artifacts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let fields = self.mapping(item, format!("artifacts[{index}]"), &schema::ARTIFACT)?;
            let artifact = self.artifact(fields)?;
            if let Some(line) = lines.insert(artifact.name.clone(), artifact.place.line) {
                return Err(ManifestError::Value {
                    place: artifact.place,
                    reason: format!("`artifacts[{index}].name` repeats `{}` of line {line}", artifact.name),
                    hint: Some("give each artifact a name of its own".to_owned()),
                });
            }
            artifacts.push(artifact);
        }
        Ok(artifacts)
    }

    fn artifact(&mut self, fields: Fields<'_>) -> Result<Artifact, ManifestError> {
        let name = self.required(&fields, "name", "add `name:`, by which the capsule calls it")?;
        let (at, name) = (name.at, self.parsed::<ArtifactName>(&name)?);
        if schema::RESERVED_TOOLS.contains(&name.as_str()) {
            return Err(ManifestError::ReservedName { place: self.place(at), name: name.to_string() });
        }
        self.role(&fields)?;
        let version = self.string(&fields, "version")?.map(|version| self.parsed(&version)).transpose()?;
        let reference = match (self.source(&fields)?, version) {
            (Some((path, at)), _) => {
                Reference::Local(Source { path, place: self.place(at), field: fields.field("source") })
            }
            (None, Some(version)) => Reference::Installed(version),
            (None, None) => {
                let hint = "add `version:`, the one that is installed, or `source:`, the path of its component";
                return Err(self.missing(&fields, "version", hint));
            }
        };
        Ok(Artifact { name, reference, place: self.place(at) })
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
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
