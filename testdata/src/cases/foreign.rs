//! Seals that are whole, and not the seal of this stream: another stream's, another session's, another chain's, or one
//! of a format that is not known here.

use mur_seal::Verdict::{Changed, Unverifiable, Verified};
use mur_seal::{COMPLETION_STREAM, ChainKind, EVAL_STREAM, Lines, SEAL_SUFFIX, SealDraft, TRACE_STREAM};

use super::{CaseSpec, Expected, Stream, replace, script, sealed_script};
use crate::fixed::{OTHER_SESSION, SESSION};
use crate::record::{RecordBuilder, in_record};
use crate::session::{completion, eval_lines, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [another_stream(), another_session(), another_kind(), unknown()].into_iter().flatten().collect()
}

fn another_stream() -> Vec<CaseSpec> {
    let trace = script();
    let draft = SealDraft { stream: "audit.jsonl".into(), ..trace.trace_draft() };
    let scores = script().seal_trace();
    let scores_as_conversation = scores.listed_draft("conversation:a/b", Lines::Complete, eval_lines().as_bytes());
    vec![
        CaseSpec::new(
            "seal-of-another-stream",
            "a good seal over these very lines, of another stream",
            trace.seal_trace_as(draft).build(),
            Expected::only_trace(
                Stream::is(Changed).lines(5).sealed(5).intact(5).says("another stream, `audit.jsonl`"),
            ),
        ),
        CaseSpec::new(
            "eval-seal-of-another-stream",
            "a good seal over these very lines, of another stream",
            scores.listed_as(EVAL_STREAM, &eval_lines(), scores_as_conversation).build(),
            Expected::with_good_trace(Changed)
                .eval(Stream::is(Changed).lines(3).sealed(3).intact(3).says("another stream, `conversation:a/b`")),
        ),
        CaseSpec::new(
            "completion-and-eval-seals-exchanged",
            "the seals of two streams of one record exchanged",
            {
                let mut tree = script().seal_trace().eval("{}\n").completion("{}").build();
                let [eval, completion] =
                    [EVAL_STREAM, COMPLETION_STREAM].map(|stream| in_record(&format!("{stream}{SEAL_SUFFIX}")));
                tree.rename(&eval, "kept");
                tree.rename(&completion, &eval);
                tree.rename("kept", &completion);
                tree
            },
            Expected::with_good_trace(Changed)
                .eval(Stream::is(Changed).lines(1).sealed(1).intact(1).says("another stream, `completion.json`"))
                .completion(
                    Stream::is(Changed).lines(1).sealed(1).intact(1).says("another stream, `hooks/eval.jsonl`"),
                ),
        ),
    ]
}

fn another_session() -> Vec<CaseSpec> {
    let another = || Stream::is(Changed).says("another session");
    vec![
        CaseSpec::new(
            "seal-of-another-session",
            "a good seal over these very lines, for another session",
            script().sealing_for(OTHER_SESSION).seal_trace().build(),
            Expected::only_trace(another().lines(5).sealed(5).intact(5)),
        ),
        CaseSpec::new(
            "seal-of-another-record",
            "the seal of another session's record put in place of this one's",
            {
                let other = RecordBuilder::new().sealing_for(OTHER_SESSION).events(&script_events()[..3]).seal_trace();
                let other = other.build();
                let mut tree = script().build();
                tree.file(&in_record("trace.jsonl.seal"), other.bytes(&in_record("trace.jsonl.seal")));
                tree
            },
            Expected::only_trace(another().lines(5).sealed(3).intact(5)),
        ),
        CaseSpec::new(
            "session-named-by-the-caller-is-another",
            "the session is the caller's, and the record was sealed for another",
            sealed_script(),
            Expected::only_trace(another().lines(5).sealed(5).intact(5)).session(Some(OTHER_SESSION)),
        )
        .for_session(OTHER_SESSION),
        CaseSpec::new(
            "session-named-by-the-caller",
            "the session is the caller's, and the record was sealed for it",
            sealed_script(),
            Expected::with_good_trace(Verified),
        )
        .for_session(SESSION),
        CaseSpec::new(
            "first-line-of-another-session",
            "sealed for the session that the caller names, while the trace's first line names another: a note",
            script().sealing_for(OTHER_SESSION).seal_trace().build(),
            Expected::only_trace(verified(5).says(SESSION)).session(Some(OTHER_SESSION)),
        )
        .for_session(OTHER_SESSION),
        CaseSpec::new(
            "trace-names-no-session",
            "no session is named but in the seals: the trace's seal binds the other streams to its own",
            {
                let record = RecordBuilder::new().event("{\"event_type\":\"other_writer\"}").seal_trace();
                record.sealing_for(OTHER_SESSION).eval(&eval_lines()).build()
            },
            Expected::record(Changed).session(None).trace(verified(1)).eval(another().lines(3).sealed(3).intact(3)),
        ),
        CaseSpec::new(
            "eval-seal-of-another-session",
            "the scores must be sealed for the record's session",
            script().seal_trace().sealing_for(OTHER_SESSION).eval(&eval_lines()).build(),
            Expected::with_good_trace(Changed).eval(another().lines(3).sealed(3).intact(3)),
        ),
        CaseSpec::new(
            "completion-seal-of-another-session",
            "the completion must be sealed for the record's session",
            script().seal_trace().sealing_for(OTHER_SESSION).completion(&completion()).build(),
            Expected::with_good_trace(Changed).completion(another().lines(1).sealed(1).intact(1)),
        ),
    ]
}

