//! Sessions on a host that does not do its part: a full disk, a lock that somebody holds, a clock that jumps back; and
//! sessions whose record is checked again and again while they write it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mur_runtime::context::Context;
use mur_runtime::record::{BootstrapLog, Event, TaskStart, Trace};
use mur_runtime::session::ids::{Clock, ContextId, SessionId, TaskId};
use mur_seal::{HostKey, Verdict, read_seal};
use rustix::process::Signal;

use crate::support::{Project, Record, eventually, walk};

const BUSY: &str = "call-many 1000000 tool";

/// A shell that runs `script`, in which `"$@"` is `mur run --task BUSY --workdir work`.
fn in_a_shell(project: &Project, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(env!("CARGO_BIN_EXE_mur"));
    command.args(["run", "--task", BUSY, "--workdir", "work"]);
    command.current_dir(project.path("")).env_clear().env("MURMUR_HOME", project.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// A session that could not write its trace any more says so, and what it wrote is intact.
fn assert_ended_for_want_of_room(project: &Project, record: &Record, said: &str) {
    assert!(said.contains("error[E-RUN-"), "{said}");
    assert!(said.contains("the session could not be recorded: the trace could not be written: "), "{said}");
    assert!(said.contains("make room"), "{said}");
    assert!(said.contains("warning: trace.jsonl was not sealed: an event could not be recorded"), "{said}");
    let report = project.check(record);
    assert_eq!(report.verdict, Verdict::Unsealed, "{}", mur_verify::to_json(&report));
    let lines = usize::try_from(report.streams[0].lines).unwrap();
    assert!(lines > 10, "{lines} lines");
    assert_eq!(record.event_types()[..2], ["session_start", "task_start"]);
}

/// A limit on the size of files stands in for a full disk: the write that exceeds it is cut short.
#[test]
fn a_session_whose_trace_cannot_grow_ends_with_a_plain_report_and_an_intact_record() {
    let project = Project::new();
    // A process is killed for exceeding the limit, unless it ignores that signal.
    let running = project.start(in_a_shell(&project, "trap '' XFSZ; ulimit -f 64; exec \"$@\""));
    let ended = running.wait().expect(1);
    let records = project.records_under(&project.path("work"));
    assert_ended_for_want_of_room(&project, &records[0], &ended.diagnostics());
}

/// A file system of its own for the workdir, in a mount namespace of its own.
#[test]
fn a_session_on_a_disk_that_is_full_ends_with_a_plain_report_and_an_intact_record() {
    let project = Project::new();
    fs::create_dir(project.path("work")).unwrap();
    let mounted = |then: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount"]);
        let shell = in_a_shell(&project, &format!("mount -t tmpfs -o size=256k none work && {then}"));
        command.arg(shell.get_program()).args(shell.get_args()).current_dir(project.path(""));
        command.env_clear().envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    };
    if !mounted("true").output().is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    // The file system is gone with the process: what is on it is brought away first.
    let ended = project.start(mounted("{ \"$@\"; code=$?; cp -r work/.murmur kept; exit $code; }")).wait().expect(1);
    let kept = fs::read_dir(project.path("kept")).unwrap().next().unwrap().unwrap();
    assert_ended_for_want_of_room(&project, &Record::at(kept.path()), &ended.diagnostics());
    let seals = walk(&project.path("kept")).into_iter().filter(|path| path.to_string_lossy().ends_with(".tmp"));
    assert_eq!(seals.count(), 0, "no half of a seal is left behind");
}

/// Whatever in the record somebody locks, or waits to lock: the session goes on, and is sealed.
#[test]
fn a_session_goes_on_while_somebody_waits_for_a_lock_or_holds_one() {
    let project = Project::new();
    let (running, record) = project.start_session(BUSY, &[]);
    record.wait_for_seal();
    let trace = File::open(record.path("trace.jsonl")).unwrap();
    let waiting = thread::spawn(move || trace.lock().map(|()| trace));
    let held = [".", "trace.jsonl.seal", "logs", "logs/bootstrap.log"].map(|path| {
        let file = File::open(record.path(path)).unwrap();
        file.lock().unwrap();
        file
    });
    let lines = record.events().len();
    let sealed = || read_seal(&record.dir, "trace.jsonl").unwrap().unwrap().draft.lines;
    let before = sealed();
    record.wait_for_lines(lines + 100);
    eventually("the next seal", || (sealed() > before).then_some(()));
    assert!(!waiting.is_finished(), "the session lets go of its trace's lock only at its end");
    running.signal(Signal::TERM);
    let ended = running.wait().expect(1);
    assert!(!ended.diagnostics().contains("warning"), "{ended:?}");
    drop(held);
    waiting.join().unwrap().unwrap();
    project.assert_verified(&record);
}

#[test]
fn a_record_that_is_checked_again_and_again_while_it_is_written_never_reads_as_changed() {
    const CHECKS: usize = 60;
    const SEALS: usize = 3;
    let project = Project::new();
    let (running, record) = project.start_session(BUSY, &[]);
    record.wait_for_seal();
    let mut sealed = Vec::new();
    let mut checks = 0;
    eventually("some more seals", || {
        let report = project.check(&record);
        let fits = matches!(report.verdict, Verdict::Unsealed | Verdict::Verified);
        assert!(fits, "{}", mur_verify::to_json(&report));
        sealed.extend(report.streams[0].sealed_lines);
        sealed.dedup();
        checks += 1;
        (checks >= CHECKS && sealed.len() >= SEALS).then_some(())
    });
    for _ in 0..5 {
        let code = project.run(["trace", "verify", record.dir.to_str().unwrap()]).code();
        assert!(matches!(code, 0 | 3), "exit code {code}");
    }
    running.signal(Signal::TERM);
    running.wait().expect(1);
    project.assert_verified(&record);
    assert!(sealed.is_sorted(), "a seal never covers less than the one before it: {sealed:?}");
}

/// A clock that is set back by a day again and again, until it stands before the epoch.
#[derive(Debug)]
struct SetBack(AtomicU64);

impl Clock for SetBack {
    fn unix_ms(&self) -> u64 {
        let before = |now: u64| now.saturating_sub(86_400_000);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(before(now))).unwrap()
    }
}

