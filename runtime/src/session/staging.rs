//! From a manifest to a session that can begin: guests loaded and checked, then directories made.
//!
//! The order matters. Whatever can be refused is refused by [`Prepared::load`], before anything exists on disk for the
//! session; only [`Prepared::stage`] makes directories.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mur_seal::HostKey;
use rustix::fs::OFlags;

use super::address::{project_roots, recorded};
use super::ids::SessionId;
use super::paths::{BOOTSTRAP_LOG, Entry, MANIFEST_FILE, RESULT_FILE, RUNTIME_DIR, SessionDirs, TASK_FILE, Workdir};
use super::result;
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{Access, Capsule, Engine, Grants, GuestError, Limits, ProtectedPaths, Tool, Toolbox, Workspace};
use crate::manifest::{Manifest, Reading, Reference, Scope, Warning};
use crate::record::BootstrapLog;

/// Where compiled components are kept, below the murmur home.
const COMPILED_DIR: &str = "compiled";
/// The other file that a task is read from.
const INPUT_FILE: &str = "input.txt";
/// Mode of directories that hold private data.
const PRIVATE: u32 = 0o700;

/// A capsule whose manifest and components were found fit to run. Nothing exists on disk for a session yet.
pub struct Prepared {
    /// The manifest.
    pub manifest: Manifest,
    capsule: Capsule,
    tools: Vec<(String, Tool)>,
    home: PathBuf,
}

impl Prepared {
    /// Reads the manifest, and loads the capsule and its tools. What is to be told of the manifest is handed to `tell`, also
    /// where it is refused then.
    ///
    /// # Errors
    /// What is wrong with the manifest or a component, as a person is to read it.
    pub fn load(manifest: &Path, home: &Path, tell: impl FnMut(&Warning)) -> Result<Self, Diagnostic> {
        let Reading { warnings, outcome } = Manifest::load(manifest);
        warnings.iter().for_each(tell);
        let manifest = outcome.map_err(|error| error.diagnostic())?;
        if let Some(first) = manifest.unserved().first() {
            return Err(first.diagnostic());
        }
        let component = manifest.component().map_err(|error| error.diagnostic())?;
        let mut sources: Vec<(String, PathBuf)> = Vec::new();
        for artifact in &manifest.artifacts {
            let path = match &artifact.reference {
                Reference::Local(source) => manifest.payload(source),
                Reference::Installed(_) => Err(manifest.not_installed(artifact)),
            };
            sources.push((artifact.name.to_string(), path.map_err(|error| error.diagnostic())?));
        }

        let compiled = home.join(COMPILED_DIR);
        // Without a cache everything still runs, only slower.
        let cache = private_directory(&compiled).is_ok().then_some(compiled.as_path());
        let engine = Engine::new(cache).map_err(|error| load_failure(&error))?;
        let capsule = engine.load_capsule(&component).map_err(|error| load_failure(&error))?;
        let tools = sources
            .into_iter()
            .map(|(name, path)| engine.load_tool(&path).map(|tool| (name, tool)))
            .collect::<Result<_, _>>()
            .map_err(|error| load_failure(&error))?;
        Ok(Self { manifest, capsule, tools, home: home.into() })
    }

