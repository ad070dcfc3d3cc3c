//! What several modules need: the guests, and a project in which the `mur` binary is run as a person runs it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mur_runtime::guest::Engine;
use mur_seal::{PublicKey, RecordReport, TRACE_STREAM, Verdict, public_key_path};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Nothing that is run here takes nearly so long. Whoever waits longer waits for something that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A component of `testdata/guests`, by its file name without `.wasm`.
///
/// # Panics
/// When it has not been built.
pub(crate) fn guest(name: &str) -> PathBuf {
    let path = target().join("guests").join(name).with_extension("wasm");
    assert!(path.is_file(), "{} is missing: run `cargo xtask guests`", path.display());
    path
}

/// The workspace's build directory.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// The manifest of the test capsule, with the test tool within its reach.
pub(crate) const MANIFEST: &str = "\
name: tester
version: 1.2.3
artifacts:
  - {name: tool, runtime: tool, source: ./tools/tool.wasm}
";

/// A directory of a test's own that holds a project, `project`, and a murmur home, `home`.
///
/// The project is the test capsule with [`MANIFEST`]. The home has no key yet; it holds the compiled guests, so that no
/// run compiles any.
pub(crate) struct Project {
    _root: TempDir,
    root: PathBuf,
    directory: PathBuf,
    commands: AtomicUsize,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::named("project")
    }

    /// One whose project directory has this name.
    pub(crate) fn named(name: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let project = Self { _root: temporary, directory: root.join(name), root, commands: AtomicUsize::new(0) };
        fs::create_dir_all(project.path("tools")).unwrap();
        symlink(guest("test_capsule"), project.path("capsule.wasm")).unwrap();
        symlink(guest("test_tool"), project.path("tools/tool.wasm")).unwrap();
        project.seed_compiled_guests();
        project.with_file("murmur.yaml", MANIFEST)
    }

    /// Adds `limits` to the manifest, one or more members of that block on one line.
    pub(crate) fn with_limits(self, limits: &str) -> Self {
        self.with_file("murmur.yaml", &format!("{MANIFEST}capabilities:\n  limits: {{{limits}}}\n"))
    }

    /// Puts a file into the project, over one that is there.
    pub(crate) fn with_file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Compiled forms may be shared: the cache replaces its files and never writes into them.
    fn seed_compiled_guests(&self) {
        let from = compiled_guests();
        let to = self.home().join("compiled");
        for entry in walk(from).into_iter().filter(|path| path.is_file()) {
            let there = to.join(entry.strip_prefix(from).unwrap());
            fs::DirBuilder::new().recursive(true).mode(0o700).create(there.parent().unwrap()).unwrap();
            // Another test may just be adding an entry under a temporary name: that one is not needed.
            let _ = fs::hard_link(&entry, &there).or_else(|_| fs::copy(&entry, &there).map(drop));
        }
    }

    /// `mur` with these arguments, in the project's directory, with the home and nothing else in its environment.
    pub(crate) fn mur<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mur"));
        command
            .args(args)
            .current_dir(&self.directory)
            .env_clear()
            .env("MURMUR_HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    /// Starts a command. What it prints goes to files, so that no pipe has to be read.
    pub(crate) fn start(&self, mut command: Command) -> Running {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let printed = |stream: &str| self.root.join(format!("{number}.{stream}"));
        let (stdout, stderr) = (printed("stdout"), printed("stderr"));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Running { child: command.spawn().unwrap(), stdout, stderr, waited: None }
    }

    /// Starts `mur run --json --task TASK …` and waits until the session has begun.
    pub(crate) fn start_session(&self, task: &str, more: &[&str]) -> (Running, Record) {
        let args = ["run", "--json", "--task", task].into_iter().chain(more.iter().copied());
        let mut running = self.start(self.mur(args));
        let begun: Value = running.first_line();
        (running, Record::at(begun["records_dir"].as_str().unwrap()))
    }

    /// Runs `mur` to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        self.start(self.mur(args)).wait()
    }

    /// Runs the capsule with a task.
    pub(crate) fn run_task(&self, task: &str) -> Ended {
        self.run(["run", "--task", task])
    }

    /// The one session that was run in a directory of its own.
    pub(crate) fn record(&self) -> Record {
        let records = self.records();
        assert_eq!(records.len(), 1, "{records:?}");
        records[0].clone()
    }

    /// All sessions that were run in directories of their own, oldest first.
    pub(crate) fn records(&self) -> Vec<Record> {
        entries(&self.path("workdir")).into_iter().map(Record::at).collect()
    }

    /// All sessions that were run with this `--workdir`, oldest first.
    pub(crate) fn records_under(&self, workdir: &Path) -> Vec<Record> {
        entries(&workdir.join(".murmur")).into_iter().map(Record::at).collect()
    }

    /// This host's public key, as a file on the command line.
    pub(crate) fn public_key(&self) -> PublicKey {
        PublicKey::load(&public_key_path(&self.home())).unwrap()
    }

    /// How a record reads with this host's public key alone.
    pub(crate) fn check(&self, record: &Record) -> RecordReport {
        mur_verify::check_record(&record.dir, &[self.public_key()], Some(record.session()), None).unwrap()
    }

    /// Asserts that a record is verified, and has at least one line.
    pub(crate) fn assert_verified(&self, record: &Record) {
        let report = self.check(record);
        assert_eq!(report.verdict, Verdict::Verified, "{}", mur_verify::to_json(&report));
        assert_ne!(report.streams[0].lines, 0);
    }

    /// A text without the directories and ids that differ from run to run.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let text = text.replace(self.directory.to_str().unwrap(), "PROJECT");
        without_ids(&text.replace(self.root.to_str().unwrap(), "ROOT"))
    }
}

