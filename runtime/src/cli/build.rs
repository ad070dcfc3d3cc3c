//! `mur build`: packs an artifact, or a skill, into its archive.

use std::path::{Path, PathBuf};

use clap::Args;
use mur_seal::escape;

use super::{complain, print};
use crate::artifact::{ArtifactError, Built, Limit, SkillRequest, build, build_skill};
use crate::context::Context;
use crate::diagnostic::{Diagnostic, EXIT_OK};
use crate::manifest::Version;

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The directory with murmur.yaml; with --skill, a name and the folder or zip, or the latter alone
    #[arg(value_name = "[NAME] PATH", num_args = 0..=2)]
    paths: Vec<PathBuf>,

    /// Pack a folder or a zip with a SKILL.md
    #[arg(long)]
    skill: bool,

    /// The skill's version [default: 0.1.0]
    #[arg(long, value_name = "VERSION", requires = "skill")]
    version: Option<Version>,

    /// What a model is told of the skill [default: the first line of its text]
    #[arg(long, value_name = "TEXT", requires = "skill")]
    summary: Option<String>,

    /// The archive, or the directory that it gets its name in [default: the source directory; with --skill, this one]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &BuildArgs, context: &Context) -> Result<u8, Diagnostic> {
    let packed = Limit::of_process()
        .and_then(|limit| if args.skill { skill(args, context, limit) } else { artifact(args, context, limit) });
    let (built, beside) = packed.map_err(|error| error.diagnostic())?;
    for warning in &built.warnings {
        complain(warning);
    }
    let output = args.output.as_ref().map_or(beside, |output| context.here.join(output));
    let path = built.write(&output).map_err(|error| error.diagnostic())?;
    print(&format!("Built artifact: {}\n", escape(&path.display().to_string())));
    Ok(EXIT_OK)
}

/// The archive, and the directory that it is written to unless another is named.
fn artifact(args: &BuildArgs, context: &Context, limit: Limit) -> Result<(Built, PathBuf), ArtifactError> {
    let directory = match &args.paths[..] {
        [] => context.here.clone(),
        [directory] => context.here.join(directory),
        [_, extra, ..] => {
            let what = format!("a second path, `{}`,", extra.display());
            return Err(ArtifactError::Unsupported { what, hint: "name one directory, or pack a skill with --skill" });
        }
    };
    Ok((build(&directory, limit)?, directory))
}

fn skill(args: &BuildArgs, context: &Context, limit: Limit) -> Result<(Built, PathBuf), ArtifactError> {
    let (name, path) = match &args.paths[..] {
        [] => (None, Path::new(".")),
        [path] => (None, path.as_path()),
        [name, path, ..] => (Some(name.to_string_lossy().into_owned()), path.as_path()),
    };
    let path = if path == Path::new(".") { context.here.clone() } else { context.here.join(path) };
    let request = SkillRequest { path, name, version: args.version.clone(), summary: args.summary.clone() };
    Ok((build_skill(&request, limit)?, context.here.clone()))
}
