//! Missing streams and seals, and what is neither: links and directories. What version control cannot hold, a FIFO, a
//! device, an unreadable file, is made by the tests that need it.

use mur_seal::Verdict::{Absent, Changed, Unsealed, Verified};

use super::golden::every_stream;
use super::{CaseSpec, Expected, Stream, sealed_script};
use crate::fixed::SESSION;
use crate::record::{RecordBuilder, conversation_path, in_record};
use crate::session::completion;
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [missing(), links(), directories()].into_iter().flatten().collect()
}

fn missing() -> Vec<CaseSpec> {
    let seal_alone = || Stream::is(Changed).says("the stream is missing");
    vec![
        CaseSpec::new(
            "nothing-to-verify",
            "neither stream nor seal: absent",
            RecordBuilder::new().with_file("out/result.txt", "13\n").build(),
            Expected::record(Absent).session(None),
        ),
        CaseSpec::new(
            "seal-without-its-trace",
            "a seal without its stream: changed",
            without(sealed_script(), "trace.jsonl"),
            Expected::only_trace(seal_alone()).session(None),
        ),
        CaseSpec::new(
            "seal-without-its-eval",
            "a seal without its stream: changed",
            without(every_stream(), "hooks/eval.jsonl"),
            good_streams().eval(seal_alone()),
        ),
        CaseSpec::new(
            "seal-without-its-completion",
            "a seal without its stream: changed",
            without(every_stream(), "completion.json"),
            good_streams().completion(seal_alone()),
        ),
        CaseSpec::new(
            "seal-without-its-conversation",
            "a seal without its stream: changed",
            {
                let mut tree = every_stream();
                tree.remove(&conversation_path());
                tree
            },
            good_streams().conversation(seal_alone()),
        )
        .with_conversations(),
        CaseSpec::new(
            "trace-and-its-seal-removed",
            "a trace removed together with its seal reads as absent; what is left is still bound to the session named",
            without(without(every_stream(), "trace.jsonl"), "trace.jsonl.seal"),
            Expected::record(Verified).eval(verified(3)).completion(verified(1)),
        )
        .for_session(SESSION),
        CaseSpec::new(
            "completion-alone",
            "without a trace, and with no session named, the seal's own session is noted",
            RecordBuilder::new().completion(&completion()).build(),
            Expected::record(Verified).completion(verified(1).says(SESSION)).session(None),
        ),
        CaseSpec::new(
            "completion-without-its-seal",
            "no seal: unsealed; the worst verdict of the streams is the record's",
            without(every_stream(), "completion.json.seal"),
            good_streams().completion(Stream::is(Unsealed).lines(1)).verdict(Unsealed),
        ),
    ]
}

fn links() -> Vec<CaseSpec> {
    let is_link = |part| Stream::is(Changed).says(part);
    let stream_link = || is_link("the stream is a symbolic link");
    let seal_link = || is_link("the seal is a symbolic link");
    vec![
        CaseSpec::new(
            "trace-is-a-link",
            "a stream that is a link, even to a file that would be verified: changed, and the link is not followed",
            linked(sealed_script(), "trace.jsonl"),
            Expected::only_trace(stream_link()).session(None),
        ),
        CaseSpec::new(
            "trace-seal-is-a-link",
            "a seal that is a link: changed",
            linked(sealed_script(), "trace.jsonl.seal"),
            Expected::only_trace(seal_link().lines(5).intact(5)),
        ),
        CaseSpec::new(
            "trace-is-a-dangling-link",
            "a stream that is a link to nothing: changed, not absent",
            {
                let mut tree = without(sealed_script(), "trace.jsonl.seal");
                tree.link(&in_record("trace.jsonl"), "nowhere");
                tree
            },
            Expected::only_trace(stream_link()).session(None),
        ),
        CaseSpec::new(
            "hooks-is-a-link",
            "a link on the way to a stream: changed",
            {
                let mut tree = every_stream();
                for name in ["eval.jsonl", "eval.jsonl.seal"] {
                    tree.rename(&in_record(&format!("hooks/{name}")), &in_record(&format!("elsewhere/{name}")));
                }
                tree.link(&in_record("hooks"), "elsewhere");
                tree
            },
            good_streams().eval(stream_link()),
        ),
        CaseSpec::new(
            "completion-is-a-link",
            "a stream that is a link: changed",
            linked(every_stream(), "completion.json"),
            good_streams().completion(stream_link()),
        ),
        CaseSpec::new(
            "completion-seal-is-a-link",
            "a seal that is a link: changed",
            linked(every_stream(), "completion.json.seal"),
            good_streams().completion(seal_link().lines(1)),
        ),
        CaseSpec::new(
            "conversation-is-a-link",
            "a stream that is a link: changed",
            {
                let mut tree = every_stream();
                move_behind_link(&mut tree, &conversation_path());
                tree
            },
            good_streams().conversation(stream_link()),
        )
        .with_conversations(),
    ]
}

fn directories() -> Vec<CaseSpec> {
    let directory_at = |mut tree: Tree, name: &str| {
        tree.remove(&in_record(name));
        tree.file(&in_record(&format!("{name}/inside.txt")), "a directory stands here\n");
        tree
    };
    vec![
        CaseSpec::new(
            "trace-is-a-directory",
            "a stream that is a directory: changed",
            directory_at(sealed_script(), "trace.jsonl"),
            Expected::only_trace(Stream::is(Changed).says("the stream is a directory")).session(None),
        ),
        CaseSpec::new(
            "trace-seal-is-a-directory",
            "a seal that is a directory: changed",
            directory_at(sealed_script(), "trace.jsonl.seal"),
            Expected::only_trace(Stream::is(Changed).lines(5).intact(5).says("the seal is a directory")),
        ),
        CaseSpec::new(
            "eval-is-a-directory",
            "a stream that is a directory: changed",
            directory_at(every_stream(), "hooks/eval.jsonl"),
            good_streams().eval(Stream::is(Changed).says("the stream is a directory")),
        ),
        CaseSpec::new(
            "eval-seal-is-a-directory",
            "a seal that is a directory: changed",
            directory_at(every_stream(), "hooks/eval.jsonl.seal"),
            good_streams().eval(Stream::is(Changed).lines(3).says("the seal is a directory")),
        ),
    ]
}

/// Every stream of the golden record as it should be, for one of them to be replaced. The record reads changed.
fn good_streams() -> Expected {
    // No conversations directory is given, where a case does not say otherwise.
    let conversation = Stream::absent().says("no conversations directory was given");
    Expected::with_good_trace(Changed).eval(verified(3)).completion(verified(1)).conversation(conversation)
}

fn verified(lines: u64) -> Stream {
    Stream::is(Verified).lines(lines).sealed(lines).intact(lines)
}

fn without(mut tree: Tree, name: &str) -> Tree {
    tree.remove(&in_record(name));
    tree
}

fn linked(mut tree: Tree, name: &str) -> Tree {
    move_behind_link(&mut tree, &in_record(name));
    tree
}

/// Moves the file at `path` to `<path>.elsewhere` and leaves a link in its place.
fn move_behind_link(tree: &mut Tree, path: &str) {
    let target = format!("{path}.elsewhere");
    tree.rename(path, &target);
    tree.link(path, target.rsplit('/').next().unwrap_or(&target));
}
