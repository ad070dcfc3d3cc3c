//! One file of the configuration to its fields.
//!
//! Whatever may be a secret is read by hand: the usual refusal of a wrong value repeats the value.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::{Source, SourceKind, schema, wide_mode};
use crate::diagnostic::Code;
use crate::manifest::fields::{Fields, Reader};
use crate::manifest::file::{self, BYTE_ORDER_MARK};
use crate::manifest::yaml::{Node, Value};
use crate::manifest::{Containment, CredentialName, ManifestError, Warning};
use crate::secret::Secret;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Global,
    Project,
}

/// What one file says; `None` for what it does not.
#[derive(Default)]
pub(super) struct File {
    pub(super) default: Option<String>,
    pub(super) index_url: Option<String>,
    pub(super) sources: Option<Vec<Source>>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) api_key: Option<Secret>,
    pub(super) endpoint: Option<String>,
    pub(super) credentials: Vec<(CredentialName, Secret)>,
    pub(super) containment: Containment,
    pub(super) machine_tokens_per_day: Option<NonZeroU64>,
    pub(super) beta: Option<Vec<String>>,
}

#[derive(Clone, Copy)]
enum SourceType {
    Directory,
    Http,
    GitHub,
    Nexus,
}

/// What the file at `path` says; `None` if there is none. Relative paths in it start from `base`.
pub(super) fn file(
    path: &Path,
    base: &Path,
    scope: Scope,
    warnings: &mut Vec<Warning>,
) -> Result<Option<File>, ConfigError> {
    let as_is = match file::read_as_is(path) {
        Ok(as_is) => as_is,
        Err(ManifestError::Unreadable { cause, .. }) if is_absent(&cause) => return Ok(None),
        Err(error) => return Err(ConfigError::File(error)),
    };
    if scope == Scope::Global {
        warnings.extend(wide_mode(path, as_is.mode));
    }
    let text = as_is.text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&as_is.text);
    let mut reader = Reader::new(path, text);
    let outcome = reader.config(base, scope);
    warnings.append(&mut reader.told());
    outcome.map(Some).map_err(ConfigError::File)
}

