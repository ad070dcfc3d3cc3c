//! Changed lines of the inline chain: edited, inserted, removed, reordered, duplicated, cut at the front, linked anew.

use mur_seal::Verdict::{Changed, Unsealed};
use mur_seal::{GENESIS, TRACE_STREAM, Verdict, line_hash};

use super::{CaseSpec, Expected, Stream, edit_lines, linked, replace_in, script, sealed_script};
use crate::record::{RecordBuilder, in_record};
use crate::session::{event, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [edited(), moved(), relinked(), wrong_links()].into_iter().flatten().collect()
}

fn edited() -> Vec<CaseSpec> {
    vec![
        CaseSpec::new(
            "line-edited",
            "a line edited: line 4's prev_hash is not the hash of line 3",
            changed(|lines| replace_in(&mut lines[2], "\"status\":\"ok\"", "\"status\":\"no\"")),
            Expected::only_trace(five_sealed().bad(3)),
        ),
        CaseSpec::new(
            "first-line-edited",
            "line 1 edited: line 2's prev_hash is not its hash",
            changed(|lines| replace_in(&mut lines[0], "\"0.3.0\"", "\"0.4.0\"")),
            Expected::only_trace(five_sealed().bad(1)),
        ),
        CaseSpec::new(
            "last-line-edited",
            "the last line edited, and a seal covers it: only the head differs, so the bad line is the last sealed one",
            changed(|lines| replace_in(&mut lines[4], "\"exit_status\":\"ok\"", "\"exit_status\":\"no\"")),
            Expected::only_trace(five_sealed().bad(5)),
        ),
        CaseSpec::new(
            "two-lines-edited",
            "of several bad lines, the first is named",
            changed(|lines| {
                replace_in(&mut lines[1], "task_md", "task_mb");
                replace_in(&mut lines[3], "1950", "1951");
            }),
            Expected::only_trace(five_sealed().bad(2)),
        ),
        CaseSpec::new(
            "line-edited-without-seal",
            "the chain alone shows an edited line that another line follows",
            edit(script().build(), |lines| replace_in(&mut lines[2], "\"status\":\"ok\"", "\"status\":\"no\"")),
            Expected::only_trace(Stream::is(Changed).lines(5).bad(3)),
        ),
        CaseSpec::new(
            "last-line-edited-without-seal",
            "the last line edited, and no seal covers it: nothing tells, and unsealed says so",
            edit(script().build(), |lines| {
                replace_in(&mut lines[4], "\"exit_status\":\"ok\"", "\"exit_status\":\"no\"")
            }),
            Expected::only_trace(Stream::is(Unsealed).lines(5).intact(5)),
        ),
        CaseSpec::new(
            "white-space-added",
            "lines are not normalised: one space more is another line",
            changed(|lines| replace_in(&mut lines[2], "\"turn\":0", "\"turn\": 0")),
            Expected::only_trace(five_sealed().bad(3)),
        ),
    ]
}

fn moved() -> Vec<CaseSpec> {
    vec![
        CaseSpec::new(
            "line-inserted",
            "a line inserted after line 2, linked to it: line 4's prev_hash is not the hash of the new line 3",
            changed(|lines| {
                let inserted = linked(&event("tool_call", 9, Some(2), &[]), &line_hash(&lines[1]), None);
                lines.insert(2, inserted.into_bytes());
            }),
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(5).bad(3)),
        ),
        CaseSpec::new(
            "line-removed",
            "line 3 removed: the new line 3's prev_hash is not the hash of line 2",
            changed(|lines| {
                lines.remove(2);
            }),
            Expected::only_trace(Stream::is(Changed).lines(4).sealed(5).bad(2)),
        ),
        CaseSpec::new(
            "lines-reordered",
            "lines 3 and 4 exchanged: the new line 3's prev_hash is not the hash of line 2",
            changed(|lines| lines.swap(2, 3)),
            Expected::only_trace(five_sealed().bad(2)),
        ),
        CaseSpec::new(
            "line-duplicated",
            "line 3 twice: line 4's prev_hash is not the hash of line 3",
            changed(|lines| lines.insert(3, lines[2].clone())),
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(5).bad(3)),
        ),
        CaseSpec::new(
            "last-line-duplicated",
            "the last line twice: line 6's prev_hash is not the hash of line 5",
            changed(|lines| lines.push(lines[4].clone())),
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(5).bad(5)),
        ),
        CaseSpec::new(
            "empty-line-inserted",
            "an empty line is a line: line 4's prev_hash is not its hash",
            changed(|lines| lines.insert(2, Vec::new())),
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(5).bad(3)),
        ),
        CaseSpec::new(
            "front-cut",
            "line 1's prev_hash is a real hash: the stream's beginning is missing",
            changed(|lines| {
                lines.drain(..2);
            }),
            Expected::only_trace(Stream::is(Changed).lines(3).sealed(5).bad(1)),
        ),
        CaseSpec::new(
            "front-cut-without-seal",
            "the beginning is missed without a seal too",
            edit(script().build(), |lines| {
                lines.drain(..2);
            }),
            Expected::only_trace(Stream::is(Changed).lines(3).bad(1)),
        ),
        CaseSpec::new(
            "front-cut-and-genesis-put-in",
            "the beginning cut and the new line 1 given the genesis: line 2's prev_hash is not its hash",
            changed(|lines| {
                let cut = line_hash(&lines[1]).to_string();
                lines.drain(..2);
                replace_in(&mut lines[0], &cut, GENESIS);
            }),
            Expected::only_trace(Stream::is(Changed).lines(3).sealed(5).bad(1)),
        ),
    ]
}

