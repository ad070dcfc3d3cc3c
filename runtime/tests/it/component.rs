//! The record check as a component, run under Wasmtime in both of its shapes: a plain WASI command, and a murmur tool.
//!
//! Both are given directories to read and nothing else. On every record of the corpus they must agree, byte for byte,
//! with what `mur-verify` is expected to print.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use mur_runtime::guest::{
    Access, Engine as GuestEngine, GatewayKey, Grants, PathDenied, Status, Stream, Tool, ToolCall, ToolInput,
    ToolResult, Witness, WitnessError, Workspace,
};
use mur_seal::RecordReport;
use mur_testdata::Case;
use mur_verify::Console;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tempfile::TempDir;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2::bindings::Command;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtx, WasiCtxView, WasiView};

use crate::support;

/// More than any case prints.
const MAX_PRINTED: usize = 1 << 20;

/// What a run of the command came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The component as any WASI host compiles it: none of the runtime's own settings.
fn command() -> &'static Component {
    static COMMAND: OnceLock<Component> = OnceLock::new();
    COMMAND.get_or_init(|| Component::from_file(&Engine::default(), support::guest("check_capsule")).unwrap())
}

/// Runs the command with `directory` to read, as `name`.
pub(crate) async fn run(directory: &Path, name: &str, args: &[String]) -> Ran {
    let (stdout, stderr) = (MemoryOutputPipe::new(MAX_PRINTED), MemoryOutputPipe::new(MAX_PRINTED));
    let mut wasi = WasiCtx::builder();
    wasi.arg("mur-verify").args(args).stdout(stdout.clone()).stderr(stderr.clone());
    wasi.preopened_dir(directory, name, FsPerms::ReadOnly).unwrap();
    let component = command();
    let mut linker = Linker::new(component.engine());
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    let mut store = Store::new(component.engine(), Host { wasi: wasi.build(), table: ResourceTable::new() });
    let command = Command::instantiate_async(&mut store, component, &linker).await.unwrap();
    let code = match command.wasi_cli_run().call_run(&mut store).await {
        Ok(Ok(())) => 0,
        Ok(Err(())) => 1,
        Err(error) => error.downcast::<I32Exit>().unwrap().0,
    };
    let text = |pipe: MemoryOutputPipe| String::from_utf8(pipe.contents().to_vec()).unwrap();
    Ran { code: code.try_into().unwrap(), stdout: text(stdout), stderr: text(stderr) }
}

fn tool() -> &'static Tool {
    static TOOL: LazyLock<Tool> = LazyLock::new(|| {
        let engine = GuestEngine::new(Some(&support::target().join("guests/compiled"))).unwrap();
        engine.load_tool(&support::guest("check_capsule")).unwrap()
    });
    &TOOL
}

/// A check reads: it calls no tool, changes nothing and prints nothing.
struct Nothing;

impl Witness for Nothing {
    fn tool_called(&self, call: &ToolCall<'_>) -> Result<(), WitnessError> {
        panic!("{} was called", call.name)
    }

    fn path_denied(&self, denial: &PathDenied<'_>) -> Result<(), WitnessError> {
        panic!("{} was to be changed", denial.path)
    }

    fn gateway_key(&self, event: &GatewayKey<'_>) -> Result<(), WitnessError> {
        panic!("{} has a gateway", event.guest)
    }

    fn output(&self, _: &str, _: Stream, bytes: &[u8]) {
        panic!("printed {:?}", String::from_utf8_lossy(bytes))
    }
}

/// Calls the tool with `directory` to read, as `.`.
async fn call(directory: &Path, input: &Value) -> ToolResult {
    let workspace = Workspace::open(directory, Access::ReadOnly, Arc::default()).unwrap();
    let grants = Grants { workspace: Some(workspace), ..Grants::default() };
    let input = ToolInput { data: Some(input.to_string()), log_path: None };
    let witness: Arc<dyn Witness> = Arc::new(Nothing);
    tool().run("check-capsule", &grants, &input, &witness).await.unwrap()
}

