//! Text of a record that would steer a terminal: escaped wherever a person reads it, exact where a program does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use mur_seal::{ConversationPointer, LineHash, RecordReport, SealDraft};
use mur_testdata::{RecordBuilder, Tree};

use crate::support::{KEY, Outcome, Scene, verified};

/// Clears the screen, turns the text around, hides a part of it, and begins a line of its own.
const HOSTILE: &str = "ses\u{1b}[2J\u{202e}x\u{200b}\u{9b}31m\\\nverified";
/// How that is shown.
const SHOWN: &str = "ses\\u{1b}[2J\\u{202e}x\\u{200b}\\u{9b}31m\\\\\\nverified";

/// That nothing a terminal acts on, or does not show, is in the output: line ends are its own.
#[track_caller]
fn is_plain(outcome: &Outcome) {
    let said = outcome.said();
    let steering = said.chars().find(|&c| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    });
    assert_eq!(steering, None, "{}", said.escape_debug());
}

fn json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn report(outcome: &Outcome) -> RecordReport {
    serde_json::from_str(&outcome.out).unwrap()
}

fn of_session(session: &str) -> RecordBuilder {
    RecordBuilder::new().event(&format!("{{\"event_type\":\"a\",\"session_id\":{}}}", json_string(session)))
}

#[test]
fn a_session_id_is_escaped_for_people_and_exact_for_programs() {
    let scene = Scene::with(of_session(HOSTILE).build());
    let outcome = scene.check(["record"]);
    is_plain(&outcome);
    assert!(outcome.out.starts_with(&format!("{SHOWN}  (record)\n")), "{outcome}");
    let outcome = scene.check(["record", "--json"]);
    assert_eq!(outcome.out.lines().count(), 1);
    assert_eq!(report(&outcome).session_id.as_deref(), Some(HOSTILE));
}

#[test]
fn a_detail_that_repeats_a_seal_is_escaped() {
    // Control characters cannot be sealed, but can be written into a seal.
    let record = of_session("ses_1").sealing_for("ses_\u{202e}1").seal_trace().build();
    let mut forged = record.clone();
    forged.edit("record/trace.jsonl.seal", |seal| {
        *seal = String::from_utf8_lossy(seal)
            .replace("\"stream\":\"trace.jsonl\"", "\"stream\":\"\\u001b[31mtrace\"")
            .into_bytes();
    });
    let mut unknown = record.clone();
    unknown.edit("record/trace.jsonl.seal", |seal| {
        *seal = String::from_utf8_lossy(seal).replace("murmur.seal/1", "murmur.seal\\u001b[2J\\u202e/9").into_bytes();
    });
    let scene = Scene::new().and("overridden", record).and("forged", forged).and("unknown", unknown);
    let outcome = scene.check(["overridden/record"]);
    is_plain(&outcome);
    assert!(outcome.out.contains("another session, `ses_\\u{202e}1`"), "{outcome}");
    is_plain(&scene.check(["forged/record"]));
    let outcome = scene.check(["unknown/record"]);
    is_plain(&outcome);
    assert!(outcome.out.contains("murmur.seal\\u{1b}[2J\\u{202e}/9"), "{outcome}");
    assert!(report(&scene.check(["overridden/record", "--json"])).streams[0].detail.contains("`ses_\u{202e}1`"));
}

#[test]
fn a_stream_name_is_escaped_for_people_and_exact_for_programs() {
    let record = of_session("ses_1").sealing_for("ses_1");
    let name = "re\u{202e}viewer";
    let pointer = ConversationPointer {
        record: name.into(),
        context_id: "ctx\u{2066}".into(),
        lines: 0,
        head: LineHash::GENESIS,
    };
    let draft = SealDraft { conversation: Some(pointer), ..record.trace_draft() };
    let scene = Scene::with(record.seal_trace_as(draft).build());
    let outcome = scene.check(["record"]);
    is_plain(&outcome);
    assert!(outcome.out.contains("  conversation:re\\u{202e}viewer/ctx\\u{2066}\n"), "{outcome}");
    let outcome = scene.check(["record", "--json"]);
    assert_eq!(report(&outcome).streams[3].stream, format!("conversation:{name}/ctx\u{2066}"));
}

