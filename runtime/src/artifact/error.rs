//! Why an artifact cannot be built, kept, found, fetched or pinned, and what mends that.

use std::io;
use std::path::PathBuf;

use super::file::is_absent;
use super::id::{ArtifactId, IdError};
use super::lock::LockError;
use super::platform::Platform;
use crate::content::{ContentHash, HashError};
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{AuthProblem, NameError, PackedError};

/// Why something with artifacts failed.
///
/// The messages quote names, paths and what servers said as they are. [`ArtifactError::diagnostic`] is the form for
/// people, escaped when shown.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file or directory cannot be read.
    #[error("{}", unreadable(.path, .cause))]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// A file or directory cannot be written.
    #[error("{} cannot be written: {cause}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// There is something else than a file.
    #[error("{} is {found}", .path.display())]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Something has more bytes than are read.
    #[error("{what} is larger than {most} bytes")]
    TooLarge {
        /// A path or URL.
        what: String,
        /// The limit.
        most: u64,
    },
    /// The variable that sets the limit holds no number.
    #[error("{} is `{value}`, which is no number of bytes greater than zero", super::Limit::VARIABLE)]
    BadLimit {
        /// What it holds.
        value: String,
    },
    /// A link stands where a file is to be packed.
    #[error("{} is a symbolic link, and no link is packed", .path.display())]
    Link {
        /// Which.
        path: PathBuf,
    },
    /// A link stands where a project's artifacts are kept.
    #[error("{} is a symbolic link, and nothing is installed through one", .path.display())]
    StoreLink {
        /// Which.
        path: PathBuf,
    },
    /// A required file does not exist.
    #[error("`requires_files` names `{path}`, and {} does not exist", .file.display())]
    RequiredFile {
        /// As it is named.
        path: String,
        /// Where it would be.
        file: PathBuf,
    },
    /// An archive is not one that can be accepted.
    #[error("{origin}: {reason}")]
    Archive {
        /// Its path or URL.
        origin: String,
        /// Why, with the entry.
        reason: String,
    },
    /// There is no manifest where an artifact's directory should be.
    #[error("{} does not exist", .path.display())]
    NoManifest {
        /// Where it would be.
        path: PathBuf,
    },
    /// The hash that is recorded beside an archive is none.
    #[error("{}: the hash {reason}", .path.display())]
    BadHash {
        /// The file that should hold it.
        path: PathBuf,
        /// Why.
        #[source]
        reason: HashError,
    },
    /// An artifact is to be published that was not built.
    #[error("{id} is not built: {} does not exist", .archive.display())]
    NotBuilt {
        /// Which.
        id: ArtifactId,
        /// Where it would be.
        archive: PathBuf,
    },
    /// The artifact's own manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] PackedError),
    /// The artifact's `upstream_auth` cannot be used.
    #[error(transparent)]
    Auth(#[from] AuthProblem),
    /// The payload does not have the shape that the manifest promises.
    #[error("{origin}: {reason}")]
    Payload {
        /// The archive or directory.
        origin: String,
        /// What was expected and found.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A text does not say which artifact is meant.
    #[error("`{text}` {reason}")]
    Id {
        /// The text.
        text: String,
        /// Why.
        #[source]
        reason: IdError,
    },
    /// An artifact cannot have this version.
    #[error("{id}: `{}` is a reserved word, not a version", .id.version().as_str())]
    Reserved {
        /// Which.
        id: ArtifactId,
    },
    /// Bytes do not have the hash that they should.
    #[error("{what} is damaged: its SHA-256 is {found}, and should be {expected}")]
    Hash {
        /// A path or URL.
        what: String,
        /// What was expected.
        expected: String,
        /// What the bytes have.
        found: ContentHash,
    },
    /// A stored artifact is not the one that it is filed as.
    #[error("{origin} is filed as {expected}, and is {found}")]
    Misfiled {
        /// Its path or URL.
        origin: String,
        /// As what it is filed.
        expected: ArtifactId,
        /// What its own manifest says.
        found: String,
    },
    /// The version is there already.
    #[error("{id} is already published in {}", .store.display())]
    Exists {
        /// Which.
        id: ArtifactId,
        /// The store.
        store: PathBuf,
    },
    /// What was found is not what the lock pins.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// A source did not answer, or not as a source does.
    #[error("{source_name} did not answer: {reason}")]
    Unanswered {
        /// The source.
        source_name: String,
        /// What happened instead.
        reason: String,
    },
    /// Nobody has the artifact.
    #[error("{id} was not found{}", in_sources(.asked))]
    NotFound {
        /// Which.
        id: ArtifactId,
        /// Who was asked.
        asked: Vec<String>,
    },
    /// A binary is for another platform.
    #[error("{what} is for {found}, and {platform} is needed")]
    ForeignBinary {
        /// Which binary.
        what: String,
        /// What its header says.
        found: String,
        /// For what it would have to be.
        platform: Platform,
    },
    /// There is no host platform that native artifacts are made for.
    #[error("{what} is native, and no native artifacts are made for this platform")]
    NoPlatform {
        /// Which.
        what: String,
    },
    /// Artifacts that are to be run are not installed.
    #[error("{} not installed", are(.artifacts))]
    NotInstalled {
        /// Each of them.
        artifacts: Vec<String>,
    },
    /// The lock cannot be used, or does not pin what is to be run.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A skill's manifest, or what is said of it on the command line, does not fit.
    #[error("{}: {reason}", .path.display())]
    Skill {
        /// The skill.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// There is no text where a skill's should be.
    #[error("{} holds no SKILL.md", .path.display())]
    NoSkill {
        /// The folder or archive.
        path: PathBuf,
    },
    /// A skill's name cannot be used.
    #[error("`{text}` is no name for a skill: it {reason}")]
    SkillName {
        /// The name.
        text: String,
        /// Why.
        #[source]
        reason: NameError,
    },
    /// A text names no registry.
    #[error("`{text}` is no registry: {reason}")]
    Registry {
        /// The text.
        text: String,
        /// Why.
        reason: String,
    },
    /// What was asked for is not in the power of this version.
    #[error("{what} is not supported by this version of mur")]
    Unsupported {
        /// What.
        what: String,
        /// What to do.
        hint: &'static str,
    },
}

/// What was found is not what the lock pins.
#[derive(Debug, thiserror::Error)]
#[error("{id} from {origin} has the SHA-256 {found}, and {} pins {pinned}", .lock.display())]
pub struct Conflict {
    /// Which.
    pub id: ArtifactId,
    /// Where it was found.
    pub origin: String,
    /// The lock.
    pub lock: PathBuf,
    /// What the lock pins.
    pub pinned: ContentHash,
    /// What was found.
    pub found: ContentHash,
}

impl ArtifactError {
    /// Its code.
    pub fn code(&self) -> Code {
        self.diagnostic().code()
    }

    /// Whether it says that a file or directory is not there.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Read { cause, .. } if is_absent(cause))
    }

    /// The form for people: code, text and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let plain = |code| Diagnostic::new(code, self.to_string());
        let with = |code, hint: &str| plain(code).with_hint(hint);
        match self {
            Self::Read { cause, .. } | Self::Write { cause, .. } => plain(Code::for_io(cause)),
            Self::NotAFile { .. } => plain(Code::Io),
            Self::TooLarge { .. } => with(Code::Io, &format!("{} raises the limit, in bytes", super::Limit::VARIABLE)),
            Self::BadLimit { .. } => with(Code::Io, "set it to a number of bytes, or unset it"),
            Self::Link { .. } => with(Code::RequiredPath, "name the file itself"),
            Self::StoreLink { .. } => with(Code::Io, "remove the link; what a project needs is installed again"),
            Self::RequiredFile { .. } => with(Code::Io, "make the file, or leave it out of `requires_files`"),
            Self::NoManifest { .. } => with(Code::NotFound, "name the directory of the artifact's murmur.yaml"),
            Self::BadHash { .. } => with(Code::ArtifactHash, "correct or remove the file"),
            Self::NotBuilt { .. } => with(Code::NotFound, "run `mur build`, or name the archive"),
            Self::Archive { .. } => with(Code::PayloadShape, "make the archive with `mur build`"),
            Self::Manifest(error) => error.diagnostic(),
            Self::Auth(problem) => problem.diagnostic(),
            Self::Payload { hint, .. } => with(Code::PayloadShape, hint),
            Self::Id { reason: IdError::Version, .. } => with(
                Code::ManifestValue,
                "write a version without slashes and spaces, and no `.` in front, for example 1.0.0",
            ),
            Self::Id { reason: IdError::Form | IdError::Name(_), .. } => {
                with(Code::ManifestValue, "name one as name@version, for example word-count@1.0.0")
            }
            Self::Reserved { .. } => with(Code::ReservedVersion, "name the version itself, for example 1.0.0"),
            Self::Hash { .. } | Self::Misfiled { .. } => {
                with(Code::ArtifactHash, "install it again from a good source")
            }
            Self::Exists { .. } => {
                with(Code::ArtifactExists, "raise `version` in murmur.yaml: what is published stays")
            }
            Self::Conflict(_) => with(
                Code::LockConflict,
                "the artifact has changed without its version changing: ask its author, or remove the entry from the lock",
            ),
            Self::Unanswered { .. } => with(Code::SourceUnanswered, "try again later, or name another with --registry"),
            Self::NotFound { asked, .. } if asked.is_empty() => {
                with(Code::ArtifactNotFound, "no source is configured: name one with --registry")
            }
            Self::NotFound { .. } => with(
                Code::ArtifactNotFound,
                "see what there is with `mur search`, or name another source with --registry",
            ),
            Self::ForeignBinary { .. } => with(Code::ForeignBinary, "use the one that was built for that platform"),
            Self::NoPlatform { .. } => plain(Code::ForeignBinary),
            Self::NotInstalled { .. } => with(Code::ArtifactNotInstalled, "run `mur install`"),
            Self::Lock(error) => error.diagnostic(),
            Self::Skill { hint, .. } => with(Code::ManifestValue, hint),
            Self::NoSkill { .. } => with(Code::NotFound, "a skill is a folder or a zip with a SKILL.md"),
            Self::SkillName { .. } => with(Code::ArtifactName, "give it one: mur build --skill NAME PATH"),
            Self::Registry { .. } => {
                with(Code::Io, "give `local`, a directory, or a URL such as https://registry.example/artifacts")
            }
            Self::Unsupported { hint, .. } => with(Code::Io, hint),
        }
    }
}

fn unreadable(path: &std::path::Path, cause: &io::Error) -> String {
    if cause.kind() == io::ErrorKind::NotFound {
        format!("{} does not exist", path.display())
    } else {
        format!("{} cannot be read: {cause}", path.display())
    }
}

fn in_sources(sources: &[String]) -> String {
    if sources.is_empty() { String::new() } else { format!(" in {}", sources.join(", ")) }
}

fn are(artifacts: &[String]) -> String {
    format!("{} {}", artifacts.join(", "), if artifacts.len() == 1 { "is" } else { "are" })
}
