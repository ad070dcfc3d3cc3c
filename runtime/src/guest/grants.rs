//! What one guest is given.

use super::error::GuestError;
use super::limits::Limits;
use super::output::Outlet;
use super::protect::{ProtectedPaths, path_of};
use super::witness::{Stream, Witness};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

/// What one guest is given. The default is nothing, under the default limits.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// The directory that it sees as `.`; without one it sees no files.
    pub workspace: Option<Workspace>,
    /// Its environment variables. Nothing of the host's own environment is added.
    pub environment: Vec<(String, String)>,
    /// What it may use.
    pub limits: Limits,
}

/// A directory of the host, as a guest sees it.
///
/// It is opened once and kept open: what its path comes to mean later, when somebody moves it away or puts a link in its
/// place, changes nothing for the guests.
#[derive(Clone, Debug)]
pub struct Workspace {
    directory: Arc<File>,
    path: PathBuf,
    /// What guests may do there. They cannot leave it, by `..` or by links either.
    pub access: Access,
    /// What they may not change there all the same.
    pub protected: Arc<ProtectedPaths>,
}

impl Workspace {
    /// Opens the directory at `path`.
    ///
    /// # Errors
    /// [`GuestError::Workspace`] when it cannot be opened, is no directory, or this host does not tell the real paths of
    /// open files (Linux without `/proc`), by which changes are judged.
    pub fn open(path: &Path, access: Access, protected: Arc<ProtectedPaths>) -> Result<Self, GuestError> {
        let fail = |source| GuestError::Workspace { path: path.into(), source };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| fail(error.into()))?;
        let workspace = Self { directory: Arc::new(opened.into()), path: path.into(), access, protected };
        workspace.real_path().map_err(fail)?;
        Ok(workspace)
    }

    /// Where the directory is now.
    ///
    /// # Errors
    /// When the host does not tell.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        path_of(&self.directory)
    }

    /// A path that leads to the open directory, whatever its own path means by now.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn path_of_handle(&self) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd as _;
        Ok(format!("/proc/self/fd/{}", self.directory.as_raw_fd()).into())
    }

    /// A path that leads to the open directory: its real one, found anew.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn path_of_handle(&self) -> io::Result<PathBuf> {
        self.real_path()
    }
}

/// What a guest may do with the files that it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read them.
    ReadOnly,
    /// Read and change them, and make others.
    ReadWrite,
}

/// The WASI side of these grants: no arguments, an empty standard input, no network.
///
/// # Errors
/// [`GuestError::Workspace`] when the directory cannot be opened.
pub(crate) fn wasi(grants: &Grants, guest: &Arc<str>, witness: &Arc<dyn Witness>) -> Result<WasiCtx, GuestError> {
    let outlet = |stream| Outlet::new(guest, stream, witness);
    let mut wasi = WasiCtxBuilder::new();
    wasi.envs(&grants.environment)
        .stdout(outlet(Stream::Stdout))
        .stderr(outlet(Stream::Stderr))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if let Some(workspace) = &grants.workspace {
        let fail = |source| GuestError::Workspace { path: workspace.path.clone(), source };
        let permissions = match workspace.access {
            Access::ReadOnly => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        let directory = workspace.path_of_handle().map_err(fail)?;
        wasi.preopened_dir(directory, ".", permissions)
            .map_err(|error| fail(error.downcast().unwrap_or_else(io::Error::other)))?;
    }
    Ok(wasi.build())
}
