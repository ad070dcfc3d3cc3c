//! Seal files: any bytes are read or refused.

use mur_seal::{CHAIN_INLINE, CHAIN_LISTED, ChainKind, SEAL_ALGORITHM, SEAL_FORMAT, Seal};
use serde_json::Value;

/// What is read is written and read back the same, and is what a parser that builds the whole document reads.
pub fn seal_parse(input: &[u8]) {
    let Ok(seal) = Seal::parse(input) else { return };
    let file = seal.to_file();
    assert_eq!(Seal::parse(file.as_bytes()).as_ref(), Ok(&seal));
    assert_eq!(seal.draft.check(), Ok(()));

    // JSON is UTF-8, also where a member is unknown and its value is skipped.
    assert!(std::str::from_utf8(input).is_ok(), "read, and not UTF-8");
    // Of an unknown member, a number may be too large for that parser, and an escape may be half of a pair.
    let Ok(document) = serde_json::from_slice::<Value>(input) else { return };
    // Members that are left out read as null here too.
    let text = |name: &str| document[name].as_str().map(str::to_owned);
    let draft = &seal.draft;
    assert_eq!(text("format").as_deref(), Some(SEAL_FORMAT));
    assert_eq!(text("algorithm").as_deref(), Some(SEAL_ALGORITHM));
    assert_eq!(text("stream").as_ref(), Some(&draft.stream));
    assert_eq!(text("session_id").as_ref(), Some(&draft.session_id));
    let chain = match draft.chain {
        ChainKind::Inline => CHAIN_INLINE,
        ChainKind::Listed => CHAIN_LISTED,
    };
    assert_eq!(text("chain").as_deref(), Some(chain));
    assert_eq!(text("head"), Some(draft.head.to_string()));
    assert_eq!(text("key_id"), Some(seal.key_id.to_string()));
    assert_eq!(document["lines"].as_u64(), Some(draft.lines));
    assert_eq!(document["sealed_at"].as_u64(), Some(draft.sealed_at));
    assert_eq!(text("members_signature").is_some(), seal.members_signature.is_some());
    let hashes = document["line_hashes"].as_array().map(|hashes| hashes.iter().map(Value::as_str).collect::<Vec<_>>());
    let read = draft.line_hashes.as_ref().map(|hashes| hashes.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(hashes, read.as_ref().map(|hashes| hashes.iter().map(|hash| Some(hash.as_str())).collect()));
    assert_eq!(document["conversation"].is_object(), draft.conversation.is_some());
    if let Some(pointer) = &draft.conversation {
        let document = &document["conversation"];
        assert_eq!(document["record"].as_str(), Some(pointer.record.as_str()));
        assert_eq!(document["context_id"].as_str(), Some(pointer.context_id.as_str()));
        assert_eq!(document["lines"].as_u64(), Some(pointer.lines));
        assert_eq!(document["head"].as_str(), Some(pointer.head.to_string().as_str()));
        let names = [&pointer.record, &pointer.context_id];
        assert!(
            names.iter().all(|name| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']))
        );
    }
}
