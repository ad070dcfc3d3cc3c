//! What one guest is given.

use super::error::GuestError;
use super::limits::Limits;
use super::output::Outlet;
use super::protect::{ProtectedPaths, path_of};
use super::witness::{Stream, Witness};
use std::fs::File;
use std::io;
use std::path::PathBuf;
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
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The directory. The guest cannot leave it, by `..` or by links either.
    pub directory: PathBuf,
    /// What it may do there.
    pub access: Access,
    /// What it may not change there all the same.
    pub protected: Arc<ProtectedPaths>,
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
        let fail = |source| GuestError::Workspace { path: workspace.directory.clone(), source };
        let permissions = match workspace.access {
            Access::ReadOnly => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        wasi.preopened_dir(&workspace.directory, ".", permissions)
            .map_err(|error| fail(error.downcast().unwrap_or_else(io::Error::other)))?;
        // A host that does not tell the real paths of open files, such as Linux without `/proc`, would refuse
        // every change later, one by one.
        let opened = File::open(&workspace.directory).map_err(fail)?;
        path_of(&opened).map_err(fail)?;
    }
    Ok(wasi.build())
}
