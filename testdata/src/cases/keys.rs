//! No key, other keys, several keys, and signatures that are not good.

use mur_seal::Verdict::{Changed, Unsealed, Unverifiable, Verified};
use mur_seal::{Seal, SealDraft, TRACE_STREAM};

use super::golden::every_stream;
use super::{CaseSpec, Expected, Stream, replace, script, sealed_script};
use crate::fixed::{HOST_PUBLIC_KEY, OTHER_PUBLIC_KEY, OTHER_SESSION, SEALED_AT_MS, host_key, other_key};
use crate::record::{RecordBuilder, in_record};
use crate::session::{completion, script_events};
use crate::tree::Tree;

pub(super) fn cases() -> Vec<CaseSpec> {
    [no_key(), other_keys(), several_keys(), bad_signatures(), members()].into_iter().flatten().collect()
}

const NOT_AUTHENTICATED: &str = "not authenticated";

fn no_key() -> Vec<CaseSpec> {
    vec![
        CaseSpec::new(
            "no-key",
            "no key, and nothing worse: unverifiable",
            sealed_script(),
            Expected::only_trace(Stream::is(Unverifiable).lines(5).sealed(5).intact(5).says("no public key was given")),
        )
        .with_keys([]),
        CaseSpec::new(
            "no-key-and-lines-beyond-the-seal",
            "no key, and something worse: unsealed",
            lines_beyond(),
            Expected::only_trace(Stream::is(Unsealed).lines(5).sealed(3).intact(5)),
        )
        .with_keys([]),
        CaseSpec::new(
            "no-key-and-the-last-line-edited",
            "a seal that is not authenticated contradicts the bytes: changed, and the detail says so",
            last_line_edited(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(5).says(NOT_AUTHENTICATED)),
        )
        .with_keys([]),
        CaseSpec::new(
            "no-key-and-another-session",
            "a seal that is not authenticated contradicts the session: changed, and the detail says so",
            sealed_script(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).intact(5).says(NOT_AUTHENTICATED))
                .session(Some(OTHER_SESSION)),
        )
        .with_keys([])
        .for_session(OTHER_SESSION),
        CaseSpec::new(
            "no-key-and-no-seal",
            "no key and no seal: unsealed",
            script().build(),
            Expected::only_trace(Stream::is(Unsealed).lines(5).intact(5)),
        )
        .with_keys([]),
    ]
}

fn other_keys() -> Vec<CaseSpec> {
    // What must not be said of a record that is merely sealed by another key.
    let accusing: &'static [&'static str] = &["tampered", "altered", "changed"];
    let not_ours = |record: Stream| record.says("sealed by key 21fe31dfa154a261, not by the key given");
    let sealed_by_other = || Stream::is(Unverifiable).lines(5).sealed(5).intact(5);
    vec![
        CaseSpec::new(
            "checked-with-another-key",
            "key_id names a key that was not given, and nothing worse: unverifiable",
            sealed_script(),
            Expected::only_trace(not_ours(sealed_by_other())).never_says(accusing),
        )
        .with_keys([OTHER_PUBLIC_KEY]),
        CaseSpec::new(
            "checked-with-another-key-and-lines-beyond-the-seal",
            "key_id names a key that was not given, and something worse: unsealed",
            lines_beyond(),
            Expected::only_trace(Stream::is(Unsealed).lines(5).sealed(3).intact(5)),
        )
        .with_keys([OTHER_PUBLIC_KEY]),
        CaseSpec::new(
            "checked-with-another-key-and-the-last-line-edited",
            "a seal that is not authenticated contradicts the bytes: changed, and the detail says so",
            last_line_edited(),
            Expected::only_trace(Stream::is(Changed).lines(5).sealed(5).bad(5).says(NOT_AUTHENTICATED)),
        )
        .with_keys([OTHER_PUBLIC_KEY]),
        CaseSpec::new(
            "resealed-with-another-key",
            "rewritten and sealed with another key, whose public half lies beside it: that key is ignored",
            {
                let mut events = script_events();
                events[2] = events[2].replace("\"status\":\"ok\"", "\"status\":\"no\"");
                RecordBuilder::new()
                    .sealing_with(other_key())
                    .events(&events)
                    .seal_trace()
                    .completion(&completion())
                    .with_file("record-seal.pub", other_key().public_key().to_hex() + "\n")
                    .build()
            },
            Expected::record(Unverifiable)
                .trace(sealed_by_other().says("not by the key given"))
                .completion(Stream::is(Unverifiable).lines(1).sealed(1).intact(1).says("not by the key given")),
        ),
        CaseSpec::new(
            "one-stream-sealed-with-another-key",
            "the worst verdict of the streams is the record's",
            script().seal_trace().sealing_with(other_key()).completion(&completion()).build(),
            Expected::with_good_trace(Unverifiable).completion(Stream::is(Unverifiable).lines(1).sealed(1).intact(1)),
        ),
    ]
}

