//! The table of every path that the runtime writes in a session, and what follows from it.
//!
//! [`TABLE`] says for each path what it is, where it lies, when it is written, how it is sealed, and whether a capsule
//! that holds the workdir may change it. From it come [`runtime_writes`], the list that a trace carries so that the
//! capsule's own changes can be told from the runtime's, and [`SessionDirs::protected`], what guests may not change. A
//! path that the runtime comes to write is added here.
//!
//! A session has two directories ([`SessionDirs`]): the *accessible* one, which guests see, and the *session* one, which
//! holds its records. Without `--workdir` they are the same.

use std::path::{Path, PathBuf};

use mur_seal::{COMPLETION_STREAM, EVAL_STREAM, SEAL_SUFFIX, TRACE_STREAM};
use serde::Serialize;

use super::ids::SessionId;

/// The runtime's directory in an accessible workdir that somebody else owns.
pub const RUNTIME_DIR: &str = ".murmur";
/// Where a project's sessions lie, beside its manifest, when no workdir is given.
pub const WORKDIRS: &str = "workdir";
/// The task, in the accessible workdir.
pub const TASK_FILE: &str = "task.md";
/// The copy of the manifest, in an accessible workdir that was given.
pub const MANIFEST_FILE: &str = "murmur.yaml";
/// The final output: of a script capsule in the accessible workdir, of an agent in the session workdir.
pub const RESULT_FILE: &str = "out/result.txt";
/// What the runtime tells of a session's staging and recording, in the session workdir.
pub const BOOTSTRAP_LOG: &str = "logs/bootstrap.log";
/// The artifacts that a session was staged with, in the session workdir.
pub const TOOLS_DIR: &str = "tools";
/// Trace bodies by their own digest, in the session workdir.
pub const BLOBS_DIR: &str = "blobs";

/// What stands for the session's id in a path that is reported.
const SESSION_PLACEHOLDER: &str = "<session-id>";

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One file.
    File,
    /// A directory with whatever the runtime puts below it.
    Directory,
}

/// Which of the session's two directories a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The directory that guests see.
    Accessible,
    /// The directory of the session's records.
    Session,
}

/// When a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// In every session.
    Always,
    /// When `--workdir` is passed.
    WorkdirProvided,
    /// In an agent's session.
    AgentSession,
    /// In a script capsule's session.
    ScriptSession,
    /// When the capsule may run shell commands.
    Shell,
    /// When it may fetch files from peers.
    PeerFetch,
    /// When it may launch other capsules.
    Spawn,
    /// When another capsule launched it.
    Delegated,
    /// When a root file system is composed for its subprocesses.
    Sealed,
}

/// How a path is made checkable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// It is not sealed.
    None,
    /// Each line ends with the hash of the one before it.
    Inline,
    /// The seal lists the hash of each line.
    Listed,
    /// The seal lists one hash, of the whole file.
    ListedWholeFile,
}

/// Whose a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The runtime writes it, and the capsule may write it too.
    Shared,
    /// The runtime's record: a capsule may read it and nothing else.
    Runtime,
}

/// How a path stands in [`runtime_writes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Where the original system lists it, in the table's order.
    Compatible,
    /// After those: the original system does not list it.
    Own,
    /// Not at all: it lies below a directory that is.
    Covered,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The path, relative to its scope's directory; it may hold the literal segment `<session-id>`.
    pub path: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it is relative to.
    pub scope: Scope,
    /// When it is written.
    pub condition: Condition,
    /// How it is sealed. A sealed path has its seal beside it, with the same scope, condition and owner.
    pub chain: Chain,
    /// Whose it is.
    pub owner: Owner,
    /// How it is reported.
    pub report: Report,
}

/// A row as most are: neither sealed nor the runtime's alone.
const fn row(path: &'static str, kind: Kind, scope: Scope, condition: Condition) -> Row {
    Row { path, kind, scope, condition, chain: Chain::None, owner: Owner::Shared, report: Report::Compatible }
}

impl Row {
    const fn sealed(self, chain: Chain) -> Self {
        Self { chain, owner: Owner::Runtime, ..self }
    }

    const fn the_runtimes(self) -> Self {
        Self { owner: Owner::Runtime, ..self }
    }