#[test]
fn a_session_that_was_asked_for_is_escaped() {
    let scene = Scene::with(verified());
    let outcome = scene.check(["record", "--session", HOSTILE]);
    is_plain(&outcome);
    assert!(outcome.out.starts_with(SHOWN), "{outcome}");
    assert_eq!(report(&scene.check(["record", "--json", "--session", HOSTILE])).session_id.as_deref(), Some(HOSTILE));
}

#[test]
fn paths_are_escaped_in_results_and_in_errors() {
    let scene = Scene::new().and(HOSTILE, verified()).and_directory("empty");
    let records = format!("{HOSTILE}/record");
    let outcome = scene.check([records.as_str()]);
    is_plain(&outcome);
    assert!(outcome.out.contains(&format!("({SHOWN}/record)")), "{outcome}");
    assert_eq!(report(&scene.check([records.as_str(), "--json"])).records_dir, records);

    // Where there is nothing to verify, the records that are near are named.
    let outcome = scene.check([HOSTILE]);
    is_plain(&outcome);
    outcome.complains(5, &[SHOWN, &format!("there is a record in {SHOWN}/record")]);

    let missing = format!("{HOSTILE}/missing");
    for arguments in [
        vec!["--key", KEY, &missing],
        vec!["--key", KEY, "--conversations", &missing, &records],
        vec!["--key", &missing, &records],
        vec!["--key", KEY, &records, "--color", HOSTILE],
        vec!["--key", KEY, &records, "--no", HOSTILE],
    ] {
        let outcome = scene.run(&arguments);
        is_plain(&outcome);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
    }
}

#[test]
fn a_key_files_path_is_escaped_for_people_and_exact_for_programs() {
    let scene = Scene::with(verified());
    std::fs::rename(scene.path(KEY), scene.path(HOSTILE)).unwrap();
    let outcome = scene.run(["record", "--key", HOSTILE]);
    is_plain(&outcome);
    assert!(outcome.out.contains(&format!("(from {SHOWN})\n")), "{outcome}");
    let report = report(&scene.run(["record", "--json", "--key", HOSTILE]));
    assert_eq!(report.public_key.path.as_deref(), Some(HOSTILE));
}

#[test]
fn a_path_that_is_no_text_is_shown_all_the_same() {
    let scene = Scene::with(verified());
    let name = OsStr::from_bytes(b"\xff\x1b[2J\xfe");
    std::fs::rename(scene.path("record"), scene.path(name)).unwrap();
    let outcome = scene.run([OsStr::new("--key"), OsStr::new(KEY), name]);
    assert_eq!(outcome.code, 0, "{outcome}");
    is_plain(&outcome);
}

#[test]
fn lines_that_no_host_writes_are_a_verdict_and_no_panic() {
    let foreign: [&[u8]; 8] = [
        b"\0\0\0\n",
        b"\xff\xfe\xfd\n",
        b"\xef\xbb\xbf{\"event_type\":\"a\"}\n",
        b"{\"a\":1}{\"b\":2}\n",
        b"[[[[[[[[[[\n",
        b"{\"session_id\":\"\\ud800\"}\n",
        b"\x1b]0;owned\x07\n",
        b"\n\n\n",
    ];
    for bytes in foreign {
        let mut record = Tree::new();
        record.file("record/trace.jsonl", bytes);
        let sealed = verified().bytes("record/trace.jsonl.seal").to_vec();
        for seal in [None, Some(sealed)] {
            if let Some(seal) = seal {
                record.file("record/trace.jsonl.seal", seal);
            }
            let outcome = Scene::with(record.clone()).check(["record"]);
            assert!(matches!(outcome.code, 1 | 3 | 4), "{outcome}");
            is_plain(&outcome);
        }
    }
}