fn several_keys() -> Vec<CaseSpec> {
    let hex = host_key().public_key().to_hex();
    vec![
        CaseSpec::new(
            "two-keys",
            "of several keys, the one that the seal names decides",
            sealed_script(),
            Expected::with_good_trace(Verified),
        )
        .with_keys([OTHER_PUBLIC_KEY, HOST_PUBLIC_KEY]),
        CaseSpec::new(
            "two-keys-two-hosts",
            "streams sealed by different hosts, the keys of both given",
            script().seal_trace().sealing_with(other_key()).completion(&completion()).build(),
            Expected::with_good_trace(Verified)
                .completion(Stream::is(Verified).lines(1).sealed(1).intact(1).says("and trace.jsonl by key")),
        )
        .with_keys([HOST_PUBLIC_KEY, OTHER_PUBLIC_KEY]),
        CaseSpec::new(
            "key-as-text",
            "a key given as its 64 digits, of either case, has no path",
            every_stream(),
            Expected::with_good_trace(Verified)
                .eval(Stream::is(Verified).lines(3).sealed(3).intact(3))
                .completion(Stream::is(Verified).lines(1).sealed(1).intact(1))
                .conversation(Stream::is(Verified).lines(4).sealed(4).intact(4)),
        )
        .with_keys([&hex.to_uppercase()])
        .with_conversations(),
    ]
}

fn bad_signatures() -> Vec<CaseSpec> {
    let bad = || Stream::is(Changed).lines(5).sealed(5).intact(5).says("signature is not good");
    vec![
        CaseSpec::new(
            "signature-of-another-key",
            "key_id names a given key, and the signature is another's",
            {
                let record = script().sealing_with(other_key());
                let seal = record.sign(record.trace_draft());
                let claimed = Seal { key_id: host_key().key_id(), ..seal };
                record.with_file("trace.jsonl.seal", claimed.to_file()).build()
            },
            Expected::only_trace(bad()),
        ),
        CaseSpec::new(
            "signature-of-another-seal",
            "key_id names a given key, and the signature is one it made of fewer lines",
            {
                let shorter = RecordBuilder::new().events(&script_events()[..3]);
                let signature = shorter.sign(shorter.trace_draft()).signature;
                let record = script();
                let seal = Seal { signature, ..record.sign(record.trace_draft()) };
                record.with_file("trace.jsonl.seal", seal.to_file()).build()
            },
            Expected::only_trace(bad()),
        ),
        CaseSpec::new(
            "signature-of-zeros",
            "key_id names a given key, and the signature is none",
            {
                let record = script();
                let seal = Seal { signature: [0; 64], ..record.sign(record.trace_draft()) };
                record.with_file("trace.jsonl.seal", seal.to_file()).build()
            },
            Expected::only_trace(bad()),
        ),
        CaseSpec::new(
            "signature-and-members-signature-exchanged",
            "the two signatures are not each other's",
            {
                let record = script();
                let seal = record.sign(record.trace_draft());
                let exchanged = Seal {
                    signature: seal.members_signature.unwrap_or(seal.signature),
                    members_signature: Some(seal.signature),
                    ..seal
                };
                record.with_file("trace.jsonl.seal", exchanged.to_file()).build()
            },
            Expected::only_trace(bad()),
        ),
        CaseSpec::new(
            "key-id-replaced",
            "key_id is not signed: replaced by a key's that was not given, it reads as sealed by that key",
            {
                let mut tree = sealed_script();
                replace(&mut tree, &in_record("trace.jsonl.seal"), "21fe31dfa154a261", "21fe31dfa154a262");
                tree
            },
            Expected::only_trace(Stream::is(Unverifiable).lines(5).sealed(5).intact(5).says("21fe31dfa154a262")),
        ),
    ]
}

