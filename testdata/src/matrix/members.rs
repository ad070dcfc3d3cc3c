//! Rows about what stands in a seal: each member changed, removed, doubled, added.
//!
//! A seal is taken apart as text, so that whatever can be written down can be tried. Signatures are left as they are: who
//! has no key can do no more.

use mur_seal::{CLI_SEALER, Code, ConversationPointer, GENESIS, LineHash, Verdict};

use super::cell::{Cell, Cells, Need};
use super::material::{POINTED_LINES, UNTOUCHED, pointer_at};
use super::{Row, Subject, Variant};
use crate::fixed::other_key;

use Subject::{Completion, Conversation, Eval, Trace};

const CHANGED: Cell = Cell::Reads(Verdict::Changed);
const UNVERIFIABLE: Cell = Cell::Reads(Verdict::Unverifiable);
const NEEDS_KEY: Cell = Cell::NotDetectable(Need::Key);
const ALWAYS_CHANGED: Cells = [CHANGED; 5];
/// The signatures cover it, and nothing else does.
const CHANGED_BY_KEY: Cells = [NEEDS_KEY, CHANGED, CHANGED, CHANGED, CHANGED];

pub(super) fn rows() -> Vec<Row> {
    [changed(), unauthenticated(), others()].concat()
}

/// A row for every stream.
fn everywhere(about: &'static str, apply: fn(Subject) -> Vec<Variant>, cells: Cells) -> Row {
    let [_, with_key, ..] = cells;
    Row::new(about, apply).on(&[Trace, Eval, Completion], cells).conversation(with_key)
}

fn listed(about: &'static str, apply: fn(Subject) -> Vec<Variant>, cells: Cells) -> Row {
    let [_, with_key, ..] = cells;
    Row::new(about, apply).on(&[Eval, Completion], cells).conversation(with_key)
}

fn changed() -> Vec<Row> {
    let of_the_future = |about, apply, code| {
        let cells = [Cell::Told(code), UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE];
        // A seal that cannot be read does not say that the head is the one that was noted.
        let with_head = [Cell::Told(code), UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE, CHANGED];
        listed(about, apply, cells).trace(with_head)
    };
    vec![
        of_the_future("`format` changed", |of| set(of, "format", &["\"murmur.seal/2\"", "\"\""]), Code::FormatUnknown),
        everywhere("`stream` changed", stream, ALWAYS_CHANGED),
        everywhere(
            "`chain` changed",
            |of| set(of, "chain", &[if of == Trace { "\"listed\"" } else { "\"inline\"" }, "\"\""]),
            ALWAYS_CHANGED,
        ),
        everywhere("`session_id` changed", |of| set(of, "session_id", &[&quoted(CLI_SEALER), "\"\""]), ALWAYS_CHANGED),
        everywhere("`lines` changed", lines, ALWAYS_CHANGED),
        listed("`line_hashes` changed", line_hashes, ALWAYS_CHANGED),
        everywhere("`head` changed", |of| set(of, "head", &[&quoted(GENESIS)]), ALWAYS_CHANGED),
        everywhere(
            "`sealed_at` changed",
            |of| set(of, "sealed_at", &["0", "1764547261001", "18446744073709551615"]),
            CHANGED_BY_KEY,
        ),
        everywhere("`key_id` changed", key_id, [NEEDS_KEY, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE, UNVERIFIABLE]),
        of_the_future(
            "`algorithm` changed",
            |of| set(of, "algorithm", &["\"ed448\"", "\"Ed25519\""]),
            Code::AlgorithmUnknown,
        ),
        everywhere("`signature` changed", |of| digits(of, "signature"), CHANGED_BY_KEY),
        everywhere("`members_signature` changed", |of| digits(of, "members_signature"), CHANGED_BY_KEY),
        Row::new("`conversation` changed", conversation).trace(CHANGED_BY_KEY),
        Row::new("`conversation` removed", |of| removed(of, &["conversation"])).trace(CHANGED_BY_KEY),
        Row::new("`conversation` made to leave its directory", escaping).trace(ALWAYS_CHANGED),
        listed("`conversation` added", |of| added(of, &format!("\"conversation\":{}", pointer(1))), CHANGED_BY_KEY),
    ]
}

/// Without `members_signature` a seal is one of another writer: what it covered is told to be unauthenticated.
fn unauthenticated() -> Vec<Row> {
    let noted = Cell::Told(Code::MembersUnsigned);
    let cells = [NEEDS_KEY, noted, noted, noted, noted];
    vec![
        everywhere(
            "`members_signature` removed",
            |of| [removed(of, &["members_signature"]), set(of, "members_signature", &["null"])].concat(),
            cells,
        ),
        everywhere(
            "`members_signature` removed, `sealed_at` changed",
            |of| and(of, &["members_signature"], "sealed_at", "0"),
            cells,
        ),
        Row::new("`members_signature` removed, `conversation` removed", |of| {
            removed(of, &["members_signature", "conversation"])
        })
        .trace(cells),
        Row::new("`members_signature` removed, `conversation` pointed at fewer lines", |of| {
            and(of, &["members_signature"], "conversation", &pointer(1))
        })
        .trace(cells),
        // What it points at then is not there as it says.
        Row::new("`members_signature` removed, `conversation` pointed at other lines", |of| {
            and(of, &["members_signature"], "conversation", &pointer(1).replace("\"lines\":1", "\"lines\":2"))
        })
        .trace([NEEDS_KEY, noted, noted, CHANGED, CHANGED]),
    ]
}

