//! A host that does not do its part: a lock that another process never lets go of, a directory that cannot be written, a
//! clock that jumps. Whatever it is, it is told plainly, nothing that was acknowledged is lost, and what can go on does.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use mur_seal::{
    Appenders, ChainError, ChainOptions, InlineChain, SealingError, TRACE_STREAM, Verdict, read_seal, seal_inline,
    seal_session_end, seal_session_teardown,
};
use mur_testdata::{CLOCK_MS, SESSION};

use crate::child;
use crate::support::{Records, event, numbers, quiet, set_mode};

/// Long enough to have been waited for, and no longer.
const SHORT: Duration = Duration::from_millis(150);
/// Far longer than any test here keeps the lock.
const LONG: Duration = Duration::from_secs(120);

fn waiting(lock_wait: Duration) -> ChainOptions {
    ChainOptions { lock_wait, ..quiet(Appenders::Shared) }
}

/// A process that holds the trace's lock until its stdin is closed.
fn locked(records: &Records) -> Child {
    let mut child = child::command("hold the lock", records.trace().as_os_str(), "").spawn().unwrap();
    child::wait_until_ready(&mut child);
    child
}

fn let_go(mut child: Child) {
    drop(child.stdin.take());
    child::wait_for_success(child);
}

#[test]
fn a_lock_that_is_never_let_go_of_is_told_and_costs_no_line() {
    let records = Records::new();
    let chain = InlineChain::open(&records.trace(), waiting(SHORT)).unwrap();
    chain.append(&event("host", 1)).unwrap();
    records.seal(&chain).unwrap();
    let (trace, seal) = (records.bytes(), fs::read(records.seal_file()).unwrap());

    let holder = locked(&records);
    for _ in 0..2 {
        let error = chain.append(&event("host", 2)).unwrap_err();
        assert!(matches!(&error, ChainError::Locked { waited, .. } if *waited == SHORT), "{error}");
        let told = format!("{}: another process has held its lock for 150ms", records.trace().display());
        assert_eq!(error.to_string(), told);
        let error = records.seal(&chain).unwrap_err();
        assert!(matches!(error, SealingError::Chain(ChainError::Locked { .. })), "{error}");
    }
    assert_eq!(seal_inline(records.path(), TRACE_STREAM, SESSION, &records.key, None), None);
    assert_eq!(seal_session_end(records.path(), SESSION, &records.key), None);
    seal_session_teardown(records.path(), SESSION, &records.key);
    assert_eq!((records.bytes(), fs::read(records.seal_file()).unwrap()), (trace, seal));
    records.assert_trace(Verdict::Verified);
    assert_eq!(chain.head().unwrap().lines, 1, "a look does not wait");

    let_go(holder);
    chain.append(&event("host", 2)).unwrap();
    records.seal(&chain).unwrap();
    assert_eq!(chain.tampering(), None);
    records.assert_trace(Verdict::Verified);
    assert_eq!(numbers(&records.lines(), "host"), [1, 2]);
}

#[test]
fn a_file_that_cannot_be_locked_is_not_opened_and_can_be_once_it_is_let_go_of() {
    for appenders in [Appenders::Sole, Appenders::Shared] {
        let records = Records::new();
        fs::write(records.trace(), "").unwrap();
        let holder = locked(&records);
        let options = || ChainOptions { lock_wait: SHORT, ..quiet(appenders) };
        let refused = InlineChain::open(&records.trace(), options()).err().unwrap();
        assert!(matches!(refused, ChainError::Locked { .. }), "{refused}");
        let_go(holder);
        InlineChain::open(&records.trace(), options()).unwrap().append(&event("host", 1)).unwrap();
    }
}

#[test]
fn whoever_waits_for_one_files_lock_keeps_nobody_from_opening_another_file() {
    let records = Records::new();
    fs::write(records.trace(), "").unwrap();
    let holder = locked(&records);
    std::thread::scope(|scope| {
        let open = || InlineChain::open(&records.trace(), waiting(LONG)).unwrap();
        // Three that want one file get one chain, whichever of them waits for the lock.
        let threads = [scope.spawn(open), scope.spawn(open), scope.spawn(open)];
        std::thread::sleep(SHORT); // so that one of them most likely does
        for number in 0..3 {
            let other = records.file(&format!("other-{number}.jsonl"));
            let chain = InlineChain::open(&other, waiting(LONG)).unwrap();
            chain.append(&event("host", 1)).unwrap();
        }
        assert!(threads.iter().all(|thread| !thread.is_finished()), "the file is locked");
        let_go(holder);
        let chains = threads.map(|thread| thread.join().unwrap());
        assert!(chains.iter().all(|chain| Arc::ptr_eq(chain, &chains[0])));
    });
}

