//! Traces with their seals.

use mur_seal::{
    ChainKind, Code, LineHash, SealDraft, StreamVerifier, TAMPERED_EVENT, TRACE_STREAM, Verdict, line_hash,
};

use crate::input::{Input, SESSION, expectation, host, lines};
use crate::report::{has, holds};

/// Any bytes get one report, however they are cut into blocks. A trace that a slow reader finds chained is verified once
/// its host seals it, and what is verified is chained.
pub fn verify_inline(input: &[u8]) {
    let Some(input) = Input::read(input) else { return };
    let sealed = input.is_to_be_sealed().then(|| seal_of(input.stream));
    let seal = sealed.as_deref().or(input.seal);
    let expectation = expectation(TRACE_STREAM);

    let at_once = mur_seal::verify_inline(&expectation, input.stream, seal);
    let mut in_blocks = StreamVerifier::inline(seal);
    input.stream.chunks(input.size).for_each(|block| in_blocks.update(block));
    assert_eq!(in_blocks.finish(&expectation), at_once);

    holds(&at_once, None, seal, input.stream);
    let chained = is_chained(input.stream);
    if chained && sealed.is_some() && !has(&at_once, Code::RewriteReported) {
        assert_eq!(at_once.verdict, Verdict::Verified, "{at_once:?}");
    }
    if at_once.verdict == Verdict::Verified {
        let noted = has(&at_once, Code::LinesUnlinked) || has(&at_once, Code::GenesisForeign);
        assert!(chained || noted, "{at_once:?}");
        assert!(!reports_tampering(input.stream), "{at_once:?}");
    }
}

/// What the host would seal this trace with.
fn seal_of(trace: &[u8]) -> Vec<u8> {
    let (lines, _) = lines(trace);
    let draft = SealDraft {
        stream: TRACE_STREAM.into(),
        chain: ChainKind::Inline,
        session_id: SESSION.into(),
        lines: lines.len() as u64,
        line_hashes: None,
        head: lines.last().map_or(LineHash::GENESIS, |line| line_hash(line)),
        sealed_at: 0,
        conversation: None,
    };
    host().seal(draft).unwrap_or_else(|error| panic!("{error}")).to_file().into()
}

/// Whether every line is whole, and its last member names the line before it.
fn is_chained(trace: &[u8]) -> bool {
    let (lines, torn) = lines(trace);
    let mut before = LineHash::GENESIS;
    let names = |line: &[u8], before: LineHash| {
        let link = format!("\"prev_hash\":\"{before}\"}}");
        // What stands before the link is the object's beginning, or its other members; a gap_hash has no place there.
        line.strip_suffix(link.as_bytes()).is_some_and(|rest| {
            matches!(rest.last(), Some(b'{' | b',')) && !String::from_utf8_lossy(rest).contains("\"gap_hash\":\"")
        })
    };
    let chained = lines.iter().all(|line| names(line, std::mem::replace(&mut before, line_hash(line))));
    chained && torn.is_empty()
}

/// Whether a line is the host's own report that it found the file rewritten.
fn reports_tampering(trace: &[u8]) -> bool {
    let beginning = format!("{{\"event_type\":\"{TAMPERED_EVENT}\"");
    lines(trace).0.iter().any(|line| line.starts_with(beginning.as_bytes()))
}
