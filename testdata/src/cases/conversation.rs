//! The conversation record that a trace's seal points at: present, missing, grown, cut, rewritten, truncated by policy.

use mur_seal::Verdict::{Changed, Unsealed, Verified};
use mur_seal::{CLI_SEALER, CONVERSATIONS_DIR, SEAL_SUFFIX};

use super::{CaseSpec, Expected, Stream, edit_lines, replace, script};
use crate::fixed::{CONVERSATION_CONTEXT, OTHER_SESSION, other_key};
use crate::record::{RecordBuilder, conversation_path, in_record};
use crate::session::{conversation_header, conversation_lines, message};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [found(), not_found(), changed(), truncated(), pointers()].into_iter().flatten().collect()
}

/// A record whose trace's seal points at all four lines of its conversation.
fn pointing() -> RecordBuilder {
    script().conversation(&conversation_lines()).seal_trace_pointing_at(4)
}

fn case(name: &str, row: &'static str, tree: Tree, conversation: Stream) -> CaseSpec {
    let expected = Expected::with_good_trace(conversation.verdict).conversation(conversation);
    CaseSpec::new(name, row, tree, expected).with_conversations()
}

fn verified(lines: u64) -> Stream {
    Stream::is(Verified).lines(lines).sealed(lines).intact(lines)
}

fn found() -> Vec<CaseSpec> {
    let longer = || conversation_lines() + &message("user", "And how many lines?", 5);
    vec![
        case(
            "conversation",
            "the conversation's first lines give the pointed head, and its own seal covers all of them",
            pointing().build(),
            verified(4),
        ),
        case(
            "conversation-continued",
            "a later session continued it and sealed it: any session may, and the first lines still give the pointed head",
            pointing().sealing_for(OTHER_SESSION).conversation(&longer()).build(),
            verified(5),
        ),
        case(
            "conversation-continued-not-sealed",
            "a later session continued it and was killed: more lines than the seal covers",
            {
                let mut tree = pointing().build();
                tree.file(&conversation_path(), longer());
                tree
            },
            Stream::is(Unsealed).lines(5).sealed(4).intact(4),
        ),
        case(
            "conversation-not-sealed",
            "no seal: unsealed, though the trace's seal points at these lines",
            {
                let mut tree = pointing().build();
                tree.remove(&(conversation_path() + SEAL_SUFFIX));
                tree
            },
            Stream::is(Unsealed).lines(4),
        ),
        case(
            "conversation-pointed-at-before-its-first-line",
            "a pointer at no lines holds for any conversation",
            script().conversation(&conversation_lines()).seal_trace_pointing_at(0).build(),
            verified(4),
        ),
        case(
            "conversation-sealed-with-another-key",
            "the conversation's seal is checked with the given keys, as every seal",
            pointing().sealing_with(other_key()).conversation(&conversation_lines()).build(),
            Stream::is(mur_seal::Verdict::Unverifiable).lines(4).sealed(4).intact(4),
        ),
    ]
}

fn not_found() -> Vec<CaseSpec> {
    let without_it = || {
        let mut tree = pointing().build();
        tree.remove(&conversation_path());
        tree.remove(&(conversation_path() + SEAL_SUFFIX));
        tree.file(&format!("{CONVERSATIONS_DIR}/another/{CONVERSATION_CONTEXT}/conversation.jsonl"), "");
        tree
    };
    let absent = |note| Expected::with_good_trace(Verified).conversation(Stream::absent().says(note));
    vec![
        CaseSpec::new(
            "conversation-missing",
            "the conversations directory does not hold it: absent, with a note",
            without_it(),
            absent("does not hold it"),
        )
        .with_conversations(),
        CaseSpec::new(
            "conversations-not-given",
            "no conversations directory is given: absent, with a note",
            pointing().build(),
            absent("no conversations directory was given"),
        ),
    ]
}