fn another_kind() -> Vec<CaseSpec> {
    let trace = script();
    let listed = trace.listed_draft(TRACE_STREAM, Lines::Complete, trace.trace());
    let scores = script().seal_trace();
    let inline = SealDraft {
        chain: ChainKind::Inline,
        line_hashes: None,
        ..scores.listed_draft(EVAL_STREAM, Lines::Complete, eval_lines().as_bytes())
    };
    vec![
        CaseSpec::new(
            "seal-of-another-chain",
            "the chain's kind is fixed by the stream: a good listed seal of an inline stream",
            trace.seal_trace_as(listed).build(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).intact(5).says("another kind, `listed`")),
        ),
        CaseSpec::new(
            "eval-seal-of-another-chain",
            "the chain's kind is fixed by the stream: a good inline seal of a listed stream",
            scores.listed_as(EVAL_STREAM, &eval_lines(), inline).build(),
            Expected::with_good_trace(Changed)
                .eval(Stream::is(Changed).lines(3).sealed(3).says("another kind, `inline`")),
        ),
    ]
}

fn unknown() -> Vec<CaseSpec> {
    let with_seal = |old: &str, new: &str| edit_seal(sealed_script(), old, new);
    let unverifiable = || Stream::is(Unverifiable).lines(5).intact(5);
    vec![
        CaseSpec::new(
            "format-unknown",
            "an unknown format: unverifiable",
            with_seal("murmur.seal/1", "murmur.seal/2"),
            Expected::only_trace(unverifiable().says("`murmur.seal/2`")),
        ),
        CaseSpec::new(
            "format-unknown-with-other-members",
            "an unknown format may give its members other meanings: unverifiable, not malformed",
            {
                let mut tree = sealed_script();
                let seal = "{\"format\":\"murmur.seal/2\",\"stream\":{\"name\":\"trace.jsonl\"},\"lines\":\"five\"}\n";
                tree.file(&in_record("trace.jsonl.seal"), seal);
                tree
            },
            Expected::only_trace(unverifiable().says("`murmur.seal/2`")),
        ),
        CaseSpec::new(
            "format-unknown-and-line-edited",
            "an unknown format does not excuse a broken chain",
            {
                let mut tree = with_seal("murmur.seal/1", "murmur.seal/2");
                replace(&mut tree, &in_record(TRACE_STREAM), "task_md", "task_mb");
                tree
            },
            Expected::only_trace(Stream::is(Changed).lines(5).bad(2)),
        ),
        CaseSpec::new(
            "algorithm-unknown",
            "an unknown algorithm: unverifiable",
            with_seal("\"ed25519\"", "\"ml-dsa-65\""),
            Expected::only_trace(unverifiable().says("`ml-dsa-65`")),
        ),
        CaseSpec::new(
            "algorithm-in-another-case",
            "the algorithm is exactly ed25519",
            with_seal("\"ed25519\"", "\"Ed25519\""),
            Expected::only_trace(unverifiable().says("`Ed25519`")),
        ),
    ]
}

fn verified(lines: u64) -> Stream {
    Stream::is(Verified).lines(lines).sealed(lines).intact(lines)
}

fn edit_seal(mut tree: Tree, old: &str, new: &str) -> Tree {
    replace(&mut tree, &in_record("trace.jsonl.seal"), old, new);
    tree
}
