//! Bytes and characters that no host writes: rewritten line ends, byte order marks, lines that are no JSON, names that
//! steer a terminal.

use mur_seal::Verdict::{Changed, Unsealed, Unverifiable, Verified};
use mur_seal::{COMPLETION_STREAM, EVAL_STREAM, SEAL_SUFFIX, SealDraft, TRACE_STREAM};

use super::golden::every_stream;
use super::{CaseSpec, Expected, Stream, replace, script, sealed_script};
use crate::fixed::SESSION;
use crate::record::{RecordBuilder, in_record};
use crate::session::{eval_lines, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [line_ends(), byte_order_marks(), odd_lines(), names()].into_iter().flatten().collect()
}

const CRLF: &str = "CR LF";

fn line_ends() -> Vec<CaseSpec> {
    let with_crlf = |mut tree: Tree, paths: &[&str]| {
        for path in paths {
            tree.edit(&in_record(path), |bytes| {
                *bytes = bytes
                    .iter()
                    .flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
                    .collect();
            });
        }
        tree
    };
    vec![
        CaseSpec::new(
            "line-ends-rewritten",
            "every line end rewritten to CR LF, which is part of the line: changed, and the finding says so",
            with_crlf(sealed_script(), &["trace.jsonl"]),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(5).says(CRLF)),
        ),
        CaseSpec::new(
            "line-ends-rewritten-without-seal",
            "without a seal nothing tells that the lines had links: no prev_hash ends a line, and the finding says why",
            with_crlf(script().build(), &["trace.jsonl"]),
            Expected::only_trace(Stream::is(Unverifiable).lines(5).says(CRLF)),
        ),
        CaseSpec::new(
            "line-ends-rewritten-everywhere",
            "every line end of every stream and seal rewritten to CR LF",
            with_crlf(
                every_stream(),
                &[
                    TRACE_STREAM,
                    EVAL_STREAM,
                    COMPLETION_STREAM,
                    "trace.jsonl.seal",
                    "hooks/eval.jsonl.seal",
                    "completion.json.seal",
                ],
            ),
            Expected::record(Changed)
                .trace(Stream::is(Changed).lines(5).sealed(5).bad(5).says(CRLF))
                .eval(Stream::is(Changed).lines(3).sealed(3).bad(1).says(CRLF))
                .completion(Stream::is(Changed).lines(1).sealed(1).bad(1).says(CRLF))
                .conversation(Stream::absent()),
        ),
        CaseSpec::new(
            "line-ends-rewritten-in-the-seal",
            "a seal's members are what is signed, not its bytes: the line end of the seal alone rewritten",
            with_crlf(sealed_script(), &["trace.jsonl.seal"]),
            Expected::with_good_trace(Verified),
        ),
    ]
}

fn byte_order_marks() -> Vec<CaseSpec> {
    let with_mark = |mut tree: Tree, path: &str| {
        tree.edit(&in_record(path), |bytes| {
            bytes.splice(0..0, *b"\xef\xbb\xbf");
        });
        tree
    };
    let mark = "byte order mark";
    vec![
        CaseSpec::new(
            "byte-order-mark-before-the-trace",
            "a byte order mark before line 1 is part of it: changed, and the finding says so",
            with_mark(sealed_script(), TRACE_STREAM),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(1).says(mark)).session(None),
        ),
        CaseSpec::new(
            "byte-order-mark-before-the-scores",
            "a byte order mark before line 1 is part of it: changed, and the finding says so",
            with_mark(script().seal_trace().eval(&eval_lines()).build(), EVAL_STREAM),
            Expected::with_good_trace(Changed).eval(Stream::is(Changed).lines(3).sealed(3).bad(1).says(mark)),
        ),
    ]
}

