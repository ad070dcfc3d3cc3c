//! What the binary says when something is wrong: one code, one text, at most one hint.
//!
//! Every room has its own error type; each of them turns into a [`Diagnostic`] where a person or a script is to read it.
//! Scripts depend on the codes, on the form and on the exit codes, so all three are written down here and nowhere else.
//!
//! Texts quote manifests, file names and what guests said. All of that is foreign, so a diagnostic escapes its whole
//! text when it is shown: nobody who builds one escapes anything.

use std::fmt;
use std::io;

use mur_seal::escape;

/// Exit code: the command did what it was asked.
pub const EXIT_OK: u8 = 0;
/// Exit code: a command was refused or failed, or a session did not end `ok`.
pub const EXIT_FAILED: u8 = 1;
/// Exit code: the arguments themselves are wrong.
pub const EXIT_USAGE: u8 = 2;
/// Exit code: told to stop a second time, the session was left as it stood.
pub const EXIT_TERMINATED: u8 = 143;

/// Where every code is explained, under an anchor that is the code in lower case.
const DOCUMENTATION: &str = "https://docs.murmur.nexus/reference/diagnostics/";

macro_rules! codes {
    ($($(#[$meaning:meta])+ $name:ident = $text:literal,)+) => {
        /// A diagnostic code. `E-` codes are errors, `W-` codes are warnings and never change an exit code.
        ///
        /// A code keeps its meaning for ever and is never used again for another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$meaning])+ $name,)+
        }

        impl Code {
            /// Every code that this version can print.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as it is printed, for example `E-MAN-003`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    /// A required field of the manifest is missing.
    ManifestField = "E-MAN-001",
    /// The manifest is not YAML.
    ManifestSyntax = "E-MAN-002",
    /// A manifest value has the wrong type, is out of range, or stands where it has no meaning.
    ManifestValue = "E-MAN-003",
    /// No store and no source has the artifact.
    ArtifactNotFound = "E-REG-001",
    /// An artifact's bytes are not those of its hash.
    ArtifactHash = "E-REG-002",
    /// A version that is to be published exists.
    ArtifactExists = "E-REG-003",
    /// A version is a word that will mean something else.
    ReservedVersion = "E-REG-004",
    /// An artifact is not the one that `murmur.lock` pins.
    LockConflict = "E-REG-005",
    /// A source of artifacts did not answer.
    SourceUnanswered = "E-REG-006",
    /// A component trapped, or reached its deadline or its memory limit.
    Trapped = "E-RUN-001",
    /// A component imports what is not served.
    ImportNotLinked = "E-RUN-002",
    /// `murmur.lock` cannot be used, or does not pin what is to be run.
    LockMismatch = "E-RUN-003",
    /// The capsule's component was not found.
    ComponentNotFound = "E-RUN-004",
    /// An agent capsule names no driver that it declares.
    NoDriver = "E-RUN-005",
    /// The session could not go on, for example because its trace could not be written.
    SessionFailed = "E-RUN-007",
    /// A declared artifact is not installed.
    ArtifactNotInstalled = "E-RUN-008",
    /// A native binary is for another platform.
    ForeignBinary = "E-RUN-021",
    /// A gateway's artifact does not say how its key is sent.
    UpstreamAuth = "E-RUN-025",
    /// The session ran and its task did not complete.
    TaskNotCompleted = "E-RUN-040",
    /// An entry of a list of hosts cannot be read.
    NetworkRule = "E-CAP-001",
    /// `capabilities.filesystem.scope` cannot be used.
    FilesystemScope = "E-CAP-002",
    /// The declared containment floor cannot be met.
    ContainmentFloor = "E-CAP-003",
    /// A staged interpreter without the containment that it needs.
    StagedRuntime = "E-CAP-004",
    /// What is exported lies outside of the workdir.
    ExportRoot = "E-CAP-007",
    /// A capsule that stays must limit how long its shared files can be fetched.
    PeerFilesAge = "E-CAP-008",
    /// The name of a state store cannot be used.
    StateStore = "E-CAP-009",
    /// An artifact's `config` has the wrong shape or is too large.
    ArtifactConfig = "E-CAP-010",
    /// The name of a conversation record cannot be used.
    RecordStore = "E-CAP-011",
    /// A read-only path cannot be used.
    ReadOnlyPath = "E-CAP-012",
    /// An artifact claims a tool name that is the runtime's own.
    ReservedToolName = "E-CAP-013",
    /// `env.allow` names a variable that is not set.
    VariableUnset = "E-CAP-014",
    /// `env.allow` names variables that guests never see.
    EnvironmentBackstop = "E-CAP-016",
    /// A native tool has a gateway.
    GatewayOnNative = "E-CAP-017",
    /// A gateway has neither a key nor the word that it needs none.
    GatewayKey = "E-CAP-018",
    /// An artifact's name cannot be used.
    ArtifactName = "E-BLD-001",
    /// A path in `requires_files` cannot be used.
    RequiredPath = "E-BLD-002",
    /// An artifact's payload has the wrong shape.
    PayloadShape = "E-BLD-003",
    /// An artifact's manifest holds a block that is no longer read.
    RetiredBlock = "E-BLD-004",
    /// A file or directory does not exist.
    NotFound = "E-IO-001",
    /// A file or directory may not be used.
    PermissionDenied = "E-IO-002",
    /// Any other failure to read or write.
    Io = "E-IO-003",
    /// The murmur home cannot be located or used.
    Home = "E-IO-004",
    /// Guests would see the host's private key.
    KeyWithinReach = "E-SEAL-001",
    /// A key of the configuration that is not written by a command.
    ConfigKey = "E-CFG-002",
    /// A file of the configuration cannot be used.
    ConfigFile = "E-CFG-003",
    /// A trace cannot be read.
    TraceUnreadable = "E-TRC-001",
    /// A session address names no session, or several.
    SessionAddress = "E-TRC-002",
    /// The manifest holds a key or a secret in plain text.
    LiteralCredential = "W-SEC-004",
    /// A hook's capabilities hold a block that has no effect.
    InertHookBlock = "W-SEC-006",
    /// An artifact's capabilities name what the capsule itself does not have.
    OutsideCeiling = "W-SEC-007",
    /// A tool's or driver's capabilities hold a block that has no effect.
    InertToolBlock = "W-SEC-008",
    /// A shell's interpreter reads directories of this host.
    InterpreterRuntime = "W-SEC-009",
    /// Programs in the workdir may be run.
    WorkdirExec = "W-SEC-011",
    /// A state store for the whole capsule has no effect.
    CapsuleWideState = "W-SEC-014",
    /// A native tool's `config` has no effect.
    ConfigOnNative = "W-SEC-015",
    /// `conversation` for the whole capsule has no effect.
    CapsuleWideConversation = "W-SEC-016",
    /// The manifest or the configuration holds a key that is not known.
    UnknownManifestKey = "W-SEC-019",
    /// `env.allow` names a variable that is called like a secret.
    SecretVariable = "W-SEC-024",
    /// A guest may reach a gateway's host directly.
    GatewayHostAllowed = "W-SEC-025",
    /// A provider's key comes from the environment and stays as it is until the next launch.
    KeyFixedAtLaunch = "W-SEC-027",
    /// A file that holds secrets can be used by others.
    SecretFileMode = "W-SEC-028",
    /// A native artifact's payload names no platform.
    UntaggedPayload = "W-REG-001",
    /// `requires_files` names what is packed anyway.
    RedundantFile = "W-BLD-001",
    /// A component is packed beside `capsule.wasm`, which is the one that is run.
    ExtraComponent = "W-BLD-002",
    /// A file that only a build needs is packed.
    BuildInput = "W-BLD-003",
}

impl Code {
    /// The code for a failed file operation: absent, not permitted, or anything else.
    pub fn for_io(cause: &io::Error) -> Self {
        if cause.kind() == io::ErrorKind::NotFound {
            Self::NotFound
        } else if cause.kind() == io::ErrorKind::PermissionDenied {
            Self::PermissionDenied
        } else {
            Self::Io
        }
    }

    /// Whether it stops a command or only tells of something.
    pub fn severity(self) -> Severity {
        if self.as_str().starts_with("W-") { Severity::Warning } else { Severity::Error }
    }

    /// The page and anchor that explain the code.
    pub fn link(self) -> String {
        format!("{DOCUMENTATION}#{}", self.as_str().to_ascii_lowercase())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a diagnostic means for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The command ends with [`EXIT_FAILED`].
    Error,
    /// The command goes on, and its exit code is not affected.
    Warning,
}

/// One error or warning, ready to be shown.
///
/// Its `Display` is the form on stderr, without a newline at the end:
///
/// ```text
/// error[E-IO-001]: murmur.yaml does not exist
///   hint: …
/// warning[W-SEC-019]: … (link)
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    code: Code,
    text: String,
    hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic that says `text`: what is wrong, and with what. Lower-case, no full stop, not escaped.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), hint: None }
    }

    /// Adds what to do about it. Not escaped.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong, not escaped: for JSON, logs and the trace.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to do about it, not escaped.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = escape(&self.text);
        match self.code.severity() {
            Severity::Error => write!(f, "error[{}]: {text}", self.code)?,
            Severity::Warning => write!(f, "warning[{}]: {text} ({})", self.code, self.code.link())?,
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", escape(hint)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_error_is_one_line_and_a_hint_a_second_indented_one() {
        let plain = Diagnostic::new(Code::NotFound, "murmur.yaml does not exist");
        insta::assert_snapshot!(plain, @"error[E-IO-001]: murmur.yaml does not exist");
        insta::assert_snapshot!(plain.with_hint("pass its path with --manifest"), @r"
        error[E-IO-001]: murmur.yaml does not exist
          hint: pass its path with --manifest
        ");
    }

    #[test]
    fn a_warning_ends_with_a_link_to_its_own_anchor() {
        let warning = Diagnostic::new(Code::UnknownManifestKey, "murmur.yaml:3:1: `artifcts` is not a known key");
        insta::assert_snapshot!(
            warning,
            @"warning[W-SEC-019]: murmur.yaml:3:1: `artifcts` is not a known key (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)"
        );
    }

    #[test]
    fn foreign_text_can_neither_steer_the_terminal_nor_add_a_line() {
        let foreign = "a\u{1b}[2Jb\nerror[E-IO-003]: forged\u{202e}";
        let shown = Diagnostic::new(Code::Io, foreign).with_hint(foreign).to_string();
        assert_eq!(shown.lines().count(), 2, "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }

    #[test]
    fn the_text_and_the_hint_stay_exact_for_programs() {
        let diagnostic = Diagnostic::new(Code::Io, "a\nb").with_hint("c\td");
        assert_eq!((diagnostic.text(), diagnostic.hint()), ("a\nb", Some("c\td")));
    }

    #[test]
    fn every_code_is_well_formed_and_stands_for_one_meaning() {
        let mut seen = HashSet::new();
        for code in Code::ALL {
            let parts: Vec<_> = code.as_str().split('-').collect();
            let [kind, area, number] = parts[..] else { panic!("{code} has not three parts") };
            assert!(matches!(kind, "E" | "W"), "{code}");
            assert!(!area.is_empty() && area.chars().all(|c| c.is_ascii_uppercase()), "{code}");
            assert!(number.len() == 3 && number.chars().all(|c| c.is_ascii_digit()), "{code}");
            assert!(seen.insert(code.as_str()), "{code} occurs twice");
        }
    }

    #[test]
    fn file_errors_are_told_apart_by_what_mends_them() {
        assert_eq!(Code::for_io(&io::ErrorKind::NotFound.into()), Code::NotFound);
        assert_eq!(Code::for_io(&io::ErrorKind::PermissionDenied.into()), Code::PermissionDenied);
        assert_eq!(Code::for_io(&io::ErrorKind::StorageFull.into()), Code::Io);
    }
}