/// Where a directory is missing, or a file stands in its place, there is no file either.
fn is_absent(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

impl Reader<'_> {
    fn config(&mut self, base: &Path, scope: Scope) -> Result<File, ManifestError> {
        let tree = self.parse()?;
        if !matches!(tree.value, Value::Map(_) | Value::Null) {
            return Err(self.secret_wrong(&tree, "the configuration", "a mapping"));
        }
        self.warn_of_keys(&tree, "", &schema::ROOT);
        let root = self.root(&tree, &schema::ROOT)?;
        let mut file = File::default();
        if let Some(registry) = self.block(&root, "registry", schema::ROOT.inside("registry"))? {
            file.default = self.visible(&registry, "default")?;
            file.index_url = self.visible(&registry, "index_url")?;
            file.sources = self.sources(&registry, base)?;
        }
        if let Some(inference) = self.block(&root, "inference", schema::ROOT.inside("inference"))? {
            file.provider = self.visible(&inference, "provider")?;
            file.model = self.visible(&inference, "model")?;
            file.endpoint = self.visible(&inference, "endpoint")?;
            file.api_key = self.secret(&inference, "api_key")?;
            self.global_only(&inference, "api_key", scope);
        }
        file.credentials = self.credentials(&root)?;
        self.global_only(&root, "credentials", scope);
        let classes = Containment::ALL.map(|class| (class.as_str(), class));
        file.containment = self.choice(&root, "containment", &classes)?.unwrap_or_default();
        if let Some(spend) = self.block(&root, "spend", schema::ROOT.inside("spend"))? {
            file.machine_tokens_per_day = self.limit(&spend, "machine_tokens_per_day", u64::MAX)?;
        }
        if let Some(beta) = self.block(&root, "beta", schema::ROOT.inside("beta"))? {
            let names = self.texts(&beta, "enabled")?;
            file.beta = names.map(|names| names.into_iter().map(|name| name.text.to_owned()).collect());
        }
        Ok(file)
    }

    fn sources(&self, registry: &Fields<'_>, base: &Path) -> Result<Option<Vec<Source>>, ManifestError> {
        let known = schema::ROOT.inside("registry").inside("sources");
        let Some(items) = self.list(registry, "sources")? else { return Ok(None) };
        let mut sources: Vec<Source> = Vec::new();
        for (item, path) in items {
            let fields = self.mapping(item, path, known)?;
            let name = self.visible(&fields, "name")?;
            let name = name.ok_or_else(|| self.missing(&fields, "name", "add `name:`, by which it is meant"))?;
            if sources.iter().any(|source| source.name == name) {
                let reason = format!("`{}` repeats `{name}`", fields.field("name"));
                return Err(self.value(fields.at, reason, Some("give each source a name of its own".to_owned())));
            }
            let kind = self.source_kind(&fields, base)?;
            sources.push(Source { name, kind, place: self.place(fields.at) });
        }
        Ok(Some(sources))
    }

    fn source_kind(&self, fields: &Fields<'_>, base: &Path) -> Result<SourceKind, ManifestError> {
        const TYPE: &str = "add `type:`, one of directory, http, github, nexus";
        const URL: &str = "write a URL such as `https://artifacts.example.com`";
        let words = [
            ("directory", SourceType::Directory),
            ("http", SourceType::Http),
            ("github", SourceType::GitHub),
            ("nexus", SourceType::Nexus),
        ];
        let kind = self.choice(fields, "type", &words)?.ok_or_else(|| self.missing(fields, "type", TYPE))?;
        let url = self.string(fields, "url")?.map(|url| self.ruled(Code::ManifestValue, &url, URL)).transpose()?;
        let token = self.secret(fields, "token")?;
        Ok(match kind {
            SourceType::Directory => SourceKind::Directory(self.directory(fields, base)?),
            SourceType::Http => {
                SourceKind::Http(url.ok_or_else(|| self.missing(fields, "url", "add `url:`, where the server is"))?)
            }
            SourceType::GitHub => {
                let text = self.required(fields, "repo", "add `repo: owner/name`")?;
                let parts: Vec<&str> = text.text.split('/').collect();
                if parts.len() != 2 || parts.iter().any(|part| part.is_empty()) {
                    return Err(self.wrong_type(text.node, &text.field, "`owner/name`"));
                }
                SourceKind::GitHub { repo: text.text.to_owned(), token }
            }
            SourceType::Nexus => SourceKind::Nexus { url, token },
        })
    }

    fn directory(&self, fields: &Fields<'_>, base: &Path) -> Result<PathBuf, ManifestError> {
        let text = self.required(fields, "path", "add `path:`, the directory")?;
        if text.text.is_empty() || text.text.contains('\0') || text.text == "~" || text.text.starts_with("~/") {
            let reason = format!("`{}` is no path, absolute or relative to {}", text.field, base.display());
            return Err(self.value(text.at, reason, Some("write the whole path; `~` is not replaced".to_owned())));
        }
        Ok(base.join(text.text))
    }

    fn credentials(&self, root: &Fields<'_>) -> Result<Vec<(CredentialName, Secret)>, ManifestError> {
        let Some(node) = root.block("credentials") else { return Ok(Vec::new()) };
        let Value::Map(entries) = &node.value else {
            return Err(self.secret_wrong(node, "`credentials`", "a mapping of names to keys"));
        };
        let fields = Fields { at: node.at, path: "credentials".to_owned(), entries };
        let mut credentials = Vec::new();
        for entry in entries {
            let name = entry.key.parse().map_err(|error| {
                // What stands in a name's place may be a key.
                self.value(entry.at, format!("a name in `credentials` {error}"), None)
            })?;
            if let Some(secret) = self.secret(&fields, &entry.key)? {
                credentials.push((name, secret));
            }
        }
        Ok(credentials)
    }

    /// A text of characters that a request's header can hold.
    fn secret(&self, fields: &Fields<'_>, key: &str) -> Result<Option<Secret>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let field = format!("`{}`", fields.field(key));
        let Value::Text(text) = &node.value else { return Err(self.secret_wrong(node, &field, "a text")) };
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            let reason = format!("{field} is empty, or holds characters that a request's header cannot");
            return Err(self.value(node.at, reason, None));
        }
        Ok(Some(Secret::new(text.clone())))
    }

    /// A wrong type, without what was found.
    fn secret_wrong(&self, node: &Node, subject: &str, expected: &str) -> ManifestError {
        let hint = match node.value {
            Value::Natural(_) | Value::Negative(_) | Value::Real(_) | Value::Bool(_) if expected == "a text" => {
                Some("put it in quotes".to_owned())
            }
            Value::Null
            | Value::Bool(_)
            | Value::Natural(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => None,
        };
        self.value(node.at, format!("{subject} must be {expected}, found {}", node.value.kind()), hint)
    }

    /// Tells of a key that has an effect in the global file alone.
    fn global_only(&mut self, fields: &Fields<'_>, key: &str, scope: Scope) {
        if let (Scope::Project, Some(entry)) = (scope, fields.entry(key)) {
            let text = format!("`{}` has no effect in a project's configuration", fields.field(key));
            let hint = "move it to the global one, and out of the project: `mur config set -g` writes there";
            self.warn(Code::UnknownManifestKey, entry.at, text, hint);
        }
    }
}
