//! What a session may do, reported: the same object for `--explain-scope` and for `session_start`.

use serde_json::{Value, json};

use super::paths::{SubprocessRoot, Workdir, runtime_writes};
use super::plan::{ACHIEVED, Plan};
use crate::home::state_store_path;
use crate::manifest::{ArtifactGrants, Manifest, Scope, Surface};
use crate::record::{EffectiveGrants, FilesystemBoundary, IoMax, PreopenGrant, StateStore};

/// The role of the capsule's own code among the preopens.
const CAPSULE: &str = "capsule";

/// What a session of this plan may do, in a workdir of this kind.
pub fn effective_grants(plan: &Plan, workdir: Workdir) -> EffectiveGrants {
    let manifest = &plan.manifest;
    let capabilities = &manifest.capabilities;
    let texts = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>();
    let shell = capabilities.shell.as_ref();
    EffectiveGrants {
        declared_containment: plan.declared.to_string(),
        achieved_containment: ACHIEVED.to_string(),
        floor_met: plan.declared <= ACHIEVED,
        shortfall_reason: (plan.declared > ACHIEVED)
            .then(|| format!("this version of mur enforces no more than `{ACHIEVED}`")),
        enforcement_tier: "none",
        userns_grant: None,
        filesystem_scope: scope_of(&manifest.own_grants().scope),
        workdir_exec: capabilities.workdir_exec,
        read_only_paths: texts(&mut capabilities.read_only.iter().map(ToString::to_string)),
        read_only_advisory_for: Vec::new(),
        preopens: preopens(plan),
        network_allow: texts(&mut capabilities.network.iter().map(ToString::to_string)),
        unix_sockets: capabilities.unix_sockets,
        shell_allow: texts(&mut shell.iter().flat_map(|shell| &shell.allow).map(ToString::to_string)),
        spawn_allow: texts(&mut capabilities.spawn.iter().map(ToString::to_string)),
        env_allow: texts(&mut capabilities.env.iter().map(ToString::to_string)),
        plan_submit: capabilities.plan_submit,
        interpreter_runtime_grants: interpreters(manifest),
        exports_files: manifest.exports.files.as_ref().map(
            |files| json!({ "root": shown(&files.root), "mode": "read-only", "max_bytes": files.max_bytes.as_bytes() }),
        ),
        peer_files: manifest.exports.peer_files.as_ref().map(|files| {
            json!({
                "root": shown(&files.root),
                "max_ttl_secs": files.max_ttl.as_secs(),
                "max_bytes": files.max_bytes.as_bytes(),
            })
        }),
        peer_fetch_allow: texts(&mut capabilities.peer_fetch.iter().map(ToString::to_string)),
        state_stores: state_stores(plan),
        configured_artifacts: texts(
            &mut manifest
                .artifacts
                .iter()
                .filter(|artifact| artifact.config.is_some())
                .map(|artifact| artifact.name.to_string()),
        ),
        staged_runtime_grants: staged_runtimes(manifest),
        runtime_writes: runtime_writes(workdir, SubprocessRoot::Host),
        io_max: IoMax { declared_bytes_per_sec: None, status: "not-required" },
        filesystem_boundary: FilesystemBoundary { restriction: "absent", not_protected: not_protected(plan) },
    }
}

/// Which of the kinds of grants a capsule has, as `session_start` lists them.
pub(crate) fn capabilities(plan: &Plan) -> Vec<&'static str> {
    let granted = &plan.manifest.capabilities;
    let hosts = !granted.network.is_empty();
    let shell = granted.shell.is_some();
    let kinds = [("network", hosts), ("filesystem", true), ("shell", shell)];
    kinds.into_iter().filter_map(|(kind, has)| has.then_some(kind)).collect()
}

/// The gateways of a plan, as `session_start` lists them.
pub(crate) fn gateways(plan: &Plan) -> Vec<Value> {
    let gateway = |provided: &super::plan::Provided| {
        let gateway = provided.gateway.as_ref()?;
        let artifact = &plan.manifest.artifacts[provided.index];
        Some(json!({
            "artifact": artifact.name.as_str(),
            "host": gateway.host,
            "credential_source": gateway.credential_source,
            "metered": false,
        }))
    };
    plan.artifacts.iter().filter_map(gateway).collect()
}

fn preopens(plan: &Plan) -> Vec<PreopenGrant> {
    let preopen = |artifact: String, role, grants: &ArtifactGrants| PreopenGrant {
        artifact,
        role,
        scope: scope_of(&grants.scope),
        surface: match grants.scope {
            Surface::Nothing => "nothing",
            Surface::Workdir => "whole-workdir",
            Surface::Subtree(_) => "scoped-subtree",
        },
    };
    let manifest = &plan.manifest;
    let mut preopens = Vec::new();
    if manifest.inference.is_none() {
        preopens.push(preopen(manifest.name.to_string(), CAPSULE, &manifest.own_grants()));
    }
    for artifact in &manifest.artifacts {
        preopens.push(preopen(artifact.name.to_string(), artifact.role.as_str(), &plan.grants_of(artifact)));
    }
    preopens
}

fn scope_of(surface: &Surface) -> Option<String> {
    match surface {
        Surface::Nothing | Surface::Workdir => None,
        Surface::Subtree(subpath) => Some(subpath.to_string()),
    }
}

fn shown(scope: &Scope) -> String {
    match scope {
        Scope::Workdir => ".".to_owned(),
        Scope::Subtree(subpath) => subpath.to_string(),
    }
}

fn state_stores(plan: &Plan) -> Vec<StateStore> {
    let store = |artifact: &crate::manifest::Artifact| {
        let store = plan.grants_of(artifact).state?.to_string();
        let host_path = state_store_path(&plan.home, &store).to_string_lossy().into_owned();
        Some(StateStore { artifact: artifact.name.to_string(), store, host_path })
    };
    plan.manifest.artifacts.iter().filter_map(store).collect()
}

fn interpreters(manifest: &Manifest) -> Vec<Value> {
    let shell = manifest.capabilities.shell.iter();
    let runtimes = shell.flat_map(|shell| &shell.interpreter_runtime).map(|runtime| {
        let directory = |directory: &crate::manifest::RuntimeDirectory| {
            json!({ "path": directory.path.to_string_lossy(), "list_dir": directory.list })
        };
        let dirs: Vec<Value> = runtime.dirs.iter().map(directory).collect();
        json!({ "binary": runtime.binary.as_str(), "dirs": dirs })
    });
    runtimes.collect()
}

fn staged_runtimes(manifest: &Manifest) -> Vec<Value> {
    let shell = manifest.capabilities.shell.iter();
    let staged = shell.flat_map(|shell| &shell.staged_runtime).map(|staged| {
        json!({
            "binary": staged.binary.as_str(),
            "source_path": staged.source_path.to_string_lossy(),
            "pin": staged.pin,
        })
    });
    staged.collect()
}

/// What the grants do not bound on this host, in words.
fn not_protected(plan: &Plan) -> Vec<String> {
    let capabilities = &plan.manifest.capabilities;
    let mut open = vec!["how many bytes guests write into the workdir and their stores is not limited".to_owned()];
    let hosts = !capabilities.network.is_empty()
        || plan.manifest.artifacts.iter().any(|artifact| !plan.grants_of(artifact).network.is_empty());
    if hosts {
        open.push("which addresses an allowed host's name leads to is for the host's resolver to say".to_owned());
    }
    let native = capabilities.shell.is_some() || !capabilities.spawn.is_empty() || capabilities.workdir_exec;
    if native {
        open.push("native programs: this version contains none, and therefore runs none".to_owned());
    }
    open
}