fn odd_lines() -> Vec<CaseSpec> {
    let events = script_events();
    let odd: [&[u8]; 6] = [b"not json", b"\0\0\0", b"\xff\xfe\xc0\xaf", b"{\"a\":1}{\"b\":2}", b"", b"\xef\xbb\xbf{}"];
    let with_odd_lines = odd.iter().fold(RecordBuilder::new().events(&events[..2]), RecordBuilder::unlinked_line);
    let binary = odd.iter().fold(RecordBuilder::new(), RecordBuilder::unlinked_line);
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(70_000));
    vec![
        CaseSpec::new(
            "odd-lines",
            "lines that are no JSON, bytes that are no text, an empty line: lines without a link, bound by a gap_hash",
            with_odd_lines.events(&events[2..]).seal_trace().build(),
            Expected::only_trace(
                Stream::is(Verified).lines(11).sealed(11).intact(11).says("lines 3..=8 without a link"),
            ),
        ),
        CaseSpec::new(
            "odd-lines-alone",
            "nothing but lines that no host writes, and no seal: no line has a prev_hash",
            binary.build(),
            Expected::only_trace(Stream::is(Unverifiable).lines(6)).session(None),
        ),
        CaseSpec::new(
            "empty-lines",
            "nothing but empty lines",
            RecordBuilder::new().torn_bytes("\n\n\n").build(),
            Expected::only_trace(Stream::is(Unverifiable).lines(3)).session(None),
        ),
        CaseSpec::new(
            "long-line",
            "a first line longer than what is kept of it",
            RecordBuilder::new().event(&long).event("{}").seal_trace().build(),
            Expected::only_trace(Stream::is(Verified).lines(2).sealed(2).intact(2)).session(None),
        ),
        CaseSpec::new(
            "empty-object",
            "an event without members gets no comma before its link",
            RecordBuilder::new().event("{}").event("{}").seal_trace().build(),
            Expected::only_trace(Stream::is(Verified).lines(2).sealed(2).intact(2)).session(None),
        ),
        CaseSpec::new(
            "odd-scores",
            "listed lines may be anything",
            script().seal_trace().eval("\0\n\n{\"a\":1}{\"b\":2}\nnot json\n").build(),
            Expected::with_good_trace(Verified).eval(Stream::is(Verified).lines(4).sealed(4).intact(4)),
        ),
    ]
}

/// Names are exact in JSON; what reaches a terminal is escaped.
fn names() -> Vec<CaseSpec> {
    const OVERRIDE: &str = "ses_\u{202e}1000\u{2066}";
    const ESCAPE: &str = "ses_\u{1b}[2J\u{7}";
    let naming = |session: &str| {
        let id = serde_json::Value::from(session).to_string();
        RecordBuilder::new().event(&script_events()[0].replace(&format!("\"{SESSION}\""), &id))
    };
    let seal_edited = |old: &str, new: &str| {
        let mut tree = sealed_script();
        replace(&mut tree, &in_record(&format!("{TRACE_STREAM}{SEAL_SUFFIX}")), old, new);
        tree
    };
    let refused = || Expected::only_trace(Stream::is(Changed).lines(5).intact(5).says("control character"));
    let odd_stream = script();
    let odd_stream_draft = SealDraft { stream: "trace\u{202e}.jsonl".into(), ..odd_stream.trace_draft() };
    vec![
        CaseSpec::new(
            "session-with-bidirectional-overrides",
            "a session id that reorders what is shown: it can be sealed, and is exact in JSON",
            naming(OVERRIDE).sealing_for(OVERRIDE).seal_trace().build(),
            Expected::only_trace(Stream::is(Verified).lines(1).sealed(1).intact(1)).session(Some(OVERRIDE)),
        ),
        CaseSpec::new(
            "session-with-terminal-escapes",
            "a session id that steers a terminal: no seal can be made for it, and it is exact in JSON",
            naming(ESCAPE).build(),
            Expected::only_trace(Stream::is(Unsealed).lines(1).intact(1)).session(Some(ESCAPE)),
        ),
        CaseSpec::new(
            "seal-with-a-newline-in-its-session",
            "a control character in a session id makes the signed text ambiguous",
            seal_edited(SESSION, &format!("{SESSION}\\n5")),
            refused(),
        ),
        CaseSpec::new(
            "seal-with-a-newline-in-its-stream",
            "a control character in a stream's name makes the signed text ambiguous",
            seal_edited("\"trace.jsonl\"", "\"trace.jsonl\\nses\""),
            refused(),
        ),
        CaseSpec::new(
            "seal-with-a-terminal-escape-in-its-stream",
            "a control character of the upper range counts too",
            seal_edited("\"trace.jsonl\"", "\"trace.jsonl\\u009b2J\""),
            refused(),
        ),
        CaseSpec::new(
            "seal-of-a-stream-with-bidirectional-overrides",
            "a stream's name that reorders what is shown: another stream, named exactly in JSON",
            odd_stream.seal_trace_as(odd_stream_draft).build(),
            Expected::only_trace(
                Stream::is(Changed).lines(5).sealed(5).intact(5).says("another stream, `trace\u{202e}.jsonl`"),
            ),
        ),
        CaseSpec::new(
            "seal-format-with-terminal-escapes",
            "an unknown format whose name steers a terminal: unverifiable, and exact in JSON",
            seal_edited("murmur.seal/1", "murmur.seal/1\\u001b[2J"),
            Expected::only_trace(Stream::is(Unverifiable).lines(5).intact(5).says("murmur.seal/1\u{1b}[2J")),
        ),
    ]
}
