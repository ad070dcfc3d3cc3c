//! What a launch would be: which guests, from which bytes, with which grants, and what stands against it.
//!
//! Everything that a manifest, the stores, the lock and the configuration say about a launch is put together here, once.
//! A launch is staged from it, `--explain-scope` and `session_start` report it, and `mur doctor` goes through it, so they
//! cannot disagree. Nothing is made on disk, and no component is compiled.

use std::path::{Path, PathBuf};

use super::credentials::{self, GatewayPlan};
use super::environment::{EnvFile, HostEnvironment};
use crate::artifact::{ArtifactError, ArtifactId, LOCK_FILE, Limit, Lock, Payload, ProjectArtifacts, Resolved};
use crate::config::{Config, Credentials};
use crate::content::Content;
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{self, Capsule, Engine, GuestError, Tool};
use crate::manifest::{
    Artifact, ArtifactGrants, Containment, Manifest, ManifestError, Packed, Reference, Role, SKILL_FILE, Source,
    Warning, file,
};

/// The strongest containment that this version can put native programs under.
pub const ACHIEVED: Containment = Containment::Advisory;

/// What is to be launched, and what the command line says of it.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The capsule.
    pub capsule: Origin,
    /// The weakest containment that is accepted, besides what the manifest and the configuration say.
    pub containment: Option<Containment>,
    /// Whether the project's `.env` is read.
    pub env_file: EnvFile,
}

/// Where a capsule is taken from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A project, by the path of its manifest.
    Project(PathBuf),
    /// An installed capsule, of no project and under no lock.
    Installed(ArtifactId),
}

/// A launch as it would be.
pub struct Plan {
    /// The capsule's manifest.
    pub manifest: Manifest,
    /// Its text, unless it is a file of its own.
    pub(crate) text: Option<String>,
    /// The directory in which its sessions' workdirs are made.
    pub directory: PathBuf,
    /// What is to be told, whether or not it is launched.
    pub warnings: Vec<Diagnostic>,
    /// Why it would be refused, in the order in which a launch would find out. Empty for one that can begin, as far as
    /// that is known without compiling anything.
    pub refusals: Vec<Diagnostic>,
    /// The weakest containment that is accepted.
    pub declared: Containment,
    /// The capsule's own component, unless it was not found.
    pub(crate) component: Option<Bytes>,
    /// The manifest's artifacts, in its order, as far as they were found.
    pub(crate) artifacts: Vec<Provided>,
    /// Those of them that are pinned, or would be.
    resolved: Vec<Resolved>,
    /// What the lock beside the manifest is to become.
    pub(crate) lock: LockState,
    pub(crate) environment: HostEnvironment,
    pub(crate) home: PathBuf,
}

/// How the lock stands to a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockState {
    /// It is there, and holds; or there is nothing to pin.
    Settled,
    /// There is none: a launch writes it.
    ToBeWritten,
}

/// A component's bytes, or where they are.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    File(PathBuf),
    Memory { origin: PathBuf, content: Content },
}

/// An artifact of the manifest that was found.
pub(crate) struct Provided {
    /// Its index in the manifest.
    pub(crate) index: usize,
    pub(crate) bytes: Bytes,
    /// Its own manifest, as its author wrote it, where it has one.
    pub(crate) manifest: Option<Vec<u8>>,
    /// The same, read; where it can be.
    pub(crate) packed: Option<Packed>,
    pub(crate) gateway: Option<GatewayPlan>,
}

impl Bytes {
    /// Loads the component as a capsule.
    pub(crate) fn capsule(&self, engine: &Engine) -> Result<Capsule, GuestError> {
        engine.capsule(&self.code()?)
    }

    /// Loads the component as a tool.
    pub(crate) fn tool(&self, engine: &Engine) -> Result<Tool, GuestError> {
        engine.tool(&self.code()?)
    }

    /// Reads what is not in memory yet.
    fn code(&self) -> Result<guest::Code, GuestError> {
        match self {
            Self::File(path) => guest::Code::read(path),
            Self::Memory { origin, content } => guest::Code::new(origin.clone(), content.clone()),
        }
    }
}

