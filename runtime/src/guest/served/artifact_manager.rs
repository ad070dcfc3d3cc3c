//! `murmur:artifact-manager/manage`, over whoever manages the artifacts of a session.

use crate::guest::store::State;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentNamedList, ComponentType, Lift, Linker, LinkerInstance, Lower};
use wasmtime_wasi::runtime::spawn_blocking;

pub(super) const INTERFACE: &str = "murmur:artifact-manager/manage@0.1.0";

/// Manages the artifacts of a session for its capsule. The methods are called on a thread that may block; their errors are
/// told to the capsule in these words.
pub trait ArtifactManager: Send + Sync {
    /// The artifacts that are installed.
    ///
    /// # Errors
    /// Why they cannot be told.
    fn list(&self) -> Result<Vec<ArtifactSummary>, String>;

    /// One that is installed.
    ///
    /// # Errors
    /// When it is not, or cannot be read.
    fn describe(&self, name: &str) -> Result<ArtifactInfo, String>;

    /// Those that a source has and that match.
    ///
    /// # Errors
    /// Unless it is overridden, that there is no search.
    fn search(&self, query: &str) -> Result<Vec<ArtifactSummary>, String> {
        Err(format!("a capsule cannot search for artifacts: `{query}` was not looked for"))
    }

    /// Fetches an artifact and installs it.
    ///
    /// # Errors
    /// Why it could not be had.
    fn pull(&self, name: &str, version: &str) -> Result<ArtifactSummary, String>;

    /// Removes one that is installed.
    ///
    /// # Errors
    /// Unless it is overridden, that nothing is removed.
    fn remove(&self, name: &str) -> Result<(), String> {
        Err(format!("a capsule cannot remove artifacts: `{name}` stays"))
    }

    /// What runs, and with what.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn diagnostics(&self) -> Result<RuntimeState, String>;
}

/// What an artifact is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum ArtifactRuntime {
    /// A component.
    #[component(name = "wasm")]
    Wasm,
    /// A program of the host.
    #[component(name = "native")]
    Native,
}

/// An artifact in a list.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub struct ArtifactSummary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is made of.
    pub runtime: ArtifactRuntime,
}

/// All that is known of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub struct ArtifactInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is made of.
    pub runtime: ArtifactRuntime,
    /// A sentence or two of its author's.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// JSON Schema of its input.
    #[component(name = "input-schema")]
    pub input_schema: Option<String>,
    /// JSON Schema of its output.
    #[component(name = "output-schema")]
    pub output_schema: Option<String>,
}

/// The running capsule.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub struct RuntimeState {
    /// Its name and version, or whatever tells it from others.
    #[component(name = "capsule-id")]
    pub capsule_id: String,
    /// The artifacts that are installed.
    pub installed: Vec<ArtifactSummary>,
    /// Which of `network`, `filesystem`, `shell` it has.
    pub capabilities: Vec<String>,
}

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut instance = linker.instance(INTERFACE)?;
    serve(&mut instance, "list", |manager, (): ()| manager.list())?;
    serve(&mut instance, "describe", |manager, (name,): (String,)| manager.describe(&name))?;
    serve(&mut instance, "search", |manager, (query,): (String,)| manager.search(&query))?;
    serve(&mut instance, "pull", |manager, (name, version): (String, String)| manager.pull(&name, &version))?;
    serve(&mut instance, "remove", |manager, (name,): (String,)| manager.remove(&name))?;
    serve(&mut instance, "diagnostics", |manager, (): ()| manager.diagnostics())
}

/// Links one function, which asks the manager on a thread that may block.
fn serve<Arguments, Answer>(
    instance: &mut LinkerInstance<'_, State>,
    name: &str,
    ask: fn(&dyn ArtifactManager, Arguments) -> Result<Answer, String>,
) -> wasmtime::Result<()>
where
    Arguments: ComponentNamedList + Lift + Send + Sync + 'static,
    Answer: ComponentType + Lower + Send + Sync + 'static,
{
    instance.func_wrap_async(name, move |store: StoreContextMut<'_, State>, arguments: Arguments| {
        let manager = store.data().toolbox.artifacts().map(Arc::clone);
        Box::new(async move {
            let answer = match manager {
                Some(manager) => spawn_blocking(move || ask(&*manager, arguments)).await,
                None => Err("this session has no artifacts to manage".to_owned()),
            };
            Ok((answer,))
        })
    })
}
