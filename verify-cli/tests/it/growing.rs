//! A record that is written while it is read: its verdict is that of one moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mur_seal::{Appenders, ChainOptions, InlineChain, TRACE_STREAM};
use mur_testdata::{SESSION, host_key};

use crate::support::Scene;

/// Enough to meet the writer in every state: between two lines, between line and seal, while the seal is replaced.
const CHECKS: usize = 60;

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
        let codes: Vec<u8> = (0..CHECKS)
            .map(|_| {
                let outcome = scene.check(["record"]);
                assert!(matches!(outcome.code, 0 | 3), "{outcome}");
                outcome.code
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().expect("the writer") > CHECKS as u64, "nothing grew");
        assert!(codes.contains(&3), "no check met an unsealed line");
    });
    chain.seal(&records, TRACE_STREAM, SESSION, &host_key(), 0, None).expect("a seal");
    assert_eq!(scene.check(["record"]).code, 0);
}

/// A failed assertion must not leave the writer writing.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