#[test]
fn whoever_waits_for_another_to_open_a_file_tries_again_when_that_one_gave_up() {
    let records = Records::new();
    fs::write(records.trace(), "").unwrap();
    let holder = locked(&records);
    std::thread::scope(|scope| {
        let hasty = scope.spawn(|| InlineChain::open(&records.trace(), waiting(SHORT)).map(drop));
        let patient =
            scope.spawn(|| InlineChain::open(&records.trace(), waiting(LONG)).unwrap().append("{}").map(drop));
        std::thread::sleep(SHORT * 2);
        let_go(holder);
        // Whichever came first: the hasty one gave up when its time was over, or got what the patient one waited for.
        assert!(matches!(hasty.join().unwrap(), Ok(()) | Err(ChainError::Locked { .. })));
        patient.join().unwrap().unwrap();
    });
    assert_eq!(records.lines().len(), 1);
}

#[test]
fn a_directory_that_cannot_be_written_leaves_the_trace_unsealed_and_whole() {
    let records = Records::new();
    fs::write(records.trace(), "").unwrap();
    set_mode(&records.trace(), 0o666);
    set_mode(records.path(), 0o555);
    let mut command = child::command("seal without permission", records.path().as_os_str(), "");
    command.current_dir("/");
    if rustix::process::geteuid().is_root() {
        // A privileged user writes everywhere, so another one has to try.
        command.uid(65534).gid(65534);
    }
    match command.spawn() {
        Ok(child) => child::wait_for_success(child),
        Err(error) => return eprintln!("skipped: no unprivileged user can run this test here: {error}"),
    }
    set_mode(records.path(), 0o755);
    records.assert_trace(Verdict::Unsealed);
    let chain = records.chain(Appenders::Sole);
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
    assert_eq!(numbers(&records.lines(), "host"), [1, 2, 3]);
    let names: Vec<_> = fs::read_dir(records.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

pub(crate) fn seal_without_permission(directory: &Path) {
    let assert_denied = |path: &Path, cause: &std::io::Error, file: &str| {
        assert!(path.ends_with(file), "{}", path.display());
        assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
    };
    let refused = InlineChain::open(&directory.join("another.jsonl"), quiet(Appenders::Sole)).err().unwrap();
    let ChainError::Io { path, cause } = refused else { panic!("{refused}") };
    assert_denied(&path, &cause, "another.jsonl");
    let key = mur_testdata::host_key();
    let chain = InlineChain::open(&directory.join(TRACE_STREAM), quiet(Appenders::Sole)).unwrap();
    for number in 1..=3 {
        chain.append(&event("host", number)).unwrap();
        let refused = chain.seal(directory, TRACE_STREAM, SESSION, &key, CLOCK_MS, None).unwrap_err();
        let SealingError::Io { path, cause } = refused else { panic!("{refused}") };
        assert_denied(&path, &cause, "trace.jsonl.seal");
        assert_eq!(seal_session_end(directory, SESSION, &key), None);
    }
    assert_eq!(chain.tampering(), None);
}

#[test]
fn a_clock_that_jumps_back_makes_no_difference_but_to_the_time_that_a_seal_tells() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    for (number, sealed_at) in [(1, CLOCK_MS), (2, CLOCK_MS - 86_400_000), (3, 0), (4, u64::MAX), (5, 1)] {
        chain.append(&event("host", number)).unwrap();
        chain.seal(records.path(), TRACE_STREAM, SESSION, &records.key, sealed_at, None).unwrap();
        let report = records.assert_trace(Verdict::Verified);
        assert_eq!(report.sealed_at, Some(sealed_at));
        assert_eq!(read_seal(records.path(), TRACE_STREAM).unwrap().unwrap().draft.lines, number as u64);
    }
}