    const fn reported(self, report: Report) -> Self {
        Self { report, ..self }
    }

    /// The name of the row's seal, if it has one.
    fn seal(&self) -> Option<String> {
        match self.chain {
            Chain::None => None,
            Chain::Inline | Chain::Listed | Chain::ListedWholeFile => Some(format!("{}{SEAL_SUFFIX}", self.path)),
        }
    }
}

/// Every path that the runtime writes in a session's two directories.
///
/// The rows reported as [`Report::Compatible`] stand in the order in which the original system lists them.
pub const TABLE: &[Row] = {
    use Condition::{AgentSession, Always, Delegated, PeerFetch, ScriptSession, Sealed, Shell, Spawn, WorkdirProvided};
    use Kind::{Directory, File};
    use Scope::{Accessible, Session};
    &[
        row(".murmur/<session-id>", Directory, Accessible, Always),
        row(TASK_FILE, File, Accessible, Always),
        row(MANIFEST_FILE, File, Accessible, WorkdirProvided),
        row("logs", Directory, Accessible, Shell),
        row("peer-in", Directory, Accessible, PeerFetch),
        row(".murmur/children", Directory, Accessible, Spawn),
        row("out", Directory, Accessible, ScriptSession),
        row(COMPLETION_STREAM, File, Accessible, Delegated).sealed(Chain::ListedWholeFile),
        row(TOOLS_DIR, Directory, Session, Always),
        row(TRACE_STREAM, File, Session, Always).sealed(Chain::Inline),
        row(BLOBS_DIR, Directory, Session, Always).the_runtimes(),
        row("logs", Directory, Session, AgentSession),
        row("out", Directory, Session, AgentSession),
        row(".process-driver", Directory, Session, AgentSession),
        row("MURMUR.md", File, Session, AgentSession),
        row("plans", Directory, Session, AgentSession),
        row(".capsule-home", Directory, Session, Shell),
        row(".mur-tmp", Directory, Session, Sealed),
        row(".mur-etc", Directory, Session, Sealed),
        // A script's session has a log too, of the same name.
        row("logs", Directory, Session, ScriptSession).reported(Report::Own),
        row(BOOTSTRAP_LOG, File, Session, Always).the_runtimes().reported(Report::Covered),
        row("hooks", Directory, Session, AgentSession).the_runtimes().reported(Report::Own),
        row(EVAL_STREAM, File, Session, AgentSession).sealed(Chain::Listed).reported(Report::Covered),
        // A link to the stream in `hooks`, under its older name.
        row("eval.jsonl", File, Session, AgentSession).the_runtimes().reported(Report::Own),
    ]
};

/// Whether the accessible directory was given or is the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workdir {
    /// It belongs to somebody else; the session's directory is `.murmur/<session-id>` in it.
    Given,
    /// It was made for this session, and is the session's directory too.
    Own,
}

/// What native subprocesses see as their root file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubprocessRoot {
    /// The host's, or there are none.
    Host,
    /// One that is composed for the session.
    Composed,
}

/// A path that the runtime may write, as traces and reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeWrite {
    /// Relative to the accessible directory, with the literal segment `<session-id>`.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Which directory it belongs to.
    pub scope: Scope,
    /// When it is written.
    pub condition: Condition,
}

/// What the runtime may write below the accessible directory, in the order that the original system reports, then what
/// only this one writes.
///
/// Every row is listed with its condition, whether or not the session at hand fulfils it: the list describes the layout,
/// and a reader that knows the session decides by the condition. Only the rows of a composed root are left out where
/// there is none. With a given workdir, excluding the prefix `.murmur/` covers all that is not at the top level of the
/// accessible directory.
pub fn runtime_writes(workdir: Workdir, root: SubprocessRoot) -> Vec<RuntimeWrite> {
    let applies = |row: &&Row| match row.condition {
        Condition::Sealed => root == SubprocessRoot::Composed,
        Condition::Always
        | Condition::WorkdirProvided
        | Condition::AgentSession
        | Condition::ScriptSession
        | Condition::Shell
        | Condition::PeerFetch
        | Condition::Spawn
        | Condition::Delegated => true,
    };
    let write = |row: &Row, path: &str| RuntimeWrite {
        path: reported(row.scope, workdir, path),
        kind: row.kind,
        scope: row.scope,
        condition: row.condition,
    };
    let listed = |report: Report| TABLE.iter().filter(applies).filter(move |row| row.report == report);
    // A covered stream's seal lies below the same directory.
    let sealed = TABLE.iter().filter(applies).filter(|row| row.report != Report::Covered);
    let compatible = listed(Report::Compatible).map(|row| write(row, row.path));
    let own = listed(Report::Own).map(|row| write(row, row.path));
    let seals = sealed.filter_map(|row| row.seal().map(|path| write(row, &path)));
    compatible.chain(own).chain(seals).collect()
}

