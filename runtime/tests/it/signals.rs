//! SIGINT and SIGTERM: the capsule is stopped, and the record ends in order and sealed.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use mur_seal::{TRACE_STREAM, Verdict};
use rustix::process::Signal;

use crate::support::{Project, Record, eventually};

/// What `kill` and shells report for a process that SIGTERM ended, and what `mur` answers to a second signal.
const TERMINATED: i32 = 143;

/// Asserts that a session was canceled, and that its record says so and is whole.
fn assert_canceled(project: &Project, record: &Record) {
    project.assert_verified(record);
    let events = record.event_types();
    assert_eq!(events[events.len() - 3..], ["task_canceled", "task_end", "session_end"], "{events:?}");
    assert_eq!(record.event("task_end")["exit_status"], "canceled");
    assert_eq!(record.event("session_end")["exit_status"], "canceled");
    let task = record.event("task_start");
    let canceled = record.event("task_canceled");
    assert_eq!(canceled["parent_id"], task["event_id"]);
    assert_eq!(canceled["task_id"], task["task_id"]);
}

#[test]
fn a_signal_cancels_whatever_the_capsule_does() {
    for signal in [Signal::INT, Signal::TERM] {
        for task in ["spin", "sleep 600", "call tool spin", "call tool sleep 600", "call-many 1000000 tool"] {
            let project = Project::new();
            let (running, record) = project.start_session(task, &[]);
            record.wait_for_lines(2);
            thread::sleep(Duration::from_millis(20));
            running.signal(signal);
            let ended = running.wait().expect(1);
            assert_eq!(
                ended.diagnostics(),
                "error[E-RUN-040]: the session was told to stop before its capsule ended\n",
                "{signal:?} while {task}"
            );
            assert_canceled(&project, &record);
        }
    }
}

#[test]
fn a_canceled_session_says_so_at_its_end() {
    let project = Project::new();
    let running = project.start(project.mur(["run", "--task", "sleep 600"]));
    let record = eventually("the session", || project.records().pop());
    record.wait_for_lines(2);
    running.signal(Signal::TERM);
    let ended = running.wait().expect(1);
    assert_eq!(ended.says("status"), "canceled");
    assert_eq!(ended.says("record"), record.dir.to_str().unwrap());
}

#[test]
fn a_second_signal_ends_the_process_at_once_or_finds_it_ending() {
    for (task, pause) in [("spin", 0), ("sleep 600", 0), ("spin", 1), ("sleep 600", 1), ("call-many 1000000 tool", 3)] {
        let project = Project::new();
        let (running, record) = project.start_session(task, &[]);
        record.wait_for_lines(2);
        running.signal(Signal::TERM);
        thread::sleep(Duration::from_millis(pause));
        running.signal(Signal::TERM);
        let ended = running.wait();
        match ended.code() {
            1 => assert_canceled(&project, &record),
            TERMINATED => {
                let verdict = project.check(&record).verdict;
                assert!(matches!(verdict, Verdict::Verified | Verdict::Unsealed), "{verdict:?}");
            }
            _ => panic!("{ended:?}"),
        }
    }
}

/// The end of a session can take long: here, because another process holds the lock of what it is to write.
#[test]
fn a_second_signal_ends_a_session_that_does_not_come_to_its_end() {
    let project = Project::new();
    let (running, record) = project.start_session("sleep 600", &[]);
    record.wait_for_lines(2);
    let copy = record.path("copy");
    fs::copy(record.path(TRACE_STREAM), &copy).unwrap();
    let locked = File::open(&copy).unwrap();
    locked.lock().unwrap();
    fs::rename(&copy, record.path(TRACE_STREAM)).unwrap();

    running.signal(Signal::TERM);
    thread::sleep(Duration::from_millis(1500));
    let insisted = Instant::now();
    running.signal(Signal::TERM);
    running.wait().expect(TERMINATED);
    assert!(insisted.elapsed() < Duration::from_secs(5), "{:?}", insisted.elapsed());
    assert_eq!(project.check(&record).verdict, Verdict::Unsealed);
}

#[test]
fn a_signal_right_after_the_start_finds_either_no_session_or_one_that_ends_in_order() {
    let mut canceled = 0;
    for round in 0..40 {
        let project = Project::new();
        let running = project.start(project.mur(["run", "--task", "sleep 600"]));
        thread::sleep(Duration::from_micros(1500 * round));
        running.signal(Signal::INT);
        let ended = running.wait();
        let record = project.records().pop().filter(|record| !record.trace().is_empty());
        match record {
            Some(record) => {
                assert_eq!(ended.code(), 1, "{ended:?}");
                assert_canceled(&project, &record);
                canceled += 1;
            }
            None => assert_eq!(ended.signal(), Some(Signal::INT.as_raw()), "{ended:?}"),
        }
    }
    assert!(canceled > 0, "no session began in time to be canceled");
}
