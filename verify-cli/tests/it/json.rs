//! The report that programs read: one object a line, and exactly what the library says.

use std::path::Path;

use mur_seal::{PublicKey, REPORT_SCHEMA, RecordReport, verify_session_records};

use crate::support::{KEY, Scene, changed, unsealed, unverifiable, verified};

fn scene() -> Scene {
    Scene::new()
        .and("verified", verified())
        .and("changed", changed())
        .and("unsealed", unsealed())
        .and("unverifiable", unverifiable())
        .and_directory("absent")
}

#[test]
fn every_record_is_one_object_on_a_line_of_its_own_in_the_order_asked_for() {
    let records = ["changed/record", "verified/record", "absent", "unsealed/record", "unverifiable/record"];
    let outcome = scene().check(["--json"].into_iter().chain(records));
    let reports: Vec<RecordReport> =
        outcome.out.lines().map(|line| serde_json::from_str(line).expect("a report on one line")).collect();
    assert_eq!(reports.iter().map(|report| report.records_dir.as_str()).collect::<Vec<_>>(), records);
    assert!(reports.iter().all(|report| report.schema == REPORT_SCHEMA));
}

#[test]
fn the_report_is_the_librarys_member_for_member() {
    let scene = scene();
    let key = PublicKey::load(&scene.path(KEY)).unwrap().at_path(KEY);
    for records in ["verified/record", "changed/record", "unsealed/record", "unverifiable/record", "absent"] {
        let outcome = scene.check(["--json", records]);
        let report =
            RecordReport { records_dir: records.into(), ..library(&scene.path(records), std::slice::from_ref(&key)) };
        assert_eq!(outcome.out, serde_json::to_string(&report).unwrap() + "\n");
    }
}

fn library(records: &Path, keys: &[PublicKey]) -> RecordReport {
    verify_session_records(records, keys, None, None).unwrap()
}

#[test]
fn the_members_and_their_order_are_those_that_are_documented() {
    insta::assert_snapshot!(scene().check(["--json", "changed/record"]).out);
}

#[test]
fn a_record_that_cannot_be_checked_has_no_report() {
    let outcome = scene().check(["--json", "verified/record", "missing", "absent/no.pub"]);
    assert_eq!(outcome.out.lines().count(), 1, "{outcome}");
    outcome.complains(2, &["missing: there is no such directory"]);
}

#[test]
fn quiet_prints_errors_alone() {
    let scene = scene();
    let silent = scene.check(["-q", "changed/record", "verified/record", "unsealed/record", "unverifiable/record"]);
    assert_eq!((silent.code, silent.said().as_str()), (1, ""));
    let outcome = scene.check(["--quiet", "absent", "missing"]);
    assert_eq!(outcome.out, "");
    outcome.complains(2, &["absent: nothing to verify", "missing: there is no such directory"]);
}
