//! Many threads of several processes append to one trace for a while, as the host reseals it and others check it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mur_seal::{Appenders, ChainOptions, InlineChain, TRACE_STREAM, Verdict};

use crate::child;
use crate::support::{Records, event, quiet};

const PROCESSES: usize = 4;
const THREADS: usize = 8;

/// Far longer than anybody here keeps the lock, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn what_threads_of_several_processes_append_is_one_chain_with_every_line_once() {
    append_for(Duration::from_millis(1500));
}

/// The same for longer: `cargo test -p mur-seal -- --ignored load`.
#[test]
#[ignore = "it takes ten seconds and all cores; the short form is run always"]
fn what_threads_of_several_processes_append_for_ten_seconds_is_one_chain_with_every_line_once() {
    append_for(Duration::from_secs(10));
}

fn append_for(time: Duration) {
    let records = Records::new();
    let chain = InlineChain::open(&records.trace(), patient()).unwrap();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let name = format!("{process} {}", time.as_millis());
            child::command("append with threads", records.path().as_os_str(), &name).spawn().unwrap()
        })
        .collect();
    children.iter_mut().for_each(child::wait_until_ready);
    children.iter_mut().for_each(|child| drop(child.stdin.take()));

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sealer = scope.spawn(|| repeat_until(&done, || assert!(records.seal(&chain).is_ok())));
        let checker = scope.spawn(|| repeat_until(&done, || assert_intact(&records)));
        // Also when a child failed: whoever waits for the two must not wait for ever.
        let _done = SetOnDrop(&done);
        children.into_iter().for_each(child::wait_for_success);
        done.store(true, Ordering::Relaxed);
        assert!(sealer.join().unwrap() > 1 && checker.join().unwrap() > 1);
    });

    let sealed = records.seal(&chain).unwrap();
    assert_eq!(chain.tampering(), None);
    let report = records.assert_trace(Verdict::Verified);
    assert_eq!((report.lines, report.notes), (sealed.lines, Vec::<String>::new()));
    assert_every_line_once(&records);
}

fn patient() -> ChainOptions {
    ChainOptions { lock_wait: PATIENCE, ..quiet(Appenders::Shared) }
}

fn assert_intact(records: &Records) {
    let report = records.check_trace();
    assert!(matches!(report.verdict, Verdict::Unsealed | Verdict::Verified), "{report:?}");
}

/// Does it again and again; how often.
fn repeat_until(done: &AtomicBool, mut act: impl FnMut()) -> u64 {
    let mut times = 0;
    while times < 2 || !done.load(Ordering::Relaxed) {
        act();
        times += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    times
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every thread's lines are there, in its order, and none besides them.
fn assert_every_line_once(records: &Records) {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for line in records.lines() {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let next = found.entry(line["writer"].as_str().unwrap().to_owned()).or_default();
        assert_eq!(line["number"], *next, "{line}");
        *next += 1;
    }
    let mut acknowledged = BTreeMap::new();
    for process in 0..PROCESSES {
        let counts: Vec<usize> =
            serde_json::from_slice(&fs::read(counts_of(records.path(), process)).unwrap()).unwrap();
        acknowledged.extend(counts.into_iter().enumerate().map(|(thread, count)| (writer(process, thread), count)));
    }
    assert_eq!(found, acknowledged);
    assert_eq!(found.len(), PROCESSES * THREADS);
    // Shown where a test is run with `--nocapture`: how much this run proves.
    println!(
        "{} lines by {} threads, at least {:?} by each",
        found.values().sum::<usize>(),
        found.len(),
        found.values().min()
    );
}

fn writer(process: usize, thread: usize) -> String {
    format!("thread {thread} of process {process}")
}

/// Where a process leaves how many lines each of its threads appended.
fn counts_of(directory: &Path, process: usize) -> PathBuf {
    directory.join(format!("appended-by-{process}.json"))
}

/// `name`: the process's number, and the milliseconds that it appends for.
pub(crate) fn append_with_threads(directory: &Path, name: &str) {
    let (process, time) = name.split_once(' ').unwrap();
    let (process, time) = (process.parse().unwrap(), Duration::from_millis(time.parse().unwrap()));
    let chain = InlineChain::open(&directory.join(TRACE_STREAM), patient()).unwrap();
    child::say_ready();
    child::wait_for_parent();
    let started = Instant::now();
    let append = &|thread: usize| {
        let mut number = 0;
        // At least a few each, however slow the machine is.
        while number < 3 || started.elapsed() < time {
            chain.append(&event(&writer(process, thread), number)).unwrap();
            number += 1;
        }
        number
    };
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || append(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(chain.tampering(), None);
    fs::write(counts_of(directory, process), serde_json::to_vec(&counts).unwrap()).unwrap();
}
