//! `mur run`: runs a capsule and says where its result and its record are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mur_seal::{HostKey, escape, public_key_path};
use serde::Serialize;

use super::{complain, print};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_FAILED, EXIT_OK};
use crate::session::script::{self, Outcome, Status};
use crate::session::staging::{Prepared, Request, Staged, Task};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The capsule's manifest
    #[arg(long, value_name = "FILE", default_value = "murmur.yaml")]
    manifest: PathBuf,

    /// The task: a file, or its text
    #[arg(long, value_name = "FILE|TEXT")]
    task: Option<String>,

    /// The directory that the capsule works in [default: a new one for each session, beside the manifest]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,

    /// Print one JSON object once the session has begun, and nothing else on stdout
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
    let home = context.home().map_err(|error| {
        Diagnostic::new(Code::Home, error.to_string()).with_hint("set MURMUR_HOME to a directory of your own")
    })?;
    let prepared = Prepared::load(&context.here.join(&args.manifest), &home)?;
    for key in &prepared.unknown_keys {
        complain(&key.diagnostic());
    }
    let key = HostKey::load_or_create(&home)
        .map_err(|error| Diagnostic::new(Code::Home, format!("records cannot be sealed: {error}")))?;
    let request =
        Request { task: args.task.as_deref().map(|task| task_of(task, context)), workdir: args.workdir.clone() };
    let staged = prepared.stage(&request, Arc::new(key), context)?;

    let outcome = script::run(staged, context, |staged| announce(staged, args))?;
    if let Some(failure) = &outcome.failure {
        complain(failure);
    }
    if !args.json {
        print(&closing(&outcome, &home));
    }
    Ok(if outcome.status == Status::Ok { EXIT_OK } else { EXIT_FAILED })
}

/// A value that names an existing file is that file; any other is the task itself.
fn task_of(value: &str, context: &Context) -> Task {
    let path = context.here.join(value);
    if path.is_file() { Task::File(path) } else { Task::Text(value.into()) }
}

fn announce(staged: &Staged, args: &RunArgs) {
    let manifest = &staged.manifest;
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

/// What a person sees at the end.
fn closing(outcome: &Outcome, home: &Path) -> String {
    let result = match &outcome.result {
        Some(path) => escape(&path.to_string_lossy()).into_owned(),
        None => "none".into(),
    };
    format!(
        "result:  {result}\nrecord:  {}\nstatus:  {}\nverify:  mur-verify {} --key {}\n",
        escape(&outcome.records_dir.to_string_lossy()),
        outcome.status.as_str(),
        quoted(&outcome.records_dir),
        quoted(&public_key_path(home)),
    )
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | ',' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    if text.chars().any(char::is_control) {
        // `$'…'` is the one form in which a shell takes such characters spelled out.
        let spelled: String = text
            .bytes()
            .map(|byte| {
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
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_so_that_a_shell_reads_it_back() {
        assert_eq!(quoted(Path::new("/a/b-c.d_e")), "/a/b-c.d_e");
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
        assert_eq!(quoted(Path::new("/a\u{1b}[31m")), "$'/a\\x1b[31m'");
    }
}