/// The members that the signature of `murmur.seal/1` does not cover.
fn members() -> Vec<CaseSpec> {
    let wrong = || Stream::is(Changed).lines(5).sealed(5).intact(5).says("not what was signed");
    let edited = |old: &str, new: &str| {
        let mut tree = sealed_script();
        replace(&mut tree, &in_record("trace.jsonl.seal"), old, new);
        tree
    };
    vec![
        CaseSpec::new(
            "members-signature-absent",
            "members_signature absent: a note that the members it covers are not authenticated",
            {
                let record = script();
                let seal = Seal { members_signature: None, ..record.sign(record.trace_draft()) };
                record.with_file("trace.jsonl.seal", seal.to_file()).build()
            },
            Expected::only_trace(
                Stream::is(Verified)
                    .lines(5)
                    .sealed(5)
                    .intact(5)
                    .says("not authenticated: it has no members_signature"),
            ),
        ),
        CaseSpec::new(
            "sealed-at-edited",
            "members_signature present and wrong: the time was changed",
            edited(&format!("\"sealed_at\":{SEALED_AT_MS}"), &format!("\"sealed_at\":{}", SEALED_AT_MS + 1)),
            Expected::only_trace(wrong()),
        ),
        CaseSpec::new(
            "members-signature-of-another-seal",
            "members_signature is bound to the signature beside it",
            {
                let earlier = script();
                let draft = SealDraft { sealed_at: SEALED_AT_MS - 1, ..earlier.trace_draft() };
                let members_signature = earlier.sign(draft).members_signature;
                let record = script();
                let seal = Seal { members_signature, ..record.sign(record.trace_draft()) };
                record.with_file("trace.jsonl.seal", seal.to_file()).build()
            },
            Expected::only_trace(wrong()),
        ),
        CaseSpec::new(
            "conversation-put-into-a-seal",
            "members_signature present and wrong: a conversation was added",
            edited(
                ",\"members_signature\"",
                ",\"conversation\":{\"record\":\"a\",\"context_id\":\"b\",\"lines\":0,\"head\":\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"},\"members_signature\"",
            ),
            Expected::only_trace(wrong()).another_conversation("conversation:a/b", Stream::absent()),
        ),
        CaseSpec::new(
            "conversation-cut-from-a-seal",
            "members_signature present and wrong: the conversation was taken away",
            {
                let mut tree = every_stream();
                tree.edit(&in_record("trace.jsonl.seal"), |seal| {
                    let text = String::from_utf8_lossy(seal).into_owned();
                    let (before, rest) = text.split_once(",\"conversation\":{").unwrap_or_default();
                    let (_, after) = rest.split_once('}').unwrap_or_default();
                    *seal = format!("{before}{after}").into_bytes();
                });
                tree
            },
            Expected::only_trace(wrong())
                .eval(Stream::is(Verified).lines(3).sealed(3).intact(3))
                .completion(Stream::is(Verified).lines(1).sealed(1).intact(1)),
        )
        .with_conversations(),
    ]
}

fn lines_beyond() -> Tree {
    let events = script_events();
    RecordBuilder::new().events(&events[..3]).seal_trace().events(&events[3..]).build()
}

fn last_line_edited() -> Tree {
    let mut tree = sealed_script();
    replace(&mut tree, &in_record(TRACE_STREAM), "\"total_turns\":0", "\"total_turns\":1");
    tree
}
