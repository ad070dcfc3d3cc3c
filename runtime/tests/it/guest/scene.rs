//! The stage for one run: a directory, grants, tools and a witness that remembers.

use crate::support;
use mur_runtime::guest::{
    Access, Capsule, Emission, Engine, GatewayKey, Grants, GuestError, Operation, PathDenied, ProtectedPaths, Reason,
    Status, Stream, Tool, ToolCall, Toolbox, Witness, WitnessError, Workspace,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;

/// The engine of all tests, so that each guest is compiled once.
pub(super) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(Some(&support::target().join("guests/compiled"))).unwrap())
}

pub(super) fn capsule() -> Capsule {
    static CAPSULE: OnceLock<Capsule> = OnceLock::new();
    CAPSULE.get_or_init(|| engine().load_capsule(&support::guest("test_capsule")).unwrap()).clone()
}

pub(super) fn tool() -> Tool {
    static TOOL: OnceLock<Tool> = OnceLock::new();
    TOOL.get_or_init(|| engine().load_tool(&support::guest("test_tool")).unwrap()).clone()
}

pub(super) fn courier() -> Tool {
    static COURIER: OnceLock<Tool> = OnceLock::new();
    COURIER.get_or_init(|| engine().load_tool(&support::guest("test_courier")).unwrap()).clone()
}

/// One run of the test capsule.
pub(super) struct Scene {
    root: TempDir,
    pub(super) grants: Grants,
    pub(super) toolbox: Toolbox,
    pub(super) log: Arc<Log>,
}

impl Scene {
    /// A capsule with this task in a directory of its own, which it may write.
    pub(super) fn new(task: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let workdir = root.path().canonicalize().unwrap().join("workdir");
        fs::create_dir(&workdir).unwrap();
        fs::write(workdir.join("task.md"), task).unwrap();
        Self {
            grants: Grants {
                workspace: Some(Workspace::open(&workdir, Access::ReadWrite, Arc::default()).unwrap()),
                ..Grants::default()
            },
            root,
            toolbox: Toolbox::new(),
            log: Arc::default(),
        }
    }

    /// A path in the capsule's directory.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("workdir").join(path)
    }

    /// A path beside the capsule's directory.
    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Puts a file into the capsule's directory.
    pub(super) fn with_file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(super) fn workspace(&mut self) -> &mut Workspace {
        self.grants.workspace.as_mut().unwrap()
    }

    /// Gives the capsule another directory, under the same rules.
    pub(super) fn work_in(&mut self, directory: &Path) {
        let workspace = self.workspace();
        *workspace = Workspace::open(directory, workspace.access, Arc::clone(&workspace.protected)).unwrap();
    }

    /// Closes paths for the capsule; tools that are added later have the same directory.
    pub(super) fn protect(mut self, rules: impl Fn(ProtectedPaths, &Path) -> std::io::Result<ProtectedPaths>) -> Self {
        let rules = rules(ProtectedPaths::new(), &self.path("")).unwrap();
        self.workspace().protected = Arc::new(rules);
        self
    }

    /// Declares the test tool, with grants of its own.
    pub(super) fn with_tool(mut self, name: &str, grants: Grants) -> Self {
        self.toolbox.insert(name, tool(), grants);
        self
    }

    /// Declares the test tool, with the capsule's directory.
    pub(super) fn with_tool_here(self, name: &str) -> Self {
        let grants = Grants { workspace: self.grants.workspace.clone(), ..Grants::default() };
        self.with_tool(name, grants)
    }

    pub(super) async fn run(&mut self) -> Result<(), GuestError> {
        let toolbox = Arc::new(std::mem::take(&mut self.toolbox));
        let witness: Arc<dyn Witness> = self.log.clone();
        capsule().run("test", &self.grants, &toolbox, &witness).await
    }

    /// Runs it and reads what it reports.
    pub(super) async fn report(&mut self) -> String {
        self.run().await.unwrap();
        self.result()
    }

    pub(super) fn result(&self) -> String {
        fs::read_to_string(self.path("out/result.txt")).unwrap()
    }
}

