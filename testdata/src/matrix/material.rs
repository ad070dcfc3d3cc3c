//! The untouched record, and what an attacker can have besides: the host's genuine records of other sessions, earlier
//! states of this one, a key of their own. The host's private key is what they do not have.

use std::sync::LazyLock;

use mur_seal::{
    COMPLETION_STREAM, ConversationPointer, EVAL_STREAM, LineHash, Lines, SEAL_SUFFIX, Seal, SealDraft, TRACE_STREAM,
    conversation_stream, line_hash, listed_head,
};

use super::Subject;
use crate::fixed::{CONVERSATION_CONTEXT, CONVERSATION_RECORD, OTHER_SESSION, SESSION};
use crate::record::{RecordBuilder, conversation_path, in_record};
use crate::session::{completion, conversation_lines, eval_lines, event, script_events};
use crate::tree::Tree;

/// Lines of the conversation when the session ended; a later session added the others, and sealed them.
pub(super) const POINTED_LINES: usize = 2;

/// The line of the trace that says that the session ended, counted from 1. One line follows, and was sealed with it.
pub(super) const SESSION_END: usize = 5;

/// A record with every stream, as its host left it.
pub(super) static UNTOUCHED: LazyLock<Tree> = LazyLock::new(|| whole(events().len()));

/// The head of its trace.
pub(super) static HEAD: LazyLock<LineHash> = LazyLock::new(|| RecordBuilder::new().events(&events()).head());

/// The events of the session, and one that the host added when it had ended.
fn events() -> Vec<String> {
    script_events().into_iter().chain([event("retention", 6, Some(1), &[])]).collect()
}

/// The record with the first `lines` lines of its trace, sealed by its host: what it was at an earlier time.
fn whole(lines: usize) -> Tree {
    RecordBuilder::new()
        .events(&events()[..lines])
        .conversation(&first_lines(&conversation_lines(), POINTED_LINES))
        .seal_trace_pointing_at(POINTED_LINES)
        .eval(&eval_lines())
        .completion(&completion())
        .sealing_for(OTHER_SESSION)
        .conversation(&conversation_lines())
        .build()
}

/// A record of another session of the same host.
pub(super) static OTHER_RECORD: LazyLock<Tree> = LazyLock::new(|| {
    let events: Vec<String> = self::events().iter().map(|event| event.replace(SESSION, OTHER_SESSION)).collect();
    RecordBuilder::new()
        .sealing_for(OTHER_SESSION)
        .events(&events)
        .seal_trace()
        .eval(&eval_lines().replace("exit_ok", "exit_bad"))
        .completion(&completion().replace(SESSION, OTHER_SESSION))
        .build()
});

/// A host's genuine stream and its seal, to be put in the place of another.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) stream: Vec<u8>,
    pub(super) seal: Vec<u8>,
}

impl Pair {
    /// The pair of a stream of this record.
    pub(super) fn of(tree: &Tree, subject: Subject) -> Self {
        Pair { stream: tree.bytes(&subject.path()).to_vec(), seal: tree.bytes(&subject.seal_path()).to_vec() }
    }

    /// Another conversation's pair.
    pub(super) fn of_other_conversation() -> Self {
        let stream = conversation_stream(CONVERSATION_RECORD, "ctx_another");
        let lines = conversation_lines().replace("input.txt", "output.txt");
        let builder = RecordBuilder::new();
        let draft = builder.listed_draft(&stream, Lines::Complete, lines.as_bytes());
        Pair { seal: builder.sign(draft).to_file().into(), stream: lines.into() }
    }

    /// A pair of another session; of a conversation, which has none of its own, that of another.
    pub(super) fn of_other_session(subject: Subject) -> Self {
        match subject {
            Subject::Conversation => Pair::of_other_conversation(),
            Subject::Record | Subject::Trace | Subject::Eval | Subject::Completion => Pair::of(&OTHER_RECORD, subject),
        }
    }

