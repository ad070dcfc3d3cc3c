//! `mur list`: what is installed.
//!
//! With `--json` it is one array of objects on one line: `name`, `version`, `scope` (`project` or `global`), `runtime`
//! (`wasm`, `native`, `static`), `artifact_runtime` (`tool`, `driver`, `hook`, `skill`, `capsule`), `platforms` (tags;
//! empty for what runs everywhere), `description` (or null), `tags`, and `wit_contracts` (`{exports, imports}`, or null).

use clap::Args;
use serde::Serialize;

use super::{complain, home, print, table};
use crate::artifact::install::project_directory;
use crate::artifact::{Contracts, Limit, Listed, Platform, Store};
use crate::context::Context;
use crate::diagnostic::{Diagnostic, EXIT_FAILED, EXIT_OK};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What is installed for all of your projects [default outside of a project]
    #[arg(short, long, conflicts_with = "all")]
    global: bool,

    /// What is installed for this project, and for all
    #[arg(long)]
    all: bool,

    /// Only components that import or export an interface that begins so, for example murmur:tool/
    #[arg(long, value_name = "PREFIX")]
    contract: Option<String>,

    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// One object of `--json`.
#[derive(Serialize)]
struct Row<'l> {
    name: &'l str,
    version: &'l str,
    scope: &'static str,
    runtime: &'l str,
    artifact_runtime: &'l str,
    platforms: Vec<&'static str>,
    description: Option<&'l str>,
    tags: &'l [String],
    wit_contracts: Option<&'l Contracts>,
}

pub(crate) fn run(args: &ListArgs, context: &Context) -> Result<u8, Diagnostic> {
    let limit = Limit::of_process().map_err(|error| error.diagnostic())?;
    let mut code = EXIT_OK;
    let mut all = Vec::new();
    for store in stores(args, context)? {
        let (listed, problems) = store.list(limit).map_err(|error| error.diagnostic())?;
        all.extend(listed.into_iter().filter(|listed| fits(listed, args.contract.as_deref())));
        for problem in problems {
            complain(&problem.diagnostic());
            code = EXIT_FAILED;
        }
    }
    if args.json {
        let rows: Vec<Row<'_>> = all.iter().map(row).collect();
        // A list of texts always has a JSON form.
        print(&format!("{}\n", serde_json::to_string(&rows).unwrap_or_default()));
    } else if all.is_empty() {
        print("No artifacts installed.\n");
    } else {
        print(&shown(&all, args));
    }
    Ok(code)
}

fn stores(args: &ListArgs, context: &Context) -> Result<Vec<Store>, Diagnostic> {
    let project = project_directory(&context.here).map(|directory| Store::project(&directory));
    match (project, args.global, args.all) {
        (Some(project), _, true) => Ok(vec![project, Store::global(&home(context)?)]),
        (Some(project), false, false) => Ok(vec![project]),
        (_, true, _) | (None, ..) => Ok(vec![Store::global(&home(context)?)]),
    }
}

fn fits(listed: &Listed, contract: Option<&str>) -> bool {
    match (contract, &listed.metadata.wit_contracts) {
        (None, _) => true,
        (Some(prefix), Some(contracts)) => contracts.any_begins_with(prefix),
        (Some(_), None) => false,
    }
}

fn shown(all: &[Listed], args: &ListArgs) -> String {
    let mut headings = vec!["NAME", "VERSION", "RUNTIME", "PLATFORMS"];
    if args.all {
        headings.insert(0, "SCOPE");
    }
    if args.contract.is_some() {
        headings.push("CONTRACTS");
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|listed| {
            let metadata = &listed.metadata;
            let tags: Vec<&str> = listed.platforms.iter().map(|platform| platform.tag()).collect();
            let platforms = if tags.is_empty() { "any".to_owned() } else { tags.join(",") };
            let (name, version) = (listed.id.name().to_string(), listed.id.version().as_str().to_owned());
            let mut row = vec![name, version, metadata.runtime.clone(), platforms];
            if args.all {
                row.insert(0, listed.scope.as_str().to_owned());
            }
            if let (Some(prefix), Some(contracts)) = (&args.contract, &metadata.wit_contracts) {
                row.push(beginning(contracts, prefix));
            }
            row
        })
        .collect();
    table::render(&headings, &rows)
}

/// The interfaces that begin with `prefix`, exports first, each once.
fn beginning(contracts: &Contracts, prefix: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in contracts.exports.iter().chain(&contracts.imports).filter(|name| name.starts_with(prefix)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.join(",")
}

fn row(listed: &Listed) -> Row<'_> {
    let metadata = &listed.metadata;
    Row {
        name: listed.id.name().as_str(),
        version: listed.id.version().as_str(),
        scope: listed.scope.as_str(),
        runtime: &metadata.runtime,
        artifact_runtime: &metadata.artifact_runtime,
        platforms: listed.platforms.iter().map(|platform: &Platform| platform.tag()).collect(),
        description: metadata.description.as_deref(),
        tags: &metadata.tags,
        wit_contracts: metadata.wit_contracts.as_ref(),
    }
}