/// The two directories of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirs {
    /// What guests see as `.`, a narrower scope aside.
    pub accessible: PathBuf,
    /// Where the session's records are.
    pub session: PathBuf,
    /// Whether the accessible directory was given.
    pub workdir: Workdir,
}

impl SessionDirs {
    /// The directories of `session`: in `workdir` where one is given, otherwise beside the manifest.
    ///
    /// Creates nothing. The result is absolute where the arguments are.
    pub fn resolve(manifest_directory: &Path, workdir: Option<&Path>, session: SessionId) -> Self {
        match workdir {
            Some(given) => Self {
                accessible: given.to_owned(),
                session: given.join(RUNTIME_DIR).join(session.to_string()),
                workdir: Workdir::Given,
            },
            None => {
                let own = manifest_directory.join(WORKDIRS).join(session.to_string());
                Self { accessible: own.clone(), session: own, workdir: Workdir::Own }
            }
        }
    }

    /// The directory that a path of `scope` is relative to.
    pub fn of(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Accessible => &self.accessible,
            Scope::Session => &self.session,
        }
    }

    /// What a capsule may not change below these directories: the rows that are the [`Owner::Runtime`]'s, their seals,
    /// and the names under which seals are written.
    ///
    /// Rows count whatever their condition. A capsule that made a `completion.json` where none belongs would make its
    /// own record read as unsealed.
    ///
    /// In a given workdir lie the records of other sessions too. They are not listed here; each of their directories is
    /// a tree to be protected (see [`recorded`](super::address::recorded)).
    pub fn protected(&self) -> Vec<Protected> {
        let mut protected: Vec<Protected> = Vec::new();
        for row in TABLE.iter().filter(|row| row.owner == Owner::Runtime) {
            let path = self.of(row.scope).join(row.path);
            let within = |outer: &Protected| matches!(&outer.entry, Entry::Tree(tree) if path.starts_with(tree));
            if protected.iter().any(within) {
                continue;
            }
            let rule = reported(row.scope, self.workdir, row.path);
            let seal = row.seal().map(|seal| self.of(row.scope).join(seal));
            let seal_rule = format!("{rule}{SEAL_SUFFIX}");
            let entry = match row.kind {
                Kind::File => Entry::File(path),
                Kind::Directory => Entry::Tree(path),
            };
            protected.push(Protected { rule, entry });

            let Some(seal) = seal else { continue };
            if let (Some(directory), Some(name)) = (seal.parent(), seal.file_name()) {
                // A seal is written as `.<name>.<uuid>.tmp` and then renamed.
                let prefix = format!(".{}.", name.to_string_lossy());
                let entry = Entry::Prefix { directory: directory.to_owned(), prefix };
                protected.push(Protected { rule: seal_rule.clone(), entry });
            }
            protected.push(Protected { rule: seal_rule, entry: Entry::File(seal) });
        }
        protected
    }
}

/// Something that a capsule may read and not change, whether or not it exists yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// What a refusal names: the path as [`runtime_writes`] tells paths, a seal's for its temporary names too.
    pub rule: String,
    /// What it is.
    pub entry: Entry,
}

/// What is protected, below the session's directories as they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// One file.
    File(PathBuf),
    /// A directory and all that it holds.
    Tree(PathBuf),
    /// Every file in `directory` whose name begins with `prefix`.
    Prefix {
        /// The directory.
        directory: PathBuf,
        /// How the names begin.
        prefix: String,
    },
}

