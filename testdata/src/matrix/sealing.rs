//! Rows about a stream and its seal together: a stream chained anew, sealed anew, exchanged for another of the host's, or
//! put back to what it was.

use mur_seal::{ChainState, Code, Seal, SealDraft, Verdict, line_hash, link};

use super::cell::{Cell, Cells, Need};
use super::lines::without_link;
use super::material::{
    OTHER_RECORD, POINTED_LINES, Pair, SESSION_END, UNTOUCHED, claims, lines, seal, sealed_for, with_lines,
};
use super::{Row, Subject, Variant};
use crate::fixed::{OTHER_SESSION, host_key, other_key};
use crate::tree::Tree;

use Subject::{Completion, Conversation, Eval, Record, Trace};

const CHANGED: Cell = Cell::Reads(Verdict::Changed);
const UNSEALED: Cell = Cell::Reads(Verdict::Unsealed);
const UNVERIFIABLE: Cell = Cell::Reads(Verdict::Unverifiable);
const NEEDS_KEY: Cell = Cell::NotDetectable(Need::Key);
const NEEDS_SESSION: Cell = Cell::NotDetectable(Need::Session);
const NEEDS_HEAD: Cell = Cell::NotDetectable(Need::Head);
const NOT_ENDED: Cell = Cell::Told(Code::SessionNotEnded);
const NEEDS_HEAD_OF_STREAM: Cell = Cell::NotDetectable(Need::HeadOfStream);

const ALWAYS_CHANGED: Cells = [CHANGED; 5];
const ALWAYS_UNSEALED: Cells = [UNSEALED; 5];
/// Where a head was noted, a seal has to be there that says it.
const UNSEALED_UNLESS_HEAD: Cells = [UNSEALED, UNSEALED, UNSEALED, UNSEALED, CHANGED];
/// A signature that is not good under the key it names.
const CHANGED_BY_KEY: Cells = [NEEDS_KEY, CHANGED, CHANGED, CHANGED, CHANGED];
/// A good signature of a key that is not the host's.
const UNVERIFIABLE_BY_KEY: Cells = [NEEDS_KEY, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE];

pub(super) fn rows() -> Vec<Row> {
    [without_the_key(), with_another_key(), of_something_else(), earlier_ones()].concat()
}

/// Rewritten as well as it can be by someone who cannot sign.
fn without_the_key() -> Vec<Row> {
    vec![
        Row::new("a line edited, inserted or deleted, every later link made to fit", relink).trace(ALWAYS_CHANGED),
        Row::new("rewritten, the seal made to fit, its signature left", rewrite_and_claim)
            .trace(CHANGED_BY_KEY)
            .eval(CHANGED_BY_KEY)
            .completion(CHANGED_BY_KEY)
            .conversation(CHANGED),
        Row::new("rewritten, its seal removed", rewrite_and_unseal)
            .trace(UNSEALED_UNLESS_HEAD)
            .eval(ALWAYS_UNSEALED)
            .completion(ALWAYS_UNSEALED),
        Row::new("rewritten where the trace's seal points at it, its seal removed", rewrite_pointed_and_unseal)
            .conversation(CHANGED),
        Row::new("rewritten behind what the trace's seal points at, its seal removed", rewrite_later_and_unseal)
            .conversation(UNSEALED),
        Row::new("every seal removed", unseal).record(UNSEALED_UNLESS_HEAD),
        Row::new("its seal removed", unseal)
            .trace(UNSEALED_UNLESS_HEAD)
            .eval(ALWAYS_UNSEALED)
            .completion(ALWAYS_UNSEALED)
            .conversation(UNSEALED),
        Row::new("every link and every seal removed, to look older than seals are", to_older).record([
            Cell::Told(Code::OlderRecord),
            UNVERIFIABLE,
            UNVERIFIABLE,
            UNVERIFIABLE,
            CHANGED,
        ]),
        Row::new("every link and its seal removed, to look older than seals are", to_older).trace([
            Cell::Told(Code::OlderRecord),
            UNVERIFIABLE,
            UNVERIFIABLE,
            UNVERIFIABLE,
            CHANGED,
        ]),
    ]
}

