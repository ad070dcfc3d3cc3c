//! Changed lines of listed streams: the scores, and the completion, which is sealed as one line.

use mur_seal::Verdict::{Changed, Unsealed, Verified};
use mur_seal::{COMPLETION_STREAM, EVAL_STREAM};

use super::{CaseSpec, Expected, Stream, edit_lines, replace_in, script};
use crate::record::in_record;
use crate::session::{completion, eval_lines};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [scores(), outcome()].into_iter().flatten().collect()
}

fn scores() -> Vec<CaseSpec> {
    let changed =
        |lines, bad| Expected::with_good_trace(Changed).eval(Stream::is(Changed).lines(lines).sealed(3).bad(bad));
    vec![
        CaseSpec::new(
            "eval-line-edited",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| replace_in(&mut lines[1], "pass", "fail")),
            changed(3, 2),
        ),
        CaseSpec::new(
            "eval-last-line-edited",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| replace_in(&mut lines[2], "\"overall\":\"pass\"", "\"overall\":\"fail\"")),
            changed(3, 3),
        ),
        CaseSpec::new(
            "eval-line-inserted",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| lines.insert(1, b"{}".to_vec())),
            changed(4, 2),
        ),
        CaseSpec::new(
            "eval-line-removed",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| {
                lines.remove(1);
            }),
            changed(2, 2),
        ),
        CaseSpec::new(
            "eval-lines-reordered",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| lines.swap(1, 2)),
            changed(3, 2),
        ),
        CaseSpec::new(
            "eval-line-duplicated",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| lines.insert(2, lines[1].clone())),
            changed(4, 3),
        ),
        CaseSpec::new(
            "eval-front-cut",
            "listed: the first line whose hash is not the recorded one",
            eval(|lines| {
                lines.remove(0);
            }),
            changed(2, 1),
        ),
        CaseSpec::new(
            "eval-lines-cut-at-the-end",
            "fewer whole lines than the seal covers: the first bad line is the first one missing",
            eval(|lines| lines.truncate(2)),
            changed(2, 3),
        ),
        CaseSpec::new(
            "eval-emptied",
            "every line cut: the first bad line is the first one missing",
            eval(Vec::clear),
            changed(0, 1),
        ),
        CaseSpec::new(
            "eval-last-newline-cut",
            "sealed are complete lines: without its newline the last one is missing",
            {
                let mut tree = eval(|_| ());
                tree.edit(&in_record(EVAL_STREAM), |bytes| bytes.truncate(bytes.len() - 1));
                tree
            },
            changed(2, 3),
        ),
        CaseSpec::new(
            "eval-lines-beyond-the-seal",
            "more lines than the seal covers, its prefix holds",
            eval(|lines| lines.push(b"{}".to_vec())),
            Expected::with_good_trace(Unsealed).eval(Stream::is(Unsealed).lines(4).sealed(3).intact(3)),
        ),
        CaseSpec::new(
            "eval-torn-bytes-beyond-the-seal",
            "torn bytes after the last newline, no seal covers them",
            {
                let mut tree = eval(|_| ());
                tree.edit(&in_record(EVAL_STREAM), |bytes| bytes.extend_from_slice(b"{\"record_type\""));
                tree
            },
            Expected::with_good_trace(Unsealed)
                .eval(Stream::is(Unsealed).lines(3).sealed(3).intact(3).says("14 bytes after the last newline")),
        ),
        CaseSpec::new(
            "eval-without-seal",
            "no seal",
            script().seal_trace().with_file(EVAL_STREAM, eval_lines()).build(),
            Expected::with_good_trace(Unsealed).eval(Stream::is(Unsealed).lines(3)),
        ),
        CaseSpec::new(
            "eval-empty-and-sealed",
            "a listed stream of no lines, sealed: its head is the hash of nothing",
            script().seal_trace().eval("").build(),
            Expected::with_good_trace(Verified).eval(Stream::is(Verified).sealed(0).intact(0)),
        ),
    ]
}

fn outcome() -> Vec<CaseSpec> {
    let expected = || {
        Expected::with_good_trace(Changed)
            .completion(Stream::is(Changed).lines(1).sealed(1).bad(1).says("the file is not what was sealed"))
    };
    vec![
        CaseSpec::new(
            "completion-edited",
            "the whole file is one line, and it is not the sealed one",
            outcome_changed(|bytes| replace_in(bytes, "\"ok\"", "\"no\"")),
            expected(),
        ),
        CaseSpec::new(
            "completion-newline-added",
            "the whole file is one line, its newlines included",
            outcome_changed(|bytes| bytes.push(b'\n')),
            expected(),
        ),
        CaseSpec::new(
            "completion-newline-cut",
            "the whole file is one line, its newlines included",
            outcome_changed(|bytes| bytes.truncate(bytes.len() - 1)),
            expected(),
        ),
        CaseSpec::new(
            "completion-emptied",
            "an empty file is one line too, and it is not the sealed one",
            outcome_changed(Vec::clear),
            expected(),
        ),
        CaseSpec::new(
            "completion-of-many-lines",
            "a file of many lines is sealed as one",
            script().seal_trace().completion("{\n  \"outcome\": \"ok\"\n}\n").build(),
            Expected::with_good_trace(Verified).completion(Stream::is(Verified).lines(1).sealed(1).intact(1)),
        ),
    ]
}

/// The sealed script session with sealed scores, whose lines are changed.
fn eval(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Tree {
    let mut tree = script().seal_trace().eval(&eval_lines()).build();
    edit_lines(&mut tree, &in_record(EVAL_STREAM), change);
    tree
}

/// The sealed script session with a sealed completion, whose bytes are changed.
fn outcome_changed(change: impl FnOnce(&mut Vec<u8>)) -> Tree {
    let mut tree = script().seal_trace().completion(&completion()).build();
    tree.edit(&in_record(COMPLETION_STREAM), change);
    tree
}
