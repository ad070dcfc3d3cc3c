//! The report that programs read: one document or one object a line, and exactly what the library says.

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

const RECORDS: [&str; 5] = ["changed/record", "verified/record", "absent", "unsealed/record", "unverifiable/record"];

/// That these are the reports on [`RECORDS`], in that order.
#[track_caller]
fn are_those_asked_for(reports: &[RecordReport]) {
    assert_eq!(reports.iter().map(|report| report.records_dir.as_str()).collect::<Vec<_>>(), RECORDS);
    assert!(reports.iter().all(|report| report.schema == REPORT_SCHEMA));
}

#[test]
fn as_lines_every_record_is_one_object_on_a_line_of_its_own_in_the_order_asked_for() {
    let outcome = scene().check(["--format", "jsonl"].into_iter().chain(RECORDS));
    let lines = outcome.out.lines().map(|line| serde_json::from_str(line).expect("a report on one line"));
    are_those_asked_for(&lines.collect::<Vec<RecordReport>>());
}

#[test]
fn as_json_several_records_are_one_array_and_one_record_is_its_report() {
    let scene = scene();
    for option in ["--json", "--format=json"] {
        let outcome = scene.check([option].into_iter().chain(RECORDS));
        are_those_asked_for(&serde_json::from_str::<Vec<RecordReport>>(&outcome.out).expect("an array"));
    }
    let one = scene.check(["--json", "changed/record"]);
    assert_eq!(serde_json::from_str::<RecordReport>(&one.out).expect("a report").records_dir, "changed/record");
    assert_eq!(one.out, scene.check(["--format", "jsonl", "changed/record"]).out);
}

#[test]
fn an_array_without_reports_is_an_array_still() {
    let outcome = scene().check(["--json", "missing", "missing"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (2, "[]\n"));
    let outcome = scene().check(["--json", "--recursive", "absent"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (5, "[]\n"));
}

#[test]
fn an_array_of_what_is_found_in_a_tree_is_one_even_of_one_record() {
    let outcome = scene().check(["--json", "-r", "changed"]);
    assert_eq!(serde_json::from_str::<Vec<RecordReport>>(&outcome.out).expect("an array").len(), 1);
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
    let outcome = scene().check(["--format=jsonl", "verified/record", "missing", "absent/no.pub"]);
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
