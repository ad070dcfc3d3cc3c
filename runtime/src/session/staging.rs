//! From a plan to a session that can begin: guests loaded and checked, then directories made.
//!
//! The order matters. Whatever can be refused is refused by [`Prepared::load`], or by the looks that [`Prepared::stage`]
//! takes first, before anything exists on disk for the session.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mur_seal::HostKey;

use super::granting::{self, Granting};
use super::ids::SessionId;
use super::paths::{
    BOOTSTRAP_LOG, MANIFEST_FILE, RESULT_FILE, RUNTIME_DIR, SessionDirs, TASK_FILE, TOOLS_DIR, Workdir,
};
use super::plan::Plan;
use super::result;
use super::shelf::Shelf;
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{Capsule, Engine, Grants, GuestError, Tool, Toolbox};
use crate::home::{COMPILED_DIR, private_directory};
use crate::manifest::Role;
use crate::record::BootstrapLog;

/// The other file that a task is read from.
const INPUT_FILE: &str = "input.txt";

/// A capsule whose manifest and components were found fit to run. Nothing exists on disk for a session yet.
pub struct Prepared {
    /// What it was prepared from.
    pub plan: Plan,
    capsule: Capsule,
    tools: Vec<(usize, Tool)>,
}

impl Prepared {
    /// Loads the capsule and its tools.
    ///
    /// # Errors
    /// The first refusal of the plan, or what is wrong with a component, as a person is to read it.
    pub fn load(plan: Plan) -> Result<Self, Diagnostic> {
        if let Some(first) = plan.refusals.first() {
            return Err(first.clone());
        }
        let engine = engine(&plan.home)?;
        let component = plan.component.as_ref().ok_or_else(|| {
            Diagnostic::new(Code::ComponentNotFound, format!("{} has no component", plan.manifest.path().display()))
        })?;
        let capsule = component.capsule(&engine).map_err(|error| load_failure(&error))?;
        let mut tools = Vec::with_capacity(plan.artifacts.len());
        for provided in &plan.artifacts {
            let tool = provided.bytes.tool(&engine).map_err(|error| load_failure(&error))?;
            tools.push((provided.index, tool));
        }
        Ok(Self { plan, capsule, tools })
    }

    /// Makes the session's directories and its task, and gives every guest its grants.
    ///
    /// # Errors
    /// What could not be made.
    pub fn stage(self, request: &Request, key: Arc<HostKey>, context: &Context) -> Result<Staged, Diagnostic> {
        let Self { plan, capsule, tools } = self;
        let session = SessionId::mint(&*context.ids);
        let dirs = directories(&plan, request.workdir.as_deref(), session, context);

        // Before anything is made, since making a directory follows links.
        if let Some(first) = obstacles(&plan, &dirs).into_iter().next() {
            return Err(first);
        }
        plan.write_lock()?;
        for directory in [&dirs.accessible, &dirs.session, &dirs.session.join("logs")] {
            make_directory(directory)?;
        }
        let result = dirs.accessible.join(RESULT_FILE);
        result::prepare(&dirs.accessible).map_err(|cause| io_failure(&result, &cause))?;
        if dirs.workdir == Workdir::Given {
            copy_manifest(&plan, &dirs.accessible.join(MANIFEST_FILE))?;
        }
        let task_bytes = stage_task(request.task.as_ref(), &dirs.accessible)?;
        stage_artifacts(&plan, &dirs)?;
        let log_path = dirs.session.join(BOOTSTRAP_LOG);
        let log =
            BootstrapLog::open(&log_path, Arc::clone(&context.clock)).map_err(|cause| io_failure(&log_path, &cause))?;

        let mut granting = Granting::new(&plan, &dirs, session)?;
        let grants = granting.of_capsule()?;
        let mut toolbox = Toolbox::new();
        for (index, tool) in tools {
            toolbox.insert(plan.manifest.artifacts[index].name.as_str(), tool, granting.of_artifact(index)?);
        }
        toolbox.manage(Arc::new(Shelf::of(&plan, session)));
        Ok(Staged { session, dirs, plan, capsule, toolbox: Arc::new(toolbox), grants, task_bytes, key, log })
    }
}

/// The engine, with the home's cache of compiled components. Without a cache everything still runs, only slower.
pub(crate) fn engine(home: &Path) -> Result<Engine, Diagnostic> {
    let compiled = home.join(COMPILED_DIR);
    // What a link leads to is not the home's to narrow, nor to be believed.
    let own = !compiled.is_symlink() && private_directory(&compiled).is_ok();
    let cache = own.then_some(compiled.as_path());
    Engine::new(cache).map_err(|error| load_failure(&error))
}