    /// The pairs that stood there earlier, the oldest first, each with what it held.
    pub(super) fn earlier(subject: Subject) -> Vec<(String, Self)> {
        let held = |lines: usize| format!("as it was with {lines} lines");
        match subject {
            Subject::Record => Vec::new(),
            Subject::Trace => {
                let lines = 1..events().len();
                let with_pointer = lines.clone().map(|lines| (held(lines), Pair::of(&whole(lines), subject)));
                let before = lines.map(|lines| {
                    let tree = RecordBuilder::new().events(&events()[..lines]).seal_trace().build();
                    (held(lines) + ", before its conversation began", Pair::of(&tree, subject))
                });
                with_pointer.chain(before).collect()
            }
            Subject::Eval => (0..3)
                .map(|lines| {
                    let tree = RecordBuilder::new().eval(&first_lines(&eval_lines(), lines)).build();
                    (held(lines), Pair::of(&tree, subject))
                })
                .collect(),
            Subject::Completion => {
                let tree = RecordBuilder::new().completion(&completion().replace("\"ok\"", "\"running\"")).build();
                vec![("as it was when the session ran".into(), Pair::of(&tree, subject))]
            }
            Subject::Conversation => (0..4)
                .map(|lines| {
                    let tree = RecordBuilder::new().conversation(&first_lines(&conversation_lines(), lines)).build();
                    (held(lines), Pair::of(&tree, subject))
                })
                .collect(),
        }
    }

    /// The untouched record with this pair in the place of a stream and its seal.
    pub(super) fn put_in(self, subject: Subject) -> Tree {
        let mut tree = UNTOUCHED.clone();
        tree.file(&subject.path(), self.stream);
        tree.file(&subject.seal_path(), self.seal);
        tree
    }
}

/// The untouched record with the lines of a stream changed; each line is given without its newline, and gets one again.
pub(super) fn with_lines(subject: Subject, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Tree {
    let mut tree = UNTOUCHED.clone();
    tree.edit(&subject.path(), |bytes| {
        let mut lines = lines_of(bytes);
        change(&mut lines);
        *bytes = lines.into_iter().flat_map(|line| line.into_iter().chain([b'\n'])).collect();
    });
    tree
}

/// The untouched record with the bytes of a stream changed.
pub(super) fn with_bytes(subject: Subject, change: impl FnOnce(&mut Vec<u8>)) -> Tree {
    let mut tree = UNTOUCHED.clone();
    tree.edit(&subject.path(), change);
    tree
}

/// The lines of a stream of the untouched record, without their newlines.
pub(super) fn lines(subject: Subject) -> Vec<Vec<u8>> {
    lines_of(UNTOUCHED.bytes(&subject.path()))
}

fn lines_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line).to_vec()).collect()
}

fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

/// The seal of a stream, read.
pub(super) fn seal(tree: &Tree, subject: Subject) -> Seal {
    Seal::parse(tree.bytes(&subject.seal_path())).unwrap_or_else(|error| panic!("{error}"))
}

/// What a seal of a stream's present bytes would claim, everything else as in the seal that is there: what can be worked
/// out without any key.
pub(super) fn claims(tree: &Tree, subject: Subject) -> SealDraft {
    let draft = seal(tree, subject).draft;
    let bytes = tree.bytes(&subject.path());
    let hashes: Vec<LineHash> = match subject {
        Subject::Completion => vec![line_hash(bytes)],
        Subject::Record | Subject::Trace | Subject::Eval | Subject::Conversation => {
            lines_of(bytes).iter().map(|line| line_hash(line)).collect()
        }
    };
    let lines = hashes.len() as u64;
    match subject {
        Subject::Trace => SealDraft { lines, head: hashes.last().copied().unwrap_or(LineHash::GENESIS), ..draft },
        Subject::Record | Subject::Eval | Subject::Completion | Subject::Conversation => {
            SealDraft { lines, head: listed_head(&hashes), line_hashes: Some(hashes), ..draft }
        }
    }
}

/// A seal of the host for a stream's present bytes and another session.
pub(super) fn sealed_for(session: &str, tree: &Tree, subject: Subject) -> Vec<u8> {
    let draft = SealDraft { session_id: session.into(), ..claims(tree, subject) };
    RecordBuilder::new().sign(draft).to_file().into()
}

/// A pointer at the first `lines` lines of the conversation.
pub(super) fn pointer_at(lines: usize) -> ConversationPointer {
    let hashes: Vec<LineHash> =
        self::lines(Subject::Conversation).iter().take(lines).map(|line| line_hash(line)).collect();
    ConversationPointer {
        record: CONVERSATION_RECORD.into(),
        context_id: CONVERSATION_CONTEXT.into(),
        lines: hashes.len() as u64,
        head: listed_head(&hashes),
    }
}

/// The paths of every stream and seal of the untouched record.
pub(super) fn all_paths() -> Vec<String> {
    let streams =
        [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM].map(in_record).into_iter().chain([conversation_path()]);
    streams.flat_map(|stream| [format!("{stream}{SEAL_SUFFIX}"), stream]).collect()
}
