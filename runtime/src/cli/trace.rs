//! `mur trace`: reading and checking what sessions recorded. Nothing here writes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mur_seal::{CONVERSATIONS_DIR, EXIT_ERROR, PublicKey, Verdict, public_key_path};
use mur_verify::{CheckArgs, Console, KeyOrigin, check_all, check_record, nothing_to_verify};

use super::{complain, print, show};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_OK};
use crate::record::{ReadError, read_trace};
use crate::session::address::{Address, Recorded, project_roots, workdir_roots};

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Check a session's record, with this host's public key unless another is given
    Verify(VerifyArgs),
    /// Show what a session did
    Show(SessionArgs),
}

/// Which session.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// An id, the end of one, @N for the Nth newest, or a path [default: @1]
    #[arg(value_name = "SESSION")]
    address: Option<String>,

    /// Look for the session among those run with this --workdir
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    check: CheckArgs,
}

pub(crate) fn run(command: TraceCommand, context: &Context) -> Result<u8, Diagnostic> {
    match command {
        TraceCommand::Verify(args) => Ok(verify(args, context)),
        TraceCommand::Show(args) => {
            let recorded = args.resolve(context)?;
            let lines = read_trace(&recorded.directory).map_err(|error| unreadable(&recorded.directory, &error))?;
            print(&show::render(&recorded.directory, &lines));
            Ok(EXIT_OK)
        }
    }
}

/// The exit codes are those of `mur-verify`, also where the session or the key cannot be found.
fn verify(args: VerifyArgs, context: &Context) -> u8 {
    let mut console = Console::of_process();
    let recorded = match args.session.resolve(context) {
        Ok(recorded) => recorded,
        Err(diagnostic) => {
            complain(&diagnostic);
            return EXIT_ERROR;
        }
    };
    let mut request = match args.check.request(vec![recorded.directory]) {
        Ok(request) => request,
        Err(error) => {
            console.error(&error);
            return EXIT_ERROR;
        }
    };
    if request.keys.is_empty() {
        match own_key(context) {
            Ok(key) => {
                request.keys.push(key);
                request.key_origin = KeyOrigin::ThisHost;
            }
            Err(diagnostic) => {
                complain(&diagnostic);
                return EXIT_ERROR;
            }
        }
    }
    // An address names a session: another one's record in its directory must not pass for it.
    request.session = request.session.or(recorded.id.map(|id| id.to_string()));
    if request.conversations.is_none() {
        request.conversations =
            context.home().ok().map(|home| home.join(CONVERSATIONS_DIR)).filter(|directory| directory.is_dir());
    }
    check_all(&request, &mut console)
}

/// This host's public key. Nothing is made: a host without a key has sealed nothing.
fn own_key(context: &Context) -> Result<PublicKey, Diagnostic> {
    let hint = "give the public key of the host that wrote the record: --key record-seal.pub";
    let path = context
        .home()
        .map(|home| public_key_path(&home))
        .map_err(|error| Diagnostic::new(Code::Home, error.to_string()).with_hint(hint))?;
    PublicKey::load(&path).map_err(|error| {
        let text = format!("this host has no public key to check with: {}: {error}", path.display());
        Diagnostic::new(Code::NotFound, text).with_hint(hint)
    })
}

impl SessionArgs {
    fn resolve(&self, context: &Context) -> Result<Recorded, Diagnostic> {
        let roots = match &self.workdir {
            Some(workdir) => workdir_roots(&context.here.join(workdir)),
            None => project_roots(&context.here),
        };
        Address::parse(self.address.as_deref())
            .and_then(|address| address.resolve(&context.here, &roots))
            .map_err(|error| error.diagnostic())
    }
}

/// Why there is no trace to show, and where one may be.
fn unreadable(records: &Path, error: &ReadError) -> Diagnostic {
    let diagnostic = |text: String| Diagnostic::new(Code::TraceUnreadable, text);
    if records.is_file() {
        let parent = records.parent().unwrap_or(Path::new("/")).display();
        return diagnostic(format!("{}: a file, not a records directory", records.display()))
            .with_hint(format!("give the directory that it is in: {parent}"));
    }
    if !matches!(error, ReadError::Io { cause, .. } if cause.kind() == ErrorKind::NotFound) {
        return diagnostic(error.to_string());
    }
    // Other streams may be there: only a record without any of them is absent. That takes no key to say.
    match check_record(records, &[], None, None) {
        Ok(report) if report.verdict == Verdict::Absent => diagnostic(nothing_to_verify(records)),
        Ok(_) => diagnostic(error.to_string()),
        Err(unusable) => diagnostic(unusable.to_string()),
    }
}
