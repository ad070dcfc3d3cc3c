//! Why a manifest cannot be used, where in it, and what mends that.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use super::ScopeError;
use super::yaml::Position;
use crate::diagnostic::{Code, Diagnostic};

/// A place in a manifest; shown as `murmur.yaml:3:5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The manifest, as its path was given.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: u64,
    /// In characters, counted from 1.
    pub column: u64,
}

impl Place {
    pub(super) fn new(path: PathBuf, at: Position) -> Self {
        Self { path, line: at.line, column: at.column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Why a manifest, or what it names, cannot be used.
///
/// The messages quote the manifest as it is. [`ManifestError::diagnostic`] is the form for people, escaped when shown.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be opened or read; most often it does not exist.
    #[error("{}", unreadable(.path, .cause))]
    Unreadable {
        /// The manifest.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// There is something else than a file, for example a directory or a FIFO.
    #[error("{} is {found}", .path.display())]
    NotAFile {
        /// The manifest.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The file is larger than [`MANIFEST_MAX_BYTES`](super::MANIFEST_MAX_BYTES).
    #[error("{} is larger than {} bytes", .path.display(), super::MANIFEST_MAX_BYTES)]
    TooLarge {
        /// The manifest.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("{}:{line}: the text is not UTF-8", .path.display())]
    NotText {
        /// The manifest.
        path: PathBuf,
        /// The first line that is not, counted from 1.
        line: u64,
    },
    /// The text is not one YAML document.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser says.
        reason: String,
    },
    /// A required field is missing or empty.
    #[error("{place}: `{field}` is missing")]
    Missing {
        /// The mapping that should hold it.
        place: Place,
        /// The field, as a path from the manifest's root.
        field: String,
        /// What to write.
        hint: &'static str,
    },
    /// A value has the wrong type or cannot be used here.
    #[error("{place}: {reason}")]
    Value {
        /// Where.
        place: Place,
        /// What is wrong with which field.
        reason: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// A value breaks a rule that has a code of its own.
    #[error("{place}: {reason}")]
    Rule {
        /// The rule's code.
        code: Code,
        /// Where.
        place: Place,
        /// What is wrong with which field.
        reason: String,
        /// What to write instead.
        hint: String,
    },
    /// A key or value that manifests may hold has no effect in this version.
    #[error("{place}: {what} is not supported by this version of mur")]
    Unsupported {
        /// Where.
        place: Place,
        /// The key or value.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// A `filesystem.scope` is no subdirectory of the workdir.
    #[error("{place}: `{field}` {reason}")]
    Scope {
        /// Where.
        place: Place,
        /// The field, as a path from the manifest's root.
        field: String,
        /// Why.
        #[source]
        reason: ScopeError,
    },
    /// The declared containment is stronger than what this version can enforce.
    #[error(
        "{place}: the containment `{declared}` cannot be met: this version of mur enforces no more than `advisory`"
    )]
    Containment {
        /// Where.
        place: Place,
        /// The declared class.
        declared: &'static str,
    },
    /// An artifact's name is that of a tool that the runtime provides.
    #[error("{place}: `{name}` is the name of a tool that the runtime provides")]
    ReservedName {
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
    /// An artifact's `source` leads to nothing that can be used.
    #[error("{place}: `{field}` names {}, {reason}", .source_path.display())]
    Source {
        /// Where.
        place: Place,
        /// The field, as a path from the manifest's root.
        field: String,
        /// The path, made relative to what the manifest's own path is relative to.
        source_path: PathBuf,
        /// Completes "…, which …".
        reason: String,
        /// Which of the meanings it has.
        problem: SourceProblem,
    },
    /// Beside the manifest there is no component, or no single one.
    #[error("{}: {reason}", .directory.display())]
    Component {
        /// The manifest's directory.
        directory: PathBuf,
        /// What was found there.
        reason: String,
    },
}

/// What is wrong with an artifact's `source`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceProblem {
    /// It, or a part of it that must be there, does not exist.
    Absent,
    /// It exists and has the wrong shape.
    Shape,
    /// It is neither a component nor an artifact's directory.
    Kind,
    /// It cannot be looked at.
    Unreadable(io::ErrorKind),
}

impl ManifestError {
    /// The refusal of `bytes`, which are not UTF-8 for that reason.
    pub(super) fn not_text(path: &Path, bytes: &[u8], reason: Utf8Error) -> Self {
        let valid = &bytes[..reason.valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        Self::NotText { path: path.to_owned(), line }
    }

    /// The form for people: code, text and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.code(), self.to_string());
        match self.hint() {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Unreadable { cause, .. } => Code::for_io(cause),
            Self::NotAFile { .. } | Self::TooLarge { .. } => Code::Io,
            Self::NotText { .. } | Self::Syntax { .. } => Code::ManifestSyntax,
            Self::Missing { .. } => Code::ManifestField,
            Self::Value { .. } | Self::Unsupported { .. } => Code::ManifestValue,
            Self::Rule { code, .. } => *code,
            Self::Scope { .. } => Code::FilesystemScope,
            Self::Containment { .. } => Code::ContainmentFloor,
            Self::ReservedName { .. } => Code::ReservedToolName,
            Self::Component { .. } => Code::ComponentNotFound,
            Self::Source { problem, .. } => match problem {
                SourceProblem::Absent => Code::NotFound,
                SourceProblem::Shape => Code::PayloadShape,
                SourceProblem::Kind => Code::ManifestValue,
                SourceProblem::Unreadable(kind) => Code::for_io(&(*kind).into()),
            },
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreadable { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
                "run mur in a capsule's directory, or pass the path of its murmur.yaml with --manifest"
            }
            Self::Unreadable { .. } | Self::TooLarge { .. } | Self::Syntax { .. } => return None,
            Self::NotAFile { path, .. } => {
                let inside = path.join("murmur.yaml");
                return inside.is_file().then(|| format!("the manifest is {}", inside.display()));
            }
            Self::NotText { .. } => "save the file as UTF-8",
            Self::Missing { hint, .. } | Self::Unsupported { hint, .. } => hint,
            Self::Value { hint, .. } => return hint.clone(),
            Self::Rule { hint, .. } => return Some(hint.clone()).filter(|hint| !hint.is_empty()),
            Self::Scope { .. } => "name a directory below the workdir, for example `scope: data`",
            Self::Containment { .. } => "declare `containment: advisory`, or leave it out",
            Self::ReservedName { .. } => "give the artifact another name",
            Self::Source { problem, .. } => match problem {
                SourceProblem::Absent | SourceProblem::Kind => {
                    "a source is a component (*.wasm), or a directory with murmur.yaml and one component"
                }
                SourceProblem::Shape => "leave one component there, or name it capsule.wasm",
                SourceProblem::Unreadable(_) => return None,
            },
            Self::Component { .. } => {
                "a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm"
            }
        };
        Some(hint.to_owned())
    }
}

fn unreadable(path: &std::path::Path, cause: &io::Error) -> String {
    if cause.kind() == io::ErrorKind::NotFound {
        format!("{} does not exist", path.display())
    } else {
        format!("{} cannot be read: {cause}", path.display())
    }
}

/// A key of the manifest that nobody reads. It changes nothing but should be told: it may be a misspelt restriction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Where.
    pub place: Place,
    /// The key, as a path from the manifest's root.
    pub key: String,
    /// The known key of the same mapping that was probably meant.
    pub nearest: Option<&'static str>,
}

impl UnknownKey {
    /// The warning for people.
    pub fn diagnostic(&self) -> Diagnostic {
        super::Warning::from(self.clone()).diagnostic()
    }
}
