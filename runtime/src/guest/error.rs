//! Why a guest could not be loaded, or did not end well.

use super::limits::LimitHit;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of a [`Witness`](super::Witness), by which it ends a guest's run.
pub type WitnessError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong with a guest. Names, paths and reasons are as the host or the guest's
/// author wrote them: they are escaped where they are shown.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The engine could not be set up.
    #[error("the WebAssembly engine cannot be set up: {reason}")]
    Engine {
        /// What Wasmtime says.
        reason: String,
    },

    /// The directory of compiled components is of no use.
    #[error("{} cannot hold compiled components: {source}", path.display())]
    Cache {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The component's file does not exist.
    #[error("there is no file {}", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },

    /// The component's file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The file is something else than a component.
    #[error("{} is {kind}, not a component", path.display())]
    NotAComponent {
        /// The file.
        path: PathBuf,
        /// What it is, by its first bytes.
        kind: FileKind,
    },

    /// The file begins as a component and is not a valid one.
    #[error("{} is not a valid component: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What Wasmtime says.
        reason: String,
    },

    /// The component wants something that no guest of its kind is given, such as another version of a
    /// package.
    #[error("{} imports `{import}`, which is not served", path.display())]
    ImportNotServed {
        /// The component's file.
        path: PathBuf,
        /// The import, in full.
        import: String,
        /// The same interface in the version that is served, if there is one.
        served: Option<&'static str>,
    },

    /// The component lacks what is to be called.
    #[error("{} does not export `{export}`", path.display())]
    ExportMissing {
        /// The component's file.
        path: PathBuf,
        /// The interface that it has to export, in full.
        export: &'static str,
    },

    /// The component imports or exports an interface of the right name with other contents.
    #[error("{} does not fit the interfaces that are served: {reason}", path.display())]
    Mismatch {
        /// The component's file.
        path: PathBuf,
        /// What Wasmtime says; it names the import or export.
        reason: String,
    },

    /// The directory that the guest is to see cannot be opened.
    #[error("{} cannot be opened for the guest: {source}", path.display())]
    Workspace {
        /// The directory, on the host.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The guest used up one of its limits.
    #[error("{0}")]
    Limit(LimitHit),

    /// The guest trapped.
    #[error("the guest trapped: {cause}")]
    Trapped {
        /// What happened, in a few words.
        cause: String,
        /// The innermost functions of the guest at that time, innermost first, as far as its file names
        /// them; at most eight.
        functions: Vec<String>,
    },

    /// The guest left through `wasi:cli/exit` and reported failure.
    #[error("the guest exited with code {code}")]
    Exited {
        /// Its exit code; WASI 0.2 lets a guest say no more than 1.
        code: i32,
    },

    /// A tool left through `wasi:cli/exit` and reported success, but gave no result.
    #[error("the tool exited without a result")]
    NoResult,

    /// The witness could not take down what the guest did, so the guest was stopped.
    #[error("what the guest did could not be recorded: {0}")]
    Witness(#[source] WitnessError),
}

/// What a file is that should have been a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A core WebAssembly module, which is what compilers make for targets other than wasm32-wasip2.
    CoreModule,
    /// Text, for instance WAT.
    Text,
    /// No bytes at all.
    Empty,
    /// Anything else.
    Unknown,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CoreModule => "a core WebAssembly module",
            Self::Text => "a text file",
            Self::Empty => "an empty file",
            Self::Unknown => "a file of another kind",
        })
    }
}
