//! How the links of a trace are spelled, and lines without one: torn by a crash, or written by something older.

use mur_seal::Verdict::{Changed, Unsealed, Unverifiable, Verified};
use mur_seal::{GENESIS, TRACE_STREAM, line_hash};

use super::{CaseSpec, Expected, Stream, edit_lines, linked, opened, replace_in, script, sealed_script};
use crate::record::{RecordBuilder, in_record};
use crate::session::{eval_lines, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [torn(), older(), stripped(), spelled()].into_iter().flatten().collect()
}

const TORN: &str = "{\"event_type\":\"tool_call\",\"event_id\":\"evt_019ad7358400700080";

/// Lines 1 and 2 of the script session, and a third that a crash tore.
fn torn_at_three() -> RecordBuilder {
    RecordBuilder::new().events(&script_events()[..2]).unlinked_line(TORN)
}

fn torn() -> Vec<CaseSpec> {
    let events = script_events();
    let without_gap_hash = |record: RecordBuilder| {
        let line = linked(&events[3], &record.head(), None);
        record.linked_line(&line)
    };
    let with_wrong_gap_hash = |record: RecordBuilder| {
        let line = linked(&events[3], &record.head(), Some(&line_hash(b"another gap")));
        record.linked_line(&line)
    };
    let two_torn = || torn_at_three().unlinked_line("{\"event").event(&events[3]).event(&events[4]).seal_trace();
    vec![
        CaseSpec::new(
            "torn-line-bound",
            "a line without prev_hash after a chained one, the next line's gap_hash binds it: a note",
            torn_at_three().event(&events[3]).event(&events[4]).seal_trace().build(),
            Expected::only_trace(verified(5).says("line 3 without a link")),
        ),
        CaseSpec::new(
            "two-torn-lines-bound",
            "several lines without prev_hash, bound together",
            two_torn().build(),
            Expected::only_trace(verified(6).says("lines 3..=4 without a link")),
        ),
        CaseSpec::new(
            "torn-line-bound-by-prev-hash-alone",
            "the next line's prev_hash covers the torn line, but without gap_hash nothing covers what stands before it: a note",
            without_gap_hash(torn_at_three()).event(&events[4]).seal_trace().build(),
            Expected::only_trace(
                verified(5).says("line 3 without a link").says("lines 1..=2 are not bound by the chain"),
            ),
        ),
        CaseSpec::new(
            "gap-hash-wrong",
            "a gap_hash must match where it is present: one of lines 2..=3 is not what it binds, and which one nothing tells",
            with_wrong_gap_hash(torn_at_three()).event(&events[4]).seal_trace().build(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(2)),
        ),
        CaseSpec::new(
            "line-before-a-gap-edited",
            "the last chained line before a gap is bound by the gap_hash alone",
            {
                let mut tree = two_torn().build();
                edit_trace_line(&mut tree, 2, "task_md", "task_mb");
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(6).bad(2)),
        ),
        CaseSpec::new(
            "first-line-of-a-gap-edited",
            "the first of two torn lines is bound by the gap_hash alone: the chain is intact no further than before the gap",
            {
                let mut tree = two_torn().build();
                edit_trace_line(&mut tree, 3, "tool_call", "tool_cell");
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(6).bad(2)),
        ),
        CaseSpec::new(
            "last-line-of-a-gap-edited",
            "the last torn line is bound by the next line's prev_hash",
            {
                let mut tree = two_torn().build();
                edit_trace_line(&mut tree, 4, "event", "evint");
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(6).bad(4)),
        ),
        CaseSpec::new(
            "gap-hash-without-a-gap",
            "a gap_hash that binds nothing: it matches no gap, and only a gap calls for one",
            with_wrong_gap_hash(RecordBuilder::new().events(&events[..3])).event(&events[4]).seal_trace().build(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(4)),
        ),
        CaseSpec::new(
            "torn-line-beyond-the-seal",
            "a whole line without prev_hash after the last chained one, beyond the seal: a crash while repairing",
            script().seal_trace().unlinked_line(TORN).build(),
            Expected::only_trace(Stream::is(Unsealed).lines(6).sealed(5).intact(6).says("line 6 without a link")),
        ),
        CaseSpec::new(
            "torn-line-sealed",
            "another writer's seal that ends on a line without a link binds that line and nothing before it: a note",
            torn_at_three().seal_trace().build(),
            Expected::only_trace(
                verified(3).says("line 3 without a link").says("lines 1..=2 are not bound by the chain"),
            ),
        ),
    ]
}