/// The cases of the corpus; there are as many as the format has rules.
fn corpus() -> Vec<Case> {
    let cases = mur_testdata::cases();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    cases
}

/// Asserts that no case differs.
fn assert_none(differences: &[String]) {
    let count = differences.len();
    assert_eq!(count, 0, "if the component is an older build, run `cargo xtask guests`\n{}", differences.concat());
}

/// How a case's outcome differs from what is expected.
fn difference<T: PartialEq + std::fmt::Debug>(case: &Case, found: T, expected: T) -> Option<String> {
    (found != expected).then(|| format!("{}:\n  found    {found:?}\n  expected {expected:?}\n", case.name))
}

#[tokio::test]
async fn the_command_prints_what_is_expected_of_every_record_of_the_corpus() {
    let mut differences = Vec::new();
    for case in corpus() {
        let ran = run(&mur_testdata::root(), ".", &case.arguments.command_line()).await;
        let (code, stdout) = match case.arguments.keys.is_empty() {
            true => (mur_seal::EXIT_ERROR, ""),
            false => (case.exit, case.stdout.as_str()),
        };
        let has_errors = code == mur_seal::EXIT_ERROR || code == mur_seal::EXIT_ABSENT;
        let found = (ran.code, ran.stdout.as_str(), !ran.stderr.is_empty());
        differences.extend(difference(&case, found, (code, stdout, has_errors)));
    }
    assert_none(&differences);
}

#[tokio::test]
async fn the_tool_gives_the_same_reports_and_the_status_that_they_mean() {
    let mut differences = Vec::new();
    for case in corpus() {
        // The tool takes one key.
        let [key] = &case.arguments.keys[..] else { continue };
        let mut input = json!({"records": case.arguments.records, "public_key": key});
        let members = [("session_id", &case.arguments.session), ("conversations", &case.arguments.conversations)];
        for (member, value) in members {
            if let Some(value) = value {
                input[member] = json!(value);
            }
        }
        let result = call(&mur_testdata::root(), &input).await;
        let report = result.data.unwrap() + "\n";
        let status = if case.exit == mur_seal::EXIT_VERIFIED { Status::Passed } else { Status::Failed };
        differences.extend(difference(&case, (result.status, report.as_str()), (status, case.stdout.as_str())));

        let report: RecordReport = serde_json::from_str(&report).unwrap();
        let summary = result.summary.unwrap();
        assert!(summary.starts_with(&report.verdict.to_string()), "{}: {summary}", case.name);
    }
    assert_none(&differences);
}

/// A directory with what is no record, and keys that are none.
fn misfits() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let key = mur_testdata::host_key().public_key().to_hex();
    let seed: String = mur_testdata::HOST_SEED.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::create_dir(path.join("empty")).unwrap();
    fs::create_dir(path.join("fifo")).unwrap();
    mkfifoat(CWD, path.join("fifo/trace.jsonl"), Mode::RUSR | Mode::WUSR).unwrap();
    mur_testdata::case("golden/script").tree().write_to(&path.join("good")).unwrap();
    fs::write(path.join("file"), "a file").unwrap();
    fs::write(path.join("key"), key.clone() + "\r\n").unwrap();
    fs::write(path.join("short"), &key[1..]).unwrap();
    fs::write(path.join("record-seal.key"), seed + "\n").unwrap();
    (directory, path)
}

/// What the auditor's command itself does with these arguments.
fn native(args: &[String]) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = {
        let mut console = Console::new(&mut stdout, &mut stderr);
        mur_verify::run(["mur-verify".to_owned()].iter().chain(args).map(Into::into), &mut console)
    };
    Ran { code, stdout: String::from_utf8(stdout).unwrap(), stderr: String::from_utf8(stderr).unwrap() }
}

