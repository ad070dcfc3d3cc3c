//! `artifacts[]`.

use std::collections::HashMap;
use std::path::PathBuf;

use super::super::fields::{Fields, Reader, Text};
use super::super::gateway::{CredentialName, Gateway, GatewayKey};
use super::super::json::{self, JsonError, JsonObject};
use super::super::schema;
use super::super::unserved::Feature;
use super::super::yaml::{Node, Position};
use super::super::{
    Artifact, ArtifactCapabilities, ArtifactName, CapsuleName, ManifestError, Overflow, Reference, Role, Source,
    Version,
};
use super::roles;
use crate::diagnostic::Code;
use crate::secret::Secret;

impl Reader<'_> {
    pub(super) fn artifacts(
        &mut self,
        root: &Fields<'_>,
        capsule: &CapsuleName,
    ) -> Result<Vec<Artifact>, ManifestError> {
        let Some(items) = self.list(root, "artifacts")? else { return Ok(Vec::new()) };
        let mut lines: HashMap<ArtifactName, u64> = HashMap::new();
        let mut artifacts = Vec::with_capacity(items.len());
        for (item, path) in items {
            let fields = self.mapping(item, path, &schema::ARTIFACT)?;
            let artifact = self.artifact(&fields, capsule)?;
            let refused = |reason: String, hint: &str| ManifestError::Value {
                place: artifact.place.clone(),
                reason,
                hint: Some(hint.to_owned()),
            };
            if artifact.name.as_str() == capsule.as_str() {
                // What guests do and print is told by their names.
                let reason = format!("`{}` is the capsule's own name, `{capsule}`", fields.field("name"));
                return Err(refused(reason, "give one of them another name"));
            }
            if let Some(line) = lines.insert(artifact.name.clone(), artifact.place.line) {
                let reason = format!("`{}` repeats `{}` of line {line}", fields.field("name"), artifact.name);
                return Err(refused(reason, "give each artifact a name of its own"));
            }
            artifacts.push(artifact);
        }
        Ok(artifacts)
    }

    fn artifact(&mut self, fields: &Fields<'_>, capsule: &CapsuleName) -> Result<Artifact, ManifestError> {
        let name = self.required(fields, "name", "add `name:`, by which the capsule calls it")?;
        let (at, name) = (name.at, self.parsed::<ArtifactName>(&name)?);
        if schema::RESERVED_TOOLS.contains(&name.as_str()) {
            return Err(ManifestError::ReservedName { place: self.place(at), name: name.to_string() });
        }
        let role = self.role(fields)?;
        let reference = self.reference(fields)?;
        let prompt_payload = self.flag(fields, "prompt_payload")?.unwrap_or(role == Role::Skill);
        let capabilities = self.artifact_capabilities(fields, role, capsule)?;
        let config = self.artifact_config(fields, role)?;
        let gateway = self.gateway(fields, role)?;
        let on_overflow = self.on_overflow(fields, role)?;
        let place = self.place(at);
        Ok(Artifact { name, role, reference, prompt_payload, capabilities, config, gateway, on_overflow, place })
    }

    fn role(&mut self, fields: &Fields<'_>) -> Result<Role, ManifestError> {
        if let Some(Text { text: word, at, field, .. }) = self.string(fields, "runtime")?
            && matches!(word, "wasm" | "native")
        {
            let reason = format!("`{field}` is the artifact's role, and `{word}` is a format");
            return Err(self.value(at, reason, Some("leave `runtime` out for a tool".to_owned())));
        }
        let Some(role) = self.choice(fields, "runtime", &roles())? else { return Ok(Role::Tool) };
        match (role, fields.value("runtime")) {
            (Role::Driver | Role::Hook | Role::Skill, Some(node)) => {
                self.ask(Feature::Role, node.at, format!("{}: {role}", fields.field("runtime")));
            }
            (Role::Tool, _) | (_, None) => {}
        }
        Ok(role)
    }

    fn reference(&self, fields: &Fields<'_>) -> Result<Reference, ManifestError> {
        let version: Option<Version> = self.optional(fields, "version")?;
        match (self.source(fields)?, version) {
            (Some((path, at)), _) => {
                Ok(Reference::Local(Source { path, place: self.place(at), field: fields.field("source") }))
            }
            (None, Some(version)) => Ok(Reference::Installed(version)),
            (None, None) => {
                let hint = "add `version:`, the one that is installed, or `source:`, the path of its component";
                Err(self.missing(fields, "version", hint))
            }
        }
    }

    fn source(&self, fields: &Fields<'_>) -> Result<Option<(PathBuf, Position)>, ManifestError> {
        const HINT: &str = "write the path of the artifact's component";
        let source = match self.string(fields, "source")? {
            Some(Text { text, at, field, .. }) if text.is_empty() || text.contains('\0') => {
                return Err(self.value(at, format!("`{field}` is no path"), Some(HINT.to_owned())));
            }
            Some(Text { text, at, .. }) => Some((PathBuf::from(text), at)),
            None => None,
        };
        let local = self.flag(fields, "local_source")?;
        let Some((local, node)) = local.zip(fields.value("local_source")) else { return Ok(source) };
        let field = fields.field("local_source");
        match (local, &source) {
            (true, Some(_)) | (false, None) => Ok(source),
            (true, None) => {
                let reason = format!("`{field}` is true, and there is no `source`");
                Err(self.value(node.at, reason, Some("add `source:`, the path of the artifact's component".to_owned())))
            }
            (false, Some(_)) => {
                let reason = format!("`{field}` is false, and there is a `source`");
                Err(self.value(node.at, reason, Some("remove one of the two".to_owned())))
            }
        }
    }

    fn artifact_capabilities(
        &mut self,
        fields: &Fields<'_>,
        role: Role,
        capsule: &CapsuleName,
    ) -> Result<ArtifactCapabilities, ManifestError> {
        let Some(entry) = fields.entry("capabilities").filter(|_| fields.block("capabilities").is_some()) else {
            return Ok(ArtifactCapabilities::default());
        };
        if role == Role::Skill {
            return Err(self.misplaced(fields, "capabilities", "remove it: a skill is a text and may do nothing"));
        }
        let capabilities = self.own_capabilities(fields, role, capsule)?;
        if capabilities != ArtifactCapabilities::default() {
            self.ask(Feature::ArtifactCapabilities, entry.at, fields.field("capabilities"));
        }
        Ok(capabilities)
    }

    fn artifact_config(&mut self, fields: &Fields<'_>, role: Role) -> Result<Option<JsonObject>, ManifestError> {
        let Some(node) = fields.block("config") else { return Ok(None) };
        if role == Role::Skill {
            return Err(self.misplaced(fields, "config", "remove it: a skill is a text and reads nothing"));
        }
        let config = self.json_object(node, &fields.field("config"))?;
        let at = fields.entry("config").map_or(node.at, |entry| entry.at);
        self.ask(Feature::ArtifactConfig, at, fields.field("config"));
        Ok(Some(config))
    }

    /// A free mapping as JSON.
    pub(super) fn json_object(&self, node: &Node, field: &str) -> Result<JsonObject, ManifestError> {
        json::object(node).map_err(|error| {
            let hint = match error {
                JsonError::Shape => "write a mapping of settings",
                JsonError::Number => "write a finite number, or a text in quotes",
                JsonError::TooLong(_) => "put what is large into a file of the workdir, and name that",
            };
            self.rule(Code::ArtifactConfig, node.at, format!("`{field}` {error}"), hint)
        })
    }

    fn gateway(&mut self, fields: &Fields<'_>, role: Role) -> Result<Option<Gateway>, ManifestError> {
        const ENDPOINT: &str = "write the provider's URL, for example `https://api.example.com/v1`";
        let Some(entry) = fields.entry("gateway").filter(|_| fields.block("gateway").is_some()) else {
            return Ok(None);
        };
        if role == Role::Skill {
            return Err(self.misplaced(fields, "gateway", "remove it: a skill is a text and sends nothing"));
        }
        let gateway = self.mapping(&entry.value, fields.field("gateway"), &schema::GATEWAY)?;
        let endpoint = self.required(&gateway, "endpoint", "add `endpoint:`, the provider's URL")?;
        let endpoint = self.ruled(Code::ManifestValue, &endpoint, ENDPOINT)?;
        let key = self.gateway_key(&gateway)?;
        self.ask(Feature::Gateway, entry.at, fields.field("gateway"));
        Ok(Some(Gateway { endpoint, key, place: self.place(entry.at) }))
    }

    fn gateway_key(&mut self, gateway: &Fields<'_>) -> Result<GatewayKey, ManifestError> {
        const NAMED: &str = "write `api_key: ${NAME}`, and store the key with `mur config set -g credentials.NAME KEY`";
        let keyless = self.flag(gateway, "keyless")?.unwrap_or(false);
        let Some(node) = gateway.value("api_key") else {
            if keyless {
                return Ok(GatewayKey::Keyless);
            }
            let reason = format!("`{}` has neither an `api_key` nor `keyless: true`", gateway.path);
            return Err(self.rule(Code::GatewayKey, gateway.at, reason, NAMED));
        };
        let field = gateway.field("api_key");
        if keyless {
            let reason = format!("`{field}` is given, and `keyless` is true");
            return Err(self.value(node.at, reason, Some("remove one of the two".to_owned())));
        }
        // The value may be a key, so that no message repeats it.
        let wrong = |what: &str| Err(self.value(node.at, format!("`{field}` {what}"), Some(NAMED.to_owned())));
        let super::super::yaml::Value::Text(text) = &node.value else { return wrong("must be a text") };
        if let Some(name) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            return match name.parse::<CredentialName>() {
                Ok(name) => Ok(GatewayKey::Named(name)),
                Err(error) => wrong(&format!("names a credential, and the name {error}")),
            };
        }
        if text.contains("${") {
            return wrong("is neither one `${NAME}` nor a key");
        }
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            return wrong("is no key: it is empty, or holds characters that a request's header cannot");
        }
        let (at, text) = (node.at, Secret::new(text.clone()));
        self.warn(
            Code::LiteralCredential,
            at,
            format!("`{field}` holds a key as plain text, which everybody sees who sees the manifest"),
            NAMED,
        );
        Ok(GatewayKey::Literal(text))
    }

    /// Which artifacts must have a gateway and which must not, once it is known which one is the http driver.
    pub(super) fn gateways(&self, artifacts: &[Artifact], driver: Option<&ArtifactName>) -> Result<(), ManifestError> {
        for artifact in artifacts.iter().filter(|artifact| artifact.role == Role::Driver) {
            let speaks = driver == Some(&artifact.name);
            match &artifact.gateway {
                None if speaks => {
                    return Err(ManifestError::Rule {
                        code: Code::GatewayKey,
                        place: artifact.place.clone(),
                        reason: format!(
                            "the driver `{}` has no `gateway`, and so no provider and no key",
                            artifact.name
                        ),
                        hint: "add `gateway:` with `endpoint` and `api_key`, or `keyless: true`".to_owned(),
                    });
                }
                Some(gateway) if !speaks => {
                    return Err(ManifestError::Value {
                        place: gateway.place.clone(),
                        reason: format!(
                            "`{}` has a `gateway` and is not the driver of an http `inference`",
                            artifact.name
                        ),
                        hint: Some("remove the gateway, or name it as `inference.driver.artifact`".to_owned()),
                    });
                }
                None | Some(_) => {}
            }
        }
        Ok(())
    }

    fn on_overflow(&self, fields: &Fields<'_>, role: Role) -> Result<Option<Overflow>, ManifestError> {
        let words = [("drop", Overflow::Drop), ("block", Overflow::Block)];
        let declared = self.choice(fields, "on_overflow", &words)?;
        match role {
            Role::Hook => Ok(Some(declared.unwrap_or(Overflow::Drop))),
            Role::Tool | Role::Driver | Role::Skill if declared.is_some() => {
                Err(self.misplaced(fields, "on_overflow", "remove it: only hooks are sent events"))
            }
            Role::Tool | Role::Driver | Role::Skill => Ok(None),
        }
    }
}