/// Why components of this plan could not be run, found by loading them as a launch does. Nothing is made or kept.
pub(crate) fn misfits(plan: &Plan) -> Vec<Diagnostic> {
    let engine = match Engine::for_looking(&plan.home.join(COMPILED_DIR)) {
        Ok(engine) => engine,
        Err(error) => return vec![load_failure(&error)],
    };
    let capsule = plan.component.iter().map(|component| component.capsule(&engine).err());
    let artifacts = plan.artifacts.iter().map(|provided| match plan.manifest.artifacts[provided.index].role {
        Role::Tool | Role::Driver => provided.bytes.tool(&engine).err(),
        // Nothing of this version loads them.
        Role::Hook | Role::Skill => None,
    });
    capsule.chain(artifacts).flatten().map(|error| load_failure(&error)).collect()
}

/// The directories of a session of this plan. Nothing is made.
pub(crate) fn directories(plan: &Plan, workdir: Option<&Path>, session: SessionId, context: &Context) -> SessionDirs {
    let directory = absolute(&plan.directory, context);
    let workdir = workdir.map(|workdir| absolute(workdir, context));
    SessionDirs::resolve(&directory, workdir.as_deref(), session)
}

/// Why a session cannot be staged in these directories, in the order in which it would be found out. Changes nothing.
pub(crate) fn obstacles(plan: &Plan, dirs: &SessionDirs) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut needed = vec![dirs.accessible.clone(), dirs.session.clone()];
    for surface in granting::surfaces(plan) {
        match granting::directory_of(&surface, dirs) {
            Ok(seen) => {
                found.extend(granting::key_out_of_reach(&seen, &plan.home).err());
                needed.push(seen);
            }
            Err(refusal) => found.push(refusal),
        }
    }
    if dirs.workdir == Workdir::Own
        && let Some(above) = dirs.accessible.parent().filter(|above| above.is_symlink())
    {
        // A project from elsewhere must not choose where on this host its sessions are written.
        let text = format!("{} is a link, and sessions are made in a directory", above.display());
        found.push(Diagnostic::new(Code::Io, text).with_hint("remove it, or name the directory with --workdir"));
    }
    if let Some(outside) = records_outside(dirs) {
        found.push(outside);
    }
    let mut blocking: Vec<PathBuf> = Vec::new();
    for directory in &needed {
        blocking.extend(in_the_way(directory).filter(|path| !blocking.contains(path)));
    }
    found.extend(blocking.iter().map(|path| file_for_directory(path)));
    found.extend(granting::state_obstacles(plan));
    if let Some(obstacle) = result::obstacle(&dirs.accessible) {
        found.push(Diagnostic::new(Code::Io, obstacle).with_hint("move it away, or pass another --workdir"));
    }
    found
}

/// Refuses a given workdir whose records would lie elsewhere: who names a directory expects what is written there.
fn records_outside(dirs: &SessionDirs) -> Option<Diagnostic> {
    let runtime = dirs.accessible.join(RUNTIME_DIR);
    if dirs.workdir == Workdir::Own || !runtime.is_symlink() {
        return None;
    }
    let leads = runtime.canonicalize().unwrap_or_else(|_| runtime.clone());
    let accessible = dirs.accessible.canonicalize().unwrap_or_else(|_| dirs.accessible.clone());
    if leads.starts_with(&accessible) && leads != runtime {
        return None;
    }
    let text = format!("{} is a link, and leads out of the workdir", runtime.display());
    Some(Diagnostic::new(Code::Io, text).with_hint("remove it, or pass another --workdir"))
}

/// What a launch asks for besides the manifest.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The task.
    pub task: Option<Task>,
    /// The directory to work in, instead of one of the session's own.
    pub workdir: Option<PathBuf>,
}

/// A task as the command line gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// The content of this file.
    File(PathBuf),
    /// This text.
    Text(String),
}

/// A session that can begin.
pub struct Staged {
    /// Its id.
    pub session: SessionId,
    /// Its directories, absolute.
    pub dirs: SessionDirs,
    /// What it was staged from.
    pub plan: Plan,
    pub(crate) capsule: Capsule,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) grants: Grants,
    pub(crate) task_bytes: u64,
    pub(crate) key: Arc<HostKey>,
    pub(crate) log: BootstrapLog,
}

