//! The moments of sealing, what each of them writes, and what they refuse to cover up.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use mur_seal::{
    Appenders, COMPLETION_STREAM, EVAL_STREAM, Lines, ListedStream, Seal, SealError, TRACE_STREAM, Verdict,
    appended_conversation, note_conversation_append, read_seal, seal_conversation, seal_inline, seal_listed,
    seal_session_end, seal_session_teardown, verify_session_records,
};
use mur_testdata::{
    CONVERSATION_CONTEXT, CONVERSATION_RECORD, OTHER_SESSION, SESSION, completion, conversation_header,
    conversation_lines, eval_lines, message, other_key,
};

use crate::support::{Records, append_raw, event, host_keys, make_fifo, mode, set_mode};

const SCORES: ListedStream<'static> =
    ListedStream { file: EVAL_STREAM, name: EVAL_STREAM, lines: Lines::Complete, seal_mode: None };

fn write_scores(records: &Records, text: &str) {
    fs::create_dir_all(records.file("hooks")).unwrap();
    fs::write(records.file(EVAL_STREAM), text).unwrap();
}

fn seal_scores(records: &Records) {
    seal_listed(records.path(), &SCORES, SESSION, &records.key);
}

fn seal_outcome(records: &Records) {
    let outcome =
        ListedStream { file: COMPLETION_STREAM, name: COMPLETION_STREAM, lines: Lines::WholeFile, seal_mode: None };
    seal_listed(records.path(), &outcome, SESSION, &records.key);
}

/// A conversation record in a conversations directory below the records directory's own.
fn conversation(records: &Records, text: &str) -> PathBuf {
    let directory = records.file("conversations").join(CONVERSATION_RECORD).join(CONVERSATION_CONTEXT);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("conversation.jsonl"), text).unwrap();
    directory
}

fn check_with_conversations(records: &Records) -> Vec<(String, Verdict)> {
    let conversations = records.file("conversations");
    let report = verify_session_records(records.path(), &host_keys(), Some(SESSION), Some(&conversations)).unwrap();
    report.streams.into_iter().map(|stream| (stream.stream, stream.verdict)).collect()
}

fn trace_seal(records: &Records) -> Seal {
    read_seal(records.path(), TRACE_STREAM).unwrap().unwrap()
}

#[test]
fn sealing_a_trace_twice_covers_what_was_appended_in_between() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    for number in 1..=3 {
        let head = chain.append(&event("host", number)).unwrap();
        let sealed = seal_inline(records.path(), TRACE_STREAM, SESSION, &records.key, None).unwrap();
        assert_eq!((sealed.head, sealed.lines, sealed.key_id), (head.head, head.lines, records.key.key_id()));
        records.assert_trace(Verdict::Verified);
    }
}

#[test]
fn nothing_but_the_seal_is_left_beside_a_stream() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append("{}").unwrap();
    records.seal(&chain).unwrap();
    let mut names: Vec<_> = fs::read_dir(records.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["trace.jsonl", "trace.jsonl.seal"]);
}

#[test]
fn a_seal_has_its_streams_mode() {
    for wanted in [0o600, 0o644, 0o640] {
        let records = Records::new();
        let chain = records.chain(Appenders::Sole);
        chain.append("{}").unwrap();
        set_mode(&records.trace(), wanted);
        records.seal(&chain).unwrap();
        assert_eq!(mode(&records.seal_file()), wanted);
        fs::write(records.file(COMPLETION_STREAM), "{}").unwrap();
        set_mode(&records.file(COMPLETION_STREAM), wanted);
        seal_outcome(&records);
        assert_eq!(mode(&records.file("completion.json.seal")), wanted);
    }
}

#[test]
fn a_conversations_seal_is_for_its_owner_alone() {
    let records = Records::new();
    let directory = conversation(&records, &conversation_lines());
    set_mode(&directory.join("conversation.jsonl"), 0o644);
    seal_conversation(&directory, SESSION, &records.key);
    assert_eq!(mode(&directory.join("conversation.jsonl.seal")), 0o600);
}

/// A temporary file of a crash is never read, and is in nobody's way.
#[test]
fn what_a_crash_left_of_a_seal_changes_nothing() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append("{}").unwrap();
    records.seal(&chain).unwrap();
    let left = ".trace.jsonl.seal.00000000-0000-4000-8000-000000000000.tmp";
    fs::write(records.file(left), "{\"format\":\"murm").unwrap();
    records.assert_trace(Verdict::Verified);
    chain.append("{}").unwrap();
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
}

