//! `mur run`: runs a capsule and says where its result and its record are.

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mur_seal::{HostKey, escape, public_key_path};
use serde::Serialize;

use super::{complain, explain, home_of_key, print};
use crate::artifact::{ArtifactId, IdError};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_FAILED, EXIT_OK};
use crate::manifest::Containment;
use crate::session::environment::EnvFile;
use crate::session::ids::SessionId;
use crate::session::paths::MANIFEST_FILE;
use crate::session::plan::{Origin, Plan, Wish};
use crate::session::report;
use crate::session::script::{self, Outcome, Status};
use crate::session::staging::{Prepared, Request, Staged, Task, directories, misfits, obstacles};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The capsule's manifest [default: murmur.yaml]
    #[arg(long, value_name = "FILE", conflicts_with = "capsule")]
    manifest: Option<PathBuf>,

    /// Run an installed capsule, of no project and under no lock
    #[arg(long, value_name = "NAME", requires = "capsule_version")]
    capsule: Option<String>,

    /// The installed capsule's version
    #[arg(long, value_name = "VERSION", requires = "capsule")]
    capsule_version: Option<String>,

    /// The task: a file, or its text
    #[arg(long, value_name = "FILE|TEXT")]
    task: Option<String>,

    /// The directory that the capsule works in [default: a new one for each session, beside the manifest]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,

    /// Do not read the .env file beside the manifest
    #[arg(long)]
    no_env_file: bool,

    /// The weakest containment to accept: advisory, scoped or sealed
    #[arg(long, value_name = "CLASS")]
    containment: Option<String>,

    /// Say what a run would be granted, and make nothing
    #[arg(long, conflicts_with_all = ["task", "verbose"])]
    explain_scope: bool,

    /// Print one JSON object once the session has begun, and nothing else on stdout; of --explain-scope, the report
    #[arg(long)]
    json: bool,

    /// Say more about the session
    #[arg(short, long)]
    verbose: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Begun<'a> {
    /// Where the session can be reached; null: a script capsule's cannot.
    url: Option<String>,
    pid: u32,
    session_id: String,
    name: &'a str,
    version: &'a str,
    workdir: String,
    records_dir: String,
}

pub(crate) fn run(args: &RunArgs, context: &Context) -> Result<u8, Diagnostic> {
    let home = home_of_key(context)?;
    let plan = Plan::of(&args.wish()?, &home, context, complain)?;
    if args.explain_scope {
        return Ok(explain_scope(&plan, args, context));
    }
    let prepared = Prepared::load(plan)?;
    let key = HostKey::load_or_create(&home)
        .map_err(|error| Diagnostic::new(Code::Home, format!("records cannot be sealed: {error}")))?;
    let request = Request {
        task: args.task.as_deref().map(|task| task_of(task, context)).transpose()?,
        workdir: args.workdir.clone(),
    };
    let staged = prepared.stage(&request, Arc::new(key), context)?;

    let outcome = script::run(staged, context, |staged| announce(staged, args))?;
    if let Some(failure) = &outcome.failure {
        complain(failure);
    }
    if !args.json {
        print(&closing(&outcome, &home, &verifier(env::current_exe().ok().as_deref())));
    }
    Ok(if outcome.status == Status::Ok { EXIT_OK } else { EXIT_FAILED })
}

impl RunArgs {
    /// What is to be launched.
    fn wish(&self) -> Result<Wish, Diagnostic> {
        let capsule = match (&self.capsule, &self.capsule_version) {
            (Some(name), Some(version)) => {
                let id: Result<ArtifactId, IdError> = format!("{name}@{version}").parse();
                Origin::Installed(id.map_err(|error| {
                    Diagnostic::new(Code::Io, format!("{name}@{version} is no artifact: {error}"))
                        .with_hint("`mur list --global` shows what is installed")
                })?)
            }
            (_, _) => Origin::Project(self.manifest.clone().unwrap_or_else(|| MANIFEST_FILE.into())),
        };
        let containment = self.containment.as_deref().map(containment).transpose()?;
        let env_file = if self.no_env_file { EnvFile::Ignored } else { EnvFile::Read };
        Ok(Wish { capsule, containment, env_file })
    }
}

fn containment(word: &str) -> Result<Containment, Diagnostic> {
    Containment::ALL.into_iter().find(|class| class.as_str() == word).ok_or_else(|| {
        let classes = Containment::ALL.map(Containment::as_str).join(", ");
        Diagnostic::new(Code::Io, format!("--containment: `{word}` is not one of {classes}"))
    })
}

/// Prints what a run would be granted. Why it would be refused is no error here: it stands in the report, and beside
/// the JSON on stderr.
fn explain_scope(plan: &Plan, args: &RunArgs, context: &Context) -> u8 {
    let session = SessionId::mint(&*context.ids);
    let dirs = directories(plan, args.workdir.as_deref(), session, context);
    let refusals: Vec<Diagnostic> =
        plan.refusals.iter().cloned().chain(misfits(plan)).chain(obstacles(plan, &dirs)).collect();
    let grants = report::effective_grants(plan, dirs.workdir);
    if args.json {
        refusals.iter().for_each(complain);
        print(&format!("{}\n", serde_json::to_string(&grants).unwrap_or_default()));
    } else {
        print(&explain::render(&grants, &refusals));
    }
    EXIT_OK
}