fn with_another_key() -> Vec<Row> {
    vec![
        Row::new("every stream sealed with another key, the content left", reseal).record(UNVERIFIABLE_BY_KEY),
        Row::new("sealed with another key, the content left", reseal)
            .trace(UNVERIFIABLE_BY_KEY)
            .eval(UNVERIFIABLE_BY_KEY)
            .completion(UNVERIFIABLE_BY_KEY)
            .conversation(UNVERIFIABLE),
        Row::new("rewritten and sealed with another key", rewrite_and_reseal)
            .trace([NEEDS_KEY, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE, CHANGED])
            .eval(UNVERIFIABLE_BY_KEY)
            .completion(UNVERIFIABLE_BY_KEY),
        Row::new(
            "rewritten where the trace's seal points at it, and sealed with another key",
            rewrite_pointed_and_reseal,
        )
        .conversation(CHANGED),
        Row::new(
            "rewritten behind what the trace's seal points at, and sealed with another key",
            rewrite_later_and_reseal,
        )
        .conversation(UNVERIFIABLE),
        Row::new("rewritten and sealed with another key that calls itself the host's", rewrite_and_impersonate)
            .trace(CHANGED_BY_KEY)
            .eval(CHANGED_BY_KEY)
            .completion(CHANGED_BY_KEY)
            .conversation(CHANGED),
    ]
}

/// Genuine, and of something else.
fn of_something_else() -> Vec<Row> {
    let changed = |about, apply| {
        let row = Row::new(about, apply).trace(ALWAYS_CHANGED).eval(ALWAYS_CHANGED).completion(ALWAYS_CHANGED);
        row.conversation(CHANGED)
    };
    vec![
        changed("the seal of another stream in its seal's place", seal_of_other_stream),
        changed("another stream and its seal in its place", pair_of_other_stream),
        changed("the seal of another session's stream in its seal's place", seal_of_other_session),
        // What a later session does to a conversation is no tampering, so this is not done to it.
        Row::new("the same content, sealed by the host for another session", sealed_for_other_session)
            .trace(ALWAYS_CHANGED)
            .eval(ALWAYS_CHANGED)
            .completion(ALWAYS_CHANGED),
        changed("another session's stream and its seal in its place", pair_of_other_session),
        // Nothing is wrong with that record but that it is not the one.
        Row::new("another session's whole record in its place", record_of_other_session).record([
            NEEDS_SESSION,
            NEEDS_SESSION,
            CHANGED,
            CHANGED,
            CHANGED,
        ]),
    ]
}

/// What the host itself sealed, earlier.
fn earlier_ones() -> Vec<Row> {
    vec![
        Row::new("an earlier seal of its own put back", earlier_seal)
            .trace(UNSEALED_UNLESS_HEAD)
            .eval(ALWAYS_UNSEALED)
            .completion(ALWAYS_CHANGED)
            .conversation(UNSEALED),
        Row::new("an earlier state put back with its seal", earlier_pair)
            .eval([NEEDS_HEAD_OF_STREAM; 5])
            .completion([NEEDS_HEAD_OF_STREAM; 5]),
        // A trace says itself whether its session ended.
        Row::new("a state from before the session's end put back with its seal", pair_before_the_end)
            .trace([NOT_ENDED, NOT_ENDED, NOT_ENDED, NOT_ENDED, CHANGED])
            .conversation(CHANGED),
        Row::new("a state from after the session's end put back with its seal", pair_after_the_end)
            .trace([NEEDS_HEAD, NEEDS_HEAD, NEEDS_HEAD, NEEDS_HEAD, CHANGED])
            .conversation(NEEDS_HEAD_OF_STREAM),
        Row::new(
            "every stream put back to a state from before the session's end, with its seal",
            record_before_the_end,
        )
        .record([NOT_ENDED, NOT_ENDED, NOT_ENDED, NOT_ENDED, CHANGED]),
        Row::new("every stream put back to a state from after the session's end, with its seal", record_after_the_end)
            .record([NEEDS_HEAD, NEEDS_HEAD, NEEDS_HEAD, NEEDS_HEAD, CHANGED]),
    ]
}

/// The trace with one line edited, inserted or deleted, and everything behind it linked anew.
fn relink(subject: Subject) -> Vec<Variant> {
    rewritten(subject)
}

/// Changes the lines of a stream at one of them. Of a trace, lines are given without their links.
type Rewrite = fn(&mut Vec<String>, usize);

const WAYS_TO_REWRITE: [(&str, Rewrite); 3] = [
    ("edited", |lines, at| {
        let end = lines[at].len() - 1;
        lines[at].insert_str(end, ",\"forged\":true");
    }),
    ("inserted", |lines, at| lines.insert(at, "{\"event_type\":\"forged\"}".into())),
    ("deleted", |lines, at| drop(lines.remove(at))),
];

