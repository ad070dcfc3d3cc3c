//! What each guest is given: the plan's grants, made real. Directories are opened here, once, and stay open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::address::{project_roots, recorded};
use super::ids::SessionId;
use super::paths::{Entry, RUNTIME_DIR, SessionDirs, Workdir};
use super::plan::Plan;
use super::staging::{io_failure, make_directory};
use crate::artifact::LOCK_FILE;
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{Access, Grants, Limits, Network, ProtectedPaths, Workspace};
use crate::home::{state_store, state_store_obstacle};
use crate::manifest::{ArtifactGrants, StoreName, Surface};

/// The settings of an artifact, as its guest reads them.
const CONFIG_VARIABLE: &str = "MURMUR_ARTIFACT_CONFIG";

/// Turns a plan's grants into guests'.
pub(super) struct Granting<'p> {
    plan: &'p Plan,
    dirs: &'p SessionDirs,
    protected: Arc<ProtectedPaths>,
    /// What every guest of the session reads in its environment.
    environment: Vec<(String, String)>,
    /// The directories that are open already.
    opened: Vec<(Surface, Workspace)>,
}

impl<'p> Granting<'p> {
    /// For a session whose directories exist.
    pub(super) fn new(plan: &'p Plan, dirs: &'p SessionDirs, session: SessionId) -> Result<Self, Diagnostic> {
        let protected = protected_paths(plan, dirs).map_err(|cause| io_failure(&dirs.session, &cause))?;
        let manifest = &plan.manifest;
        let mut environment = plan.environment.allowed(&manifest.capabilities.env);
        // None of those can stand for one of the runtime's own: manifests name no `MURMUR_` variable.
        environment.extend([
            ("MURMUR_CAPSULE_NAME".into(), manifest.name.to_string()),
            ("MURMUR_CAPSULE_VERSION".into(), manifest.version.to_string()),
            ("MURMUR_SESSION_ID".into(), session.to_string()),
        ]);
        Ok(Self { plan, dirs, protected: Arc::new(protected), environment, opened: Vec::new() })
    }

    /// What the capsule's own code is given.
    pub(super) fn of_capsule(&mut self) -> Result<Grants, Diagnostic> {
        self.grants(&self.plan.manifest.own_grants())
    }

    /// What one of the manifest's artifacts is given.
    pub(super) fn of_artifact(&mut self, index: usize) -> Result<Grants, Diagnostic> {
        let artifact = &self.plan.manifest.artifacts[index];
        let mut grants = self.grants(&self.plan.grants_of(artifact))?;
        if let Some(config) = &artifact.config {
            grants.environment.push((CONFIG_VARIABLE.into(), config.to_string()));
        }
        let provided = self.plan.artifacts.iter().find(|provided| provided.index == index);
        let gateway = provided.and_then(|provided| provided.gateway.as_ref());
        grants.gateway = gateway.map(|planned| planned.gateway.clone());
        Ok(grants)
    }

    fn grants(&mut self, granted: &ArtifactGrants) -> Result<Grants, Diagnostic> {
        Ok(Grants {
            workspace: self.workspace(&granted.scope)?,
            state: granted.state.as_ref().map(|store| self.state(store)).transpose()?,
            environment: self.environment.clone(),
            network: Network { allow: granted.network.clone() },
            gateway: None,
            limits: self.limits(),
        })
    }

    fn limits(&self) -> Limits {
        let limits = self.plan.manifest.capabilities.limits;
        Limits {
            memory_bytes: limits.memory_bytes.get(),
            table_elements: limits.table_elements.get().into(),
            instances: limits.instances.get().into(),
            deadline: Duration::from_secs(limits.deadline_seconds.get().into()),
        }
    }

    fn workspace(&mut self, surface: &Surface) -> Result<Option<Workspace>, Diagnostic> {
        if *surface == Surface::Nothing {
            return Ok(None);
        }
        if let Some((_, workspace)) = self.opened.iter().find(|(known, _)| known == surface) {
            return Ok(Some(workspace.clone()));
        }
        let planned = directory_of(surface, self.dirs)?;
        make_directory(&planned)?;
        let workspace = open(&planned, &self.protected)?;
        // Once more, of the directory that is open now and stays so, whatever its path comes to mean.
        let seen = workspace.real_path().map_err(|cause| io_failure(&planned, &cause))?;
        key_out_of_reach(&seen, &self.plan.home)?;
        if !seen.starts_with(real_path(&self.dirs.accessible)) {
            return Err(leads_out(&planned));
        }
        self.opened.push((surface.clone(), workspace.clone()));
        Ok(Some(workspace))
    }

    fn state(&self, store: &StoreName) -> Result<Workspace, Diagnostic> {
        let home = &self.plan.home;
        let path = state_store(home, store.as_str()).map_err(|cause| {
            let text = format!("the state store `{store}` cannot be used: {}", home.display());
            Diagnostic::new(Code::for_io(&cause), format!("{text}: {cause}"))
        })?;
        open(&path, &Arc::default())
    }
}

