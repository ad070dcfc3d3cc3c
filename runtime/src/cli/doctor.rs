//! `mur doctor`: goes through everything that a launch needs, by doing it, and says what is wrong and what to do.
//!
//! What makes `mur run` refuse is found here first: the same plan is made, and each component is loaded as a launch would
//! load it. Nothing is written, save compiled components into their cache.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mur_seal::{PublicKey, escape, public_key_path};

use super::{complain, home_of_key, print};
use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic, EXIT_FAILED, EXIT_OK};
use crate::guest::Engine;
use crate::home::too_open;
use crate::manifest::{Reference, Role};
use crate::session::environment::EnvFile;
use crate::session::ids::SessionId;
use crate::session::paths::MANIFEST_FILE;
use crate::session::plan::{Origin, Plan, Wish};
use crate::session::report;
use crate::session::staging::{directories, engine, load_failure, obstacles};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The capsule's manifest [default: murmur.yaml]
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,

    /// The directory that the capsule would work in
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,

    /// Do not read the .env file beside the manifest
    #[arg(long)]
    no_env_file: bool,
}

pub(crate) fn run(args: &DoctorArgs, context: &Context) -> Result<u8, Diagnostic> {
    let home = home_of_key(context)?;
    let mut findings = Findings::default();
    let manifest = args.manifest.clone().unwrap_or_else(|| MANIFEST_FILE.into());
    if args.manifest.is_some() || context.here.join(&manifest).exists() {
        let env_file = if args.no_env_file { EnvFile::Ignored } else { EnvFile::Read };
        let wish = Wish { capsule: Origin::Project(manifest), containment: None, env_file };
        match Plan::of(&wish, &home, context, complain) {
            Ok(plan) => project(&mut findings, &plan, args, context),
            Err(refusal) => {
                findings.block("Manifest");
                findings.wrong(&refusal);
            }
        }
    } else {
        findings.block("Project");
        findings.note("there is no murmur.yaml here: only this host was looked at");
    }
    host(&mut findings, &home);
    print(&findings.close());
    Ok(if findings.errors == 0 { EXIT_OK } else { EXIT_FAILED })
}

fn project(findings: &mut Findings, plan: &Plan, args: &DoctorArgs, context: &Context) {
    let session = SessionId::mint(&*context.ids);
    let dirs = directories(plan, args.workdir.as_deref(), session, context);
    let grants = report::effective_grants(plan, dirs.workdir);

    match engine(&plan.home) {
        Ok(engine) => components(findings, plan, &engine),
        Err(refusal) => findings.wrong(&refusal),
    }
    // What has a line of its own as an artifact that is missing is told once more here, with what to do about it.
    let refusals: Vec<Diagnostic> = plan.refusals.iter().cloned().chain(obstacles(plan, &dirs)).collect();
    findings.block("Launch");
    if refusals.is_empty() {
        findings.right("nothing stands against it");
    }
    refusals.iter().for_each(|refusal| findings.wrong(refusal));

    findings.block("Filesystem preopens");
    for preopen in &grants.preopens {
        let scope = preopen.scope.as_deref().map(|scope| format!(" {scope}")).unwrap_or_default();
        findings.note(&format!("{} ({}): {}{scope}", preopen.artifact, preopen.role, preopen.surface));
    }
    for store in &grants.state_stores {
        findings.note(&format!("{} (state): {} -> {}", store.artifact, store.store, store.host_path));
    }
    if !grants.read_only_paths.is_empty() {
        findings.block("Read-only paths");
        grants.read_only_paths.iter().for_each(|path| findings.note(path));
    }
    if !plan.manifest.capabilities.env.is_empty() {
        findings.block("Environment requirements");
        for name in &plan.manifest.capabilities.env {
            match plan.environment.variable(name.as_str()) {
                Some(_) => findings.right(&format!("{name} is set")),
                None => findings.wrong(
                    &Diagnostic::new(Code::VariableUnset, format!("`{name}` is in env.allow and is not set"))
                        .with_hint(format!(
                            "set {name}, write it into the project's .env, or leave it out of env.allow"
                        )),
                ),
            }
        }
    }
}