/// Files of writers that did not chain, or not as this project does.
fn older() -> Vec<CaseSpec> {
    let events = script_events();
    let unlinked = |events: &[String]| events.iter().fold(RecordBuilder::new(), RecordBuilder::unlinked_line);
    let after_older_lines = |gap: bool| {
        let record = unlinked(&events[..2]);
        let gap = record.gap_hash().filter(|_| gap);
        let line = linked(&events[2], &record.head(), gap.as_ref());
        record.linked_line(&line).events(&events[3..]).seal_trace().build()
    };
    let first_line_with = |genesis: &str| {
        let body = opened(&events[0]);
        RecordBuilder::new()
            .linked_line(&format!("{body},\"prev_hash\":\"{genesis}\"}}"))
            .events(&events[1..])
            .seal_trace()
            .build()
    };
    let foreign = || verified(5).says("another writer's way");
    vec![
        CaseSpec::new(
            "older-record",
            "no prev_hash on any line and no seal: written before records were sealed",
            unlinked(&events).build(),
            Expected::only_trace(Stream::is(Unverifiable).lines(5)),
        ),
        CaseSpec::new(
            "older-record-with-scores",
            "the other streams of an older record have no seals for the same reason",
            unlinked(&events).with_file("hooks/eval.jsonl", eval_lines()).build(),
            Expected::only_trace(Stream::is(Unverifiable).lines(5)).eval(Stream::is(Unverifiable).lines(3)),
        ),
        CaseSpec::new(
            "older-record-continued",
            "lines of an older writer, bound by the first chained line's gap_hash",
            after_older_lines(true),
            Expected::only_trace(verified(5).says("lines 1..=2 without a link")),
        ),
        CaseSpec::new(
            "older-record-continued-by-another-writer",
            "lines of an older writer, the last of them covered by the first chained line: a note of what is not bound",
            after_older_lines(false),
            Expected::only_trace(verified(5).says("lines 1..=1 are not bound by the chain")),
        ),
        CaseSpec::new(
            "genesis-of-another-writer",
            "line 1's prev_hash is a string that is no hash: it counts as the genesis, with a note",
            first_line_with("genesis"),
            Expected::only_trace(foreign()),
        ),
        CaseSpec::new(
            "genesis-empty",
            "line 1's prev_hash is empty: it counts as the genesis, with a note",
            first_line_with(""),
            Expected::only_trace(foreign()),
        ),
        CaseSpec::new(
            "genesis-in-upper-case",
            "line 1's prev_hash is a hash in upper case, which is none: it counts as the genesis, with a note",
            first_line_with(&line_hash(b"x").to_string().replace("sha256:", "SHA256:").to_uppercase()),
            Expected::only_trace(foreign()),
        ),
    ]
}

fn stripped() -> Vec<CaseSpec> {
    let strip = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line).into_owned();
        let (body, _) = text.split_once(",\"prev_hash\"").unwrap_or((&text, ""));
        *line = format!("{body}}}").into_bytes();
    };
    let stripped = |tree: Tree, which: std::ops::Range<usize>| {
        let mut tree = tree;
        edit_lines(&mut tree, &in_record(TRACE_STREAM), |lines| lines[which].iter_mut().for_each(strip));
        tree
    };
    vec![
        CaseSpec::new(
            "prev-hash-stripped-from-one-line",
            "prev_hash stripped from line 3: line 4's prev_hash is not its hash any more",
            stripped(sealed_script(), 2..3),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(3)),
        ),
        CaseSpec::new(
            "prev-hash-stripped-from-the-last-line",
            "prev_hash stripped from the last line: the seal's head does not match any more",
            stripped(sealed_script(), 4..5),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(5)),
        ),
        CaseSpec::new(
            "prev-hash-stripped-from-every-line",
            "prev_hash stripped from every line: the seal's head does not match any more",
            stripped(sealed_script(), 0..5),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(5)),
        ),
        CaseSpec::new(
            "prev-hash-stripped-from-some-lines-without-seal",
            "prev_hash stripped from lines 1..=3, no seal: line 4's prev_hash is not the hash of line 3",
            stripped(script().build(), 0..3),
            Expected::only_trace(Stream::is(Changed).lines(5).bad(3)),
        ),
    ]
}