#[test]
fn what_is_no_regular_file_in_a_seals_place_is_left_alone() {
    let places: [fn(&Records); 3] = [
        |records| symlink("outside", records.seal_file()).unwrap(),
        |records| make_fifo(&records.seal_file()),
        |records| fs::create_dir(records.seal_file()).unwrap(),
    ];
    for place in places {
        let records = Records::new();
        fs::write(records.file("outside"), "kept").unwrap();
        let chain = records.chain(Appenders::Sole);
        chain.append("{}").unwrap();
        place(&records);
        assert!(records.seal(&chain).unwrap_err().to_string().contains("trace.jsonl.seal"));
        assert_eq!(seal_inline(records.path(), TRACE_STREAM, SESSION, &records.key, None), None);
        records.assert_trace(Verdict::Changed);
        assert_eq!(fs::read_to_string(records.file("outside")).unwrap(), "kept");
        assert!(!fs::symlink_metadata(records.seal_file()).unwrap().is_file());
    }
}

#[test]
fn a_link_on_the_way_to_a_stream_is_not_followed() {
    let records = Records::new();
    fs::create_dir(records.file("elsewhere")).unwrap();
    fs::write(records.file("elsewhere/eval.jsonl"), eval_lines()).unwrap();
    symlink("elsewhere", records.file("hooks")).unwrap();
    seal_scores(&records);
    assert!(!records.file("elsewhere/eval.jsonl.seal").exists());
}

#[test]
fn a_name_with_a_control_character_is_not_sealed() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append("{}").unwrap();
    for session in ["ses\n1", "ses\u{1b}[2J", "ses\u{9b}"] {
        let refused = chain.seal(records.path(), TRACE_STREAM, session, &records.key, 0, None);
        assert!(refused.unwrap_err().to_string().contains("control character"), "{session:?}");
        assert_eq!(seal_inline(records.path(), TRACE_STREAM, session, &records.key, None), None);
    }
    assert!(!records.seal_file().exists());
    let draft = trace_draft_with_stream("trace\n.jsonl");
    assert!(matches!(records.key.seal(draft), Err(SealError::ControlCharacter(_))));
}

fn trace_draft_with_stream(stream: &str) -> mur_seal::SealDraft {
    mur_seal::SealDraft { stream: stream.into(), ..mur_testdata::RecordBuilder::new().trace_draft() }
}

#[test]
fn a_completion_is_sealed_anew_at_each_write() {
    let records = Records::new();
    for text in [completion(), "{\n\"outcome\": \"error\"\n}".into(), String::new()] {
        fs::write(records.file(COMPLETION_STREAM), &text).unwrap();
        seal_outcome(&records);
        let stream = records.check_stream(COMPLETION_STREAM);
        assert_eq!((stream.verdict, stream.lines), (Verdict::Verified, 1), "{stream:?}");
    }
}

#[test]
fn scores_that_grew_are_sealed_anew_and_torn_bytes_are_left_out() {
    let records = Records::new();
    write_scores(&records, &eval_lines());
    seal_scores(&records);
    append_raw(&records.file(EVAL_STREAM), "{\"record_type\":\"event_score\"}\n");
    assert_eq!(records.check_stream(EVAL_STREAM).verdict, Verdict::Unsealed);
    seal_scores(&records);
    let stream = records.check_stream(EVAL_STREAM);
    assert_eq!((stream.verdict, stream.lines), (Verdict::Verified, 4));
    append_raw(&records.file(EVAL_STREAM), "{\"record_ty");
    seal_scores(&records);
    let stream = records.check_stream(EVAL_STREAM);
    assert_eq!((stream.verdict, stream.sealed_lines), (Verdict::Unsealed, Some(4)));
}

