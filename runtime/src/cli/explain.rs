//! `mur run --explain-scope`: what a run would be granted, for people. The same object stands in the trace.

use std::fmt::Write as _;

use mur_seal::escape;
use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::record::EffectiveGrants;

/// The report, block by block. `refusals` is why a run would not begin.
pub(super) fn render(grants: &EffectiveGrants, refusals: &[Diagnostic]) -> String {
    let mut page = Page::default();
    if !refusals.is_empty() {
        page.block("A run would be refused");
        for refusal in refusals {
            for line in refusal.to_string().lines() {
                page.line(line);
            }
        }
    }
    containment(&mut page, grants);
    not_protected(&mut page, grants);
    effective(&mut page, grants);
    page.block("Resource plane");
    page.row("exported files", &optional(grants.exports_files.as_ref()));
    page.block("Peer handoff");
    page.row("files for peers", &optional(grants.peer_files.as_ref()));
    page.row("files from peers", &listed(&grants.peer_fetch_allow));
    page.block("Runtime writes");
    for write in &grants.runtime_writes {
        let text = format!("{:<42} {:<9} {}", write.path, word(&write.kind), word(&write.condition));
        page.line(&escape(&text));
    }
    page.text
}

fn containment(page: &mut Page, grants: &EffectiveGrants) {
    page.block("Containment");
    page.row("declared", &grants.declared_containment);
    page.row("achieved", &grants.achieved_containment);
    let met = match (&grants.shortfall_reason, grants.floor_met) {
        (_, true) => "yes".to_owned(),
        (Some(reason), false) => format!("no: {reason}"),
        (None, false) => "no".to_owned(),
    };
    page.row("floor met", &met);
    page.row("mechanism", grants.enforcement_tier);
    page.row("user namespaces", grants.userns_grant.as_deref().unwrap_or("not needed"));
    page.row("file boundary", grants.filesystem_boundary.restriction);
    page.row("disk traffic", grants.io_max.status);
}

fn not_protected(page: &mut Page, grants: &EffectiveGrants) {
    page.block("Not protected here");
    let open = &grants.filesystem_boundary.not_protected;
    if open.is_empty() {
        page.line("nothing that this version knows of");
    }
    for what in open {
        page.item(what);
    }
}

fn effective(page: &mut Page, grants: &EffectiveGrants) {
    page.block("Effective grants");
    page.row("workdir", grants.filesystem_scope.as_deref().unwrap_or("all of it"));
    page.row("read-only paths", &listed(&grants.read_only_paths));
    page.row("only advice for", &listed(&grants.read_only_advisory_for));
    page.row("programs in it", if grants.workdir_exec { "may be run" } else { "may not be run" });
    page.row("network", &listed(&grants.network_allow));
    page.row("unix sockets", if grants.unix_sockets { "yes" } else { "no" });
    page.row("environment", &listed(&grants.env_allow));
    page.row("shell", &listed(&grants.shell_allow));
    page.row("spawn", &listed(&grants.spawn_allow));
    page.row("plans", if grants.plan_submit { "yes" } else { "no" });
    page.row("configured", &listed(&grants.configured_artifacts));
    page.line("directories:");
    for preopen in &grants.preopens {
        let scope = preopen.scope.as_deref().map(|scope| format!(" {scope}")).unwrap_or_default();
        page.item(&format!("{} ({}): {}{scope}", preopen.artifact, preopen.role, preopen.surface));
    }
    if !grants.state_stores.is_empty() {
        page.line("state stores:");
        for store in &grants.state_stores {
            page.item(&format!("{}: {} -> {}", store.artifact, store.store, store.host_path));
        }
    }
}

/// What is printed, escaped as it is added: most of it is quoted from a manifest.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn block(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "{title}");
    }

    fn row(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "  {:<17} {}", format!("{name}:"), escape(value));
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {text}");
    }

    fn item(&mut self, text: &str) {
        let _ = writeln!(self.text, "  - {}", escape(text));
    }
}

fn listed(entries: &[String]) -> String {
    if entries.is_empty() { "nothing".to_owned() } else { entries.join(", ") }
}

fn optional(value: Option<&serde_json::Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// The word that an enumeration's value has in JSON.
fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_value(value).ok();
    text.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}
