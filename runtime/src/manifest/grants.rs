//! What each artifact gets: from what the capsule has, and what the artifact's own block says.
//!
//! | role | begins with | its block |
//! |---|---|---|
//! | tool, driver | what the capsule has | narrows hosts and workdir, adds a state store |
//! | hook | nothing | grants |
//! | skill | nothing | is refused |
//!
//! What a tool's or driver's block names beyond the capsule's own is not granted. All of it is pure.

use super::capabilities::{ArtifactCapabilities, Capabilities, Placed};
use super::names::{CapsuleName, StoreName};
use super::scope::{Scope, Subpath};
use super::{Artifact, Manifest, ManifestError, Place, Role, Warning};
use crate::diagnostic::Code;
use crate::hosts::HostRule;

/// The part of the accessible workdir that a guest sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Surface {
    /// None of it.
    Nothing,
    /// All of it.
    Workdir,
    /// One directory in it.
    Subtree(Subpath),
}

impl From<Scope> for Surface {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Workdir => Self::Workdir,
            Scope::Subtree(subpath) => Self::Subtree(subpath),
        }
    }
}

/// What one guest may use. Nothing else is granted to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactGrants {
    /// The part of the workdir that it sees as `.`.
    pub scope: Surface,
    /// Hosts that it may send requests to.
    pub network: Vec<HostRule>,
    /// The durable store that it sees as `state`.
    pub state: Option<StoreName>,
    /// Whether it may read a task's input and output.
    pub task_io: bool,
    /// Whether it may read the conversation.
    pub conversation: bool,
}

impl ArtifactGrants {
    const NONE: Self =
        Self { scope: Surface::Nothing, network: Vec::new(), state: None, task_io: false, conversation: false };
}

/// What a tool's or driver's block names and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) place: Place,
    /// As in "`example.com` …".
    pub(super) entry: String,
    /// What of it lies within; empty for nothing.
    pub(super) left: Vec<String>,
}

impl Manifest {
    /// What one of this manifest's artifacts may use.
    pub fn grants_of(&self, artifact: &Artifact) -> ArtifactGrants {
        resolve(artifact, &self.capabilities).0
    }

    /// What the capsule's own code may use: what its manifest grants, and no durable store.
    pub fn own_grants(&self) -> ArtifactGrants {
        own(&self.capabilities)
    }

    /// What is to be told of a tool that turned out to be a native program, which is known of its package alone.
    ///
    /// # Errors
    /// It has a gateway, which no native program can use.
    pub fn native_tool(&self, artifact: &Artifact) -> Result<Vec<Warning>, ManifestError> {
        let name = &artifact.name;
        if let Some(gateway) = &artifact.gateway {
            return Err(ManifestError::Rule {
                code: Code::GatewayOnNative,
                place: gateway.place.clone(),
                reason: format!("`{name}` is a native program and has a `gateway`, which only components can use"),
                hint: "remove the gateway, or use a component".to_owned(),
            });
        }
        let mut warnings = Vec::new();
        if artifact.config.is_some() {
            let text = format!("`{name}` is a native program, which its `config` does not reach");
            let warning = Warning::new(Code::ConfigOnNative, artifact.place.clone(), text);
            warnings.push(warning.with_hint("remove `config`, or use a component"));
        }
        if artifact.capabilities != ArtifactCapabilities::default() {
            let text = format!("`{name}` is a native program, for which its own `capabilities` have no effect");
            let warning = Warning::new(Code::InertToolBlock, artifact.place.clone(), text);
            warnings.push(warning.with_hint("remove `capabilities`, or use a component"));
        }
        Ok(warnings)
    }

    /// The store of an artifact's state: the name given, or else the capsule's.
    pub(super) fn default_store(name: &CapsuleName) -> StoreName {
        StoreName::from(name)
    }
}

fn own(ceiling: &Capabilities) -> ArtifactGrants {
    ArtifactGrants { scope: ceiling.scope.clone().into(), network: ceiling.network.clone(), ..ArtifactGrants::NONE }
}