#[tokio::test]
async fn the_command_errs_as_mur_verify_does() {
    let (_directory, path) = misfits();
    let there = |name: &str| path.join(name).to_str().unwrap().to_owned();
    let key = mur_testdata::host_key().public_key().to_hex();
    let good = there("good/record");
    let mut codes = Vec::new();
    for args in [
        &[][..],
        &["--help"],
        &["--version"],
        &["--no-such-option"],
        &[&good],
        &[&good, "--key", &key],
        &[&good, "--key", &key, "--json"],
        &[&good, "--key", &key, "--session", "ses_another"],
        &[&good, "--key", &there("key")],
        &[&good, "--key", &there("short")],
        &[&good, "--key", &key[1..]],
        &[&good, "--key", &(key.clone() + "0")],
        &[&good, "--key", &there("record-seal.key")],
        &[&good, "--key", &there("nowhere")],
        &[&good, "--key", &there("empty")],
        &[&there("nowhere"), "--key", &key],
        &[&there("file"), "--key", &key],
        &[&there("empty"), "--key", &key],
        &[&there("empty"), &good, &there("nowhere"), "--key", &key, "--json"],
    ] {
        let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
        let expected = native(&args);
        assert_eq!(run(&path, path.to_str().unwrap(), &args).await, expected, "{args:?}");
        codes.push(expected.code);
    }
    assert_eq!(codes, [2, 0, 0, 2, 2, 0, 0, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 5, 2]);
}

/// WASI does not tell FIFOs from devices: the verdict is the same, and nothing is waited for.
#[tokio::test]
async fn the_command_does_not_wait_for_a_fifo() {
    let (_directory, path) = misfits();
    let key = mur_testdata::host_key().public_key().to_hex();
    let args = [path.join("fifo").to_str().unwrap().to_owned(), "--key".to_owned(), key];
    let Ran { code, stdout, stderr } = native(&args);
    let expected = Ran { code, stdout: stdout.replace("is a FIFO", "is a device"), stderr };
    assert_eq!(expected.code, mur_seal::EXIT_CHANGED);
    assert_eq!(run(&path, path.to_str().unwrap(), &args).await, expected);
}

#[tokio::test]
async fn the_tool_says_why_it_could_check_nothing() {
    let (_directory, path) = misfits();
    let key = mur_testdata::host_key().public_key().to_hex();
    let mut said = String::new();
    for input in [
        json!({"records": "nowhere", "public_key": key}),
        json!({"records": "file", "public_key": key}),
        json!({"records": "/etc", "public_key": key}),
        json!({"records": "good/record", "public_key": "short"}),
        json!({"records": "good/record", "public_key": "record-seal.key"}),
        json!({"records": "good/record", "public_key": "nowhere"}),
        json!({"records": "good/record"}),
        json!({"records": "good/record", "public_key": key, "key": "x"}),
        json!([]),
    ] {
        let result = call(&path, &input).await;
        assert_eq!((result.status, result.data), (Status::Error, None), "{input}");
        said += &format!("{}\n", result.summary.unwrap());
    }
    insta::assert_snapshot!(said, @r"
    nowhere: there is no such directory
    file: not a directory; give the directory that holds the record's trace.jsonl
    /etc: there is no such directory
    public_key short: it has 63 hexadecimal digits; a public key has 64, as in the host's record-seal.pub
    public_key record-seal.key: it is the host's private key; give the public half, record-seal.pub beside it, and keep this file to the host
    public_key nowhere: there is no such file; give the host's record-seal.pub, or its 64 hexadecimal digits
    the input does not fit: missing field `public_key` at line 1 column 25
    the input does not fit: unknown field `key`, expected one of `records`, `public_key`, `session_id`, `conversations` at line 1 column 110
    the input does not fit: invalid length 0, expected struct Request with 4 elements at line 1 column 2
    ");
}

#[tokio::test]
async fn a_record_without_anything_in_it_fails_the_tool() {
    let (_directory, path) = misfits();
    let key = mur_testdata::host_key().public_key().to_hex();
    let result = call(&path, &json!({"records": "empty", "public_key": key})).await;
    assert_eq!(result.status, Status::Failed);
    let report: Value = serde_json::from_str(&result.data.unwrap()).unwrap();
    assert_eq!(report["verdict"], "absent");
}