/// Rewritten with every hash computed anew, as who cannot sign would.
fn relinked() -> Vec<CaseSpec> {
    let rewritten = |events: &[String]| {
        let forged = RecordBuilder::new().events(events).build();
        let mut tree = sealed_script();
        tree.file(&in_record(TRACE_STREAM), forged.bytes(&in_record(TRACE_STREAM)));
        tree
    };
    let mut events = script_events();
    events[2] = events[2].replace("\"status\":\"ok\"", "\"status\":\"no\"");
    let longer: Vec<String> = events.iter().cloned().chain([event("retention", 6, Some(1), &[])]).collect();
    vec![
        CaseSpec::new(
            "relinked",
            "a line edited and every link after it computed anew: only the head differs from the seal's",
            rewritten(&events),
            Expected::only_trace(five_sealed().bad(5)),
        ),
        CaseSpec::new(
            "relinked-longer",
            "rewritten consistently, and longer: line 5 is not the line that was sealed",
            rewritten(&longer),
            Expected::only_trace(Stream::is(Changed).lines(6).sealed(5).bad(5)),
        ),
        CaseSpec::new(
            "relinked-shorter",
            "rewritten consistently, and shorter: fewer whole lines than the seal covers",
            rewritten(&events[..4]),
            Expected::only_trace(Stream::is(Changed).lines(4).sealed(5).bad(5)),
        ),
    ]
}

fn wrong_links() -> Vec<CaseSpec> {
    let known = script_events();
    let wrong = line_hash(b"no line of this stream");
    let names_no_line = RecordBuilder::new()
        .events(&known[..2])
        .linked_line(&linked(&known[2], &wrong, None))
        .events(&known[3..])
        .seal_trace()
        .build();
    let tampered = event("record_tampered", 5, Some(1), &["\"expected_lines\":4", "\"found_lines\":3"]);
    vec![
        CaseSpec::new(
            "prev-hash-names-no-line",
            "line 3's prev_hash is the hash of no line, the rest consistent and even sealed: links are recomputed, never trusted",
            names_no_line,
            Expected::only_trace(five_sealed().bad(2)),
        ),
        CaseSpec::new(
            "prev-hash-replaced",
            "line 4's prev_hash replaced by the genesis",
            changed(|lines| {
                let before = line_hash(&lines[2]).to_string();
                replace_in(&mut lines[3], &before, GENESIS);
            }),
            Expected::only_trace(five_sealed().bad(3)),
        ),
        CaseSpec::new(
            "host-reported-tampering",
            "the host's own report that it found the file rewritten: such a stream never reads verified, whoever seals it",
            RecordBuilder::new().events(&known[..4]).event(&tampered).seal_trace().build(),
            Expected::only_trace(five_sealed().bad(5)),
        ),
        CaseSpec::new(
            "host-reported-tampering-unsealed",
            "the host's own report that it found the file rewritten, and as it then does, no seal",
            RecordBuilder::new().events(&known[..4]).event(&tampered).build(),
            Expected::only_trace(Stream::is(Changed).lines(5).bad(5)),
        ),
    ]
}

fn five_sealed() -> Stream {
    Stream::is(Verdict::Changed).lines(5).sealed(5)
}

/// The sealed script session with its trace's lines changed.
fn changed(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Tree {
    edit(sealed_script(), change)
}

fn edit(mut tree: Tree, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Tree {
    edit_lines(&mut tree, &in_record(TRACE_STREAM), change);
    tree
}