/// An artifact's grants, and what of its block lies outside of what the capsule has.
pub(super) fn resolve(artifact: &Artifact, ceiling: &Capabilities) -> (ArtifactGrants, Vec<Outside>) {
    let declared = &artifact.capabilities;
    match artifact.role {
        Role::Skill => (ArtifactGrants::NONE, Vec::new()),
        Role::Hook => {
            let rules = declared.network.iter().flatten();
            let grants = ArtifactGrants {
                scope: declared.scope.as_ref().map_or(Surface::Nothing, |scope| scope.value.clone()),
                network: rules.map(|rule| rule.value.clone()).collect(),
                state: declared.state.clone(),
                task_io: declared.task_io,
                conversation: declared.conversation,
            };
            (grants, Vec::new())
        }
        Role::Tool | Role::Driver => {
            let mut outside = Vec::new();
            let mut grants = own(ceiling);
            if let Some(rules) = &declared.network {
                grants.network = rules.iter().flat_map(|rule| within(rule, &ceiling.network, &mut outside)).collect();
            }
            if let Some(scope) = &declared.scope {
                grants.scope = narrowed(scope, &ceiling.scope, &mut outside);
            }
            grants.state = declared.state.clone();
            (grants, outside)
        }
    }
}

/// What of `rule` the ceiling allows: the rule itself, or those of its endpoints that are allowed.
fn within(rule: &Placed<HostRule>, ceiling: &[HostRule], outside: &mut Vec<Outside>) -> Vec<HostRule> {
    let HostRule { host, .. } = &rule.value;
    let allowed = |&(scheme, port): &_| ceiling.iter().any(|above| above.allows(scheme, host, port));
    let left: Vec<HostRule> = rule
        .value
        .endpoints()
        .filter(allowed)
        .map(|(scheme, port)| HostRule { scheme: Some(scheme), host: host.clone(), port: Some(port) })
        .collect();
    if left.len() == rule.value.endpoints().count() {
        return vec![rule.value.clone()];
    }
    outside.push(Outside {
        place: rule.place.clone(),
        entry: rule.value.to_string(),
        left: left.iter().map(HostRule::to_string).collect(),
    });
    left
}