/// What someone without a key can make of a stream, so that its bytes at least fit together.
fn rewritten(subject: Subject) -> Vec<Variant> {
    let count = lines(subject).len();
    let mut variants = Vec::new();
    for at in 0..count {
        for (what, edit) in WAYS_TO_REWRITE {
            // Without that line the trace itself would say that something is missing.
            if (subject, at + 1, what) == (Trace, SESSION_END, "deleted") {
                continue;
            }
            let tree = with_lines(subject, |lines| {
                let mut events: Vec<String> =
                    lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
                if subject == Trace {
                    events.iter_mut().for_each(|line| *line = without_link(line));
                }
                edit(&mut events, at);
                *lines = if subject == Trace { chained(&events) } else { events.into_iter().map(Into::into).collect() };
            });
            variants.push(Variant::new(format!("line {} {what}", at + 1), tree));
        }
    }
    variants
}

fn chained(events: &[String]) -> Vec<Vec<u8>> {
    let mut state = ChainState::new();
    let mut lines = Vec::new();
    for event in events {
        let line = link(event, &state.head(), None).unwrap_or_else(|error| panic!("{error}"));
        state.push_chained(line_hash(line.as_bytes()));
        lines.push(line.into_bytes());
    }
    lines
}

/// The rewritten streams, each with its seal made from the one that is there.
fn rewritten_with(subject: Subject, reseal: impl Fn(Seal, SealDraft) -> Option<Seal>) -> Vec<Variant> {
    rewritten(subject)
        .into_iter()
        .map(|Variant { at, mut tree }| {
            match reseal(seal(&tree, subject), claims(&tree, subject)) {
                Some(seal) => tree.file(&subject.seal_path(), seal.to_file()),
                None => drop(tree.remove(&subject.seal_path())),
            }
            Variant { at, tree }
        })
        .collect()
}

fn rewrite_and_claim(subject: Subject) -> Vec<Variant> {
    rewritten_with(subject, |seal, draft| Some(Seal { draft, ..seal }))
}

fn rewrite_and_unseal(subject: Subject) -> Vec<Variant> {
    rewritten_with(subject, |_, _| None)
}

fn rewrite_and_reseal(subject: Subject) -> Vec<Variant> {
    rewritten_with(subject, |_, draft| Some(forged(draft)))
}

/// The host's own seal of the trace holds the conversation's first lines, whatever becomes of the conversation's seal.
fn rewrite_pointed_and_unseal(subject: Subject) -> Vec<Variant> {
    pointed(rewrite_and_unseal(subject))
}

fn rewrite_later_and_unseal(subject: Subject) -> Vec<Variant> {
    later(rewrite_and_unseal(subject))
}

fn rewrite_pointed_and_reseal(subject: Subject) -> Vec<Variant> {
    pointed(rewrite_and_reseal(subject))
}

fn rewrite_later_and_reseal(subject: Subject) -> Vec<Variant> {
    later(rewrite_and_reseal(subject))
}

/// Of rewritten conversations, those in which one of the lines is that the trace's seal points at.
fn pointed(mut rewritten: Vec<Variant>) -> Vec<Variant> {
    rewritten.truncate(POINTED_LINES * WAYS_TO_REWRITE.len());
    rewritten
}

/// Of rewritten conversations, the others.
fn later(mut rewritten: Vec<Variant>) -> Vec<Variant> {
    rewritten.split_off(POINTED_LINES * WAYS_TO_REWRITE.len())
}

fn rewrite_and_impersonate(subject: Subject) -> Vec<Variant> {
    let host = host_key().public_key().key_id();
    rewritten_with(subject, |_, draft| Some(Seal { key_id: host, ..forged(draft) }))
}

/// A seal made with a key that is not the host's.
fn forged(draft: SealDraft) -> Seal {
    other_key().seal(draft).unwrap_or_else(|error| panic!("{error}"))
}

/// The streams that something done to `subject` is done to.
fn streams(subject: Subject) -> Vec<Subject> {
    if subject == Record { vec![Trace, Eval, Completion, Conversation] } else { vec![subject] }
}

fn reseal(subject: Subject) -> Vec<Variant> {
    let mut tree = UNTOUCHED.clone();
    for stream in streams(subject) {
        let seal = forged(claims(&tree, stream));
        tree.file(&stream.seal_path(), seal.to_file());
    }
    vec![Variant::new("as it is", tree)]
}

