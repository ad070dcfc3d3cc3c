//! What a report says beside its verdict: every finding with its place and its hashes, what the damage looks like, and what
//! was checked, was not, and cannot be known.

use std::convert::Infallible;

use mur_seal::{
    COMPLETION_STREAM, CONVERSATIONS_DIR, Code, EVAL_STREAM, Finding, HostKey, LineHash, MAX_FINDINGS, PublicKey,
    RecordExpectation, RecordReport, StreamReport, TRACE_STREAM, Verdict, line_hash, link, verify_record,
};
use mur_testdata::{
    RECORD_DIR, RecordBuilder, SESSION, Tree, completion, conversation_lines, eval_lines, event, host_key, in_record,
    other_key,
};

/// Checks a built record with the host's key.
fn check(tree: &Tree) -> RecordReport {
    check_for(tree, None, None)
}

fn check_for(tree: &Tree, session: Option<&str>, head: Option<LineHash>) -> RecordReport {
    let keys = [host_key().public_key().clone()];
    let expectation = RecordExpectation { records_dir: RECORD_DIR, session, head, keys: &keys };
    let report: Result<RecordReport, Infallible> =
        verify_record(&mut tree.record(RECORD_DIR, Some(CONVERSATIONS_DIR)), &expectation);
    report.unwrap()
}

fn trace(tree: &Tree) -> StreamReport {
    check(tree).streams.swap_remove(0)
}

/// A sealed trace of so many lines.
fn sealed(lines: u64) -> RecordBuilder {
    (0..lines).fold(RecordBuilder::new(), |record, number| record.event(&numbered(number))).seal_trace()
}

fn numbered(number: u64) -> String {
    event("turn_start", number, None, &[])
}

