//! `kill -9` at any moment: what was written never reads as changed, and whoever appends next continues the file.

use std::hash::{BuildHasher as _, RandomState};
use std::thread;
use std::time::Duration;

use mur_seal::{
    Appenders, ChainOptions, Expectation, HostKey, InlineChain, RecordReport, SEAL_SUFFIX, TRACE_STREAM, Verdict,
    verify_inline,
};
use rustix::process::Signal;

use crate::support::{Project, Record};

/// How many sessions are killed, each at its own moment.
const KILLS: u32 = 60;
/// Long enough for a session to write and seal more than a thousand lines.
const LONGEST: Duration = Duration::from_millis(1200);

#[test]
fn a_session_that_is_killed_never_reads_as_changed_and_can_be_continued() {
    let random = RandomState::new();
    let moments = (0..KILLS).map(|kill| {
        let share = f64::from(u32::try_from(random.hash_one(kill) >> 32).unwrap()) / f64::from(u32::MAX);
        if kill % 2 == 0 {
            Moment::Running(LONGEST.mul_f64(share))
        } else {
            Moment::Starting(LONGEST.mul_f64(share * share / 4.0))
        }
    });
    let left = in_two_threads(&moments.collect::<Vec<_>>(), killed_at);
    let begun = left.iter().filter(|begun| **begun).count();
    assert!(begun >= left.len() / 2, "only {begun} sessions had begun when they were killed");
}

/// When a session is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long after its process was started: some while their files are made, some before.
    Starting(Duration),
    /// So long after its trace was there.
    Running(Duration),
}

/// Calls `kill` for every moment, on both cores.
fn in_two_threads(moments: &[Moment], kill: fn(Moment) -> bool) -> Vec<bool> {
    thread::scope(|scope| {
        let halves = moments.chunks(moments.len().div_ceil(2));
        let threads: Vec<_> =
            halves.map(|half| scope.spawn(move || half.iter().copied().map(kill).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Kills a busy session, and checks and continues what it left. The answer: whether it had written anything.
fn killed_at(moment: Moment) -> bool {
    const BUSY: &str = "call-many 1000000 tool";
    let project = Project::new();
    let running = match moment {
        Moment::Starting(after) => {
            let running = project.start(project.mur(["run", "--task", BUSY]));
            thread::sleep(after);
            running
        }
        Moment::Running(after) => {
            let (running, _) = project.start_session(BUSY, &[]);
            thread::sleep(after);
            running
        }
    };
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal(), Some(Signal::KILL.as_raw()));

    let record = project.records().pop().filter(|record| record.path(TRACE_STREAM).exists());
    let Some(record) = record else { return false };
    let lines = record.event_types().len();
    let sealed = check(&project, &record, moment).streams[0].sealed_lines;
    if let Some(sealed) = sealed {
        assert_prefix_is_verified(&project, &record, sealed);
    }
    continue_and_seal(&project, &record, moment);
    lines > 0
}

fn check(project: &Project, record: &Record, moment: Moment) -> RecordReport {
    let report = project.check(record);
    let fits = matches!(report.verdict, Verdict::Unsealed | Verdict::Verified);
    assert!(fits, "killed at {moment:?}: {}", mur_verify::to_json(&report));
    report
}

/// What a seal made in passing covers stays verified, whatever came after it.
fn assert_prefix_is_verified(project: &Project, record: &Record, sealed: u64) {
    let trace = record.trace();
    let lines = trace.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(sealed).unwrap());
    let seal = std::fs::read(record.path(&format!("{TRACE_STREAM}{SEAL_SUFFIX}"))).unwrap();
    let keys = [project.public_key()];
    let expectation = Expectation { stream: TRACE_STREAM, session: Some(record.session()), keys: &keys };
    let prefix = verify_inline(&expectation, &lines.collect::<Vec<_>>().concat(), Some(&seal));
    assert_eq!(prefix.verdict, Verdict::Verified, "{prefix:?}");
    assert_eq!(prefix.lines, sealed);
}

fn continue_and_seal(project: &Project, record: &Record, moment: Moment) {
    let before = record.trace();
    let chain = InlineChain::open(&record.path(TRACE_STREAM), ChainOptions::new(Appenders::Shared)).unwrap();
    chain.append("{\"event_type\":\"continued\"}").unwrap();
    let after = record.trace();
    assert!(after.starts_with(&before), "what was there was not kept");
    // The kill may have torn the last line. It is ended, and the event stands on a line of its own.
    let last = after.strip_suffix(b"\n").unwrap().rsplit(|byte| *byte == b'\n').next().unwrap();
    assert!(last.starts_with(b"{\"event_type\":\"continued\","), "{}", String::from_utf8_lossy(last));
    check(project, record, moment);

    let key = HostKey::load_or_create(&project.home()).unwrap();
    chain.seal(&record.dir, TRACE_STREAM, record.session(), &key, 0, None).unwrap();
    // A session that wrote nothing names no session either, so that its seal has none to fit.
    if before.contains(&b'\n') {
        project.assert_verified(record);
    }
}

#[test]
fn a_session_that_is_killed_after_its_first_seal_keeps_what_that_covers() {
    let project = Project::new();
    let (running, record) = project.start_session("call-many 1000000 tool", &[]);
    record.wait_for_seal();
    running.signal(Signal::KILL);
    running.wait();
    let sealed = project.check(&record).streams[0].sealed_lines.unwrap();
    assert!(sealed >= 1000, "{sealed}");
    assert_prefix_is_verified(&project, &record, sealed);
}

#[test]
fn a_session_that_appends_little_is_sealed_within_seconds() {
    let project = Project::new();
    let (running, record) = project.start_session("sleep 600", &[]);
    record.wait_for_seal();
    running.signal(Signal::KILL);
    running.wait();
    let report = project.check(&record);
    assert_eq!((report.verdict, report.streams[0].sealed_lines), (Verdict::Verified, Some(2)));
    assert_eq!(record.event_types(), ["session_start", "task_start"]);
}