impl Plan {
    /// Puts a launch together. What is to be told of a manifest is handed to `tell` also where that manifest is refused.
    ///
    /// # Errors
    /// Only what leaves nothing to plan: a manifest that cannot be used, a configuration that cannot be read, an
    /// installed capsule that is not there. Everything else is one of the [`refusals`](Self::refusals).
    pub fn of(
        wish: &Wish,
        home: &Path,
        context: &Context,
        mut tell: impl FnMut(&Diagnostic),
    ) -> Result<Self, Diagnostic> {
        let limit = Limit::of_process().map_err(|error| error.diagnostic())?;
        let found = Found::of(&wish.capsule, home, limit, context)?;
        let reading = match &found.text {
            Some(text) => Manifest::parse(&found.path, text),
            None => Manifest::load(&found.path),
        };
        let mut warnings: Vec<Diagnostic> = reading.warnings.iter().map(Warning::diagnostic).collect();
        let manifest = match reading.outcome {
            Ok(manifest) => manifest,
            Err(error) => {
                warnings.iter().for_each(&mut tell);
                return Err(error.diagnostic());
            }
        };
        let configuration = Config::load(home, &context.here);
        warnings.extend(configuration.warnings.iter().map(Warning::diagnostic));
        let config = match configuration.outcome {
            Ok(config) => config,
            Err(error) => {
                warnings.iter().for_each(&mut tell);
                return Err(error.diagnostic());
            }
        };
        let environment = HostEnvironment::of(manifest.directory(), wish.env_file, context)?;
        let mut plan = Self {
            declared: [Some(manifest.capabilities.containment), Some(config.containment), wish.containment]
                .into_iter()
                .flatten()
                .max()
                .unwrap_or_default(),
            manifest,
            text: found.text,
            directory: found.directory,
            warnings,
            refusals: Vec::new(),
            component: found.component,
            artifacts: Vec::new(),
            resolved: Vec::new(),
            lock: LockState::Settled,
            environment,
            home: home.to_owned(),
        };
        plan.refuse_unserved();
        plan.find_component();
        plan.find_artifacts(&wish.capsule, limit);
        plan.find_gateways(&Credentials::new(home, context));
        plan.warnings.iter().for_each(tell);
        Ok(plan)
    }

    /// Whether one of the manifest's artifacts was found, whatever its kind.
    pub(crate) fn is_found(&self, index: usize) -> bool {
        let artifact = &self.manifest.artifacts[index];
        match &artifact.reference {
            Reference::Installed(_) => self.resolved.iter().any(|resolved| *resolved.id.name() == artifact.name),
            Reference::Local(source) if artifact.role == Role::Skill => self.skill_text(source).is_file(),
            Reference::Local(_) => self.artifacts.iter().any(|provided| provided.index == index),
        }
    }

    /// Where the text of a skill stands that is taken from a path.
    fn skill_text(&self, source: &Source) -> PathBuf {
        self.manifest.directory().join(&source.path).join(SKILL_FILE)
    }

    /// What one of the manifest's artifacts may use.
    pub fn grants_of(&self, artifact: &Artifact) -> ArtifactGrants {
        self.manifest.grants_of(artifact)
    }

    /// Writes the lock that pins what a launch runs, where there is none yet.
    pub(crate) fn write_lock(&self) -> Result<(), Diagnostic> {
        match self.lock {
            LockState::Settled => Ok(()),
            LockState::ToBeWritten => ProjectArtifacts::lock_of(&self.resolved)
                .create(&self.directory.join(LOCK_FILE))
                .map_err(|error| error.diagnostic()),
        }
    }

    fn refuse_unserved(&mut self) {
        self.refusals.extend(self.manifest.unserved().iter().map(ManifestError::diagnostic));
        // What the manifest itself declares is among those already.
        if self.declared > ACHIEVED && self.declared != self.manifest.capabilities.containment {
            let text = format!(
                "the containment `{}` cannot be met: this version of mur enforces no more than `{ACHIEVED}`",
                self.declared
            );
            let hint = "it is asked for by --containment, or by `containment` in config.yaml";
            self.refusals.push(Diagnostic::new(Code::ContainmentFloor, text).with_hint(hint));
        }
    }

