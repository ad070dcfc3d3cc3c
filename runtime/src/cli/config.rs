//! `mur config`: changing the configuration.

use std::io::{self, Read as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mur_seal::escape;

use super::{complain, home_of_key, print};
use crate::config::{self, Settable, Target};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_OK};
use crate::secret::Secret;

/// The longest value that is read from stdin, in bytes.
const VALUE_MAX: u64 = 64 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Set a value; everything else in the file stays as it is
    Set(SetArgs),
}

#[derive(Args)]
pub(crate) struct SetArgs {
    /// registry.default, registry.index_url, inference.{provider,model,api_key,endpoint} or credentials.NAME
    #[arg(value_name = "KEY")]
    key: String,

    /// The value; `-` reads it from stdin, where no other process sees it
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,

    /// Write to the configuration in the murmur home, not to that of the project
    #[arg(short, long)]
    global: bool,
}

/// Without the value, which may be a secret.
impl std::fmt::Debug for SetArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetArgs").field("key", &self.key).field("global", &self.global).finish_non_exhaustive()
    }
}

pub(crate) fn run(command: &ConfigCommand, context: &Context) -> Result<u8, Diagnostic> {
    match command {
        ConfigCommand::Set(args) => set(args, context),
    }
}

fn set(args: &SetArgs, context: &Context) -> Result<u8, Diagnostic> {
    let target = if args.global { Target::Global } else { Target::Project };
    let key = Settable::parse(&args.key, target).map_err(|error| error.diagnostic())?;
    let path: PathBuf = match target {
        Target::Project => {
            let path = config::project_file(&context.here);
            config::refuse_links(&key, &path).map_err(|error| error.diagnostic())?;
            path
        }
        Target::Global => config::global_file(&home_of_key(context)?),
    };
    let value = if args.value == "-" { from_stdin()? } else { args.value.clone() };
    config::set(&key, &Secret::new(value), &path).map_err(|error| error.diagnostic())?;
    if let Some(instead) = key.without_effect() {
        let text = format!("`{key}` has no effect in this version of mur");
        complain(&Diagnostic::new(Code::UnknownManifestKey, text).with_hint(instead));
    }
    print(&format!("{key} is set in {}\n", escape(&path.to_string_lossy())));
    Ok(EXIT_OK)
}

/// Everything on stdin, without the newline at its end.
fn from_stdin() -> Result<String, Diagnostic> {
    let mut text = String::new();
    io::stdin().take(VALUE_MAX + 1).read_to_string(&mut text).map_err(|cause| {
        Diagnostic::new(Code::for_io(&cause), format!("the value cannot be read from stdin: {cause}"))
    })?;
    if text.len() as u64 > VALUE_MAX {
        return Err(Diagnostic::new(Code::Io, format!("the value on stdin is longer than {VALUE_MAX} bytes")));
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