/// A value that names an existing file is that file; any other is the task itself. One that only looks like a file's
/// name may be misspelt, so that is said.
///
/// # Errors
/// It names something that is neither a file nor a directory, such as a FIFO: that was hardly meant as a text.
fn task_of(value: &str, context: &Context) -> Result<Task, Diagnostic> {
    let path = context.here.join(value);
    if path.is_file() {
        return Ok(Task::File(path));
    }
    if path.exists() && !path.is_dir() {
        let text = format!("--task: {} is not a regular file", path.display());
        return Err(Diagnostic::new(Code::Io, text).with_hint("give a file that holds the task, or the task's text"));
    }
    if looks_like_a_file(value) {
        let value = escape(value);
        // That stderr cannot be written is nobody's to know.
        let _ = writeln!(io::stderr(), "warning: --task {value} names no file; taken as the task's text");
    }
    Ok(Task::Text(value.into()))
}

fn looks_like_a_file(value: &str) -> bool {
    let named = value.contains('/') || [".md", ".txt"].iter().any(|extension| value.ends_with(extension));
    named && !value.contains(char::is_whitespace)
}

fn announce(staged: &Staged, args: &RunArgs) {
    let manifest = &staged.plan.manifest;
    if args.json {
        let begun = Begun {
            url: None,
            pid: std::process::id(),
            session_id: staged.session.to_string(),
            name: manifest.name.as_str(),
            version: manifest.version.as_str(),
            workdir: staged.dirs.accessible.to_string_lossy().into_owned(),
            records_dir: staged.dirs.session.to_string_lossy().into_owned(),
        };
        // A struct of strings and numbers always has a JSON form.
        print(&format!("{}\n", serde_json::to_string(&begun).unwrap_or_default()));
        return;
    }
    print(&format!("session: {}\n", staged.session));
    if args.verbose {
        let shown = |path: &Path| escape(&path.to_string_lossy()).into_owned();
        let version = escape(manifest.version.as_str()).into_owned();
        print(&format!("workdir: {}\nmanifest: {} v{version}\n", shown(&staged.dirs.accessible), manifest.name));
    }
}

/// The program that checks records, given the running one: the one beside it, or else any on the shell's search path.
fn verifier(running: Option<&Path>) -> PathBuf {
    const NAME: &str = "mur-verify";
    let beside = running.map(|program| program.with_file_name(NAME));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| NAME.into())
}

/// What a person sees at the end. `verifier` is the program that checks the record.
fn closing(outcome: &Outcome, home: &Path, verifier: &Path) -> String {
    let result = match &outcome.result {
        Some(path) => escape(&path.to_string_lossy()).into_owned(),
        None => "none".into(),
    };
    format!(
        "result:  {result}\nrecord:  {}\nstatus:  {}\nverify:  {} {} --key {}\n",
        escape(&outcome.records_dir.to_string_lossy()),
        outcome.status.as_str(),
        quoted(verifier),
        quoted(&outcome.records_dir),
        quoted(&public_key_path(home)),
    )
}

/// A path as a shell takes it, with nothing in it that could mislead whoever reads it first.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | ',' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    if matches!(escape(&text), Cow::Owned(_)) || path.to_str().is_none() {
        // `$'…'` is the one form in which a shell takes characters spelled out, and bytes that are none.
        let spelled: String = path
            .as_os_str()
            .as_bytes()
            .iter()
            .map(|&byte| {
                if byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'\\') {
                    char::from(byte).to_string()
                } else {
                    format!("\\x{byte:02x}")
                }
            })
            .collect();
        return format!("$'{spelled}'");
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use super::*;

    #[test]
    fn a_path_is_quoted_so_that_a_shell_reads_it_back() {
        assert_eq!(quoted(Path::new("/a/b-c.d_e")), "/a/b-c.d_e");
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
        assert_eq!(quoted(Path::new("/a\u{1b}[31m")), "$'/a\\x1b[31m'");
    }

    #[test]
    fn a_path_that_could_mislead_its_reader_is_spelled_out_for_the_shell() {
        assert_eq!(quoted(Path::new("/a\u{202e}b c")), "$'/a\\xe2\\x80\\xaeb\\x20c'");
        assert_eq!(quoted(Path::new("/a\u{200b}")), "$'/a\\xe2\\x80\\x8b'");
        assert_eq!(quoted(Path::new(OsStr::from_bytes(b"/a\xff"))), "$'/a\\xff'");
        assert_eq!(quoted(Path::new("/Grüße 日本")), "'/Grüße 日本'");
    }

    #[test]
    fn the_verifier_is_the_one_beside_the_running_program_where_there_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let running = directory.path().join("mur");
        assert_eq!(verifier(Some(&running)), Path::new("mur-verify"));
        assert_eq!(verifier(None), Path::new("mur-verify"));
        fs::write(directory.path().join("mur-verify"), "").unwrap();
        assert_eq!(verifier(Some(&running)), directory.path().join("mur-verify"));
    }

    #[test]
    fn a_word_with_a_slash_or_the_extension_of_a_text_looks_like_a_file() {
        for value in ["nofile.md", "notes.txt", "./dir", "a/b"] {
            assert!(looks_like_a_file(value), "{value}");
        }
        for value in ["", "summarise", "read a/b", "write notes.txt please", "two lines\nof.md"] {
            assert!(!looks_like_a_file(value), "{value}");
        }
    }
}
