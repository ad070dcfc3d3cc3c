//! The capsule's `capabilities`.

use super::super::capabilities::{Capabilities, Containment, Limits, Placed, Resources};
use super::super::environment::EnvName;
use super::super::fields::{Fields, Reader, Text};
use super::super::schema::{self, Mapping};
use super::super::unserved::Feature;
use super::super::{AfterTask, Lifecycle, ManifestError, Scope, ScopeError, Shell, Subpath};
use super::is_empty;
use crate::diagnostic::Code;
use crate::hosts::HostRule;

/// What holds for every list that guests' environment is filled from.
const GATEWAY: &str = "remove it; a provider's key belongs into an artifact's `gateway`, where no guest sees it";

impl Reader<'_> {
    /// The capsule's capabilities, and its hosts once more with their places.
    pub(super) fn capabilities(
        &mut self,
        root: &Fields<'_>,
        lifecycle: &Lifecycle,
    ) -> Result<(Capabilities, Vec<Placed<HostRule>>), ManifestError> {
        let mut capabilities = Capabilities::default();
        let mut hosts = Vec::new();
        let Some(fields) = self.block(root, "capabilities", &schema::CAPABILITIES)? else {
            return Ok((capabilities, hosts));
        };
        if let Some(network) = self.block(&fields, "network", &schema::NETWORK_ALLOW)? {
            hosts = self.hosts(&network, "allow")?.unwrap_or_default();
            capabilities.network = hosts.iter().map(|rule| rule.value.clone()).collect();
            self.ask_if(!hosts.is_empty(), Feature::Network, &network, "allow");
            capabilities.unix_sockets = self.flag(&network, "unix_sockets")?.unwrap_or(false);
            self.ask_if(capabilities.unix_sockets, Feature::UnixSockets, &network, "unix_sockets");
        }
        capabilities.peer_fetch = self.peer_fetch(&fields)?;
        if let Some(filesystem) = self.block(&fields, "filesystem", &schema::FILESYSTEM)? {
            capabilities.scope = self.scope(&filesystem)?.unwrap_or_default();
            capabilities.read_only = self.read_only(&filesystem)?;
            self.ask_if(!capabilities.read_only.is_empty(), Feature::ReadOnly, &filesystem, "read_only");
            capabilities.workdir_exec = self.workdir_exec(&filesystem)?;
        }
        if let Some(entry) = fields.entry("state") {
            let text = "`capabilities.state` has no effect for the whole capsule: a store belongs to one artifact";
            self.warn(
                Code::CapsuleWideState,
                entry.at,
                text,
                "move it to the `capabilities` of the artifact that needs it",
            );
        }
        if let Some(entry) = fields.entry("conversation") {
            let text = "`capabilities.conversation` has no effect for the whole capsule: only a hook may read it";
            self.warn(
                Code::CapsuleWideConversation,
                entry.at,
                text,
                "move it to the `capabilities` of the hook that needs it",
            );
        }
        if fields.entry("task_io").is_some() {
            return Err(self.misplaced(&fields, "task_io", "move it to the `capabilities` of the hook that needs it"));
        }
        if let Some(limits) = self.block(&fields, "limits", &schema::LIMITS)? {
            capabilities.limits = self.limits(&limits)?;
        }
        if let Some(resources) = self.block(&fields, "resources", &schema::RESOURCES)? {
            capabilities.resources = self.resources(&resources)?;
            self.ask_if(!resources.entries.is_empty(), Feature::Resources, &fields, "resources");
        }
        capabilities.containment = self.containment(&fields)?;
        if let Some(shell) = self.block(&fields, "shell", &schema::SHELL)? {
            capabilities.shell = Some(self.shell(&shell, capabilities.containment)?);
            self.ask_if(true, Feature::Shell, &fields, "shell");
        }
        if let Some(spawn) = self.inner(&fields, "spawn")? {
            capabilities.spawn = self
                .parsed_list(&spawn, "allow")?
                .ok_or_else(|| self.missing(&spawn, "allow", "add `allow:` with the names of capsules"))?;
            self.ask_if(!capabilities.spawn.is_empty(), Feature::Spawn, &spawn, "allow");
        }
        if let Some(env) = self.inner(&fields, "env")? {
            capabilities.env = self.environment(&env, capabilities.shell.as_ref(), lifecycle)?;
            self.ask_if(!capabilities.env.is_empty(), Feature::Environment, &env, "allow");
        }
        if let Some(plan) = self.inner(&fields, "plan")? {
            capabilities.plan_submit = self.required_flag(&plan, "submit")?;
            self.ask_if(capabilities.plan_submit, Feature::Plan, &plan, "submit");
        }
        Ok((capabilities, hosts))
    }

    /// A block of `capabilities`.
    fn inner<'n>(&self, fields: &Fields<'n>, key: &str) -> Result<Option<Fields<'n>>, ManifestError> {
        self.block(fields, key, schema::CAPABILITIES.inside(key))
    }

    fn ask_if(&mut self, declared: bool, feature: Feature, fields: &Fields<'_>, key: &str) {
        if let (true, Some(entry)) = (declared, fields.entry(key)) {
            self.ask(feature, entry.at, fields.field(key));
        }
    }

    fn peer_fetch(&mut self, fields: &Fields<'_>) -> Result<Vec<HostRule>, ManifestError> {
        let Some(block) = self.inner(fields, "peer_fetch")? else { return Ok(Vec::new()) };
        let rules = self.hosts(&block, "allow")?.filter(|rules| !rules.is_empty());
        let rules = rules.ok_or_else(|| self.missing(&block, "allow", "add `allow:` with at least one peer"))?;
        self.ask_if(true, Feature::PeerFetch, fields, "peer_fetch");
        Ok(rules.into_iter().map(|rule| rule.value).collect())
    }

    /// `filesystem.scope`.
    pub(super) fn scope(&self, filesystem: &Fields<'_>) -> Result<Option<Scope>, ManifestError> {
        let Some(Text { text, at, field, .. }) = self.string(filesystem, "scope")? else { return Ok(None) };
        text.parse().map(Some).map_err(|reason| ManifestError::Scope { place: self.place(at), field, reason })
    }

    fn read_only(&self, filesystem: &Fields<'_>) -> Result<Vec<Subpath>, ManifestError> {
        const HINT: &str = "name a file or directory below the workdir, for example `src`";
        let mut paths = Vec::new();
        for Text { text, at, field, .. } in self.texts(filesystem, "read_only")?.unwrap_or_default() {
            let reason = match text.parse::<Scope>() {
                Ok(Scope::Subtree(subpath)) => {
                    paths.push(subpath);
                    continue;
                }
                Ok(Scope::Workdir) => "is the whole workdir".to_owned(),
                Err(error @ (ScopeError::Empty | ScopeError::Nul | ScopeError::Upwards | ScopeError::Absolute)) => {
                    error.to_string()
                }
            };
            return Err(self.rule(Code::ReadOnlyPath, at, format!("`{field}` {reason}"), HINT));
        }
        Ok(paths)
    }

    fn workdir_exec(&mut self, filesystem: &Fields<'_>) -> Result<bool, ManifestError> {
        let granted = self.flag(filesystem, "workdir_exec")?.unwrap_or(false);
        if let (true, Some(entry)) = (granted, filesystem.entry("workdir_exec")) {
            let text = "`capabilities.filesystem.workdir_exec` lets programs run that a session has written itself; no more \
                        than `advisory` containment is reached with it";
            self.warn(Code::WorkdirExec, entry.at, text, "remove it where no program of the workdir has to run");
            self.ask_if(true, Feature::WorkdirExec, filesystem, "workdir_exec");
        }
        Ok(granted)
    }

    fn environment(
        &mut self,
        env: &Fields<'_>,
        shell: Option<&Shell>,
        lifecycle: &Lifecycle,
    ) -> Result<Vec<EnvName>, ManifestError> {
        let mut names: Vec<EnvName> = Vec::new();
        let mut forbidden: Vec<String> = Vec::new();
        let mut first = env.at;
        let mut secret = Vec::new();
        for text in self.texts(env, "allow")?.unwrap_or_default() {
            let name: EnvName = self.parsed(&text)?;
            if names.contains(&name) {
                continue;
            }
            let stripped = shell.iter().flat_map(|shell| &shell.strip_env).find(|pattern| pattern.fits(&name));
            if let Some(pattern) = name.backstop().or(stripped.map(|pattern| pattern.as_str())) {
                if forbidden.is_empty() {
                    first = text.at;
                }
                forbidden.push(format!("`{name}` (`{pattern}`)"));
            } else if let Some(segment) = name.secret_segment() {
                secret.push((text.at, name.clone(), segment));
            }
            names.push(name);
        }
        if !forbidden.is_empty() {
            let reason = format!("`{}` names what no guest is shown: {}", env.field("allow"), forbidden.join(", "));
            return Err(self.rule(Code::EnvironmentBackstop, first, reason, GATEWAY));
        }
        for (at, name, segment) in secret {
            let stays = match lifecycle.after_task {
                AfterTask::Exit => "",
                AfterTask::Sleep => ", and a capsule that stays keeps it for as long as it lives",
            };
            let text = format!("`{name}` is called like a secret (`{segment}`), and every guest sees its value{stays}");
            self.warn(Code::SecretVariable, at, text, GATEWAY);
        }
        Ok(names)
    }

    fn containment(&mut self, fields: &Fields<'_>) -> Result<Containment, ManifestError> {
        let words = Containment::ALL.map(|class| (class.as_str(), class));
        let Some(declared) = self.choice(fields, "containment", &words)? else { return Ok(Containment::default()) };
        match (declared, fields.value("containment")) {
            (Containment::Scoped | Containment::Sealed, Some(node)) => {
                self.ask(Feature::Containment(declared.as_str()), node.at, fields.field("containment"));
            }
            (Containment::Advisory, _) | (_, None) => {}
        }
        Ok(declared)
    }

    fn limits(&self, fields: &Fields<'_>) -> Result<Limits, ManifestError> {
        let default = Limits::default();
        let deadline = self.small_limit(fields, "deadline_seconds")?;
        Ok(Limits {
            memory_bytes: self.limit(fields, "memory_bytes", u64::MAX)?.unwrap_or(default.memory_bytes),
            table_elements: self.small_limit(fields, "table_elements")?.unwrap_or(default.table_elements),
            instances: self.small_limit(fields, "instances")?.unwrap_or(default.instances),
            deadline_seconds: deadline.unwrap_or(default.deadline_seconds),
            hook_deadline_seconds: deadline.unwrap_or(default.hook_deadline_seconds),
        })
    }

    fn resources(&self, fields: &Fields<'_>) -> Result<Resources, ManifestError> {
        let mut resources = Resources::default();
        let members = [
            ("max_processes", &mut resources.max_processes),
            ("max_open_files", &mut resources.max_open_files),
            ("max_file_size_bytes", &mut resources.max_file_size_bytes),
            ("cpu_seconds", &mut resources.cpu_seconds),
            ("memory_bytes", &mut resources.memory_bytes),
            ("cgroup_memory_bytes", &mut resources.cgroup_memory_bytes),
            ("cgroup_pids_max", &mut resources.cgroup_pids_max),
            ("cgroup_cpu_percent", &mut resources.cgroup_cpu_percent),
            ("cgroup_io_bytes_per_sec", &mut resources.cgroup_io_bytes_per_sec),
            ("workdir_max_bytes", &mut resources.workdir_max_bytes),
        ];
        for (key, member) in members {
            if let Some(limit) = self.limit(fields, key, u64::MAX)? {
                *member = limit;
            }
        }
        Ok(resources)
    }

    /// A block that must have something in it.
    pub(super) fn not_empty<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
        known: &Mapping,
        hint: &str,
    ) -> Result<Option<Fields<'n>>, ManifestError> {
        let Some(node) = fields.value(key) else { return Ok(None) };
        let field = fields.field(key);
        if is_empty(node) {
            return Err(self.value(node.at, format!("`{field}` is empty"), Some(hint.to_owned())));
        }
        self.mapping(node, field, known).map(Some)
    }
}
