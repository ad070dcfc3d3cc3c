//! A record that is written while it is read: its verdict is that of one moment.

use std::fs::{File, metadata};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mur_seal::{
    Appenders, ChainOptions, EVAL_STREAM, InlineChain, Lines, ListedStream, TRACE_STREAM, seal_inline, seal_listed,
};
use mur_testdata::{SESSION, host_key};

use crate::support::Scene;

/// Enough to meet the writer in every state: between two lines, between line and seal, while the seal is replaced.
const CHECKS: usize = 60;
/// Far longer than any machine takes for that.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_record_that_grows_is_verified_or_unsealed_and_never_changed() {
    let scene = Scene::new().and_directory("record/hooks");
    let records = scene.path("record");
    let chain =
        InlineChain::open(&records.join(TRACE_STREAM), ChainOptions::new(Appenders::Sole)).expect("a new trace");
    let done = AtomicBool::new(false);
    let write = || {
        let key = host_key();
        for number in 0_u64.. {
            if done.load(Ordering::Relaxed) {
                return number;
            }
            // Now and then a line that is longer than what is read at once.
            let text = "x".repeat(if number % 40 == 0 { 600_000 } else { 100 });
            let event = format!("{{\"event_type\":\"a\",\"session_id\":\"{SESSION}\",\"text\":\"{text}\"}}");
            chain.append(&event).expect("a line");
            if number % 3 == 0 {
                chain.seal(&records, TRACE_STREAM, SESSION, &key, number, None).expect("a seal");
            }
        }
        0
    };
    thread::scope(|scope| {
        let writer = scope.spawn(write);
        let _ends_with_the_checks = SetOnDrop(&done);
        while !records.join(TRACE_STREAM).metadata().is_ok_and(|trace| trace.len() > 0) {
            thread::yield_now();
        }
        let started = Instant::now();
        let (mut checks, mut unsealed) = (0, 0);
        while checks < CHECKS || unsealed == 0 {
            let outcome = scene.check(["record"]);
            assert!(matches!(outcome.code, 0 | 3), "{outcome}");
            checks += 1;
            unsealed += usize::from(outcome.code == 3);
            assert!(started.elapsed() < PATIENCE, "{unsealed} of {checks} checks met an unsealed line");
        }
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().expect("the writer") > 1, "nothing grew");
    });
    chain.seal(&records, TRACE_STREAM, SESSION, &host_key(), 0, None).expect("a seal");
    assert_eq!(scene.check(["record"]).code, 0);
}

/// The seal of a listed stream holds a hash for each of its lines, and is as old as the last time it was written.
#[test]
fn scores_that_grow_are_verified_or_unsealed_and_never_changed() {
    const SCORES: ListedStream<'static> =
        ListedStream { file: EVAL_STREAM, name: EVAL_STREAM, lines: Lines::Complete, seal_mode: None };
    let scene = Scene::new().and_directory("record/hooks");
    let records = scene.path("record");
    let event = format!("{{\"event_type\":\"a\",\"session_id\":\"{SESSION}\"}}");
    let chain = InlineChain::open(&records.join(TRACE_STREAM), ChainOptions::new(Appenders::Sole)).expect("a trace");
    chain.append(&event).expect("a line");
    seal_inline(&records, TRACE_STREAM, SESSION, &host_key(), None).expect("a seal");
    let mut scores = File::create(records.join(EVAL_STREAM)).expect("scores");
    let done = AtomicBool::new(false);
    let seal = || seal_listed(&records, &SCORES, SESSION, &host_key());
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0_u64.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                scores.write_all(format!("{{\"score\":{number}}}\n").as_bytes()).expect("a line");
                if number % 3 == 0 {
                    seal();
                }
            }
        });
        let _ends_with_the_checks = SetOnDrop(&done);
        while !metadata(records.join("hooks/eval.jsonl.seal")).is_ok_and(|seal| seal.len() > 0) {
            thread::yield_now();
        }
        for _ in 0..CHECKS {
            let outcome = scene.check(["record"]);
            assert!(matches!(outcome.code, 0 | 3), "{outcome}");
        }
        done.store(true, Ordering::Relaxed);
        writer.join().expect("the writer");
    });
    seal();
    assert_eq!(scene.check(["record"]).code, 0);
}

/// A failed assertion must not leave the writer writing.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
