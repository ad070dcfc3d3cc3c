//! What one guest is given.

use super::error::GuestError;
use super::gateway::{self, Gateway};
use super::limits::Limits;
use super::network::Network;
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
    /// The directory that it sees as `state`, which outlasts the session.
    pub state: Option<Workspace>,
    /// Its environment variables. Nothing of the host's own environment is added.
    pub environment: Vec<(String, String)>,
    /// The hosts that it may send requests to.
    pub network: Network,
    /// An endpoint that it may send requests to, with a key that it does not see. It says where by a variable of the
    /// environment, `MURMUR_GATEWAY_ENDPOINT`, and gives reach to nothing else.
    pub gateway: Option<Gateway>,
    /// What it may use.
    pub limits: Limits,
}

impl Grants {
    /// What is closed for writing, in either directory: the rules are over paths of the host, and links may lead from one
    /// directory to the other.
    pub(crate) fn protected(&self) -> Arc<ProtectedPaths> {
        let rules = |directory: &Workspace| Arc::clone(&directory.protected);
        match (self.workspace.as_ref().map(rules), self.state.as_ref().map(rules)) {
            (None, None) => Arc::default(),
            (Some(rules), None) | (None, Some(rules)) => rules,
            (Some(rules), Some(others)) if others.is_empty() => rules,
            (Some(rules), Some(others)) => Arc::new((*rules).clone().and(&others)),
        }
    }
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

    /// Lets a guest see the directory under that name.
    fn give(&self, wasi: &mut WasiCtxBuilder, name: &str) -> Result<(), GuestError> {
        let fail = |source| GuestError::Workspace { path: self.path.clone(), source };
        let permissions = match self.access {
            Access::ReadOnly => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        let directory = self.path_of_handle().map_err(fail)?;
        wasi.preopened_dir(directory, name, permissions)
            .map_err(|error| fail(error.downcast().unwrap_or_else(io::Error::other)))?;
        Ok(())
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

/// The WASI side of these grants: no arguments, an empty standard input, no sockets.
///
/// # Errors
/// [`GuestError::Workspace`] when a directory cannot be opened.
pub(crate) fn wasi(grants: &Grants, guest: &Arc<str>, witness: &Arc<dyn Witness>) -> Result<WasiCtx, GuestError> {
    let outlet = |stream| Outlet::new(guest, stream, witness);
    let mut wasi = WasiCtxBuilder::new();
    let stand_in = grants.gateway.as_ref().map(|gateway| (gateway::VARIABLE.to_owned(), gateway.stand_in()));
    let environment = grants.environment.iter().filter(|(name, _)| stand_in.is_none() || name != gateway::VARIABLE);
    let environment: Vec<_> = environment.cloned().chain(stand_in.clone()).collect();
    wasi.envs(&environment)
        .stdout(outlet(Stream::Stdout))
        .stderr(outlet(Stream::Stderr))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for (name, directory) in [(".", &grants.workspace), ("state", &grants.state)] {
        if let Some(directory) = directory {
            directory.give(&mut wasi, name)?;
        }
    }
    Ok(wasi.build())
}