fn unseal(subject: Subject) -> Vec<Variant> {
    let mut tree = UNTOUCHED.clone();
    for stream in streams(subject) {
        tree.remove(&stream.seal_path());
    }
    vec![Variant::new("as it is", tree)]
}

fn to_older(subject: Subject) -> Vec<Variant> {
    let unlinked = |line: &Vec<u8>| without_link(&String::from_utf8_lossy(line)).into_bytes();
    let mut tree = with_lines(Trace, |lines| *lines = lines.iter().map(unlinked).collect());
    for stream in streams(subject) {
        tree.remove(&stream.seal_path());
    }
    vec![Variant::new("every line", tree)]
}

fn others(subject: Subject) -> impl Iterator<Item = Subject> {
    streams(Record).into_iter().filter(move |other| *other != subject)
}

fn seal_of_other_stream(subject: Subject) -> Vec<Variant> {
    others(subject).map(|other| with_seal(subject, &Pair::of(&UNTOUCHED, other).seal, other.as_str())).collect()
}

fn pair_of_other_stream(subject: Subject) -> Vec<Variant> {
    let put = |other: Subject| Variant::new(other.as_str(), Pair::of(&UNTOUCHED, other).put_in(subject));
    others(subject).map(put).collect()
}

fn seal_of_other_session(subject: Subject) -> Vec<Variant> {
    vec![with_seal(subject, &Pair::of_other_session(subject).seal, "as it is")]
}

fn sealed_for_other_session(subject: Subject) -> Vec<Variant> {
    vec![with_seal(subject, &sealed_for(OTHER_SESSION, &UNTOUCHED, subject), "as it is")]
}

fn pair_of_other_session(subject: Subject) -> Vec<Variant> {
    vec![Variant::new("as it is", Pair::of_other_session(subject).put_in(subject))]
}

fn record_of_other_session(_: Subject) -> Vec<Variant> {
    let mut tree = UNTOUCHED.clone();
    for stream in [Trace, Eval, Completion] {
        let Pair { stream: bytes, seal } = Pair::of(&OTHER_RECORD, stream);
        tree.file(&stream.path(), bytes);
        tree.file(&stream.seal_path(), seal);
    }
    vec![Variant::new("as it is", tree)]
}

fn earlier_seal(subject: Subject) -> Vec<Variant> {
    Pair::earlier(subject).into_iter().map(|(held, pair)| with_seal(subject, &pair.seal, &held)).collect()
}

fn earlier_pair(subject: Subject) -> Vec<Variant> {
    Pair::earlier(subject).into_iter().map(|(held, pair)| Variant::new(held, pair.put_in(subject))).collect()
}

/// The pairs that stood there when the session had not ended, and those since.
fn earlier_by_end(subject: Subject) -> (Vec<Variant>, Vec<Variant>) {
    let of_the_end = match subject {
        Trace => SESSION_END,
        Conversation => POINTED_LINES,
        Record | Eval | Completion => panic!("nothing in the {} says when the session ended", subject.as_str()),
    };
    earlier_pair(subject).into_iter().partition(|Variant { tree, .. }| claims(tree, subject).lines < of_the_end as u64)
}

fn pair_before_the_end(subject: Subject) -> Vec<Variant> {
    earlier_by_end(subject).0
}

fn pair_after_the_end(subject: Subject) -> Vec<Variant> {
    earlier_by_end(subject).1
}

/// The scores and the completion come last in a session, so that an earlier record lacks them.
fn record_before_the_end(_: Subject) -> Vec<Variant> {
    let mut earlier = pair_before_the_end(Trace);
    for Variant { tree, .. } in &mut earlier {
        for stream in [Eval, Completion] {
            tree.remove(&stream.path());
            tree.remove(&stream.seal_path());
        }
    }
    earlier
}

/// By then the scores and the completion were there.
fn record_after_the_end(_: Subject) -> Vec<Variant> {
    let (held, earlier) = Pair::earlier(Conversation).swap_remove(POINTED_LINES);
    pair_after_the_end(Trace)
        .into_iter()
        .map(|Variant { at, mut tree }| {
            tree.file(&Conversation.path(), earlier.stream.clone());
            tree.file(&Conversation.seal_path(), earlier.seal.clone());
            Variant::new(format!("the trace {at}, the conversation {held}"), tree)
        })
        .collect()
}

fn with_seal(subject: Subject, seal: &[u8], at: &str) -> Variant {
    let mut tree: Tree = UNTOUCHED.clone();
    tree.file(&subject.seal_path(), seal);
    Variant::new(at, tree)
}
