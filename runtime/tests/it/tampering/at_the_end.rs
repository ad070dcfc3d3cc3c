//! Attacks in the moment between a session's last event and its seal, by a process that waits for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use mur_seal::{TRACE_STREAM, Verdict};

use super::forgery::FORGERIES;
use super::from_outside::exchange;
use crate::support::{Project, Record};

/// How often each attack is made: it has to hit the moment.
const ROUNDS: usize = 20;

/// Makes the attack as soon as the session's last event can be read, again and again, and gives the verdicts.
fn struck(attack: impl Fn(&Record)) -> Vec<Verdict> {
    (0..ROUNDS)
        .map(|_| {
            let project = Project::new();
            // A large result is written between the two.
            let (running, record) = project.start_session("flood 1000000", &[]);
            let trace = record.path(TRACE_STREAM);
            while !fs::read_to_string(&trace).unwrap().contains("\"event_type\":\"session_end\"") {}
            attack(&record);
            running.wait();
            project.check(&record).verdict
        })
        .collect()
}

/// A record with another history and without a seal.
fn forge_record(record: &Record, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::write(to.join(TRACE_STREAM), FORGERIES[5].of(&record.trace())).unwrap();
}

#[test]
fn a_forged_record_in_its_place_is_not_sealed() {
    let verdicts = struck(|record| {
        let away = record.dir.with_extension("away");
        exchange(&record.dir, &away, || forge_record(record, &away));
    });
    assert!(!verdicts.contains(&Verdict::Verified), "{verdicts:?}");
}

#[test]
fn a_forged_record_behind_a_link_is_not_sealed() {
    let verdicts = struck(|record| {
        let (away, forged) = (record.dir.with_extension("away"), record.dir.with_extension("forged"));
        forge_record(record, &forged);
        exchange(&record.dir, &away, || symlink(&forged, &away).unwrap());
    });
    assert!(!verdicts.contains(&Verdict::Verified), "{verdicts:?}");
}

#[test]
fn streams_that_the_session_did_not_write_are_not_sealed() {
    let verdicts = struck(|record| {
        fs::write(record.path("completion.json"), "{\"outcome\":\"invented\"}").unwrap();
        fs::create_dir(record.path("hooks")).unwrap();
        fs::write(record.path("hooks/eval.jsonl"), "{\"result\":\"pass\"}\n").unwrap();
    });
    assert!(!verdicts.contains(&Verdict::Verified), "{verdicts:?}");
}
