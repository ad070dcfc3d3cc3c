//! Listed streams with their seals.

use mur_seal::{
    COMPLETION_STREAM, ChainKind, EVAL_STREAM, LineHash, Lines, SealDraft, StreamVerifier, Verdict, line_hash,
    listed_head,
};

use crate::input::{Input, SESSION, expectation, host, lines};
use crate::report::holds;

/// Any bytes get one report, however they are cut into blocks. Whole lines are verified once their host seals them.
pub fn verify_listed(input: &[u8]) {
    let Some(input) = Input::read(input) else { return };
    let (stream, counted) =
        if input.flag() { (COMPLETION_STREAM, Lines::WholeFile) } else { (EVAL_STREAM, Lines::Complete) };
    let sealed = input.is_to_be_sealed().then(|| seal_of(stream, counted, input.stream));
    let seal = sealed.as_deref().or(input.seal);
    let expectation = expectation(stream);

    let at_once = mur_seal::verify_listed(&expectation, input.stream, counted, seal);
    let mut in_blocks = StreamVerifier::listed(counted, seal);
    input.stream.chunks(input.size).for_each(|block| in_blocks.update(block));
    assert_eq!(in_blocks.finish(&expectation), at_once);

    holds(&at_once, Some(counted), seal, input.stream);
    if sealed.is_some() {
        let (_, torn) = lines(input.stream);
        let whole = counted == Lines::WholeFile || torn.is_empty();
        assert_eq!(at_once.verdict, if whole { Verdict::Verified } else { Verdict::Unsealed }, "{at_once:?}");
    }
}

/// What the host would seal this stream with.
pub(crate) fn seal_of(stream: &str, counted: Lines, bytes: &[u8]) -> Vec<u8> {
    let hashes: Vec<LineHash> = match counted {
        Lines::Complete => lines(bytes).0.iter().map(|line| line_hash(line)).collect(),
        Lines::WholeFile => vec![line_hash(bytes)],
    };
    let draft = SealDraft {
        stream: stream.into(),
        chain: ChainKind::Listed,
        session_id: SESSION.into(),
        lines: hashes.len() as u64,
        head: listed_head(&hashes),
        line_hashes: Some(hashes),
        sealed_at: 0,
        conversation: None,
    };
    host().seal(draft).unwrap_or_else(|error| panic!("{error}")).to_file().into()
}