/// The trace's lines, without their newlines.
fn lines(tree: &Tree) -> Vec<Vec<u8>> {
    let bytes = tree.bytes(&in_record(TRACE_STREAM));
    bytes.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The record with another trace, made of lines.
fn with_lines(tree: &Tree, lines: &[Vec<u8>]) -> Tree {
    let mut tree = tree.clone();
    tree.file(
        &in_record(TRACE_STREAM),
        lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect::<Vec<u8>>(),
    );
    tree
}

fn codes(report: &StreamReport) -> Vec<Code> {
    report.findings.iter().map(|found| found.code).collect()
}

fn finding(report: &StreamReport, code: Code) -> &Finding {
    report.findings.iter().find(|found| found.code == code).unwrap_or_else(|| panic!("no {code}: {report:?}"))
}

#[test]
fn every_edited_line_is_found_with_its_place_and_both_hashes() {
    let record = sealed(30).build();
    let mut edited = lines(&record);
    for index in [4, 9, 20] {
        edited[index][3] ^= 1;
    }
    let report = trace(&with_lines(&record, &edited));
    assert_eq!((report.verdict, report.first_bad_line), (Verdict::Changed, Some(5)));
    assert_eq!(codes(&report), [Code::LineChanged; 3]);
    let original = lines(&record);
    for (found, index) in report.findings.iter().zip([4usize, 9, 20]) {
        let offset = edited[..index].iter().map(|line| line.len() as u64 + 1).sum();
        assert_eq!((found.line, found.offset), (Some(index as u64 + 1), Some(offset)));
        assert_eq!(found.expected, Some(line_hash(&original[index])));
        assert_eq!(found.found, Some(line_hash(&edited[index])));
    }
    assert_eq!(report.detail, report.findings[0].text);
}

#[test]
fn findings_beyond_twenty_are_counted_and_notes_are_kept() {
    let record = sealed(200).build();
    let mut edited = lines(&record);
    for line in edited.iter_mut().skip(10).step_by(2).take(60) {
        line[3] ^= 1;
    }
    let mut tree = with_lines(&record, &edited);
    tree.edit(&in_record(TRACE_STREAM), |bytes| bytes.extend_from_slice(b"{\"torn"));
    let report = trace(&tree);
    assert_eq!(report.findings.len(), MAX_FINDINGS);
    // 60 edited lines, the torn tail's two findings.
    assert_eq!(report.findings.len() as u64 + report.more_findings, 62);
    assert_eq!(report.findings[0].line, Some(11));
    assert!(codes(&report).contains(&Code::TailTorn), "{report:?}");
    assert_eq!(report.notes, [finding(&report, Code::TailTorn).text.as_str()]);
}

#[test]
fn what_decides_stands_first_and_its_code_has_the_verdict() {
    let unsealed = sealed(3).event(&numbered(9)).torn_bytes("{").build();
    let report = trace(&unsealed);
    assert_eq!((report.verdict, codes(&report)), (Verdict::Unsealed, vec![Code::LinesNotSealed, Code::TailTorn]));
    assert_eq!(finding(&report, Code::LinesNotSealed).line, Some(4));

    let mut keyless = unsealed;
    keyless.edit(&in_record(TRACE_STREAM), |bytes| bytes[3] ^= 1);
    let expectation = RecordExpectation { records_dir: RECORD_DIR, session: None, head: None, keys: &[] };
    let report = verify_record(&mut keyless.record(RECORD_DIR, None), &expectation).unwrap().streams.swap_remove(0);
    let order: Vec<Option<Verdict>> = report.findings.iter().map(|found| found.code.verdict()).collect();
    assert_eq!(order[0], Some(report.verdict));
    assert!(order.windows(2).all(|pair| pair[0] >= pair[1]), "{report:?}");
    assert!(codes(&report).contains(&Code::NoKey), "{report:?}");
}

#[test]
fn a_listed_stream_is_realigned_behind_an_inserted_a_removed_and_an_edited_line() {
    let scores: Vec<String> = (0..12).map(|score| format!("{{\"score\":{score}}}")).collect();
    let whole = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut record = sealed(2).eval(&whole(&scores)).build();
    let mut changed = scores.clone();
    changed[9] = "{\"score\":\"nine\"}".into();
    changed.remove(5);
    changed.insert(2, scores[1].clone());
    record.file(&in_record(EVAL_STREAM), whole(&changed));
    let report = check(&record).streams.swap_remove(1);
    assert_eq!((report.verdict, report.first_bad_line), (Verdict::Changed, Some(3)));
    let found: Vec<(Code, Option<u64>)> = report.findings.iter().map(|found| (found.code, found.line)).collect();
    assert_eq!(
        found,
        [
            (Code::LineInserted, Some(3)),
            (Code::LineRemoved, Some(7)),
            (Code::LineChanged, Some(10)),
            (Code::LineRepeated, Some(3))
        ]
    );
    let edited = finding(&report, Code::LineChanged);
    assert_eq!(edited.expected, Some(line_hash(scores[9].as_bytes())));
    assert_eq!(edited.found, Some(line_hash(changed[9].as_bytes())));
    assert_eq!(edited.offset, Some(changed[..9].iter().map(|line| line.len() as u64 + 1).sum()));
}

#[test]
fn a_seal_whose_signature_is_bad_says_nothing_of_the_lines() {
    let record = sealed(5);
    let mut draft = record.trace_draft();
    draft.lines = 9;
    let forged = mur_testdata::other_key().seal(draft).unwrap();
    let genuine = record.sign(record.trace_draft());
    let seal = mur_seal::Seal { key_id: genuine.key_id, ..forged }.to_file();
    let report = trace(&record.with_file("trace.jsonl.seal", seal).build());
    assert_eq!((report.verdict, report.first_bad_line), (Verdict::Changed, None));
    assert_eq!(report.findings[0].code, Code::SignatureBad);
    assert!(!codes(&report).contains(&Code::LinesMissing), "{report:?}");
}

#[test]
fn a_repeated_line_is_recognised() {
    let record = sealed(6).build();
    let mut repeated = lines(&record);
    repeated.insert(3, repeated[2].clone());
    let report = trace(&with_lines(&record, &repeated));
    assert_eq!(report.verdict, Verdict::Changed);
    assert_eq!(finding(&report, Code::LineRepeated).text, "line 4 repeats line 3");
}

#[test]
fn a_repeated_block_is_recognised_by_its_first_line() {
    let record = sealed(9).build();
    let mut repeated = lines(&record);
    let block = repeated[2..5].to_vec();
    repeated.splice(5..5, block);
    let report = trace(&with_lines(&record, &repeated));
    assert_eq!(finding(&report, Code::LineRepeated).text, "line 6 repeats line 3");
}

#[test]
fn two_writers_that_did_not_wait_for_each_other_are_recognised() {
    let record = RecordBuilder::new().event(&numbered(0)).event(&numbered(1));
    let head = record.head();
    let ours = link(&numbered(2), &head, None).unwrap();
    let theirs = link(&event("of_another_writer", 3, None, &[]), &head, None).unwrap();
    let report = trace(&record.linked_line(&ours).linked_line(&theirs).seal_trace().build());
    let forked = finding(&report, Code::ChainForked);
    assert_eq!((report.verdict, forked.line), (Verdict::Changed, Some(4)));
    assert!(forked.text.starts_with("line 4 follows line 2, as line 3 does: two writers"), "{forked:?}");
}

#[test]
fn a_second_chain_behind_the_first_is_recognised() {
    let record = RecordBuilder::new().event(&numbered(0)).event(&numbered(1));
    let second = link(&numbered(0), &LineHash::GENESIS, None).unwrap();
    let other = link(&numbered(7), &LineHash::GENESIS, None).unwrap();
    let report = trace(&record.linked_line(&other).linked_line(&second).seal_trace().build());
    assert!(finding(&report, Code::ChainForked).text.starts_with("line 3 begins a chain"), "{report:?}");
}

/// The names of characters that some programs take for the end of a line, and the characters.
const LINE_ENDS: [(&str, &str); 5] = [
    ("U+2028", "\u{2028}"),
    ("U+2029", "\u{2029}"),
    ("U+0085", "\u{85}"),
    ("a vertical tab", "\u{b}"),
    ("a form feed", "\u{c}"),
];

/// A sealed record in each of whose streams line 2 holds `text`.
fn holding(text: &str) -> Tree {
    let member = format!("\"text\":\"{text}\"");
    let record = RecordBuilder::new()
        .event(&numbered(0))
        .event(&event("turn_end", 1, None, &[&member]))
        .event(&numbered(2))
        .event(&numbered(3));
    record.seal_trace().eval(&format!("{{}}\n{{{member}}}\n{{}}\n")).build()
}

#[test]
fn lines_that_were_split_inside_are_recognised() {
    for (name, character) in LINE_ENDS {
        // The character of the writer, which JSON allows to stand for itself or does not: a chain takes any bytes.
        let text = format!("one{character}two");
        let member = format!("\"text\":\"{text}\"");
        let head = RecordBuilder::new().event(&numbered(0));
        let line = format!("{{{member},\"prev_hash\":\"{}\"}}", head.head());
        let record = head.linked_line(&line).event(&numbered(2)).seal_trace();
        let mut tree = record.eval(&format!("{{}}\n{{{member}}}\n{{}}\n")).build();
        for stream in [TRACE_STREAM, EVAL_STREAM] {
            let before = String::from_utf8(tree.bytes(&in_record(stream)).to_vec()).unwrap();
            tree.file(&in_record(stream), before.replace(character, "\n"));
        }
        let report = check(&tree);
        for stream in &report.streams[..2] {
            assert_eq!(stream.verdict, Verdict::Changed, "{name}: {stream:?}");
            let split = finding(stream, Code::LineSplit);
            assert_eq!(split.line, Some(2), "{name}: {stream:?}");
            assert!(split.text.starts_with(&format!("lines 2..=3 with {name} between them")), "{split:?}");
        }
    }
}

#[test]
fn lines_that_were_joined_are_recognised() {
    for (name, character) in LINE_ENDS.into_iter().chain([("nothing", "")]) {
        let mut tree = holding("plain");
        for stream in [TRACE_STREAM, EVAL_STREAM] {
            let before = String::from_utf8(tree.bytes(&in_record(stream)).to_vec()).unwrap();
            let (first, rest) = before.split_once('\n').unwrap();
            tree.file(&in_record(stream), format!("{first}\n{}", rest.replacen('\n', character, 1)));
        }
        let report = check(&tree);
        for stream in &report.streams[..2] {
            assert_eq!(stream.verdict, Verdict::Changed, "{name}: {stream:?}");
            let joined = finding(stream, Code::LinesJoined);
            assert_eq!(joined.line, Some(2), "{name}: {stream:?}");
        }
    }
}

#[test]
fn a_diagnosis_is_made_only_where_it_is_proven() {
    // The line holds the character, and was split there, but was edited too.
    let mut tree = holding("plain");
    let before = String::from_utf8(tree.bytes(&in_record(TRACE_STREAM)).to_vec()).unwrap();
    tree.file(&in_record(TRACE_STREAM), before.replace("plain", "pl\nain"));
    let report = trace(&tree);
    assert_eq!(report.verdict, Verdict::Changed);
    assert!(!codes(&report).contains(&Code::LineSplit), "{report:?}");
    assert!(!codes(&report).contains(&Code::LinesJoined), "{report:?}");
}

#[test]
fn a_final_newline_that_is_missing_or_doubled_is_recognised_in_every_stream() {
    let record = sealed(4).eval(&eval_lines()).completion(&format!("{}\n", completion().trim_end())).build();
    for stream in [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM] {
        let report_of = |tree: &Tree| {
            let streams = check(tree).streams;
            streams.into_iter().find(|report| report.stream == stream).unwrap()
        };
        let mut shorter = record.clone();
        shorter.edit(&in_record(stream), |bytes| assert_eq!(bytes.pop(), Some(b'\n')));
        let report = report_of(&shorter);
        assert_eq!(report.verdict, Verdict::Changed, "{report:?}");
        finding(&report, Code::FinalNewlineMissing);

        let mut longer = record.clone();
        longer.edit(&in_record(stream), |bytes| bytes.push(b'\n'));
        let report = report_of(&longer);
        assert!(matches!(report.verdict, Verdict::Changed | Verdict::Unsealed), "{report:?}");
        finding(&report, Code::FinalNewlineDoubled);
    }
}

#[test]
fn the_head_noted_elsewhere_tells_an_older_trace_and_seal_from_the_last() {
    let older = RecordBuilder::new().event(&numbered(0)).event(&numbered(1)).seal_trace();
    let older_tree = RecordBuilder::new().event(&numbered(0)).event(&numbered(1)).seal_trace().build();
    let newer = older.event(&numbered(2)).seal_trace();
    let head = newer.head();
    let newer = newer.build();
    assert_eq!(check_for(&newer, None, Some(head)).verdict, Verdict::Verified);
    assert_eq!(check_for(&older_tree, None, None).verdict, Verdict::Verified);
    let report = check_for(&older_tree, None, Some(head));
    let trace = &report.streams[0];
    assert_eq!((report.verdict, trace.findings[0].code), (Verdict::Changed, Code::HeadNotAsTold));
    assert_eq!(trace.findings[0].expected, Some(head));

    // Not even the whole trace can be taken away then.
    let mut emptied = newer;
    emptied.remove(&in_record(TRACE_STREAM));
    emptied.remove(&in_record("trace.jsonl.seal"));
    assert_eq!(check_for(&emptied, None, None).verdict, Verdict::Absent);
    assert_eq!(check_for(&emptied, None, Some(head)).verdict, Verdict::Changed);
}

#[test]
fn a_report_says_what_was_checked_what_was_not_and_what_cannot_be_known() {
    let record = sealed(3).eval(&eval_lines()).conversation(&conversation_lines()).seal_trace_pointing_at(1).build();
    let of = |statements: Vec<(String, Option<String>)>| statements;
    let report = check(&record);
    assert_eq!(report.verdict, Verdict::Verified);
    let checked = of(report.checked.iter().map(|known| (known.code.clone(), known.stream.clone())).collect());
    for (code, stream) in [("lines-linked", TRACE_STREAM), ("seal-signed", TRACE_STREAM), ("lines-sealed", EVAL_STREAM)]
    {
        assert!(checked.contains(&(code.into(), Some(stream.into()))), "{checked:?}");
    }
    let open: Vec<&str> = report.not_checked.iter().map(|open| open.code.as_str()).collect();
    assert_eq!(open, ["session-meant"]);
    let unknowable: Vec<&str> = report.cannot_be_known.iter().map(|open| open.code.as_str()).collect();
    assert_eq!(
        unknowable,
        ["older-pair", "older-pair", "stream-removed", "older-pair", "truth", "time", "record-missing"]
    );
    assert!(report.not_checked.iter().chain(&report.cannot_be_known).all(|open| !open.needs.is_empty()));

    let head = trace_head(&record);
    let report = check_for(&record, Some(SESSION), Some(head));
    assert!(report.not_checked.is_empty(), "{report:?}");
    assert!(report.checked.iter().any(|known| known.code == "head-as-noted"), "{report:?}");
    assert!(report.checked.iter().any(|known| known.code == "session-fits"), "{report:?}");
}

fn trace_head(tree: &Tree) -> LineHash {
    line_hash(lines(tree).last().unwrap())
}

#[test]
fn nothing_is_said_to_be_checked_that_was_not() {
    let record = sealed(3).build();
    let expectation = RecordExpectation { records_dir: RECORD_DIR, session: None, head: None, keys: &[] };
    let report = verify_record(&mut record.record(RECORD_DIR, None), &expectation).unwrap();
    let checked: Vec<&str> = report.checked.iter().map(|known| known.code.as_str()).collect();
    assert_eq!(checked, ["lines-linked"]);
    assert!(report.not_checked.iter().any(|open| open.code == "signature"), "{report:?}");

    let mut changed = record;
    changed.edit(&in_record(TRACE_STREAM), |bytes| bytes[3] ^= 1);
    let report = check(&changed);
    let checked: Vec<&str> = report.checked.iter().map(|known| known.code.as_str()).collect();
    assert_eq!(checked, ["seal-signed"]);
}

#[test]
fn every_code_is_in_the_document_of_the_format_with_its_verdict() {
    let document = include_str!("../../../docs/format.md");
    for code in Code::ALL {
        let verdict = code.verdict().map_or("a note", Verdict::as_str);
        assert!(document.contains(&format!("| `{code}` | {verdict} | ")), "{code}");
    }
}

#[test]
fn what_nothing_binds_is_not_said_to_be_checked() {
    // A writer that closes a gap without binding it leaves what stands before the gap to anyone.
    let record = (0..3).fold(RecordBuilder::new(), |record, number| record.event(&numbered(number)));
    let record = record.unlinked_line("{\"torn\"");
    let next = link(&numbered(4), &record.head(), None).unwrap();
    let tree = record.linked_line(&next).seal_trace().build();
    let report = check(&tree);
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(finding(&report.streams[0], Code::LinesUnbound).line, Some(3));
    let said: Vec<&str> = report.checked.iter().map(|checked| checked.text.as_str()).collect();
    assert!(said.contains(&"lines 4..=5 follow one another by their links"), "{said:?}");
    assert!(said.contains(&"lines 4..=5 are those that were sealed, in their order"), "{said:?}");
    let open = report.cannot_be_known.iter().find(|open| open.code == "lines-unbound").unwrap();
    assert_eq!(open.text, "what lines 1..=3 held: neither a link nor a seal binds them");
}

#[test]
fn a_record_that_two_keys_sealed_says_so() {
    let tree = sealed(3).sealing_with(other_key()).completion(&completion()).build();
    let keys = [host_key().public_key().clone(), other_key().public_key().clone()];
    let check = |keys: &[PublicKey]| {
        let expectation = RecordExpectation { records_dir: RECORD_DIR, session: None, head: None, keys };
        let report: Result<RecordReport, Infallible> = verify_record(&mut tree.record(RECORD_DIR, None), &expectation);
        report.unwrap()
    };
    let report = check(&keys);
    assert_eq!(report.verdict, Verdict::Verified);
    let [host, other] = keys.each_ref().map(|key| key.key_id());
    let text =
        format!("sealed by key {other}, and trace.jsonl by key {host}: by two hosts, or by one that changed its key");
    assert_eq!(finding(&report.streams[2], Code::SealersDiffer).text, text);
    assert!(!codes(&report.streams[0]).contains(&Code::SealersDiffer));
    // What an unknown key sealed is unverifiable, and needs no note.
    assert!(!codes(&check(&keys[..1]).streams[2]).contains(&Code::SealersDiffer));
}

#[test]
fn of_many_keys_a_few_are_told() {
    let keys: Vec<PublicKey> =
        (1..=30).map(|seed| HostKey::from_seed(&[seed; 32]).unwrap().public_key().clone()).collect();
    let tree = sealed(1).build();
    let expectation = RecordExpectation { records_dir: RECORD_DIR, session: None, head: None, keys: &keys };
    let Ok(report) = verify_record(&mut tree.record(RECORD_DIR, None), &expectation);
    let text = &finding(&report.streams[0], Code::KeyUnknown).text;
    assert!(text.ends_with(", and 22 more)") && text.len() < 300, "{text}");
}