/// Why a plan's state stores cannot be granted. Changes nothing.
pub(super) fn state_obstacles(plan: &Plan) -> Vec<Diagnostic> {
    let mut found: Vec<PathBuf> = Vec::new();
    for artifact in &plan.manifest.artifacts {
        let store = plan.grants_of(artifact).state;
        let obstacle = store.and_then(|store| state_store_obstacle(&plan.home, store.as_str()));
        found.extend(obstacle.filter(|path| !found.contains(path)));
    }
    let told = |path: PathBuf| {
        let text = format!("{} is a link or a file, and a directory is needed there", path.display());
        Diagnostic::new(Code::Io, text).with_hint("move it away; a state store lies in the murmur home itself")
    };
    found.into_iter().map(told).collect()
}

fn open(directory: &Path, protected: &Arc<ProtectedPaths>) -> Result<Workspace, Diagnostic> {
    Workspace::open(directory, Access::ReadWrite, Arc::clone(protected))
        .map_err(|error| Diagnostic::new(Code::Io, error.to_string()))
}

/// The parts of the workdir that a plan's guests see, each once.
pub(super) fn surfaces(plan: &Plan) -> Vec<Surface> {
    let artifacts = plan.manifest.artifacts.iter().map(|artifact| plan.grants_of(artifact).scope);
    let mut surfaces: Vec<Surface> = Vec::new();
    for surface in std::iter::once(plan.manifest.own_grants().scope).chain(artifacts) {
        if surface != Surface::Nothing && !surfaces.contains(&surface) {
            surfaces.push(surface);
        }
    }
    surfaces
}

/// What guests may not change: the session's own record, everything below the runtime's directory, where whoever reads
/// records looks for those of sessions, and in a workdir that outlives the session the records that lie in it.
fn protected_paths(plan: &Plan, dirs: &SessionDirs) -> io::Result<ProtectedPaths> {
    let mut protected = ProtectedPaths::new().with_tree(RUNTIME_DIR, dirs.accessible.join(RUNTIME_DIR))?;
    if dirs.workdir == Workdir::Given {
        // Where the workdir is a project's directory, its sessions' records lie in it too.
        for earlier in recorded(&project_roots(&dirs.accessible)).map_err(io::Error::other)? {
            protected = protected.with_tree("another session's record", earlier.directory)?;
        }
    }
    for entry in dirs.protected() {
        protected = match entry.entry {
            Entry::File(path) => protected.with_file(entry.rule, path)?,
            Entry::Tree(path) => protected.with_tree(entry.rule, path)?,
            Entry::Prefix { directory, prefix } => protected.with_prefix(entry.rule, directory, prefix)?,
        };
    }
    // A project's lock says what its next launch may run.
    protected = protected.with_file(LOCK_FILE, dirs.accessible.join(LOCK_FILE))?;
    for subpath in &plan.manifest.capabilities.read_only {
        protected = protected.with_read_only(subpath.to_string(), dirs.accessible.join(subpath.as_path()))?;
    }
    Ok(protected)
}

/// Refuses a directory in which guests could read the host's private key, with which anything could be sealed.
pub(super) fn key_out_of_reach(seen: &Path, home: &Path) -> Result<(), Diagnostic> {
    let (seen, home) = (real_path(seen), real_path(home));
    if home.starts_with(&seen) || seen.starts_with(&home) {
        let text =
            format!("guests working in {} could read the host's private key in {}", seen.display(), home.display());
        return Err(Diagnostic::new(Code::KeyWithinReach, text)
            .with_hint("give a --workdir that neither holds the murmur home nor lies in it"));
    }
    Ok(())
}

/// The path with links resolved as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    match existing {
        Some((ancestor, real)) if ancestor == path => real,
        Some((ancestor, real)) => path.strip_prefix(ancestor).map_or(real.clone(), |rest| real.join(rest)),
        None => path.into(),
    }
}

/// The directory that a guest sees as `.`, its links resolved as far as it exists. It must really lie in the accessible
/// workdir, outside of what is the runtime's there. Nothing is made.
pub(super) fn directory_of(surface: &Surface, dirs: &SessionDirs) -> Result<PathBuf, Diagnostic> {
    let Surface::Subtree(subpath) = surface else { return Ok(dirs.accessible.clone()) };
    let directory = dirs.accessible.join(subpath.as_path());
    let (seen, accessible) = (real_path(&directory), real_path(&dirs.accessible));
    if !seen.starts_with(&accessible) {
        return Err(leads_out(&directory));
    }
    if seen.starts_with(accessible.join(RUNTIME_DIR)) {
        let text = format!("capabilities.filesystem.scope: {} is the runtime's own", directory.display());
        return Err(Diagnostic::new(Code::FilesystemScope, text).with_hint("name another directory of the workdir"));
    }
    Ok(seen)
}

fn leads_out(directory: &Path) -> Diagnostic {
    let text = format!("capabilities.filesystem.scope: {} leads out of the workdir", directory.display());
    Diagnostic::new(Code::FilesystemScope, text).with_hint("name a directory in the workdir that is no link")
}
