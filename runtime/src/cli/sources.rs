//! Which places a command asks for artifacts: the one that is named, or those that are configured.

use std::path::Path;

use super::complain;
use crate::artifact::source::Source;
use crate::config::{Config, Source as Configured, SourceKind};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};

/// The word for this machine's own store.
const LOCAL: &str = "local";

/// The one source that `--registry` names: a URL, `local`, a directory, or the name of a configured source.
pub(super) fn named(registry: &str, home: &Path, context: &Context) -> Result<Source, Diagnostic> {
    let config = load(home, context)?;
    match config.registry.sources.iter().find(|source| source.name == registry) {
        Some(source) => usable(source, home, context),
        None => Source::named(registry, &context.here, home).map_err(|error| error.diagnostic()),
    }
}

/// The configured sources, in their order; the default alone where one is set.
pub(super) fn configured(home: &Path, context: &Context) -> Result<Vec<Source>, Diagnostic> {
    let registry = load(home, context)?.registry;
    let sources: Vec<&Configured> = match registry.default.as_deref() {
        None => registry.sources.iter().collect(),
        Some(LOCAL) => Vec::new(),
        Some(default) => {
            let source = registry.sources.iter().find(|source| source.name == default).ok_or_else(|| {
                Diagnostic::new(
                    Code::ConfigFile,
                    format!("`registry.default` is `{default}`, and no source is called so"),
                )
                .with_hint("name one of `registry.sources`, or `local`")
            })?;
            vec![source]
        }
    };
    sources.into_iter().map(|source| usable(source, home, context)).collect()
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