/// Only the last top-level member, spelled plainly at the line's end, is the link.
fn spelled() -> Vec<CaseSpec> {
    let events = script_events();
    let with_third = |line: &dyn Fn(&str, &str) -> String| {
        let record = RecordBuilder::new().events(&events[..2]);
        let body = opened(&events[2]);
        let line = line(body, &record.head().to_string());
        (record, line)
    };
    // Sealed, so that the only question is what counts as the link.
    let read_as_linked = |line: &dyn Fn(&str, &str) -> String| {
        let (record, line) = with_third(line);
        record.linked_line(&line).events(&events[3..]).seal_trace().build()
    };
    let read_as_unlinked = |line: &dyn Fn(&str, &str) -> String| {
        let (record, line) = with_third(line);
        record.unlinked_line(line).events(&events[3..]).seal_trace().build()
    };
    let unlinked = || Expected::only_trace(verified(5).says("line 3 without a link"));
    vec![
        CaseSpec::new(
            "two-prev-hash-members",
            "a line with two prev_hash members: the last one is the link",
            read_as_linked(&|body, head| format!("{body},\"prev_hash\":\"{GENESIS}\",\"prev_hash\":\"{head}\"}}")),
            Expected::only_trace(verified(5)),
        ),
        CaseSpec::new(
            "two-prev-hash-members-the-last-one-wrong",
            "a line with two prev_hash members: the last one is the link, and it is wrong",
            read_as_linked(&|body, head| format!("{body},\"prev_hash\":\"{head}\",\"prev_hash\":\"{GENESIS}\"}}")),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(2)),
        ),
        CaseSpec::new(
            "prev-hash-name-escaped",
            "a prev_hash whose name is spelled with an escape is no link",
            read_as_unlinked(&|body, head| format!("{body},\"prev\\u005fhash\":\"{head}\"}}")),
            unlinked(),
        ),
        CaseSpec::new(
            "prev-hash-nested",
            "a prev_hash inside another member is no link",
            read_as_unlinked(&|body, head| format!("{body},\"inner\":{{\"prev_hash\":\"{head}\"}}}}")),
            unlinked(),
        ),
        CaseSpec::new(
            "prev-hash-not-last",
            "a prev_hash that another member follows is no link",
            read_as_unlinked(&|body, head| format!("{body},\"prev_hash\":\"{head}\",\"after\":1}}")),
            unlinked(),
        ),
        CaseSpec::new(
            "prev-hash-inside-a-string",
            "a prev_hash inside a string is no link",
            read_as_unlinked(&|body, head| format!("{body},\"text\":\"\\\"prev_hash\\\":\\\"{head}\"}}")),
            unlinked(),
        ),
        CaseSpec::new(
            "prev-hash-with-a-space",
            "a prev_hash written with white space is no link",
            read_as_unlinked(&|body, head| format!("{body},\"prev_hash\": \"{head}\"}}")),
            unlinked(),
        ),
        CaseSpec::new(
            "prev-hash-in-upper-case",
            "a link in upper case is no hash, and line 3 is not the first",
            read_as_linked(&|body, head| format!("{body},\"prev_hash\":\"{}\"}}", head.to_uppercase())),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(2)),
        ),
    ]
}

fn verified(lines: u64) -> Stream {
    Stream::is(Verified).lines(lines).sealed(lines).intact(lines)
}

fn edit_trace_line(tree: &mut Tree, line: usize, old: &str, new: &str) {
    edit_lines(tree, &in_record(TRACE_STREAM), |lines| replace_in(&mut lines[line - 1], old, new));
}