    fn find_component(&mut self) {
        if self.component.is_some() || self.manifest.inference.is_some() {
            return;
        }
        match self.manifest.component() {
            Ok(path) => self.component = Some(Bytes::File(path)),
            Err(error) => self.refusals.push(error.diagnostic()),
        }
    }

    fn find_artifacts(&mut self, capsule: &Origin, limit: Limit) {
        let mut local = Vec::new();
        let mut wanted = Vec::new();
        for (index, artifact) in self.manifest.artifacts.iter().enumerate() {
            match &artifact.reference {
                Reference::Local(source) => local.push((index, source.clone())),
                Reference::Installed(version) => match ArtifactId::of(&artifact.name, version) {
                    Ok(id) => wanted.push((index, id)),
                    Err(error) => self.refusals.push(error.diagnostic()),
                },
            }
        }
        for (index, source) in local {
            self.find_local(index, &source, capsule);
        }
        self.find_installed(&wanted, capsule, limit);
        self.artifacts.sort_by_key(|provided| provided.index);
    }

    fn find_local(&mut self, index: usize, source: &Source, capsule: &Origin) {
        let artifact = &self.manifest.artifacts[index];
        if let Origin::Installed(id) = capsule {
            let text = format!(
                "{}: `{}` has a `source`, and the installed {id} has none beside it",
                artifact.place, artifact.name
            );
            self.refusals
                .push(Diagnostic::new(Code::ManifestValue, text).with_hint("name a version that is installed"));
            return;
        }
        if artifact.role == Role::Skill {
            let text = self.skill_text(source);
            if !text.is_file() {
                let what =
                    format!("{}: `{}` is a skill, and {} is not there", artifact.place, artifact.name, text.display());
                self.refusals
                    .push(Diagnostic::new(Code::NotFound, what).with_hint("a skill is a directory with skill.md"));
            }
            return;
        }
        match self.manifest.payload(source) {
            Ok(path) => {
                let manifest = path.with_file_name("murmur.yaml");
                let beside = self.manifest.directory().join(&source.path).is_dir();
                let manifest =
                    beside.then(|| file::read_as_is(&manifest).ok()).flatten().map(|file| file.text.into_bytes());
                let packed = manifest.as_deref().and_then(|text| own_manifest(artifact, text));
                self.artifacts.push(Provided { index, manifest, packed, bytes: Bytes::File(path), gateway: None });
            }
            Err(error) => self.refusals.push(error.diagnostic()),
        }
    }

    fn find_installed(&mut self, wanted: &[(usize, ArtifactId)], capsule: &Origin, limit: Limit) {
        if wanted.is_empty() {
            return;
        }
        let stores = match capsule {
            Origin::Project(_) => ProjectArtifacts::new(&self.directory, &self.home, limit),
            Origin::Installed(_) => ProjectArtifacts::of_user(&self.home, limit),
        };
        let lock = match capsule {
            Origin::Project(_) => match Lock::load(&self.directory.join(LOCK_FILE)) {
                Ok(lock) => lock,
                Err(error) => return self.refusals.push(error.diagnostic()),
            },
            Origin::Installed(_) => None,
        };
        let mut absent = Vec::new();
        let mut refusals = Vec::new();
        for (index, id) in wanted {
            match stores.resolve(std::slice::from_ref(id), lock.as_ref()) {
                Ok(resolved) => resolved.into_iter().for_each(|artifact| self.provide(*index, artifact)),
                Err(ArtifactError::NotInstalled { artifacts }) => absent.extend(artifacts),
                Err(error) => refusals.push(error.diagnostic()),
            }
        }
        if !absent.is_empty() {
            self.refusals.push(ArtifactError::NotInstalled { artifacts: absent }.diagnostic());
        }
        self.refusals.extend(refusals);
        if lock.is_none() && matches!(capsule, Origin::Project(_)) {
            self.lock = LockState::ToBeWritten;
        }
    }