#[test]
fn scores_that_lost_sealed_lines_are_not_sealed_over() {
    type Rewrite = fn(&str) -> String;
    let rewritten: [(&str, Rewrite); 5] = [
        ("shortened", |text| text.split_inclusive('\n').take(2).collect()),
        ("its front cut", |text| text.split_inclusive('\n').skip(1).collect()),
        ("emptied", |_| String::new()),
        ("a line edited", |text| text.replacen("pass", "fail", 1)),
        ("a line edited and one added", |text| text.replacen("pass", "fail", 1) + "{}\n"),
    ];
    for (what, rewrite) in rewritten {
        let records = Records::new();
        write_scores(&records, &eval_lines());
        seal_scores(&records);
        let seal = fs::read(records.file("hooks/eval.jsonl.seal")).unwrap();
        write_scores(&records, &rewrite(&eval_lines()));
        seal_scores(&records);
        seal_session_teardown(records.path(), SESSION, &records.key);
        assert_eq!(fs::read(records.file("hooks/eval.jsonl.seal")).unwrap(), seal, "{what}");
        assert_eq!(records.check_stream(EVAL_STREAM).verdict, Verdict::Changed, "{what}");
    }
}

/// `chain` and `line_hashes` are not what the signature covers: without them it is still a good one.
#[test]
fn a_seal_whose_list_was_taken_out_still_keeps_other_lines_from_being_sealed() {
    let records = Records::new();
    write_scores(&records, &eval_lines());
    seal_scores(&records);
    let mut seal: serde_json::Value =
        serde_json::from_slice(&fs::read(records.file("hooks/eval.jsonl.seal")).unwrap()).unwrap();
    seal["chain"] = "inline".into();
    seal.as_object_mut().unwrap().remove("line_hashes");
    for text in [eval_lines().replacen("pass", "fail", 1), String::new()] {
        let seal = seal.to_string() + "\n";
        fs::write(records.file("hooks/eval.jsonl.seal"), &seal).unwrap();
        write_scores(&records, &text);
        seal_scores(&records);
        seal_session_teardown(records.path(), SESSION, &records.key);
        assert_eq!(fs::read_to_string(records.file("hooks/eval.jsonl.seal")).unwrap(), seal);
        assert_eq!(records.check_stream(EVAL_STREAM).verdict, Verdict::Changed);
    }
}

/// Conversations may be truncated by policy, and say so in their header; scores may not.
#[test]
fn scores_that_begin_like_a_truncated_conversation_are_not_sealed_over() {
    let records = Records::new();
    write_scores(&records, &eval_lines());
    seal_scores(&records);
    let seal = fs::read(records.file("hooks/eval.jsonl.seal")).unwrap();
    write_scores(&records, &conversation_header(Some(2)));
    seal_scores(&records);
    assert_eq!(fs::read(records.file("hooks/eval.jsonl.seal")).unwrap(), seal);
    assert_eq!(records.check_stream(EVAL_STREAM).verdict, Verdict::Changed);
}

#[test]
fn another_hosts_seal_of_scores_is_left_alone() {
    let records = Records::new();
    write_scores(&records, &eval_lines());
    seal_listed(records.path(), &SCORES, SESSION, &other_key());
    let seal = fs::read(records.file("hooks/eval.jsonl.seal")).unwrap();
    seal_scores(&records);
    assert_eq!(fs::read(records.file("hooks/eval.jsonl.seal")).unwrap(), seal);
    assert_eq!(records.check_stream(EVAL_STREAM).verdict, Verdict::Unverifiable);
}

#[test]
fn sealing_what_is_not_there_makes_nothing_and_fails_nobody() {
    let records = Records::new();
    seal_scores(&records);
    seal_outcome(&records);
    seal_conversation(&records.file("conversations/a/b"), SESSION, &records.key);
    seal_session_teardown(records.path(), SESSION, &records.key);
    assert_eq!(fs::read_dir(records.path()).unwrap().count(), 0, "a teardown makes no stream");
    assert_eq!(records.check().verdict, Verdict::Absent);
    assert_eq!(seal_inline(&records.file("nowhere"), TRACE_STREAM, SESSION, &records.key, None), None);
}

#[test]
fn a_teardown_that_finds_the_trace_gone_does_not_seal_an_empty_one() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append("{}").unwrap();
    records.seal(&chain).unwrap();
    drop(chain);
    fs::remove_file(records.trace()).unwrap();
    seal_session_teardown(records.path(), SESSION, &records.key);
    records.assert_trace(Verdict::Changed);
}