/// The text with every id cut down to its prefix.
fn without_ids(text: &str) -> String {
    const DIGITS: usize = 32;
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = ["ses_", "evt_", "tsk_", "ctx_"].iter().filter_map(|prefix| rest.find(prefix)).min() {
        let (before, after) = rest.split_at(at + "ses_".len());
        kept.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == DIGITS {
            kept.push('…');
        }
        rest = if digits == DIGITS { &after[DIGITS..] } else { after };
    }
    kept + rest
}

/// The directory in which the guests' compiled forms are; made the first time.
fn compiled_guests() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let compiled = target().join("guests/compiled");
        let engine = Engine::new(Some(&compiled)).unwrap();
        engine.load_capsule(&guest("test_capsule")).unwrap();
        engine.load_tool(&guest("test_tool")).unwrap();
        compiled
    })
}

/// A process that was started.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    waited: Option<ExitStatus>,
}

impl Running {
    /// Waits for the first line on stdout, a JSON value.
    pub(crate) fn first_line(&mut self) -> Value {
        let line = eventually("the first line on stdout", || {
            let printed = fs::read_to_string(&self.stdout).unwrap();
            if printed.is_empty() && self.child.try_wait().unwrap().is_some() {
                panic!("it ended first: {}", fs::read_to_string(&self.stderr).unwrap());
            }
            printed.split_once('\n').map(|(line, _)| line.to_owned())
        });
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until it ends.
    ///
    /// # Panics
    /// When it hangs.
    pub(crate) fn wait(mut self) -> Ended {
        let status = eventually("the end of the process", || self.child.try_wait().unwrap());
        self.waited = Some(status);
        Ended {
            status,
            stdout: String::from_utf8(fs::read(&self.stdout).unwrap()).unwrap(),
            stderr: String::from_utf8(fs::read(&self.stderr).unwrap()).unwrap(),
        }
    }
}

/// A test that fails leaves no process behind.
impl Drop for Running {
    fn drop(&mut self) {
        if self.waited.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A process that ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Its exit code.
    ///
    /// # Panics
    /// When a signal ended it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Asserts the exit code and that nothing panicked.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        assert!(!self.diagnostics().contains("panicked at"), "{self:?}");
        self
    }

    /// What a line of stdout that begins with `name: ` says.
    pub(crate) fn says(&self, name: &str) -> &str {
        let mut lines = self.stdout.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.next().unwrap_or_else(|| panic!("no line {name}: {self:?}")).trim_start()
    }

    /// The diagnostics on stderr, without what guests printed there.
    pub(crate) fn diagnostics(&self) -> String {
        let is_guests = |line: &&str| !line.starts_with('[');
        self.stderr.lines().filter(is_guests).map(|line| format!("{line}\n")).collect()
    }
}

/// A session's records directory.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) dir: PathBuf,
}

impl Record {
    pub(crate) fn at(dir: impl AsRef<Path>) -> Self {
        Self { dir: dir.as_ref().to_owned() }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    pub(crate) fn session(&self) -> &str {
        self.dir.file_name().unwrap().to_str().unwrap()
    }

    /// The trace's bytes; none where it cannot be read as a file.
    pub(crate) fn trace(&self) -> Vec<u8> {
        fs::read(self.path(TRACE_STREAM)).unwrap_or_default()
    }

    /// Its whole lines, as events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let trace = self.trace();
        let lines = trace.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// The `event_type` of every event, in order.
    pub(crate) fn event_types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
    }

    /// The events of one type.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event_type"] == kind).collect()
    }

    /// The only event of a type.
    pub(crate) fn event(&self, kind: &str) -> Value {
        let events = self.events_of(kind);
        assert_eq!(events.len(), 1, "{kind}: {events:?}");
        events[0].clone()
    }

    /// Waits until the trace has so many lines.
    pub(crate) fn wait_for_lines(&self, lines: usize) {
        let newlines = || self.trace().iter().filter(|byte| **byte == b'\n').count();
        eventually("more lines in the trace", || (newlines() >= lines).then_some(()));
    }

    /// Waits until the trace is sealed.
    pub(crate) fn wait_for_seal(&self) {
        eventually("the seal of the trace", || self.path("trace.jsonl.seal").exists().then_some(()));
    }
}

/// Asks again and again until there is an answer.
///
/// # Panics
/// When there is none for too long.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// What a directory holds, by name; nothing where there is none.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Everything below a directory, by path. Links are not followed.
pub(crate) fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in entries(directory) {
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        paths.push(path.clone());
        if is_directory {
            paths.extend(walk(&path));
        }
    }
    paths
}

/// The same, relative to the directory and as text.
pub(crate) fn tree(directory: &Path) -> Vec<String> {
    let relative = |path: PathBuf| path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
    walk(directory).into_iter().map(relative).collect()
}