/// Loads the capsule and each artifact.
fn components(findings: &mut Findings, plan: &Plan, engine: &Engine) {
    findings.block("Capsule");
    let name = format!("{}@{}", plan.manifest.name, plan.manifest.version);
    match &plan.component {
        Some(component) => match component.capsule(engine) {
            Ok(_) => findings.right(&name),
            Err(error) => findings.wrong(&load_failure(&error)),
        },
        None if plan.manifest.inference.is_some() => {
            findings.note(&format!("{name}: an agent has no component of its own"))
        }
        None => findings.missing(&format!("{name} — no component")),
    }
    if plan.manifest.artifacts.is_empty() {
        return;
    }
    findings.block("Artifacts");
    for (index, artifact) in plan.manifest.artifacts.iter().enumerate() {
        let name = format!("{}@{}", artifact.name, artifact.reference.shown_version());
        if !plan.is_found(index) {
            findings.missing(&format!("{name} — missing, or not usable here"));
            continue;
        }
        let kind = match artifact.reference {
            Reference::Local(_) => "local source",
            Reference::Installed(_) => "platform-independent",
        };
        let provided = plan.artifacts.iter().find(|provided| provided.index == index);
        match (artifact.role, provided) {
            (Role::Tool | Role::Driver, Some(provided)) => match provided.bytes.tool(engine) {
                Ok(_) => findings.right(&format!("{name} {kind}")),
                Err(error) => findings.wrong(&load_failure(&error)),
            },
            // There is nothing to load, or nothing yet that would load it.
            (_, _) => findings.right(&format!("{name} {kind} ({})", artifact.role)),
        }
    }
}

fn host(findings: &mut Findings, home: &Path) {
    findings.block("Containment");
    findings.note("native programs: none are run by this version, so this host needs neither namespaces nor cgroups");

    findings.block("Murmur home");
    if !home.exists() {
        findings.note(&format!("{} does not exist yet; the first run makes it", home.display()));
        return;
    }
    let open = too_open(home);
    if open.is_empty() {
        findings.right(&format!("{} and what is private in it are closed to others", home.display()));
    }
    for open in open {
        let text = format!("{} has mode {:04o}, and others could use it", open.path.display(), open.mode);
        findings.doubtful(&Diagnostic::new(Code::SecretFileMode, text).with_hint(format!(
            "chmod {:04o} {}",
            open.wanted,
            open.path.display()
        )));
    }
    let key = public_key_path(home);
    if !key.exists() {
        return findings.note("there is no host key yet; the first run makes it");
    }
    match PublicKey::load(&key) {
        Ok(key) => findings.right(&format!("records are sealed with the key {}", key.key_id())),
        Err(error) => findings.wrong(
            &Diagnostic::new(Code::Home, format!("{}: {error}", key.display()))
                .with_hint("restore both halves of the key from a copy"),
        ),
    }
}

/// What was found, as it is printed.
#[derive(Default)]
struct Findings {
    text: String,
    passed: usize,
    errors: usize,
    fixes: Vec<String>,
}

impl Findings {
    fn block(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{gap}{title}");
    }

    fn line(&mut self, mark: &str, text: &str) {
        let _ = writeln!(self.text, "  {mark} {}", escape(text));
    }

    fn note(&mut self, text: &str) {
        self.line("-", text);
    }

    fn right(&mut self, text: &str) {
        self.passed += 1;
        self.line("✓", text);
    }

    /// Marks what is not there. Why stands among what is wrong, and counts there.
    fn missing(&mut self, text: &str) {
        self.line("✗", text);
    }

    fn wrong(&mut self, diagnostic: &Diagnostic) {
        self.errors += 1;
        self.told("✗", diagnostic);
    }

    fn doubtful(&mut self, diagnostic: &Diagnostic) {
        self.told("!", diagnostic);
    }

    /// Shows a diagnostic as it is shown elsewhere; its hint waits for the end.
    fn told(&mut self, mark: &str, diagnostic: &Diagnostic) {
        let shown = diagnostic.to_string();
        let _ = writeln!(self.text, "  {mark} {}", shown.lines().next().unwrap_or_default());
        if let Some(hint) = diagnostic.hint() {
            self.fixes.push(hint.to_owned());
        }
    }

    /// The whole text, with its end.
    fn close(&mut self) -> String {
        let summary = match self.errors {
            0 => "All checks passed.".to_owned(),
            errors => format!("{} checks passed, {errors} errors found.", self.passed),
        };
        let mut fixes: Vec<&String> = Vec::new();
        for fix in &self.fixes {
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        let fixes: String = fixes.iter().map(|fix| format!("Fix: {}\n", escape(fix))).collect();
        format!("{}\n{summary}\n{fixes}", self.text)
    }
}
