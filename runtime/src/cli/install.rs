//! `mur install`: gets artifacts from where they are, verifies them, and pins them.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use mur_seal::escape;

use super::sources::sources;
use super::{complain, home, print};
use crate::artifact::install::{Copies, Done, Installer, Outcome, Payloads, project_directory};
use crate::artifact::{ARCHIVE_SUFFIX, ArtifactError, ArtifactId, LOCK_FILE, Limit, Platform, Store};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_FAILED, EXIT_OK};
use crate::manifest::{Manifest, Reference, RegistrySettings};

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// name@version, or the path of a .mur.zip [default: everything that murmur.yaml names]
    #[arg(value_name = "REF")]
    reference: Option<String>,

    /// Install for all of your projects, and pin nothing
    #[arg(short, long)]
    global: bool,

    /// Where from: a URL, `local` (your own store), or a directory [default: what is configured]
    #[arg(long, value_name = "URL|local|DIR")]
    registry: Option<String>,

    /// Install the payloads of every platform, and pin nothing
    #[arg(long)]
    all_platforms: bool,
}

/// What is to be installed.
enum Wanted {
    /// Artifacts from the sources.
    Named(Vec<ArtifactId>),
    /// An archive on this machine.
    File(PathBuf),
}

pub(crate) fn run(args: &InstallArgs, context: &Context) -> Result<u8, Diagnostic> {
    let project = project_directory(&context.here);
    let (wanted, registry) = wanted(args, project.as_deref(), context)?;
    let installer = installer(args, project.as_deref(), &registry, context)?;
    match wanted {
        Wanted::File(path) => {
            let id = installer.install_file(&path, None).map_err(|error| error.diagnostic())?;
            print(&format!("Installed {}\n", escape(&id.to_string())));
            Ok(EXIT_OK)
        }
        Wanted::Named(ids) => {
            let bar = progress(ids.len());
            let outcomes = installer.install(&ids, &|_| bar.inc(1));
            bar.finish_and_clear();
            let outcomes = outcomes.map_err(|error| error.diagnostic())?;
            Ok(report(&outcomes))
        }
    }
}

fn installer(
    args: &InstallArgs,
    project: Option<&Path>,
    registry: &RegistrySettings,
    context: &Context,
) -> Result<Installer, Diagnostic> {
    let home = home(context)?;
    let (target, lock) = match (args.global, project) {
        (true, _) => (Store::global(&home), None),
        (false, Some(project)) => (Store::project(project), Some(project.join(LOCK_FILE))),
        (false, None) => (Store::project(&context.here), None),
    };
    // What is installed for all projects is a source for one of them.
    let stores = if args.global { Vec::new() } else { vec![Store::global(&home)] };
    Ok(Installer {
        target,
        sources: sources(args.registry.as_deref(), registry, stores, context)?,
        lock,
        host: Platform::host(),
        payloads: if args.all_platforms { Payloads::Every } else { Payloads::Host },
        // Whoever names a source wants what it has.
        copies: if args.registry.is_some() { Copies::Refetch } else { Copies::Keep },
        limit: Limit::of_process().map_err(|error| error.diagnostic())?,
    })
}

/// What is to be installed, and where the project's manifest says that it comes from.
fn wanted(
    args: &InstallArgs,
    project: Option<&Path>,
    context: &Context,
) -> Result<(Wanted, RegistrySettings), Diagnostic> {
    let Some(reference) = &args.reference else {
        let project = project.ok_or_else(|| {
            let text = format!("there is no murmur.yaml in {} or above it", context.here.display());
            Diagnostic::new(Code::NotFound, text).with_hint("run it in a project, or name an artifact as name@version")
        })?;
        let manifest = manifest(project)?;
        return Ok((Wanted::Named(declared(&manifest)?), manifest.registry));
    };
    if reference.starts_with("github:") {
        let what = format!("installing `{reference}`");
        let hint = "download the archive and install its file, or name a registry with --registry";
        return Err(ArtifactError::Unsupported { what, hint }.diagnostic());
    }
    if reference.ends_with(ARCHIVE_SUFFIX) {
        return Ok((Wanted::File(context.here.join(reference)), RegistrySettings::default()));
    }
    let id = reference.parse();
    let id = id.map_err(|reason| ArtifactError::Id { text: reference.clone(), reason }.diagnostic())?;
    // What is said where it comes from counts more than what a project's manifest says.
    let registry = match project {
        Some(project) if !args.global && args.registry.is_none() => manifest(project)?.registry,
        Some(_) | None => RegistrySettings::default(),
    };
    Ok((Wanted::Named(vec![id]), registry))
}

fn manifest(project: &Path) -> Result<Manifest, Diagnostic> {
    let reading = Manifest::load(&project.join("murmur.yaml"));
    reading.warnings.iter().for_each(|warning| complain(&warning.diagnostic()));
    reading.outcome.map_err(|error| error.diagnostic())
}

/// The artifacts that a manifest names, without those that it takes from a path.
fn declared(manifest: &Manifest) -> Result<Vec<ArtifactId>, Diagnostic> {
    let ids = manifest.artifacts.iter().filter_map(|artifact| match &artifact.reference {
        Reference::Installed(version) => Some(ArtifactId::of(&artifact.name, version)),
        Reference::Local(_) => None,
    });
    ids.collect::<Result<_, _>>().map_err(|error: ArtifactError| error.diagnostic())
}

/// A bar on stderr where somebody can see it.
fn progress(count: usize) -> ProgressBar {
    let seen = count > 0 && std::io::stderr().is_terminal();
    let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(Some(count as u64), target).with_message("installing")
}

/// Says how each fared, and answers with the exit code.
fn report(outcomes: &[Outcome]) -> u8 {
    if outcomes.is_empty() {
        print("Nothing to install.\n");
        return EXIT_OK;
    }
    let mut failed = 0;
    let mut text = String::new();
    for Outcome { id, result } in outcomes {
        let id = escape(&id.to_string()).into_owned();
        match result {
            Ok(Done::Installed) => text += &format!("Installed {id}\n"),
            Ok(Done::Kept) => text += &format!("Unchanged {id}\n"),
            Err(error) => {
                failed += 1;
                complain(&error.diagnostic());
                text += &format!("Failed {id} {}\n", error.code());
            }
        }
    }
    if failed > 0 {
        text += &format!("{failed} of {} failed\n", outcomes.len());
    }
    print(&text);
    if failed > 0 { EXIT_FAILED } else { EXIT_OK }
}