    fn provide(&mut self, index: usize, artifact: Resolved) {
        self.warnings.extend(artifact.warnings());
        let declared = &self.manifest.artifacts[index];
        match &artifact.payload {
            Payload::Component(content) => self.artifacts.push(Provided {
                index,
                bytes: Bytes::Memory { origin: artifact.path(), content: content.clone() },
                manifest: Some(artifact.manifest.clone()),
                packed: Some(artifact.packed.clone()),
                gateway: None,
            }),
            Payload::Native { .. } => {
                match self.manifest.native_tool(declared) {
                    Ok(warnings) => self.warnings.extend(warnings.iter().map(Warning::diagnostic)),
                    Err(error) => self.refusals.push(error.diagnostic()),
                }
                let text = format!(
                    "{}: `{}` is a native program, and this version of mur runs none",
                    declared.place, declared.name
                );
                let hint = "use a tool that is a component; what cannot be contained is refused";
                self.refusals.push(Diagnostic::new(Code::ManifestValue, text).with_hint(hint));
            }
            Payload::Skill { .. } | Payload::Manifest => {
                let kind = &artifact.packed.kind;
                // A skill that is declared as one is an agent's, and refused by its role.
                if declared.role != Role::Skill {
                    let (place, name) = (&declared.place, &declared.name);
                    let text = format!(
                        "{place}: `{name}` is declared as a {}, and {} is a {kind}",
                        declared.role, artifact.id
                    );
                    let hint = format!("write `runtime: {kind}`, or name another artifact");
                    self.refusals.push(Diagnostic::new(Code::ManifestValue, text).with_hint(hint));
                }
            }
        }
        self.resolved.push(artifact);
    }

    fn find_gateways(&mut self, credentials: &Credentials) {
        for provided in &mut self.artifacts {
            let artifact = &self.manifest.artifacts[provided.index];
            let Some(gateway) = &artifact.gateway else { continue };
            match credentials::plan(artifact, gateway, provided.packed.as_ref(), credentials, &self.environment) {
                Ok((planned, warning)) => {
                    provided.gateway = Some(planned);
                    self.warnings.extend(warning);
                }
                Err(refusal) => self.refusals.push(refusal),
            }
        }
    }
}

/// An artifact's own manifest, where it can be read.
fn own_manifest(artifact: &Artifact, text: &[u8]) -> Option<Packed> {
    let path = PathBuf::from(format!("{}: murmur.yaml", artifact.name));
    Packed::parse(&path, text).ok().map(|(packed, _)| packed)
}

/// A capsule before its manifest is read.
struct Found {
    path: PathBuf,
    /// The manifest's text, unless it is a file of its own.
    text: Option<String>,
    directory: PathBuf,
    component: Option<Bytes>,
}

impl Found {
    fn of(capsule: &Origin, home: &Path, limit: Limit, context: &Context) -> Result<Self, Diagnostic> {
        let id = match capsule {
            Origin::Project(manifest) => {
                let path = context.here.join(manifest);
                let directory = path.parent().unwrap_or(&context.here).to_owned();
                return Ok(Self { path, text: None, directory, component: None });
            }
            Origin::Installed(id) => id,
        };
        let stores = ProjectArtifacts::of_user(home, limit);
        let resolved = stores.resolve_capsule(id).map_err(|error| {
            if let ArtifactError::NotInstalled { .. } = error {
                return Diagnostic::new(Code::ArtifactNotInstalled, error.to_string())
                    .with_hint(format!("run `mur install --global {id}`, or publish it on this machine"));
            }
            error.diagnostic()
        })?;
        let text = String::from_utf8(resolved.manifest.clone())
            .map_err(|_| Diagnostic::new(Code::ManifestSyntax, format!("the manifest of {id} is not UTF-8")))?;
        let component = match &resolved.payload {
            Payload::Component(content) => Some(Bytes::Memory { origin: resolved.path(), content: content.clone() }),
            Payload::Native { .. } | Payload::Skill { .. } | Payload::Manifest => None,
        };
        Ok(Self {
            path: resolved.path().join("murmur.yaml"),
            text: Some(text),
            directory: context.here.clone(),
            component,
        })
    }
}
