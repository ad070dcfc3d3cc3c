//! The Wasmtime engine: one for a process, shared by all guests.

use super::bindings::{capsule, tool};
use super::capsule::Capsule;
use super::code::Code;
use super::compiled::CompiledCache;
use super::error::GuestError;
use super::filesystem;
use super::load;
use super::served;
use super::store::State;
use super::tool::Tool;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wasmtime::Config;
use wasmtime::component::Linker;

/// How long a guest may compute before it lets the task that runs it look at its deadline, at signals and at
/// other tasks.
const TICK: Duration = Duration::from_millis(10);

/// Loads and runs guests.
pub struct Engine {
    engine: wasmtime::Engine,
    cache: Option<CompiledCache>,
    clock: Arc<Clock>,
    capsules: Linker<State>,
    tools: Linker<State>,
}

impl Engine {
    /// Sets the engine up.
    ///
    /// `cache` is a directory that keeps compiled components, by their content and the engine's version and
    /// settings, so that none is compiled twice; it is made, and closed to others, if need be. Without one
    /// every load compiles.
    ///
    /// # Errors
    /// [`GuestError::Cache`] when the directory cannot be made, belongs to someone else or is no directory;
    /// [`GuestError::Engine`] when Wasmtime does not work on this host.
    pub fn new(cache: Option<&Path>) -> Result<Self, GuestError> {
        let engine = engine()?;
        let cache = cache.map(|directory| CompiledCache::open(directory, &engine)).transpose()?;
        Self::with(engine, cache)
    }

    /// Sets the engine up for looking at components: what `cache` holds is used, and nothing is made or kept there.
    ///
    /// # Errors
    /// [`GuestError::Engine`] when Wasmtime does not work on this host.
    pub fn for_looking(cache: &Path) -> Result<Self, GuestError> {
        let engine = engine()?;
        let cache = CompiledCache::look(cache, &engine);
        Self::with(engine, cache)
    }

    fn with(engine: wasmtime::Engine, cache: Option<CompiledCache>) -> Result<Self, GuestError> {
        let mut tools = linker(&engine).map_err(unusable)?;
        let mut capsules = tools.clone();
        served::link_for_capsules(&mut capsules).map_err(unusable)?;
        served::link_for_tools(&mut tools).map_err(unusable)?;
        let clock = Arc::new(Clock::start(&engine).map_err(|error| unusable(error.into()))?);
        Ok(Self { engine, cache, clock, capsules, tools })
    }

    /// Loads a capsule from its component's file. Compiling blocks the thread, for some seconds where the
    /// component is large and not cached.
    ///
    /// # Errors
    /// When the file cannot be read or is no component, when it imports something that capsules are not
    /// given, or when it does not export `murmur:capsule/run@0.1.0`.
    pub fn load_capsule(&self, path: &Path) -> Result<Capsule, GuestError> {
        self.capsule(&Code::read(path)?)
    }

    /// Loads a capsule from its component.
    ///
    /// # Errors
    /// As [`load_capsule`](Self::load_capsule), save those of the file.
    pub fn capsule(&self, code: &Code) -> Result<Capsule, GuestError> {
        let path = code.origin();
        let component = load::compile(&self.engine, self.cache.as_ref(), code)?;
        let prepared = load::prepare(&self.capsules, &component, &load::CAPSULE, path)?;
        let prepared = capsule::CapsulePre::new(prepared).map_err(|error| load::mismatch(path, &error))?;
        Ok(Capsule::new(prepared, Arc::clone(&self.clock)))
    }

    /// Loads a tool from its component's file, as [`load_capsule`](Self::load_capsule) does.
    ///
    /// # Errors
    /// As there, with `murmur:tool/run@0.1.0` as the export.
    pub fn load_tool(&self, path: &Path) -> Result<Tool, GuestError> {
        self.tool(&Code::read(path)?)
    }

    /// Loads a tool from its component.
    ///
    /// # Errors
    /// As [`load_tool`](Self::load_tool), save those of the file.
    pub fn tool(&self, code: &Code) -> Result<Tool, GuestError> {
        let path = code.origin();
        let component = load::compile(&self.engine, self.cache.as_ref(), code)?;
        let prepared = load::prepare(&self.tools, &component, &load::TOOL, path)?;
        let prepared = tool::ToolPre::new(prepared).map_err(|error| load::mismatch(path, &error))?;
        Ok(Tool::new(prepared, Arc::clone(&self.clock)))
    }
}

/// Wasmtime, set up as guests need it.
fn engine() -> Result<wasmtime::Engine, GuestError> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    wasmtime::Engine::new(&config).map_err(unusable)
}

fn unusable(error: wasmtime::Error) -> GuestError {
    GuestError::Engine { reason: format!("{error:#}") }
}

/// What every guest is given: WASI 0.2, with what is protected closed for writing. `wasi:http` comes with the components
/// that import it.
fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    linker.allow_shadowing(true);
    wasmtime_wasi::p2::bindings::filesystem::types::add_to_linker::<_, filesystem::Marker>(
        &mut linker,
        filesystem::files,
    )?;
    linker.allow_shadowing(false);
    Ok(linker)
}

/// A thread that moves the engine's epoch on, once a [`TICK`], so that guests yield. It ends with the last
/// engine, capsule or tool that holds it.
pub(crate) struct Clock {
    /// Closing this channel stops the thread.
    running: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    fn start(engine: &wasmtime::Engine) -> io::Result<Self> {
        let engine = engine.clone();
        let (running, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("guest-clock".to_owned()).spawn(move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        })?;
        Ok(Self { running: Some(running), thread: Some(thread) })
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic, and there is nobody to tell.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stops_with_its_last_holder() {
        let engine = Engine::new(None).unwrap();
        let clock = Arc::downgrade(&engine.clock);
        drop(engine);
        assert!(clock.upgrade().is_none());
    }
}
