//! Seals that cannot be read as one. Each reads changed, and none reads as if there were no seal.

use mur_seal::Verdict::{Changed, Verified};
use mur_seal::{EVAL_STREAM, SEAL_SUFFIX, TRACE_STREAM, line_hash};

use super::{CaseSpec, Expected, Stream, script, sealed_script};
use crate::record::in_record;
use crate::session::eval_lines;
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [not_json(), wrong_members(), second_spellings(), contradicting(), accepted()].into_iter().flatten().collect()
}

fn not_json() -> Vec<CaseSpec> {
    vec![
        refused("seal-empty", "a seal that is not JSON: empty", Vec::clear),
        refused("seal-cut", "a seal that is not JSON: half of one", |seal| seal.truncate(seal.len() / 2)),
        refused("seal-is-text", "a seal that is not JSON: text", |seal| *seal = b"sealed\n".to_vec()),
        refused("seal-is-binary", "a seal that is not JSON: bytes that are no text", |seal| {
            *seal = vec![0, 0xff, 0xfe, b'\n', 0x80];
        }),
        refused("seal-is-an-array", "a seal of a wrong type: its members' values in an array", |seal| {
            let values = [
                "\"murmur.seal/1\"",
                "\"trace.jsonl\"",
                "\"inline\"",
                "\"ses_1\"",
                "5",
                "null",
                "\"sha256:00\"",
                "0",
                "\"21fe31dfa154a261\"",
            ];
            *seal = format!("[{}]\n", values.join(",")).into_bytes();
        }),
        refused("two-seals-in-one-file", "a seal that is not JSON: two objects in one file", |seal| {
            seal.extend_from_within(..);
        }),
        refused("seal-after-a-byte-order-mark", "a seal that is not JSON: a byte order mark before it", |seal| {
            seal.splice(0..0, *b"\xef\xbb\xbf");
        }),
    ]
}

fn wrong_members() -> Vec<CaseSpec> {
    vec![
        edited("seal-without-signature", "a seal of a wrong type: no signature", |seal| cut_member(seal, "signature")),
        edited("seal-without-head", "a seal of a wrong type: no head", |seal| cut_member(seal, "head")),
        edited("seal-with-lines-as-text", "a seal of a wrong type: lines as a string", |seal| {
            seal.replace("\"lines\":5", "\"lines\":\"5\"")
        }),
        edited("seal-with-negative-lines", "a seal of a wrong type: lines below zero", |seal| {
            seal.replace("\"lines\":5", "\"lines\":-5")
        }),
        edited("seal-with-fractional-lines", "a seal of a wrong type: lines as a fraction", |seal| {
            seal.replace("\"lines\":5", "\"lines\":5.0")
        }),
        edited("seal-with-more-lines-than-can-be", "a seal of a wrong type: lines beyond 64 bits", |seal| {
            seal.replace("\"lines\":5", "\"lines\":18446744073709551616")
        }),
        edited("seal-with-null-stream", "null reads as left out, and a stream cannot be left out", |seal| {
            seal.replace("\"stream\":\"trace.jsonl\"", "\"stream\":null")
        }),
        edited("seal-with-an-unknown-chain", "a seal of a wrong type: a chain of no known kind", |seal| {
            seal.replace("\"chain\":\"inline\"", "\"chain\":\"woven\"")
        }),
        edited("seal-with-two-signatures", "duplicate members: signature", |seal| duplicate_member(seal, "signature")),
        edited("seal-with-two-heads", "duplicate members: head", |seal| duplicate_member(seal, "head")),
        edited("seal-with-two-members-signatures", "duplicate members: members_signature", |seal| {
            duplicate_member(seal, "members_signature")
        }),
        edited("seal-with-a-short-members-signature", "a seal of a wrong type: members_signature cut", |seal| {
            let (before, rest) = seal.split_once("\"members_signature\":\"").unwrap_or_default();
            format!("{before}\"members_signature\":\"{}", &rest[2..])
        }),
    ]
}

/// One value has one spelling: lowercase hexadecimal digits, so many of them.
fn second_spellings() -> Vec<CaseSpec> {
    vec![
        edited("seal-with-signature-in-upper-case", "upper case is malformed in a seal: the signature", |seal| {
            in_upper_case(seal, "\"signature\":\"")
        }),
        edited("seal-with-head-in-upper-case", "upper case is malformed in a seal: the head", |seal| {
            in_upper_case(seal, "\"head\":\"sha256:")
        }),
        edited("seal-with-key-id-in-upper-case", "upper case is malformed in a seal: the key id", |seal| {
            in_upper_case(seal, "\"key_id\":\"")
        }),
        edited(
            "seal-with-members-signature-in-upper-case",
            "upper case is malformed in a seal: members_signature",
            |seal| in_upper_case(seal, "\"members_signature\":\""),
        ),
        edited("seal-with-a-bare-head", "a hash in a seal has its prefix", |seal| {
            seal.replace("\"head\":\"sha256:", "\"head\":\"")
        }),
        edited("seal-with-a-short-signature", "a signature has 128 digits", |seal| {
            let (before, rest) = seal.split_once("\"signature\":\"").unwrap_or_default();
            format!("{before}\"signature\":\"{}", &rest[2..])
        }),
        eval_seal("eval-seal-with-a-hash-in-upper-case", "upper case is malformed in a seal: a line hash", |seal| {
            in_upper_case(seal, "\"line_hashes\":[\"sha256:")
        }),
    ]
}