/// Writes the task where guests read it, and says how long it is: the one given, else `task.md` as it stands there, else
/// `input.txt`, else nothing.
fn stage_task(task: Option<&Task>, accessible: &Path) -> Result<u64, Diagnostic> {
    let path = accessible.join(TASK_FILE);
    let text = match task {
        None => {
            let len =
                |name| fs::metadata(accessible.join(name)).ok().filter(fs::Metadata::is_file).map(|found| found.len());
            return Ok(len(TASK_FILE).or_else(|| len(INPUT_FILE)).unwrap_or(0));
        }
        Some(Task::Text(text)) => text.clone().into_bytes(),
        Some(Task::File(file)) => fs::read(file).map_err(|cause| io_failure(file, &cause))?,
    };
    // What stands there is replaced and not written into: it may be a link, or a file with another name elsewhere.
    let new = accessible.join(format!(".{TASK_FILE}.{}.tmp", uuid::Uuid::new_v4().simple()));
    let written = File::options()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map_err(|cause| io_failure(&path, &cause))?;
    Ok(text.len() as u64)
}

/// Copies the manifest into a given workdir, never over a file that is there.
fn copy_manifest(plan: &Plan, copy: &Path) -> Result<(), Diagnostic> {
    let text = match &plan.text {
        Some(text) => text.clone().into_bytes(),
        None => fs::read(plan.manifest.path()).map_err(|cause| io_failure(plan.manifest.path(), &cause))?,
    };
    match File::options().write(true).create_new(true).open(copy) {
        Ok(mut file) => file.write_all(&text).map_err(|cause| io_failure(copy, &cause)),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(io_failure(copy, &cause)),
    }
}

/// Puts the manifests of installed artifacts where people look for what a session ran.
fn stage_artifacts(plan: &Plan, dirs: &SessionDirs) -> Result<(), Diagnostic> {
    for provided in &plan.artifacts {
        let Some(manifest) = &provided.manifest else { continue };
        let name = plan.manifest.artifacts[provided.index].name.as_str();
        let directory = dirs.session.join(TOOLS_DIR).join(name);
        make_directory(&directory)?;
        let path = directory.join(MANIFEST_FILE);
        fs::write(&path, manifest).map_err(|cause| io_failure(&path, &cause))?;
    }
    Ok(())
}

fn absolute(path: &Path, context: &Context) -> PathBuf {
    let joined = context.here.join(path);
    // A path that does not exist yet keeps its form.
    joined.canonicalize().unwrap_or(joined)
}

pub(super) fn make_directory(path: &Path) -> Result<(), Diagnostic> {
    fs::create_dir_all(path).map_err(|cause| match in_the_way(path) {
        Some(file) => file_for_directory(&file),
        None => io_failure(path, &cause),
    })
}

/// What stands where a directory, or one that leads to it, is to be made: a file, or a link that leads to none.
fn in_the_way(directory: &Path) -> Option<PathBuf> {
    let nearest = directory.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    (!nearest.is_dir()).then(|| nearest.to_owned())
}

fn file_for_directory(path: &Path) -> Diagnostic {
    let text = format!("{} is a file, and a directory is needed there", path.display());
    Diagnostic::new(Code::Io, text).with_hint("name another directory, or move the file away")
}

pub(super) fn io_failure(path: &Path, cause: &io::Error) -> Diagnostic {
    Diagnostic::new(Code::for_io(cause), format!("{}: {cause}", path.display()))
}

/// A component that cannot be run, told before anything runs.
pub(crate) fn load_failure(error: &GuestError) -> Diagnostic {
    let diagnostic = |code| Diagnostic::new(code, error.to_string());
    match error {
        GuestError::ImportNotServed { served: Some(served), .. } => {
            diagnostic(Code::ImportNotLinked).with_hint(format!("build it against `{served}`"))
        }
        GuestError::ImportNotServed { served: None, .. } => diagnostic(Code::ImportNotLinked)
            .with_hint("a guest is given WASI 0.2 and the interfaces of its kind, nothing else"),
        GuestError::ExportMissing { .. } | GuestError::Mismatch { .. } => diagnostic(Code::ImportNotLinked)
            .with_hint("build it against the interfaces in the project's `wit` directory"),
        GuestError::NotFound { .. } => diagnostic(Code::NotFound),
        GuestError::NotAComponent { .. } | GuestError::Invalid { .. } => {
            diagnostic(Code::ImportNotLinked).with_hint("build it for the target wasm32-wasip2")
        }
        GuestError::Unreadable { source, .. } => diagnostic(Code::for_io(source)),
        GuestError::Engine { .. }
        | GuestError::Cache { .. }
        | GuestError::Workspace { .. }
        | GuestError::Limit(_)
        | GuestError::Trapped { .. }
        | GuestError::Exited { .. }
        | GuestError::NoResult
        | GuestError::Witness(_) => diagnostic(Code::SessionFailed),
    }
}
