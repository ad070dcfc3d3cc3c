//! `mur publish`: files an archive in a store, where it stays.

use std::path::PathBuf;

use clap::Args;
use mur_seal::escape;

use super::{complain, home, print};
use crate::artifact::install::refuse_reserved;
use crate::artifact::source::Source;
use crate::artifact::{ArtifactError, Existing, Limit, Package, Platform, Store, built_archive, package_of};
use crate::context::Context;
use crate::diagnostic::{Diagnostic, EXIT_OK};

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The archive [default: the one that `mur build` makes here]
    #[arg(value_name = "ZIP")]
    archive: Option<PathBuf>,

    /// Where to: `local`, your own store, or a directory
    #[arg(long, value_name = "local|DIR", default_value = "local")]
    registry: String,

    /// The platform of a native artifact, for example linux-x86_64 [default: what its binary says]
    #[arg(long, value_name = "OS-ARCH")]
    platform: Option<Platform>,
}

pub(crate) fn run(args: &PublishArgs, context: &Context) -> Result<u8, Diagnostic> {
    let store = store(args, context)?;
    let (package, platform) = publish(args, context, &store).map_err(|error| error.diagnostic())?;
    if let (Some(platform), None) = (platform, args.platform) {
        print(&format!("Platform: {platform} (auto-detected)\n"));
    }
    for key in package.unknown_keys() {
        complain(&key.diagnostic());
    }
    print(&format!("Published {}\n", escape(&package.id().to_string())));
    Ok(EXIT_OK)
}

fn publish(args: &PublishArgs, context: &Context, store: &Store) -> Result<(Package, Option<Platform>), ArtifactError> {
    let path = match &args.archive {
        Some(archive) => context.here.join(archive),
        None => built_archive(&context.here)?,
    };
    let package = package_of(&path, Limit::of_process()?)?;
    refuse_reserved(package.id())?;
    let platform = package.platform(args.platform)?;
    store.write(&package, platform, Existing::Refuse)?;
    Ok((package, platform))
}

fn store(args: &PublishArgs, context: &Context) -> Result<Store, Diagnostic> {
    let source = Source::named(&args.registry, &context.here, &home(context)?).map_err(|error| error.diagnostic())?;
    match source {
        Source::Store(store) => Ok(store),
        Source::Directory(directory) => Ok(Store::directory(directory.root())),
        Source::Http(registry) => {
            let what = format!("publishing to {}", registry.shown());
            let hint = "publish to `local` or to a directory, and copy the files to the registry";
            Err(ArtifactError::Unsupported { what, hint }.diagnostic())
        }
    }
}