#[test]
fn the_end_of_a_session_seals_its_trace_and_points_at_its_first_conversation() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    let directory = conversation(&records, &conversation_lines());
    let second = records.file("conversations/another/context");
    note_conversation_append(records.path(), &directory);
    note_conversation_append(records.path(), &second);
    note_conversation_append(records.path(), &directory);
    assert_eq!(appended_conversation(records.path()), Some(directory));

    let sealed = seal_session_end(records.path(), SESSION, &records.key).unwrap();
    assert_eq!(sealed.lines, 1);
    let pointer = trace_seal(&records).draft.conversation.unwrap();
    assert_eq!((pointer.record.as_str(), pointer.context_id.as_str()), (CONVERSATION_RECORD, CONVERSATION_CONTEXT));
    assert_eq!(pointer.lines, 4);
    let found = check_with_conversations(&records);
    assert_eq!(found[0].1, Verdict::Verified);
    assert_eq!(found[3].1, Verdict::Unsealed, "the conversation is sealed at teardown");
}

#[test]
fn a_teardown_seals_all_that_the_session_recorded() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    write_scores(&records, &eval_lines());
    fs::write(records.file(COMPLETION_STREAM), completion()).unwrap();
    let directory = conversation(&records, &conversation_lines());
    let second = records.file("conversations/another/context");
    fs::create_dir_all(&second).unwrap();
    fs::write(second.join("conversation.jsonl"), message("user", "Hello.", 1)).unwrap();
    note_conversation_append(records.path(), &directory);
    note_conversation_append(records.path(), &second);
    seal_session_end(records.path(), SESSION, &records.key).unwrap();
    chain.append(&event("hook", 2)).unwrap();
    records.assert_trace(Verdict::Unsealed);

    seal_session_teardown(records.path(), SESSION, &records.key);
    let found = check_with_conversations(&records);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|(_, verdict)| *verdict == Verdict::Verified), "{found:?}");
    assert_eq!(trace_seal(&records).draft.lines, 2);
    assert!(second.join("conversation.jsonl.seal").exists());
    assert_eq!(appended_conversation(records.path()), None, "the session is over");
}

#[test]
fn a_teardown_leaves_a_traces_seal_alone_when_no_line_landed_after_it() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    seal_session_end(records.path(), SESSION, &records.key).unwrap();
    let before = fs::metadata(records.seal_file()).unwrap().modified().unwrap();
    let seal = trace_seal(&records);
    std::thread::sleep(std::time::Duration::from_millis(15));
    seal_session_teardown(records.path(), SESSION, &records.key);
    assert_eq!(trace_seal(&records), seal);
    assert_eq!(fs::metadata(records.seal_file()).unwrap().modified().unwrap(), before);
}

#[test]
fn a_conversation_continued_by_a_later_session_still_holds_for_the_earlier_one() {
    let records = Records::new();
    records.chain(Appenders::Sole).append(&event("host", 1)).unwrap();
    let directory = conversation(&records, &conversation_lines());
    note_conversation_append(records.path(), &directory);
    seal_session_end(records.path(), SESSION, &records.key).unwrap();
    seal_session_teardown(records.path(), SESSION, &records.key);

    append_raw(&directory.join("conversation.jsonl"), message("user", "And more.", 5));
    assert_eq!(check_with_conversations(&records)[3].1, Verdict::Unsealed);
    seal_conversation(&directory, OTHER_SESSION, &records.key);
    assert_eq!(check_with_conversations(&records)[3].1, Verdict::Verified);
}

#[test]
fn a_conversation_is_sealed_with_lines_gone_only_where_its_header_says_that_it_was_truncated() {
    let rest: String = conversation_lines().split_inclusive('\n').skip(2).collect();
    for (text, verdict) in [
        (rest.clone(), Verdict::Changed),
        (conversation_header(None) + &rest, Verdict::Changed),
        (conversation_header(Some(2)) + &rest, Verdict::Verified),
    ] {
        let records = Records::new();
        records.chain(Appenders::Sole).append(&event("host", 1)).unwrap();
        let directory = conversation(&records, &conversation_lines());
        note_conversation_append(records.path(), &directory);
        seal_session_end(records.path(), SESSION, &records.key).unwrap();
        seal_session_teardown(records.path(), SESSION, &records.key);

        fs::write(directory.join("conversation.jsonl"), &text).unwrap();
        seal_conversation(&directory, mur_seal::CLI_SEALER, &records.key);
        assert_eq!(check_with_conversations(&records)[3].1, verdict, "{text}");
    }
}
