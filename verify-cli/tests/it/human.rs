//! The text that an auditor pastes into a report.

use mur_seal::SealDraft;
use mur_testdata::{
    RecordBuilder, Tree, completion, conversation_lines, eval_lines, in_record, message, script_events,
};

use crate::support::{KEY, OTHER_KEY, Scene, changed, script, unsealed, unverifiable, verified};

/// Everything a session can leave, all of it sealed.
fn whole() -> RecordBuilder {
    let lines = conversation_lines();
    script()
        .conversation(&lines)
        .seal_trace_pointing_at(lines.lines().count())
        .eval(&eval_lines())
        .completion(&completion())
}

#[test]
fn a_verified_record_with_everything_in_it() {
    let scene = Scene::with(whole().build());
    insta::assert_snapshot!(scene.check(["record", "--conversations", "conversations"]));
}

#[test]
fn a_conversation_that_was_not_looked_at_is_noted() {
    insta::assert_snapshot!(Scene::with(whole().build()).check(["record"]));
}

#[test]
fn a_seal_that_does_not_authenticate_its_time_is_noted() {
    let mut record = script().seal_trace().build();
    record.edit(&in_record("trace.jsonl.seal"), |bytes| {
        let seal = String::from_utf8(bytes.clone()).unwrap();
        let (kept, _) = seal.split_once(",\"members_signature\"").unwrap();
        *bytes = format!("{kept}}}\n").into_bytes();
    });
    insta::assert_snapshot!(Scene::with(record).check(["record"]));
}

#[test]
fn a_changed_record_with_the_line_that_was_changed() {
    insta::assert_snapshot!(Scene::with(changed()).check(["record"]));
}

#[test]
fn every_stream_of_a_record_has_a_verdict_of_its_own() {
    let lines = conversation_lines();
    let mut record = whole().build();
    record.edit(&in_record("hooks/eval.jsonl"), |bytes| *bytes = eval_lines().replacen("pass", "fail", 2).into_bytes());
    record.edit(&in_record("completion.json"), |bytes| bytes.push(b' '));
    let more = message("user", "And once more?", 5);
    record.edit(&mur_testdata::conversation_path(), |bytes| *bytes = format!("{lines}{more}").into_bytes());
    let scene = Scene::with(record);
    insta::assert_snapshot!(scene.check(["record", "--conversations", "conversations"]));
}

#[test]
fn an_unsealed_record_of_a_session_that_was_killed() {
    insta::assert_snapshot!(Scene::with(unsealed()).check(["record"]));
}

#[test]
fn an_unsealed_record_with_what_a_crash_leaves() {
    let events = script_events();
    let record = RecordBuilder::new()
        .events(&events[..2])
        .unlinked_line("{\"event_type\":\"tool_ca")
        .event(&events[3])
        .seal_trace()
        .event(&events[4])
        .torn_bytes("{\"event_type\":\"ses")
        .build();
    insta::assert_snapshot!(Scene::with(record).check(["record"]));
}

#[test]
fn lines_that_nothing_binds_are_named() {
    let events = script_events();
    let record = RecordBuilder::new().events(&events[..2]).unlinked_line("{\"event_type\":\"tool_ca");
    // Another writer ends the torn line and goes on without a gap hash.
    let bare = mur_seal::link(&events[3], &record.head(), None).unwrap();
    let record = record.linked_line(&bare).seal_trace().build();
    insta::assert_snapshot!(Scene::with(record).check(["record"]));
}

#[test]
fn a_record_of_before_records_were_sealed() {
    let mut record = Tree::new();
    record.file(&in_record("trace.jsonl"), script_events().join("\n") + "\n");
    record.file(&in_record("hooks/eval.jsonl"), eval_lines());
    insta::assert_snapshot!(Scene::with(record).check(["record"]));
}

#[test]
fn an_absent_record_says_what_a_record_looks_like_and_where_one_is() {
    let scene = Scene::new().and_directory("empty").and("sessions/ses_1", verified());
    insta::assert_snapshot!(scene.check(["empty", "sessions/ses_1"]));
}

#[test]
fn several_records_are_blocks_one_after_the_other() {
    let scene = Scene::new().and("monday", verified()).and("tuesday", changed());
    insta::assert_snapshot!(scene.check(["monday/record", "tuesday/record"]));
}

#[test]
fn of_several_keys_the_one_that_sealed_is_named() {
    let scene = Scene::new().and("this", verified()).and("last", unverifiable());
    insta::assert_snapshot!(scene.run(["--key", OTHER_KEY, "--key", KEY, "this/record", "last/record"]));
}

#[test]
fn a_key_that_was_given_as_text_is_named_by_its_id() {
    let key = mur_testdata::host_key().public_key().to_hex();
    let outcome = Scene::with(verified()).run(["record", "--key", &key]);
    assert!(outcome.out.contains("\nverified: checked with key 21fe31dfa154a261 (given as text)\n"), "{outcome}");
}

#[test]
fn a_genuine_record_is_not_accused_because_the_key_is_last_years() {
    let outcome = Scene::with(whole().build()).run(["--key", OTHER_KEY, "record", "--conversations", "conversations"]);
    let said = outcome.said().to_lowercase();
    for accusation in ["tampered", "altered", "changed", "forged", "no longer"] {
        assert!(!said.contains(accusation), "{outcome}");
    }
    insta::assert_snapshot!(outcome);
}

#[test]
fn what_no_calendar_has_is_shown_as_a_number() {
    let record = script();
    let draft = SealDraft { sealed_at: u64::MAX, ..record.trace_draft() };
    let outcome = Scene::with(record.seal_trace_as(draft).build()).check(["record"]);
    assert!(outcome.out.contains("5 lines, sealed 18446744073709551615 ms after 1970"), "{outcome}");
}

#[test]
fn many_lines_are_grouped_by_thousands() {
    let events: Vec<String> = (0..1204).map(|number| format!("{{\"n\":{number}}}")).collect();
    let record = RecordBuilder::new().events(&events).seal_trace().build();
    let outcome = Scene::with(record).check(["record"]);
    assert!(outcome.out.contains("verified      1,204 lines, sealed 2025-12-01 00:01:01 UTC"), "{outcome}");
}