fn others() -> Vec<Row> {
    vec![
        everywhere(
            "a member removed that every seal has",
            |of| each(of, REQUIRED, |members, at| drop(members.remove(at))),
            ALWAYS_CHANGED,
        ),
        listed("`line_hashes` removed", |of| removed(of, &["line_hashes"]), ALWAYS_CHANGED),
        Row::new("`line_hashes` added", |of| added(of, "\"line_hashes\":[]")).trace(ALWAYS_CHANGED),
        everywhere("a member doubled", doubled, ALWAYS_CHANGED),
        everywhere("a member of another type", |of| each(of, ALL, retyped), ALWAYS_CHANGED),
        everywhere("an unknown member added", |of| added(of, "\"approved_by\":\"the auditor\""), [Cell::AsBefore; 5]),
        everywhere("its members in another order", reordered, [Cell::AsBefore; 5]),
    ]
}

const ALL: &[&str] = &[
    "format",
    "stream",
    "chain",
    "session_id",
    "lines",
    "line_hashes",
    "head",
    "sealed_at",
    "key_id",
    "algorithm",
    "signature",
    "conversation",
    "members_signature",
];
const REQUIRED: &[&str] =
    &["format", "stream", "chain", "session_id", "lines", "head", "sealed_at", "key_id", "algorithm", "signature"];

/// A seal's members in their order: each name and its value, as written.
pub(super) type Members = Vec<(String, String)>;

/// The members of a stream's seal in the untouched record.
pub(super) fn members(subject: Subject) -> Members {
    let text = String::from_utf8_lossy(UNTOUCHED.bytes(&subject.seal_path())).into_owned();
    let inside = text.trim_end().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    top_level(inside)
        .map(|member| {
            let (name, value) = member.split_once(':').unwrap_or_else(|| panic!("no member: {member}"));
            (name.trim_matches('"').to_owned(), value.to_owned())
        })
        .collect()
}