fn changed() -> Vec<CaseSpec> {
    let edited = |change: fn(&mut Vec<Vec<u8>>)| {
        let mut tree = pointing().build();
        edit_lines(&mut tree, &conversation_path(), change);
        tree
    };
    let mut other_lines = message("user", "Another question.", 1);
    other_lines.extend(conversation_lines().split_inclusive('\n').skip(1));
    vec![
        case(
            "conversation-line-edited",
            "listed: the first line whose hash is not the recorded one",
            edited(|lines| super::replace_in(&mut lines[1], "count", "guess")),
            Stream::is(Changed).lines(4).sealed(4).bad(2),
        ),
        case(
            "conversation-lines-cut",
            "fewer whole lines than the seal covers",
            edited(|lines| lines.truncate(2)),
            Stream::is(Changed).lines(2).sealed(4).bad(3),
        ),
        case(
            "conversation-rewritten-and-sealed",
            "sealed anew by the host, but its first lines do not give the pointed head, and no header says why",
            pointing().conversation(&other_lines).build(),
            Stream::is(Changed).lines(4).sealed(4).intact(4).says("trace's seal points at"),
        ),
        case(
            "conversation-shortened-and-sealed",
            "sealed anew by the host, but fewer lines are left than the trace's seal points at, and no header says why",
            pointing().conversation(&conversation_lines().split_inclusive('\n').take(2).collect::<String>()).build(),
            Stream::is(Changed).lines(2).sealed(2).intact(2).says("fewer are left"),
        ),
        case(
            "conversation-of-another-name",
            "a good seal of another conversation's",
            {
                let tree = pointing().build();
                let mut moved = script().conversation(&conversation_lines()).seal_trace_pointing_at(4).build();
                let seal = conversation_path() + SEAL_SUFFIX;
                let another = RecordBuilder::new();
                let draft = another.listed_draft(
                    "conversation:another/context",
                    mur_seal::Lines::Complete,
                    tree.bytes(&conversation_path()),
                );
                moved.file(&seal, another.sign(draft).to_file());
                moved
            },
            Stream::is(Changed).lines(4).sealed(4).intact(4).says("another stream, `conversation:another/context`"),
        ),
    ]
}

/// Truncated by policy: the header says so.
fn truncated() -> Vec<CaseSpec> {
    let rest: String = conversation_lines().split_inclusive('\n').skip(2).collect();
    let truncated = conversation_header(Some(2)) + &rest;
    let whole_with_header = conversation_header(None) + &conversation_lines();
    vec![
        case(
            "conversation-truncated",
            "its header says that it was truncated, from the command line: a note",
            pointing().sealing_for(CLI_SEALER).conversation(&truncated).build(),
            verified(3).says("truncated by policy"),
        ),
        case(
            "conversation-with-a-header",
            "a header that says nothing of truncation changes nothing",
            script().conversation(&whole_with_header).seal_trace_pointing_at(5).build(),
            verified(5),
        ),
        case(
            "conversation-with-a-header-put-in",
            "a header that says nothing of truncation excuses nothing",
            pointing().conversation(&whole_with_header).build(),
            Stream::is(Changed).lines(5).sealed(5).intact(5).says("trace's seal points at"),
        ),
        case(
            "conversation-truncated-not-sealed",
            "a header is only believed as far as the seal goes: truncated and not sealed anew",
            {
                let mut tree = pointing().build();
                tree.file(&conversation_path(), truncated.clone());
                tree
            },
            Stream::is(Changed).lines(3).sealed(4).bad(1),
        ),
    ]
}

/// Pointers that lead nowhere good.
fn pointers() -> Vec<CaseSpec> {
    let context = format!("\"context_id\":\"{CONVERSATION_CONTEXT}\"");
    let with_context = |new: &str| {
        let mut tree = pointing().build();
        replace(&mut tree, &in_record("trace.jsonl.seal"), &context, &format!("\"context_id\":\"{new}\""));
        tree
    };
    let refused = |says| Expected::only_trace(Stream::is(Changed).lines(5).intact(5).says(says));
    vec![
        CaseSpec::new(
            "conversation-pointer-out-of-its-directory",
            "a pointer that leaves the conversations directory: its names are single path segments",
            with_context("../../../record"),
            refused("not single path segments"),
        )
        .with_conversations(),
        CaseSpec::new(
            "conversation-pointer-to-the-parent",
            "a pointer that leaves the conversations directory: its names are single path segments",
            with_context(".."),
            refused("not single path segments"),
        )
        .with_conversations(),
        CaseSpec::new(
            "conversation-pointer-with-a-control-character",
            "a control character in a name makes the signed text ambiguous",
            with_context("ctx\\n1"),
            refused("control character"),
        )
        .with_conversations(),
        CaseSpec::new(
            "conversation-pointer-incomplete",
            "a pointer without its head is malformed",
            {
                let mut tree = pointing().build();
                replace(&mut tree, &in_record("trace.jsonl.seal"), "\"context_id\"", "\"context\"");
                tree
            },
            refused("the seal cannot be read as one"),
        )
        .with_conversations(),
        CaseSpec::new(
            "conversation-pointer-with-two-names",
            "duplicate members are malformed inside a pointer too",
            {
                let mut tree = pointing().build();
                let doubled = format!("\"context_id\":\"other\",{context}");
                replace(&mut tree, &in_record("trace.jsonl.seal"), &context, &doubled);
                tree
            },
            refused("the seal cannot be read as one"),
        )
        .with_conversations(),
    ]
}