/// A path of the table relative to the accessible directory, with the literal segment `<session-id>`.
fn reported(scope: Scope, workdir: Workdir, path: &str) -> String {
    match (scope, workdir) {
        (Scope::Session, Workdir::Given) => format!("{RUNTIME_DIR}/{SESSION_PLACEHOLDER}/{path}"),
        (Scope::Session, Workdir::Own) | (Scope::Accessible, _) => path.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const ID: &str = "ses_0199f2a1c3007b7183b66c11e744612e";

    fn outline(writes: &[RuntimeWrite]) -> String {
        let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
        let line = |write: &RuntimeWrite| {
            let value = |part| word(serde_json::to_value(write).unwrap()[part].clone());
            format!("{:<38} {:<10} {:<11} {}\n", write.path, value("kind"), value("scope"), value("condition"))
        };
        writes.iter().map(line).collect()
    }

    #[test]
    fn runtime_writes_are_listed_in_the_original_order_and_then_what_is_new() {
        insta::assert_snapshot!(outline(&runtime_writes(Workdir::Own, SubprocessRoot::Composed)), @r#"
        .murmur/<session-id>                   directory  accessible  always
        task.md                                file       accessible  always
        murmur.yaml                            file       accessible  workdir-provided
        logs                                   directory  accessible  shell
        peer-in                                directory  accessible  peer-fetch
        .murmur/children                       directory  accessible  spawn
        out                                    directory  accessible  script-session
        completion.json                        file       accessible  delegated
        tools                                  directory  session     always
        trace.jsonl                            file       session     always
        blobs                                  directory  session     always
        logs                                   directory  session     agent-session
        out                                    directory  session     agent-session
        .process-driver                        directory  session     agent-session
        MURMUR.md                              file       session     agent-session
        plans                                  directory  session     agent-session
        .capsule-home                          directory  session     shell
        .mur-tmp                               directory  session     sealed
        .mur-etc                               directory  session     sealed
        logs                                   directory  session     script-session
        hooks                                  directory  session     agent-session
        eval.jsonl                             file       session     agent-session
        completion.json.seal                   file       accessible  delegated
        trace.jsonl.seal                       file       session     always
        "#);
    }

    #[test]
    fn with_a_given_workdir_the_sessions_paths_are_told_below_the_runtimes_directory() {
        insta::assert_snapshot!(outline(&runtime_writes(Workdir::Given, SubprocessRoot::Host)), @r#"
        .murmur/<session-id>                   directory  accessible  always
        task.md                                file       accessible  always
        murmur.yaml                            file       accessible  workdir-provided
        logs                                   directory  accessible  shell
        peer-in                                directory  accessible  peer-fetch
        .murmur/children                       directory  accessible  spawn
        out                                    directory  accessible  script-session
        completion.json                        file       accessible  delegated
        .murmur/<session-id>/tools             directory  session     always
        .murmur/<session-id>/trace.jsonl       file       session     always
        .murmur/<session-id>/blobs             directory  session     always
        .murmur/<session-id>/logs              directory  session     agent-session
        .murmur/<session-id>/out               directory  session     agent-session
        .murmur/<session-id>/.process-driver   directory  session     agent-session
        .murmur/<session-id>/MURMUR.md         file       session     agent-session
        .murmur/<session-id>/plans             directory  session     agent-session
        .murmur/<session-id>/.capsule-home     directory  session     shell
        .murmur/<session-id>/logs              directory  session     script-session
        .murmur/<session-id>/hooks             directory  session     agent-session
        .murmur/<session-id>/eval.jsonl        file       session     agent-session
        completion.json.seal                   file       accessible  delegated
        .murmur/<session-id>/trace.jsonl.seal  file       session     always
        "#);
    }

    #[test]
    fn a_runtime_write_is_an_object_of_four_members() {
        let writes = runtime_writes(Workdir::Given, SubprocessRoot::Host);
        insta::assert_snapshot!(
            serde_json::to_string(&writes[0]).unwrap(),
            @r#"{"path":".murmur/<session-id>","kind":"directory","scope":"accessible","condition":"always"}"#
        );
    }

    #[test]
    fn excluding_the_runtimes_directory_covers_all_but_the_accessible_top_level() {
        for write in runtime_writes(Workdir::Given, SubprocessRoot::Composed) {
            assert!(write.path.starts_with(".murmur/") || write.scope == Scope::Accessible, "{write:?}");
            assert!(write.path.starts_with(".murmur/") || !write.path.contains('/'), "{write:?}");
        }
    }

    #[test]
    fn a_covered_row_lies_below_a_reported_one_of_its_scope() {
        for row in TABLE.iter().filter(|row| row.report == Report::Covered) {
            let covered = |other: &&Row| {
                other.kind == Kind::Directory
                    && other.report != Report::Covered
                    && other.scope == row.scope
                    && Path::new(row.path).starts_with(other.path)
            };
            assert!(TABLE.iter().any(|other| covered(&other)), "{row:?}");
        }
    }

    #[test]
    fn a_session_has_one_directory_of_its_own_or_two_with_a_given_workdir() {
        let id: SessionId = ID.parse().unwrap();
        let own = SessionDirs::resolve(Path::new("/project"), None, id);
        assert_eq!(own.accessible, Path::new("/project/workdir").join(ID));
        assert_eq!((own.of(Scope::Session), own.workdir), (own.accessible.as_path(), Workdir::Own));
        let given = SessionDirs::resolve(Path::new("/project"), Some(Path::new("/data")), id);
        assert_eq!(given.of(Scope::Accessible), Path::new("/data"));
        assert_eq!((given.session, given.workdir), (Path::new("/data/.murmur").join(ID), Workdir::Given));
    }

    fn protected(workdir: Option<&str>) -> String {
        let dirs = SessionDirs::resolve(Path::new("/p"), workdir.map(Path::new), ID.parse().unwrap());
        let line = |protected: &Protected| match &protected.entry {
            Entry::File(path) => format!("file   {}", path.display()),
            Entry::Tree(path) => format!("tree   {}", path.display()),
            Entry::Prefix { directory, prefix } => format!("prefix {}/{prefix}", directory.display()),
        };
        let line = |protected: &Protected| format!("{:<70} {}\n", line(protected).replace(ID, "ID"), protected.rule);
        dirs.protected().iter().map(line).collect()
    }

    #[test]
    fn the_records_are_the_runtimes_with_their_seals_and_the_names_that_seals_are_written_under() {
        insta::assert_snapshot!(protected(None), @r#"
        file   /p/workdir/ID/completion.json                                   completion.json
        prefix /p/workdir/ID/.completion.json.seal.                            completion.json.seal
        file   /p/workdir/ID/completion.json.seal                              completion.json.seal
        file   /p/workdir/ID/trace.jsonl                                       trace.jsonl
        prefix /p/workdir/ID/.trace.jsonl.seal.                                trace.jsonl.seal
        file   /p/workdir/ID/trace.jsonl.seal                                  trace.jsonl.seal
        tree   /p/workdir/ID/blobs                                             blobs
        file   /p/workdir/ID/logs/bootstrap.log                                logs/bootstrap.log
        tree   /p/workdir/ID/hooks                                             hooks
        file   /p/workdir/ID/eval.jsonl                                        eval.jsonl
        "#);
        insta::assert_snapshot!(protected(Some("/d")), @r#"
        file   /d/completion.json                                              completion.json
        prefix /d/.completion.json.seal.                                       completion.json.seal
        file   /d/completion.json.seal                                         completion.json.seal
        file   /d/.murmur/ID/trace.jsonl                                       .murmur/<session-id>/trace.jsonl
        prefix /d/.murmur/ID/.trace.jsonl.seal.                                .murmur/<session-id>/trace.jsonl.seal
        file   /d/.murmur/ID/trace.jsonl.seal                                  .murmur/<session-id>/trace.jsonl.seal
        tree   /d/.murmur/ID/blobs                                             .murmur/<session-id>/blobs
        file   /d/.murmur/ID/logs/bootstrap.log                                .murmur/<session-id>/logs/bootstrap.log
        tree   /d/.murmur/ID/hooks                                             .murmur/<session-id>/hooks
        file   /d/.murmur/ID/eval.jsonl                                        .murmur/<session-id>/eval.jsonl
        "#);
    }

    #[test]
    fn every_sealed_row_is_the_runtimes_alone() {
        for row in TABLE.iter().filter(|row| row.chain != Chain::None) {
            assert_eq!(row.owner, Owner::Runtime, "{row:?}");
        }
    }
}
