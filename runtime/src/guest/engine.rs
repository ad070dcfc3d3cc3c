//! The Wasmtime engine: one for a process, shared by all guests.

use super::bindings::{capsule, tool};
use super::capsule::Capsule;
use super::error::GuestError;
use super::filesystem;
use super::load;
use super::served;
use super::store::State;
use super::tool::Tool;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wasmtime::component::Linker;
use wasmtime::{Cache, CacheConfig, Config};

/// How long a guest may compute before it lets the task that runs it look at its deadline, at signals and at
/// other tasks.
const TICK: Duration = Duration::from_millis(10);

/// The directory of compiled components holds machine code that is run: it is the user's alone.
const CACHE_MODE: u32 = 0o700;

/// Loads and runs guests.
pub struct Engine {
    engine: wasmtime::Engine,
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
        let mut config = Config::new();
        config.epoch_interruption(true);
        if let Some(directory) = cache {
            config.cache(Some(open_cache(directory)?));
        }
        let engine = wasmtime::Engine::new(&config).map_err(unusable)?;
        let mut tools = linker(&engine).map_err(unusable)?;
        let mut capsules = tools.clone();
        served::link_for_capsules(&mut capsules).map_err(unusable)?;
        served::link_for_tools(&mut tools).map_err(unusable)?;
        let clock = Arc::new(Clock::start(&engine).map_err(|error| unusable(error.into()))?);
        Ok(Self { engine, clock, capsules, tools })
    }

    /// Loads a capsule from its component's file. Compiling blocks the thread, for some seconds where the
    /// component is large and not cached.
    ///
    /// # Errors
    /// When the file cannot be read or is no component, when it imports something that capsules are not
    /// given, or when it does not export `murmur:capsule/run@0.1.0`.
    pub fn load_capsule(&self, path: &Path) -> Result<Capsule, GuestError> {
        let component = load::compile(&self.engine, path)?;
        let prepared = load::prepare(&self.capsules, &component, &load::CAPSULE, path)?;
        let prepared = capsule::CapsulePre::new(prepared).map_err(|error| load::mismatch(path, &error))?;
        Ok(Capsule::new(prepared, Arc::clone(&self.clock)))
    }

    /// Loads a tool from its component's file, as [`load_capsule`](Self::load_capsule) does.
    ///
    /// # Errors
    /// As there, with `murmur:tool/run@0.1.0` as the export.
    pub fn load_tool(&self, path: &Path) -> Result<Tool, GuestError> {
        let component = load::compile(&self.engine, path)?;
        let prepared = load::prepare(&self.tools, &component, &load::TOOL, path)?;
        let prepared = tool::ToolPre::new(prepared).map_err(|error| load::mismatch(path, &error))?;
        Ok(Tool::new(prepared, Arc::clone(&self.clock)))
    }
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

/// Makes the cache directory if need be, closes it to others, and opens it.
fn open_cache(directory: &Path) -> Result<Cache, GuestError> {
    let fail = |source| GuestError::Cache { path: directory.to_owned(), source };
    DirBuilder::new().recursive(true).mode(CACHE_MODE).create(directory).map_err(fail)?;
    let metadata = fs::symlink_metadata(directory).map_err(fail)?;
    if !metadata.is_dir() {
        return Err(fail(io::ErrorKind::NotADirectory.into()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")));
    }
    if metadata.mode() & 0o777 != CACHE_MODE {
        fs::set_permissions(directory, Permissions::from_mode(CACHE_MODE)).map_err(fail)?;
    }
    let directory = directory.canonicalize().map_err(fail)?;
    let mut config = CacheConfig::new();
    config.with_directory(&directory);
    Cache::new(config).map_err(|error| fail(io::Error::other(format!("{error:#}"))))
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
    fn the_cache_directory_is_made_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("a/compiled");
        Engine::new(Some(&cache)).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_cache_directory_open_to_others_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("compiled");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
        Engine::new(Some(&cache)).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_cache_directory_that_is_a_link_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(home.path(), &link).unwrap();
        assert!(matches!(Engine::new(Some(&link)), Err(GuestError::Cache { .. })));
    }

    #[test]
    fn a_file_where_the_cache_directory_should_be_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Engine::new(Some(&file)), Err(GuestError::Cache { .. })));
    }

    #[test]
    fn the_clock_stops_with_its_last_holder() {
        let engine = Engine::new(None).unwrap();
        let clock = Arc::downgrade(&engine.clock);
        drop(engine);
        assert!(clock.upgrade().is_none());
    }
}
