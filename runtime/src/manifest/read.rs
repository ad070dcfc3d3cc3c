//! The tree of a manifest's text to a [`Manifest`]: types, ranges and what must not occur together.
//!
//! | file | what lives there |
//! |---|---|
//! | `artifacts` | `artifacts[]` |
//! | `capabilities` | the capsule's `capabilities` |
//! | `grants` | an artifact's `capabilities` |
//! | `shell` | `capabilities.shell` |
//! | `inference` | `inference` |
//! | `agent` | the other blocks of an agent |

mod agent;
mod artifacts;
mod capabilities;
mod grants;
mod inference;
mod shell;

use std::path::{Path, PathBuf};

use super::capabilities::Placed;
use super::fields::{Fields, Reader, Text};
use super::grants::{Outside, resolve};
use super::unserved::Feature;
use super::yaml::{Node, Value};
use super::{Artifact, Capabilities, CapsuleName, Manifest, ManifestError, Reading, Role, Transport, schema};
use crate::diagnostic::Code;
use crate::hosts::HostRule;

pub(super) fn manifest(path: &Path, text: &str) -> Reading {
    let mut reader = Reader::new(path, text);
    let outcome = reader.manifest(path);
    Reading { warnings: reader.told(), outcome }
}

impl Reader<'_> {
    fn manifest(&mut self, path: &Path) -> Result<Manifest, ManifestError> {
        let tree = self.parse()?;
        self.warn_of_keys(&tree, "", &schema::ROOT);
        let root = self.root(&tree, &schema::ROOT)?;

        let name = self.required(&root, "name", "add `name:` with a name of a-z, 0-9 and `-`")?;
        let name: CapsuleName = self.parsed(&name)?;
        let version = self.required(&root, "version", "add `version: 0.1.0`")?;
        let version = self.parsed(&version)?;
        let artifacts = self.artifacts(&root, &name)?;
        let lifecycle = self.lifecycle(&root)?;
        let (capabilities, hosts) = self.capabilities(&root, &lifecycle)?;
        let inference = self.inference(&root, &artifacts)?;
        let driver = inference.as_ref().and_then(|inference| match &inference.transport {
            Transport::Http { driver, .. } => Some(driver),
            Transport::Process { .. } => None,
        });
        self.gateways(&artifacts, driver)?;
        let manifest = Manifest {
            context: self.context(&root)?,
            observability: self.observability(&root)?,
            trace: self.trace(&root)?,
            network: self.network(&root)?,
            exports: self.exports(&root, &lifecycle)?,
            registry: self.registry(&root)?,
            mur_version: self.visible(&root, "mur_version")?,
            name,
            version,
            artifacts,
            capabilities,
            inference,
            lifecycle,
            path: path.to_owned(),
            asked: Vec::new(),
        };
        self.warn_of_grants(&manifest.artifacts, &manifest.capabilities);
        self.warn_of_gateway_hosts(&manifest.artifacts, &hosts);
        let mut asked = std::mem::take(&mut self.asked);
        asked.sort_by_key(|asked| (asked.place.line, asked.place.column));
        Ok(Manifest { asked, ..manifest })
    }

    /// What artifacts name and do not get.
    fn warn_of_grants(&mut self, artifacts: &[Artifact], ceiling: &Capabilities) {
        for artifact in artifacts {
            for Outside { place, entry, left } in resolve(artifact, ceiling).1 {
                let name = &artifact.name;
                let outcome = match &left[..] {
                    [] => "it is not granted".to_owned(),
                    some => format!("only {} is granted", some.join(" and ")),
                };
                let text =
                    format!("`{name}` names `{entry}`, which the capsule's own `capabilities` do not hold; {outcome}");
                let warning = super::Warning::new(Code::OutsideCeiling, place, text);
                self.warnings.push(warning.with_hint("add it to the capsule's `capabilities`, or remove it here"));
            }
        }
    }

    /// Hosts of gateways that guests may also reach by themselves.
    fn warn_of_gateway_hosts(&mut self, artifacts: &[Artifact], hosts: &[Placed<HostRule>]) {
        for artifact in artifacts {
            let Some(gateway) = &artifact.gateway else { continue };
            let own = artifact.capabilities.network.iter().flatten();
            for rule in hosts.iter().chain(own).filter(|rule| rule.value.host == gateway.endpoint.host) {
                let text = format!(
                    "`{}` is where the gateway of `{}` leads; whoever may reach it directly needs no gateway, and what is sent \
                     is not metered",
                    rule.value, artifact.name
                );
                let warning = super::Warning::new(Code::GatewayHostAllowed, rule.place.clone(), text);
                self.warnings.push(warning.with_hint("remove it: the gateway works without it"));
            }
        }
    }

    /// A path that may be relative to the manifest's directory.
    fn path(&self, fields: &Fields<'_>, key: &str) -> Result<Option<PathBuf>, ManifestError> {
        match self.string(fields, key)? {
            Some(Text { text, at, field, .. }) if text.is_empty() || text.contains('\0') => {
                Err(self.value(at, format!("`{field}` is no path"), Some("write the path of a file".to_owned())))
            }
            text => Ok(text.map(|text| PathBuf::from(text.text))),
        }
    }

    /// The entries of a list of hosts.
    fn hosts(&self, fields: &Fields<'_>, key: &str) -> Result<Option<Vec<Placed<HostRule>>>, ManifestError> {
        const HINT: &str = "write `host`, `host:port`, `https://host` or `https://host:port`";
        let Some(texts) = self.texts(fields, key)? else { return Ok(None) };
        let rule = |text: &Text<'_>| {
            Ok(Placed { value: self.ruled(Code::NetworkRule, text, HINT)?, place: self.place(text.at) })
        };
        texts.iter().map(rule).collect::<Result<_, _>>().map(Some)
    }

    /// A mapping that says which role's artifacts a block does not belong to.
    fn misplaced(&self, fields: &Fields<'_>, key: &str, instead: &str) -> ManifestError {
        let at = fields.entry(key).map_or(fields.at, |entry| entry.at);
        self.value(at, format!("`{}` has no place here", fields.field(key)), Some(instead.to_owned()))
    }

    /// One of an agent's blocks; a session that cannot honour it is refused.
    fn agent_block<'n>(
        &mut self,
        root: &Fields<'n>,
        key: &str,
        known: &'static schema::Mapping,
    ) -> Result<Option<Fields<'n>>, ManifestError> {
        let block = self.block(root, key, known)?;
        if let (Some(_), Some(entry)) = (&block, root.entry(key)) {
            self.ask(Feature::AgentBlock, entry.at, key);
        }
        Ok(block)
    }
}

/// Whether a node is a mapping or list without anything in it, or nothing.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Natural(_) | Value::Negative(_) | Value::Real(_) | Value::Text(_) => false,
    }
}

/// The words of the roles.
fn roles() -> [(&'static str, Role); 4] {
    Role::ALL.map(|role| (role.as_str(), role))
}

#[cfg(test)]
mod laws;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
