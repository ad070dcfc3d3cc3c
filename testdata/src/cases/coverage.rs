//! What a seal covers: fewer lines than it says, more lines, torn bytes, no seal at all.

use mur_seal::TRACE_STREAM;
use mur_seal::Verdict::{Changed, Unsealed, Verified};

use super::{CaseSpec, Expected, Stream, edit_lines, script, sealed_script};
use crate::record::{RecordBuilder, in_record};
use crate::session::{event, script_events};

pub(super) fn cases() -> Vec<CaseSpec> {
    [fewer(), more(), no_seal()].into_iter().flatten().collect()
}

fn fewer() -> Vec<CaseSpec> {
    let with_trace = |change: fn(&mut Vec<u8>)| {
        let mut tree = sealed_script();
        tree.edit(&in_record(TRACE_STREAM), change);
        tree
    };
    vec![
        CaseSpec::new(
            "lines-cut-at-the-end",
            "fewer whole lines than the seal covers: the first bad line is the first one missing",
            {
                let mut tree = sealed_script();
                edit_lines(&mut tree, &in_record(TRACE_STREAM), |lines| lines.truncate(3));
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(3).sealed(5).bad(4)),
        ),
        CaseSpec::new(
            "last-newline-cut",
            "the last line's newline cut: fewer whole lines than the seal covers",
            with_trace(|bytes| {
                bytes.pop();
            }),
            Expected::only_trace(Stream::is(Changed).lines(4).sealed(5).bad(5).says("not a whole line")),
        ),
        CaseSpec::new(
            "last-line-torn",
            "the last line cut in the middle: fewer whole lines than the seal covers",
            with_trace(|bytes| bytes.truncate(bytes.len() - 40)),
            Expected::only_trace(Stream::is(Changed).lines(4).sealed(5).bad(5).says("not a whole line")),
        ),
        CaseSpec::new(
            "trace-emptied",
            "every line cut: the first bad line is the first one missing",
            with_trace(Vec::clear),
            Expected::only_trace(Stream::is(Changed).sealed(5).bad(1)).session(None),
        ),
    ]
}

fn more() -> Vec<CaseSpec> {
    let events = script_events();
    vec![
        CaseSpec::new(
            "lines-beyond-the-seal",
            "more lines than the seal covers, its prefix holds: the session was killed after that seal",
            RecordBuilder::new().events(&events[..3]).seal_trace().events(&events[3..]).build(),
            Expected::only_trace(Stream::is(Unsealed).lines(5).sealed(3).intact(5)),
        ),
        CaseSpec::new(
            "lines-beyond-the-seal-edited",
            "a line beyond the seal edited: the chain alone tells",
            {
                let mut tree = RecordBuilder::new().events(&events[..2]).seal_trace().events(&events[2..]).build();
                super::replace(&mut tree, &in_record(TRACE_STREAM), "\"duration_ms\":1950", "\"duration_ms\":1951");
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(2).bad(4)),
        ),
        CaseSpec::new(
            "sealed-lines-edited-and-relinked-beyond",
            "a sealed line edited and everything after it linked anew: the last sealed line is not the one that was sealed",
            {
                let genuine = RecordBuilder::new().events(&events[..3]).seal_trace().build();
                let mut forged_events = events.clone();
                forged_events[1] = forged_events[1].replace("task_md", "task_mb");
                let mut tree = RecordBuilder::new().events(&forged_events).build();
                tree.file(&in_record("trace.jsonl.seal"), genuine.bytes(&in_record("trace.jsonl.seal")));
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(3).bad(3)),
        ),
        CaseSpec::new(
            "torn-bytes-beyond-the-seal",
            "torn bytes after the last newline, no seal covers them",
            script().seal_trace().torn_bytes("{\"event_type\":\"ret").build(),
            Expected::only_trace(
                Stream::is(Unsealed).lines(5).sealed(5).intact(5).says("18 bytes after the last newline"),
            ),
        ),
        CaseSpec::new(
            "one-byte-beyond-the-seal",
            "a single byte after the last newline is not covered either",
            script().seal_trace().torn_bytes(" ").build(),
            Expected::only_trace(Stream::is(Unsealed).lines(5).sealed(5).intact(5)),
        ),
        CaseSpec::new(
            "empty-line-beyond-the-seal",
            "an empty line is a line, and no seal covers it",
            script().seal_trace().unlinked_line("").build(),
            Expected::only_trace(Stream::is(Unsealed).lines(6).sealed(5).intact(6)),
        ),
    ]
}

fn no_seal() -> Vec<CaseSpec> {
    let events = script_events();
    vec![
        CaseSpec::new(
            "no-seal",
            "no seal: the session was killed before it could seal",
            RecordBuilder::new().events(&events[..3]).build(),
            Expected::only_trace(Stream::is(Unsealed).lines(3).intact(3)),
        ),
        CaseSpec::new(
            "no-seal-and-a-torn-line",
            "no seal, and the last line torn: the session was killed while it wrote",
            RecordBuilder::new().events(&events[..3]).torn_bytes(&events[3][..30]).build(),
            Expected::only_trace(
                Stream::is(Unsealed).lines(3).intact(3).says("30 bytes after the last newline are not a whole line"),
            ),
        ),
        CaseSpec::new(
            "no-seal-and-a-torn-line-ended",
            "no seal, and a whole line without prev_hash at the end: the repair was killed too",
            RecordBuilder::new().events(&events[..3]).unlinked_line(&events[3][..30]).build(),
            Expected::only_trace(Stream::is(Unsealed).lines(4).intact(4).says("line 4 without a link")),
        ),
        CaseSpec::new(
            "trace-empty",
            "an empty trace without a seal: the launch failed before it could write",
            RecordBuilder::new().torn_bytes("").build(),
            Expected::only_trace(Stream::is(Unsealed).intact(0)).session(None),
        ),
        CaseSpec::new(
            "trace-empty-and-sealed",
            "an empty trace, sealed: its head is the genesis",
            RecordBuilder::new().torn_bytes("").seal_trace().build(),
            Expected::only_trace(Stream::is(Verified).sealed(0).intact(0)).session(None),
        ),
        CaseSpec::new(
            "one-line",
            "a trace of one line, sealed",
            RecordBuilder::new().event(&event("session_start", 1, None, &[])).seal_trace().build(),
            Expected::only_trace(Stream::is(Verified).lines(1).sealed(1).intact(1)),
        ),
    ]
}
