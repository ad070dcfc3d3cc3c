//! A host that is killed at any moment leaves a record that is not changed, and the next append goes on from it.

use std::path::Path;
use std::time::Duration;

use mur_seal::{Appenders, InlineChain, TRACE_STREAM, Verdict};
use mur_testdata::{CLOCK_MS, SESSION};

use crate::child;
use crate::support::{Records, event, host_keys, numbers, quiet};

const KILLS: u64 = 60;

pub(crate) fn append_until_killed(directory: &Path) {
    let key = mur_testdata::host_key();
    let chain = InlineChain::open(&directory.join(TRACE_STREAM), quiet(Appenders::Sole)).unwrap();
    child::say_ready();
    for number in 0.. {
        chain.append(&event("child", number)).unwrap();
        if number % 8 == 7 {
            chain.seal(directory, TRACE_STREAM, SESSION, &key, CLOCK_MS, None).unwrap();
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn a_host_killed_at_any_moment_leaves_a_record_that_is_not_changed_and_can_be_continued() {
    let mut records = Records::new();
    for kill in 0..KILLS {
        if kill % 12 == 0 {
            records = Records::new(); // so that the file stays short
        }
        let mut child = child::command("append until killed", records.path().as_os_str(), "").spawn().unwrap();
        child::wait_until_ready(&mut child);
        // Spread over the first milliseconds, in an order that is not that of the loop.
        std::thread::sleep(Duration::from_micros((kill * 7919) % 11_000));
        child.kill().unwrap();
        child.wait().unwrap();

        let report = mur_seal::verify_session_records(records.path(), &host_keys(), None, None).unwrap();
        assert!(matches!(report.verdict, Verdict::Verified | Verdict::Unsealed), "kill {kill}: {report:?}");

        let chain = records.chain(Appenders::Sole);
        let before = chain.head().unwrap().lines;
        chain.append(&event("parent", usize::try_from(kill).unwrap())).unwrap();
        assert_eq!(chain.tampering(), None, "kill {kill}");
        // One more where a torn line had to be ended.
        let more = chain.head().unwrap().lines - before;
        assert!((1..=2).contains(&more), "kill {kill}: {more} lines more");
        records.assert_trace(Verdict::Unsealed);
        records.seal(&chain).unwrap();
        records.assert_trace(Verdict::Verified);
        assert_eq!(numbers(&records.lines(), "parent").last(), Some(&usize::try_from(kill).unwrap()));
    }
}