/// What of `scope` lies in the ceiling. Both are paths from the workdir.
fn narrowed(scope: &Placed<Surface>, ceiling: &Scope, outside: &mut Vec<Outside>) -> Surface {
    let Scope::Subtree(above) = ceiling else { return scope.value.clone() };
    let (entry, left) = match &scope.value {
        Surface::Nothing => return Surface::Nothing,
        Surface::Subtree(subpath) if above.contains(subpath) => return scope.value.clone(),
        Surface::Subtree(subpath) if subpath.contains(above) => (subpath.to_string(), Some(above)),
        Surface::Subtree(subpath) => (subpath.to_string(), None),
        Surface::Workdir => (".".to_owned(), Some(above)),
    };
    outside.push(Outside {
        place: scope.place.clone(),
        entry,
        left: left.iter().map(|left| left.to_string()).collect(),
    });
    left.map_or(Surface::Nothing, |left| Surface::Subtree(left.clone()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Each guest's grants for a capsule with `ceiling`, one a line; then what is told.
    fn grants(ceiling: &str, artifacts: &str) -> String {
        let text = format!("name: demo\nversion: 0.1.0\ncapabilities: {ceiling}\nartifacts:\n{artifacts}");
        let reading = Manifest::parse(Path::new("murmur.yaml"), &text);
        let manifest = reading.outcome.unwrap_or_else(|error| panic!("{text}\n{error}"));
        let shown = |name: &str, grants: ArtifactGrants| {
            let ArtifactGrants { scope, network, state, task_io, conversation } = grants;
            let scope = match scope {
                Surface::Nothing => "nothing".to_owned(),
                Surface::Workdir => ".".to_owned(),
                Surface::Subtree(subpath) => subpath.to_string(),
            };
            let network: Vec<String> = network.iter().map(HostRule::to_string).collect();
            let state = state.map_or("none".to_owned(), |state| state.to_string());
            format!("{name}: {scope}; {network:?}; state {state}; task_io {task_io}; conversation {conversation}\n")
        };
        let mut out = shown("demo", manifest.own_grants());
        for artifact in &manifest.artifacts {
            out += &shown(artifact.name.as_str(), manifest.grants_of(artifact));
        }
        for warning in reading.warnings {
            out += &format!("{}\n", warning.diagnostic());
        }
        out
    }

    #[test]
    fn a_tool_begins_with_what_the_capsule_has_and_its_block_narrows_that() {
        let ceiling =
            "{network: {allow: [a.example, 'https://b.example:8443', '[::1]:80']}, filesystem: {scope: data}}";
        let artifacts = "  - {name: all, source: a.wasm}
  - {name: narrow, source: a.wasm, capabilities: {network: {allow: ['https://A.example']}, filesystem: {scope: data/in}}}
  - {name: none, source: a.wasm, capabilities: {network: {allow: []}, filesystem: {scope: []}}}
  - {name: keeps, source: a.wasm, capabilities: {state: {store: shared}}}
  - {name: stores, source: a.wasm, capabilities: {state: {}}}
  - {name: speaks, source: a.wasm, runtime: driver, capabilities: {network: {allow: ['b.example:8443']}}}
  - {name: outside, source: a.wasm, capabilities: {network: {allow: [c.example, 'a.example:8080', 'a.example']}, filesystem: {scope: other}}}
  - {name: above, source: a.wasm, capabilities: {filesystem: {scope: .}}}
";
        insta::assert_snapshot!(grants(ceiling, artifacts));
    }

    #[test]
    fn a_hook_begins_with_nothing_and_its_block_grants() {
        let ceiling = "{network: {allow: [a.example]}, filesystem: {scope: data}}";
        let artifacts = "  - {name: none, source: a.wasm, runtime: hook}
  - {name: some, source: a.wasm, runtime: hook, capabilities: {network: {allow: [z.example]}, filesystem: {scope: out}, state: {}, task_io: {read: true}, conversation: {read: true}}}
  - {name: says-no, source: a.wasm, runtime: hook, capabilities: {filesystem: {}, task_io: {read: false}, conversation: {read: false}}}
  - {name: text, source: a, runtime: skill}
";
        insta::assert_snapshot!(grants(ceiling, artifacts));
    }

    #[test]
    fn a_block_never_gives_a_tool_more_than_the_capsule_has() {
        let rules = ["a.example", "a.example:80", "http://a.example", "https://a.example:444", "b.example:443"];
        let parse = |text: &str| text.parse::<HostRule>().unwrap();
        let place = Place { path: "m".into(), line: 1, column: 1 };
        for above in rules {
            for entry in rules {
                let (ceiling, entry) = ([parse(above)], parse(entry));
                let left = within(&Placed { value: entry.clone(), place: place.clone() }, &ceiling, &mut Vec::new());
                for (scheme, port) in left.iter().flat_map(|rule| rule.endpoints().collect::<Vec<_>>()) {
                    assert!(ceiling[0].allows(scheme, &entry.host, port), "{above} {entry}");
                    assert!(entry.allows(scheme, &entry.host, port), "{above} {entry}");
                }
            }
        }
    }

    #[test]
    fn what_a_native_tool_cannot_use_is_told_or_refused() {
        let text = "name: demo\nversion: 0.1.0\nartifacts:\n\
                    - {name: a, version: '1', config: {x: 1}, capabilities: {state: {}}}\n\
                    - {name: b, version: '1', gateway: {endpoint: 'https://p.example', keyless: true}}\n";
        let manifest = Manifest::parse(Path::new("murmur.yaml"), text).outcome.unwrap();
        let told = manifest.native_tool(&manifest.artifacts[0]).unwrap();
        let refused = manifest.native_tool(&manifest.artifacts[1]).unwrap_err();
        let said: Vec<String> = told.iter().map(|warning| warning.diagnostic().to_string()).collect();
        insta::assert_snapshot!(format!("{}\n{}", said.join("\n"), refused.diagnostic()));
    }
}
