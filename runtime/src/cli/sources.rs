//! Which places a command asks for artifacts: the one that is named, or those that are configured.

use std::path::Path;

use super::{complain, home};
use crate::artifact::source::{HttpSource, Source};
use crate::artifact::{Sources, Store};
use crate::config::{Config, Registry, Source as Configured, SourceKind};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{RegistryChoice, RegistrySettings};

/// The word for this machine's own store.
const LOCAL: &str = "local";

/// The sources of a command: the one that `--registry` names, or else these stores and then those that the project's
/// manifest leads to, or what is configured.
pub(super) fn sources(
    registry: Option<&str>,
    project: &RegistrySettings,
    stores: Vec<Store>,
    context: &Context,
) -> Result<Sources, Diagnostic> {
    let home = home(context)?;
    let Registry { default, sources, .. } = load(&home, context)?.registry;
    let called = |name: &str| sources.iter().find(|source| source.name == name);
    let sources = match (registry, default.as_deref()) {
        (Some(registry), _) => match called(registry) {
            Some(source) => vec![usable(source, &home, context)?],
            None => vec![Source::named(registry, &context.here, &home).map_err(|error| error.diagnostic())?],
        },
        (None, default) => {
            let configured: Vec<&Configured> = match (project.default, default) {
                (Some(RegistryChoice::Local), _) => Vec::new(),
                (Some(RegistryChoice::Remote), None | Some(LOCAL)) | (None, None) => sources.iter().collect(),
                (None, Some(LOCAL)) => Vec::new(),
                (Some(RegistryChoice::Remote) | None, Some(default)) => {
                    vec![called(default).ok_or_else(|| absent(default))?]
                }
            };
            let further: Vec<Source> = match (project.default, &project.remote_url) {
                (Some(RegistryChoice::Remote) | None, Some(url)) => {
                    let registry = HttpSource::new(url).map_err(|error| error.diagnostic())?;
                    vec![Source::Http(registry)]
                }
                (Some(RegistryChoice::Local), _) | (_, None) => {
                    let configured = configured.into_iter().map(|source| usable(source, &home, context));
                    configured.collect::<Result<_, _>>()?
                }
            };
            stores.into_iter().map(Source::Store).chain(further).collect()
        }
    };
    Ok(Sources::new(sources))
}

fn absent(default: &str) -> Diagnostic {
    let text = format!("`registry.default` is `{default}`, and no source is called so");
    Diagnostic::new(Code::ConfigFile, text).with_hint("name one of `registry.sources`, or `local`")
}

fn load(home: &Path, context: &Context) -> Result<Config, Diagnostic> {
    let reading = Config::load(home, &context.here);
    reading.warnings.iter().for_each(|warning| complain(&warning.diagnostic()));
    reading.outcome.map_err(|error| error.diagnostic())
}

fn usable(source: &Configured, home: &Path, context: &Context) -> Result<Source, Diagnostic> {
    let served = source.served().map_err(|error| error.diagnostic())?;
    let place = match &served.kind {
        SourceKind::Directory(path) => path.to_string_lossy().into_owned(),
        SourceKind::Http(url) => url.to_string(),
        // Refused by `served`.
        SourceKind::GitHub { .. } | SourceKind::Nexus { .. } => source.name.clone(),
    };
    Source::named(&place, &context.here, home).map_err(|error| error.diagnostic())
}