/// Splits at the commas that stand in no brackets. Names and values of a seal made here hold none of either.
fn top_level(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The untouched record with a stream's seal made of these members.
fn written(subject: Subject, at: impl Into<String>, members: &Members) -> Variant {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    with_seal_text(subject, at, format!("{{{}}}\n", members.join(",")))
}

/// The untouched record with this text as a stream's seal.
pub(super) fn with_seal_text(subject: Subject, at: impl Into<String>, text: impl Into<Vec<u8>>) -> Variant {
    let mut tree = UNTOUCHED.clone();
    tree.file(&subject.seal_path(), text);
    Variant::new(at, tree)
}

fn position(members: &Members, name: &str) -> usize {
    members.iter().position(|(known, _)| known == name).unwrap_or_else(|| panic!("no member {name}"))
}

/// One variant a value.
fn set(subject: Subject, name: &str, values: &[&str]) -> Vec<Variant> {
    let set = |value: &&str| {
        let mut members = members(subject);
        let at = position(&members, name);
        members[at].1 = (*value).into();
        written(subject, *value, &members)
    };
    values.iter().map(set).collect()
}

fn removed(subject: Subject, names: &[&str]) -> Vec<Variant> {
    let mut members = members(subject);
    members.retain(|(name, _)| !names.contains(&name.as_str()));
    vec![written(subject, "removed", &members)]
}

/// Some members removed, and another one changed.
fn and(subject: Subject, without: &[&str], name: &str, value: &str) -> Vec<Variant> {
    let mut members = members(subject);
    members.retain(|(name, _)| !without.contains(&name.as_str()));
    let at = position(&members, name);
    members[at].1 = value.into();
    vec![written(subject, value, &members)]
}

fn added(subject: Subject, member: &str) -> Vec<Variant> {
    let (name, value) = member.split_once(':').unwrap_or_default();
    let added = (name.trim_matches('"').to_owned(), value.to_owned());
    let mut last = members(subject);
    let mut first = last.clone();
    first.insert(0, added.clone());
    last.push(added);
    vec![written(subject, "before the others", &first), written(subject, "behind the others", &last)]
}

/// One variant for each of these members that the seal has: `change` is given the members and the index of that one.
fn each(subject: Subject, names: &[&str], change: impl Fn(&mut Members, usize)) -> Vec<Variant> {
    let known = members(subject);
    let present = known.iter().enumerate().filter(|(_, (name, _))| names.contains(&name.as_str()));
    present
        .map(|(at, (name, _))| {
            let mut members = known.clone();
            change(&mut members, at);
            written(subject, format!("`{name}`"), &members)
        })
        .collect()
}

fn stream(subject: Subject) -> Vec<Variant> {
    let others = [Trace, Eval, Completion, Conversation].into_iter().filter(|other| *other != subject);
    let names: Vec<String> = others
        .map(|other| {
            let members = members(other);
            members[position(&members, "stream")].1.clone()
        })
        .collect();
    set(subject, "stream", &names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn lines(subject: Subject) -> Vec<Variant> {
    let members = members(subject);
    let lines: u64 = members[position(&members, "lines")].1.parse().unwrap_or_else(|error| panic!("{error}"));
    let others = ["0".to_owned(), (lines - 1).to_string(), (lines + 1).to_string(), u64::MAX.to_string()];
    // Of one line, one less is none.
    let skipped = usize::from(lines == 1);
    set(subject, "lines", &others.iter().skip(skipped).map(String::as_str).collect::<Vec<_>>())
}

/// One hash changed, removed, doubled; the hashes in another order. The head is left, so it is not theirs.
fn line_hashes(subject: Subject) -> Vec<Variant> {
    let members = members(subject);
    let value = &members[position(&members, "line_hashes")].1;
    let hashes: Vec<&str> = value.trim_matches(['[', ']']).split(',').collect();
    let genesis = quoted(GENESIS);
    let mut lists = Vec::new();
    for at in 0..hashes.len() {
        let mut edited = hashes.clone();
        edited[at] = &genesis;
        let mut shorter = hashes.clone();
        shorter.remove(at);
        let mut longer = hashes.clone();
        longer.insert(at, hashes[at]);
        lists.extend([edited, shorter, longer]);
        if at > 0 {
            let mut swapped = hashes.clone();
            swapped.swap(at - 1, at);
            lists.push(swapped);
        }
    }
    let lists: Vec<String> = lists.iter().map(|list| format!("[{}]", list.join(","))).collect();
    set(subject, "line_hashes", &lists.iter().map(String::as_str).collect::<Vec<_>>())
}

fn key_id(subject: Subject) -> Vec<Variant> {
    let other = other_key().public_key().key_id().to_string();
    set(subject, "key_id", &[&quoted(&other), "\"0000000000000000\""])
}

/// Another digit in the first and the last place, and in some between: in both halves of a signature.
fn digits(subject: Subject, name: &str) -> Vec<Variant> {
    let members = members(subject);
    let value = members[position(&members, name)].1.clone().into_bytes();
    let with_digit = |at: &usize| {
        let mut value = value.clone();
        value[*at] = if value[*at] == b'0' { b'1' } else { b'0' };
        String::from_utf8_lossy(&value).into_owned()
    };
    // The digits stand in quotes.
    let values: Vec<String> = [1, 2, 32, 64, 65, 66, 96, 127, 128].iter().map(with_digit).collect();
    set(subject, name, &values.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A pointer as it stands in a seal.
fn pointer(lines: usize) -> String {
    json(&pointer_at(lines))
}

fn json(pointer: &ConversationPointer) -> String {
    serde_json::to_string(pointer).unwrap_or_else(|error| panic!("{error}"))
}

fn conversation(subject: Subject) -> Vec<Variant> {
    let genuine = pointer(POINTED_LINES);
    let mut other_head = pointer_at(POINTED_LINES);
    other_head.head = LineHash::GENESIS;
    let values = [
        pointer(0),
        pointer(1),
        pointer(POINTED_LINES + 1),
        genuine.replace("\"reviewer\"", "\"writer\""),
        genuine.replace("\"ctx_", "\"ctx_0"),
        genuine.replace("\"lines\":2", "\"lines\":1"),
        json(&other_head),
    ];
    set(subject, "conversation", &values.iter().map(String::as_str).collect::<Vec<_>>())
}

fn escaping(subject: Subject) -> Vec<Variant> {
    let genuine = pointer(POINTED_LINES);
    let values = ["..", "../..", "a/b", "", ".hidden", "ctx\\n"].map(|name| genuine.replace("reviewer", name));
    set(subject, "conversation", &values.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Every member twice, with the same value and with none.
fn doubled(subject: Subject) -> Vec<Variant> {
    let again = each(subject, ALL, |members, at| members.push(members[at].clone()));
    let with_null = each(subject, ALL, |members, at| members.push((members[at].0.clone(), "null".into())));
    again.into_iter().chain(with_null).collect()
}

fn retyped(members: &mut Members, at: usize) {
    let value = &mut members[at].1;
    *value = if value.starts_with('"') { "1".into() } else { "\"1\"".into() };
}

fn reordered(subject: Subject) -> Vec<Variant> {
    let mut reversed = members(subject);
    reversed.reverse();
    let mut turned = members(subject);
    turned.rotate_left(1);
    vec![written(subject, "reversed", &reversed), written(subject, "the first one last", &turned)]
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
