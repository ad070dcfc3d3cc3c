//! `mur search`: what can be installed, here and in the sources.
//!
//! With `--json` it is one array of objects on one line: `name`, `version`, `runtime`, `description` (or null), `tags`,
//! and `source`, a path or a URL.

use clap::Args;
use serde::Serialize;

use super::sources::sources;
use super::{complain, home, print, table};
use crate::artifact::install::project_directory;
use crate::artifact::source::Candidate;
use crate::artifact::{Limit, Store};
use crate::context::Context;
use crate::diagnostic::{Diagnostic, EXIT_FAILED, EXIT_OK};
use crate::manifest::RegistrySettings;

/// Characters that are shown of a description.
const DESCRIPTION_WIDTH: usize = 72;

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What name, description or tags hold, in any case
    query: String,

    /// Where: a URL, `local` (your own store), or a directory [default: your stores, and what is configured]
    #[arg(long, value_name = "URL|local|DIR")]
    registry: Option<String>,

    /// The most results that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// One object of `--json`.
#[derive(Serialize)]
struct Row<'c> {
    name: &'c str,
    version: &'c str,
    runtime: &'c str,
    description: Option<&'c str>,
    tags: &'c [String],
    source: &'c str,
}

pub(crate) fn run(args: &SearchArgs, context: &Context) -> Result<u8, Diagnostic> {
    let limit = Limit::of_process().map_err(|error| error.diagnostic())?;
    let (mut found, problems) =
        sources(args.registry.as_deref(), &RegistrySettings::default(), stores(context)?, context)?
            .search(&args.query, limit);
    for problem in &problems {
        complain(&problem.diagnostic());
    }
    found.truncate(args.limit);
    if args.json {
        let rows: Vec<Row<'_>> = found.iter().map(row).collect();
        // A list of texts always has a JSON form.
        print(&format!("{}\n", serde_json::to_string(&rows).unwrap_or_default()));
    } else if !found.is_empty() {
        print(&shown(&found));
    } else if problems.is_empty() {
        print("No results found.\n");
    }
    Ok(if problems.is_empty() { EXIT_OK } else { EXIT_FAILED })
}

/// The stores that are searched unless a source is named.
fn stores(context: &Context) -> Result<Vec<Store>, Diagnostic> {
    let project = project_directory(&context.here).map(|directory| Store::project(&directory));
    Ok(project.into_iter().chain([Store::global(&home(context)?)]).collect())
}

fn shown(found: &[Candidate]) -> String {
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|candidate| {
            let description = candidate.description.as_deref().unwrap_or_default();
            let line = description.lines().next().unwrap_or_default();
            let line = match line.char_indices().nth(DESCRIPTION_WIDTH) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line.to_owned(),
            };
            let version = candidate.id.version().as_str().to_owned();
            vec![candidate.id.name().to_string(), version, candidate.runtime.clone(), line]
        })
        .collect();
    table::render(&["NAME", "VERSION", "RUNTIME", "DESCRIPTION"], &rows)
}

fn row(candidate: &Candidate) -> Row<'_> {
    Row {
        name: candidate.id.name().as_str(),
        version: candidate.id.version().as_str(),
        runtime: &candidate.runtime,
        description: candidate.description.as_deref(),
        tags: &candidate.tags,
        source: &candidate.source,
    }
}