    /// Makes the session's directories and its task, and gives every guest its grants.
    ///
    /// # Errors
    /// What could not be made.
    pub fn stage(self, request: &Request, key: Arc<HostKey>, context: &Context) -> Result<Staged, Diagnostic> {
        let session = SessionId::mint(&*context.ids);
        let directory = absolute(self.manifest.directory(), context);
        let workdir = request.workdir.as_deref().map(|workdir| absolute(workdir, context));
        let dirs = SessionDirs::resolve(&directory, workdir.as_deref(), session);

        // Before anything is made, since making a directory follows links.
        let planned = scope_directory(&self.manifest.capabilities.scope, &dirs)?;
        key_out_of_reach(&planned, &self.home)?;
        if let Some(obstacle) = result::obstacle(&dirs.accessible) {
            return Err(Diagnostic::new(Code::Io, obstacle).with_hint("move it away, or pass another --workdir"));
        }
        for directory in [&dirs.accessible, &dirs.session, &dirs.session.join("logs")] {
            make_directory(directory)?;
        }
        let result = dirs.accessible.join(RESULT_FILE);
        result::prepare(&dirs.accessible).map_err(|cause| io_failure(&result, &cause))?;
        if dirs.workdir == Workdir::Given {
            copy_manifest(self.manifest.path(), &dirs.accessible.join(MANIFEST_FILE))?;
        }
        let task_bytes = stage_task(request.task.as_ref(), &dirs.accessible)?;
        let log_path = dirs.session.join(BOOTSTRAP_LOG);
        let log =
            BootstrapLog::open(&log_path, Arc::clone(&context.clock)).map_err(|cause| io_failure(&log_path, &cause))?;

        make_directory(&planned)?;
        let protected = protected_paths(&dirs).map_err(|cause| io_failure(&dirs.session, &cause))?;
        let workspace = Workspace::open(&planned, Access::ReadWrite, Arc::new(protected))
            .map_err(|error| Diagnostic::new(Code::Io, error.to_string()))?;
        // Once more, of the directory that is open now and stays so, whatever its path comes to mean.
        let seen = workspace.real_path().map_err(|cause| io_failure(&planned, &cause))?;
        key_out_of_reach(&seen, &self.home)?;
        if !seen.starts_with(real_path(&dirs.accessible)) {
            return Err(leads_out(&planned));
        }
        let grants = Grants {
            workspace: Some(workspace),
            environment: vec![
                ("MURMUR_CAPSULE_NAME".into(), self.manifest.name.to_string()),
                ("MURMUR_CAPSULE_VERSION".into(), self.manifest.version.to_string()),
                ("MURMUR_SESSION_ID".into(), session.to_string()),
            ],
            limits: limits_of(&self.manifest),
            ..Grants::default()
        };
        let mut toolbox = Toolbox::new();
        for (name, tool) in self.tools {
            toolbox.insert(name, tool, grants.clone());
        }
        Ok(Staged {
            session,
            dirs,
            manifest: self.manifest,
            capsule: self.capsule,
            toolbox: Arc::new(toolbox),
            grants,
            task_bytes,
            key,
            log,
        })
    }
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
    /// The capsule's manifest.
    pub manifest: Manifest,
    pub(crate) capsule: Capsule,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) grants: Grants,
    pub(crate) task_bytes: u64,
    pub(crate) key: Arc<HostKey>,
    pub(crate) log: BootstrapLog,
}

fn limits_of(manifest: &Manifest) -> Limits {
    let limits = manifest.capabilities.limits;
    Limits {
        memory_bytes: limits.memory_bytes.get(),
        table_elements: limits.table_elements.get().into(),
        instances: limits.instances.get().into(),
        deadline: Duration::from_secs(limits.deadline_seconds.get().into()),
    }
}

/// What guests may not change: the session's own record, everything below the runtime's directory, where whoever reads
/// records looks for those of sessions, and in a workdir that outlives the session the records that lie in it.
fn protected_paths(dirs: &SessionDirs) -> io::Result<ProtectedPaths> {
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
    Ok(protected)
}

/// Refuses a directory in which guests could read the host's private key, with which anything could be sealed.
fn key_out_of_reach(seen: &Path, home: &Path) -> Result<(), Diagnostic> {
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

/// The directory that guests see as `.`, its links resolved as far as it exists. It must really lie in the accessible
/// workdir, outside of what is the runtime's there.
fn scope_directory(scope: &Scope, dirs: &SessionDirs) -> Result<PathBuf, Diagnostic> {
    let Scope::Subtree(subpath) = scope else { return Ok(dirs.accessible.clone()) };
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
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let written = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(flags.bits().cast_signed())
        .open(&path)
        .and_then(|mut file| file.write_all(&text));
    written.map_err(|cause| io_failure(&path, &cause))?;
    Ok(text.len() as u64)
}

/// Copies the manifest into a given workdir, never over a file that is there.
fn copy_manifest(manifest: &Path, copy: &Path) -> Result<(), Diagnostic> {
    let text = fs::read(manifest).map_err(|cause| io_failure(manifest, &cause))?;
    match File::options().write(true).create_new(true).open(copy) {
        Ok(mut file) => file.write_all(&text).map_err(|cause| io_failure(copy, &cause)),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(io_failure(copy, &cause)),
    }
}

fn absolute(path: &Path, context: &Context) -> PathBuf {
    let joined = context.here.join(path);
    // A path that does not exist yet keeps its form.
    joined.canonicalize().unwrap_or(joined)
}

fn make_directory(path: &Path) -> Result<(), Diagnostic> {
    fs::create_dir_all(path).map_err(|cause| {
        if path.exists() && !path.is_dir() {
            let text = format!("{} is a file, and a directory is needed there", path.display());
            return Diagnostic::new(Code::Io, text).with_hint("name another directory, or move the file away");
        }
        io_failure(path, &cause)
    })
}

/// Makes a directory that only its owner may enter, and narrows one that is wider.
fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE))
}

fn io_failure(path: &Path, cause: &io::Error) -> Diagnostic {
    Diagnostic::new(Code::for_io(cause), format!("{}: {cause}", path.display()))
}

/// A component that cannot be run, told before anything runs.
fn load_failure(error: &GuestError) -> Diagnostic {
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
