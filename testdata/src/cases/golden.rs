//! Records as a host writes them: every stream kind, and a file that a crash tore.

use mur_seal::{EVAL_STREAM, Verdict};

use super::{CaseSpec, Expected, Stream, script, sealed_script};
use crate::record::{RecordBuilder, in_record};
use crate::session::{completion, conversation_lines, eval_lines, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    let verified = |lines| Stream::is(Verdict::Verified).lines(lines).sealed(lines).intact(lines);
    vec![
        golden(
            "script",
            "a script session's trace: the chain is intact, a seal covers every line, its signature is good",
            sealed_script(),
            Expected::only_trace(verified(5)),
        ),
        golden(
            "every-stream",
            "a record of every stream kind, with the conversation that its trace's seal points at",
            every_stream(),
            Expected::only_trace(verified(5)).eval(verified(3)).completion(verified(1)).conversation(verified(4)),
        )
        .with_conversations(),
        golden(
            "continued-after-a-crash",
            "a line that a crash tore was ended and is bound by the next line's gap_hash: a note, no more",
            continued_after_a_crash(),
            Expected::only_trace(verified(5).says("line 3 without a link")),
        ),
    ]
}

fn golden(name: &str, row: &'static str, tree: Tree, expected: Expected) -> CaseSpec {
    CaseSpec { name: format!("golden/{name}"), ..CaseSpec::new(name, row, tree, expected) }
}

pub(super) fn every_stream() -> Tree {
    let mut tree = script()
        .conversation(&conversation_lines())
        .seal_trace_pointing_at(4)
        .eval(&eval_lines())
        .completion(&completion())
        .with_file("out/result.txt", "13\n")
        .build();
    // The older name of the scores, for programs that look for it there.
    tree.link(&in_record("eval.jsonl"), EVAL_STREAM);
    tree
}

fn continued_after_a_crash() -> Tree {
    let events = script_events();
    RecordBuilder::new()
        .events(&events[..2])
        .unlinked_line(&events[2][..events[2].len() / 2])
        .events(&events[3..])
        .seal_trace()
        .build()
}