/// A witness that remembers everything, and gives up when it is told to.
#[derive(Default)]
pub(super) struct Log {
    pub(super) calls: Mutex<Vec<Call>>,
    pub(super) denials: Mutex<Vec<Denial>>,
    pub(super) keys: Mutex<Vec<String>>,
    pub(super) emissions: Mutex<Vec<String>>,
    output: Mutex<Vec<(String, Stream, Vec<u8>)>>,
    pub(super) gives_up: Mutex<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) data: Option<String>,
    pub(super) log_path: Option<String>,
    pub(super) outcome: Result<String, String>,
    pub(super) status: Status,
    pub(super) bytes: (usize, usize),
    pub(super) state_effect: Option<String>,
    pub(super) resource_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) guest: String,
    pub(super) operation: Operation,
    pub(super) path: String,
    pub(super) rule: String,
    pub(super) reason: Reason,
}

impl Log {
    /// Everything that one guest printed to one stream.
    pub(super) fn printed(&self, guest: &str, stream: Stream) -> String {
        let output = self.output.lock().unwrap();
        let pieces =
            output.iter().filter(|(by, to, _)| by == guest && *to == stream).flat_map(|(_, _, bytes)| bytes.clone());
        String::from_utf8(pieces.collect()).unwrap()
    }

    /// The largest piece that was printed at once.
    pub(super) fn largest_piece(&self) -> usize {
        let output = self.output.lock().unwrap();
        output.iter().map(|(_, _, bytes)| bytes.len()).max().unwrap_or(0)
    }

    /// The one call that was made.
    pub(super) fn call(&self) -> Call {
        let calls = self.calls.lock().unwrap();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls[0].clone()
    }

    fn answer(&self) -> Result<(), WitnessError> {
        if *self.gives_up.lock().unwrap() { Err("the disk is full".into()) } else { Ok(()) }
    }
}

impl Witness for Log {
    fn tool_called(&self, call: &ToolCall<'_>) -> Result<(), WitnessError> {
        self.answer()?;
        let text = |text: Option<&str>| text.map(str::to_owned);
        self.calls.lock().unwrap().push(Call {
            name: call.name.to_owned(),
            data: call.input.data.clone(),
            log_path: call.input.log_path.clone(),
            outcome: match call.outcome {
                Ok(result) => Ok(result.data.clone().unwrap_or_default()),
                Err(reason) => Err(reason.to_owned()),
            },
            status: call.status(),
            bytes: (call.input_bytes(), call.output_bytes()),
            state_effect: text(call.state_effect()),
            resource_id: text(call.resource_id()),
        });
        Ok(())
    }

    fn path_denied(&self, denial: &PathDenied<'_>) -> Result<(), WitnessError> {
        self.answer()?;
        self.denials.lock().unwrap().push(Denial {
            guest: denial.guest.to_owned(),
            operation: denial.operation,
            path: denial.path.to_owned(),
            rule: denial.rule.to_owned(),
            reason: denial.reason,
        });
        Ok(())
    }

    fn gateway_key(&self, event: &GatewayKey<'_>) -> Result<(), WitnessError> {
        self.answer()?;
        let GatewayKey { guest, origin, change, trigger, status, retried, reason } = event;
        let (source, change, trigger) = (&origin.source, change.as_str(), trigger.as_str());
        let said = format!("{guest} {source} {change} {trigger} {status:?} {retried} {reason:?}");
        self.keys.lock().unwrap().push(said);
        Ok(())
    }

    fn emitted(&self, guest: &str, emission: Emission<'_>) {
        self.emissions.lock().unwrap().push(format!("{guest} {emission:?}"));
    }

    fn output(&self, guest: &str, stream: Stream, bytes: &[u8]) {
        self.output.lock().unwrap().push((guest.to_owned(), stream, bytes.to_vec()));
    }
}