fn contradicting() -> Vec<CaseSpec> {
    vec![
        eval_seal("eval-seal-with-too-few-hashes", "line_hashes are not as many as lines", |seal| {
            let (before, rest) = seal.split_once("\"line_hashes\":[").unwrap_or_default();
            let (_, rest) = rest.split_once(',').unwrap_or_default();
            format!("{before}\"line_hashes\":[{rest}")
        }),
        eval_seal("eval-seal-with-too-many-hashes", "line_hashes are not as many as lines", |seal| {
            seal.replace("\"line_hashes\":[", &format!("\"line_hashes\":[\"{}\",", line_hash(b"one more")))
        }),
        eval_seal("eval-seal-with-another-head", "the head of line_hashes is not head", |seal| {
            let (before, rest) = seal.split_once("\"head\":\"").unwrap_or_default();
            let (_, after) = rest.split_once('"').unwrap_or_default();
            format!("{before}\"head\":\"{}\"{after}", line_hash(b"another head"))
        }),
        eval_seal("eval-seal-with-hashes-exchanged", "the head of line_hashes is not head", |seal| {
            let (before, rest) = seal.split_once("\"line_hashes\":[").unwrap_or_default();
            let (hashes, after) = rest.split_once(']').unwrap_or_default();
            let mut hashes: Vec<&str> = hashes.split(',').collect();
            hashes.swap(0, 1);
            format!("{before}\"line_hashes\":[{}]{after}", hashes.join(","))
        }),
        eval_seal("eval-seal-without-hashes", "a listed seal lists hashes", |seal| {
            let (before, rest) = seal.split_once("\"line_hashes\":[").unwrap_or_default();
            let (_, after) = rest.split_once("],").unwrap_or_default();
            format!("{before}{after}")
        }),
        edited("seal-inline-with-hashes", "a seal of an inline chain lists no hashes", |seal| {
            seal.replace("\"lines\":5", &format!("\"lines\":5,\"line_hashes\":[\"{}\"]", line_hash(b"x")))
        }),
        edited("seal-of-no-lines-with-a-head", "the head of no lines is the genesis", |seal| {
            seal.replace("\"lines\":5", "\"lines\":0")
        }),
    ]
}

/// What is no fault of a seal.
fn accepted() -> Vec<CaseSpec> {
    let good = || Expected::with_good_trace(Verified);
    vec![
        CaseSpec::new(
            "seal-with-unknown-members",
            "unknown members are ignored, and null reads as left out",
            with_trace_seal(|seal| {
                replace_text(seal, |text| {
                    text.replace(
                        "\"lines\":5",
                        "\"lines\":5,\"line_hashes\":null,\"conversation\":null,\"note\":{\"head\":[1,2]}",
                    )
                })
            }),
            good(),
        ),
        CaseSpec::new(
            "seal-written-with-white-space",
            "a seal's members are what is signed, not its bytes",
            with_trace_seal(|seal| replace_text(seal, |text| text.replace(",\"", ",\r\n  \"").replace("\":", "\" : "))),
            good(),
        ),
    ]
}

/// A case of the script session whose trace's seal cannot be read.
fn refused(name: &str, row: &'static str, change: impl FnOnce(&mut Vec<u8>)) -> CaseSpec {
    let trace = Stream::is(Changed).lines(5).intact(5).says("the seal cannot be read as one");
    CaseSpec::new(name, row, with_trace_seal(change), Expected::only_trace(trace))
}

fn edited(name: &str, row: &'static str, change: impl FnOnce(&str) -> String) -> CaseSpec {
    refused(name, row, |seal| replace_text(seal, change))
}

/// A case of the script session whose scores' seal cannot be read.
fn eval_seal(name: &str, row: &'static str, change: impl FnOnce(&str) -> String) -> CaseSpec {
    let mut tree = script().seal_trace().eval(&eval_lines()).build();
    tree.edit(&in_record(&format!("{EVAL_STREAM}{SEAL_SUFFIX}")), |seal| replace_text(seal, change));
    let eval = Stream::is(Changed).lines(3).says("the seal cannot be read as one");
    CaseSpec::new(name, row, tree, Expected::with_good_trace(Changed).eval(eval))
}

fn with_trace_seal(change: impl FnOnce(&mut Vec<u8>)) -> Tree {
    let mut tree = sealed_script();
    tree.edit(&in_record(&format!("{TRACE_STREAM}{SEAL_SUFFIX}")), change);
    tree
}

fn replace_text(seal: &mut Vec<u8>, change: impl FnOnce(&str) -> String) {
    let text = String::from_utf8_lossy(seal).into_owned();
    let changed = change(&text);
    assert_ne!(text, changed, "the seal was to be changed");
    *seal = changed.into_bytes();
}

/// The member `name`, with a string as its value, and the comma before it.
fn member<'a>(seal: &'a str, name: &str) -> &'a str {
    let start = seal.find(&format!(",\"{name}\":\"")).unwrap_or_default();
    let value = start + name.len() + 5;
    let end = seal[value..].find('"').unwrap_or_default();
    &seal[start..=value + end]
}

fn cut_member(seal: &str, name: &str) -> String {
    seal.replace(member(seal, name), "")
}

fn duplicate_member(seal: &str, name: &str) -> String {
    let member = member(seal, name);
    seal.replace(member, &member.repeat(2))
}

/// The value that follows `start` in upper case.
fn in_upper_case(seal: &str, start: &str) -> String {
    let (before, rest) = seal.split_once(start).unwrap_or_default();
    let (value, after) = rest.split_once('"').unwrap_or_default();
    format!("{before}{start}{}\"{after}", value.to_uppercase())
}
