//! An artifact's `capabilities`: what has an effect for its role, what has none, and what is refused.

use super::super::capabilities::Placed;
use super::super::fields::{Fields, Reader};
use super::super::names::StoreName;
use super::super::schema;
use super::super::yaml::Value;
use super::super::{ArtifactCapabilities, CapsuleName, Manifest, ManifestError, Role, Scope, Surface};
use crate::diagnostic::Code;

/// Blocks of which no artifact's role reads anything.
const CAPSULE_ONLY: [&str; 8] = ["peer_fetch", "shell", "spawn", "env", "limits", "resources", "containment", "plan"];

impl Reader<'_> {
    pub(super) fn own_capabilities(
        &mut self,
        artifact: &Fields<'_>,
        role: Role,
        capsule: &CapsuleName,
    ) -> Result<ArtifactCapabilities, ManifestError> {
        let mut capabilities = ArtifactCapabilities::default();
        let Some(fields) = self.block(artifact, "capabilities", &schema::ARTIFACT_CAPABILITIES)? else {
            return Ok(capabilities);
        };
        for entry in fields.entries.iter().filter(|entry| CAPSULE_ONLY.contains(&entry.key.as_str())) {
            self.warn_inert(&fields, &entry.key, role);
        }
        if let Some(network) = self.block(&fields, "network", &schema::NETWORK_ALLOW)? {
            capabilities.network = self.hosts(&network, "allow")?;
            self.warn_inert(&network, "unix_sockets", role);
        }
        if let Some(filesystem) = self.block(&fields, "filesystem", &schema::FILESYSTEM)? {
            capabilities.scope = self.surface(&filesystem)?;
            self.warn_inert(&filesystem, "read_only", role);
            self.warn_inert(&filesystem, "workdir_exec", role);
        }
        capabilities.state = self.state(&fields, capsule)?;
        capabilities.task_io = self.hooks_only(&fields, "task_io", role)?;
        capabilities.conversation = self.hooks_only(&fields, "conversation", role)?;
        Ok(capabilities)
    }

    /// A key that has no effect for the artifact's role.
    fn warn_inert(&mut self, fields: &Fields<'_>, key: &str, role: Role) {
        let Some(entry) = fields.entry(key) else { return };
        let (code, reads) = match role {
            Role::Hook => (Code::InertHookBlock, "network.allow, filesystem.scope, state, task_io and conversation"),
            Role::Tool | Role::Driver | Role::Skill => {
                (Code::InertToolBlock, "network.allow, filesystem.scope and state")
            }
        };
        let text = format!("`{}` has no effect: a {role}'s own capabilities are {reads}", fields.field(key));
        self.warn(code, entry.at, text, "remove it, or say it of the capsule in the manifest's own `capabilities`");
    }

    /// `filesystem.scope`, which an artifact may also give as a list: an empty one is nothing.
    fn surface(&self, filesystem: &Fields<'_>) -> Result<Option<Placed<Surface>>, ManifestError> {
        let Some(node) = filesystem.value("scope") else { return Ok(None) };
        let value = match &node.value {
            Value::List(items) if items.is_empty() => Surface::Nothing,
            Value::List(_) => {
                return Err(self.wrong_type(node, &filesystem.field("scope"), "one path, or an empty list"));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Natural(_)
            | Value::Negative(_)
            | Value::Real(_)
            | Value::Text(_)
            | Value::Map(_) => self.scope(filesystem)?.unwrap_or(Scope::Workdir).into(),
        };
        Ok(Some(Placed { value, place: self.place(node.at) }))
    }

    fn state(&self, fields: &Fields<'_>, capsule: &CapsuleName) -> Result<Option<StoreName>, ManifestError> {
        const HINT: &str =
            "name a directory by one plain word, or leave `store` out for one that is called like the capsule";
        // `state:` without anything in it is a store of the default name.
        let Some(entry) = fields.entry("state") else { return Ok(None) };
        if matches!(entry.value.value, Value::Null) {
            return Ok(Some(Manifest::default_store(capsule)));
        }
        let state = self.mapping(&entry.value, fields.field("state"), schema::ARTIFACT_CAPABILITIES.inside("state"))?;
        match self.string(&state, "store")? {
            Some(text) => self.ruled(Code::StateStore, &text, HINT).map(Some),
            None => Ok(Some(Manifest::default_store(capsule))),
        }
    }

    /// A block with `read: true` that only hooks have.
    fn hooks_only(&self, fields: &Fields<'_>, key: &str, role: Role) -> Result<bool, ManifestError> {
        if fields.entry(key).is_none() {
            return Ok(false);
        }
        if role != Role::Hook {
            return Err(self.misplaced(fields, key, "remove it: only a hook may read it"));
        }
        match self.block(fields, key, schema::ARTIFACT_CAPABILITIES.inside(key))? {
            Some(block) => self.required_flag(&block, "read"),
            None => Err(self.missing(fields, key, "add `read: true` or `read: false`: it is never inferred")),
        }
    }
}