#[test]
fn a_clock_that_jumps_back_changes_what_time_is_told_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let records = directory.path().join("ses_1");
    fs::create_dir(&records).unwrap();
    let key = Arc::new(HostKey::load_or_create(&directory.path().join("home")).unwrap());
    let mut context = Context::of_process();
    context.clock = Arc::new(SetBack(AtomicU64::new(5 * 86_400_000)));
    let session = SessionId::mint(&*context.ids);
    let task = || {
        Event::TaskStart(TaskStart {
            task_id: TaskId::mint(&*context.ids),
            context_id: ContextId::mint(&*context.ids),
            source: "task_md",
            origin: "user",
            trust: "trusted",
            lane: "user",
            message_parts_bytes: 0,
        })
    };
    let log = BootstrapLog::open(&records.join("bootstrap.log"), Arc::clone(&context.clock)).unwrap();
    let trace = Trace::begin(&records, session, Arc::clone(&key), &context, log, task()).unwrap();
    for _ in 0..8 {
        trace.write(trace.root(), &task()).unwrap();
    }
    trace.close();

    let record = Record::at(&records);
    let times: Vec<u64> = record.events().iter().map(|event| event["timestamp"].as_u64().unwrap()).collect();
    assert_eq!(times.len(), 9);
    assert!(times.is_sorted_by(|earlier, later| earlier >= later) && times[0] > 0 && times[8] == 0, "{times:?}");
    let seal = read_seal(&records, "trace.jsonl").unwrap().unwrap();
    assert_eq!((seal.draft.lines, seal.draft.sealed_at), (9, 0));
    assert_verified(&records, &key);
}

fn assert_verified(records: &Path, key: &HostKey) {
    let report = mur_verify::check_record(records, &[key.public_key().clone()], None, None).unwrap();
    assert_eq!(report.verdict, Verdict::Verified, "{}", mur_verify::to_json(&report));
}
