//! No record with a bit changed reads verified: each byte and each of its eight bits, of every stream and every seal.
//!
//! The one exception is the member name `members_signature` of a seal. Without it the seal is one of another writer, and
//! its time, chain and conversation are noted as not authenticated.

use std::convert::Infallible;

use mur_seal::{
    COMPLETION_STREAM, CONVERSATIONS_DIR, EVAL_STREAM, Expectation, Lines, PublicKey, RecordExpectation, RecordReport,
    SEAL_SUFFIX, StreamReport, TRACE_STREAM, Verdict, conversation_stream, verify_inline, verify_listed, verify_record,
};
use mur_testdata::{
    CONVERSATION_CONTEXT, CONVERSATION_RECORD, RECORD_DIR, SESSION, Tree, case, conversation_path, host_key, in_record,
};

/// One stream of the golden record that holds every kind of stream.
struct Stream {
    name: String,
    lines: Option<Lines>,
    session: Option<&'static str>,
    bytes: Vec<u8>,
    seal: Vec<u8>,
    keys: [PublicKey; 1],
}

impl Stream {
    fn inline() -> Self {
        Self::new(&golden(), TRACE_STREAM, &in_record(TRACE_STREAM), None, Some(SESSION))
    }

    /// A trace with a line that a crash tore.
    fn inline_with_a_gap() -> Self {
        let tree = case("golden/continued-after-a-crash").tree();
        Self::new(&tree, TRACE_STREAM, &in_record(TRACE_STREAM), None, Some(SESSION))
    }

    fn listed(name: &str, lines: Lines) -> Self {
        Self::new(&golden(), name, &in_record(name), Some(lines), Some(SESSION))
    }

    fn conversation() -> Self {
        let name = conversation_stream(CONVERSATION_RECORD, CONVERSATION_CONTEXT);
        Self::new(&golden(), &name, &conversation_path(), Some(Lines::Complete), None)
    }

    fn new(tree: &Tree, name: &str, path: &str, lines: Option<Lines>, session: Option<&'static str>) -> Self {
        let seal = tree.bytes(&format!("{path}{SEAL_SUFFIX}")).to_vec();
        let stream =
            Stream { name: name.into(), lines, session, bytes: tree.bytes(path).to_vec(), seal, keys: host_keys() };
        let report = stream.check(&stream.bytes, &stream.seal);
        assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
        stream
    }

    fn check(&self, bytes: &[u8], seal: &[u8]) -> StreamReport {
        let expectation = Expectation { stream: &self.name, session: self.session, keys: &self.keys };
        match self.lines {
            None => verify_inline(&expectation, bytes, Some(seal)),
            Some(lines) => verify_listed(&expectation, bytes, lines, Some(seal)),
        }
    }

    fn no_flip_of_its_bytes_is_verified(&self) {
        for_each_flip(&self.bytes, |at, bit, changed| {
            let report = self.check(changed, &self.seal);
            assert_ne!(report.verdict, Verdict::Verified, "{}: byte {at}, bit {bit}: {report:?}", self.name);
        });
    }

    fn no_flip_of_its_seal_is_verified(&self) {
        let excepted = position_of(&self.seal, b"members_signature");
        for_each_flip(&self.seal, |at, bit, changed| {
            let report = self.check(&self.bytes, changed);
            if excepted.contains(&at) {
                assert_is_a_note(&report, &format!("{}: byte {at}, bit {bit}", self.name));
            } else {
                assert_ne!(report.verdict, Verdict::Verified, "{}: byte {at}, bit {bit}: {report:?}", self.name);
            }
        });
    }

    /// Bytes cut off, left out or doubled, anywhere.
    fn no_other_length_is_verified(&self) {
        for at in 0..self.bytes.len() {
            let (before, after) = self.bytes.split_at(at);
            for changed in [before.to_vec(), [before, &after[1..]].concat(), [before, &after[..1], after].concat()] {
                let report = self.check(&changed, &self.seal);
                assert_ne!(report.verdict, Verdict::Verified, "{}: at {at}: {report:?}", self.name);
            }
        }
        for at in 0..self.seal.len() - 1 {
            let report = self.check(&self.bytes, &self.seal[..at]);
            assert_eq!(report.verdict, Verdict::Changed, "the seal of {} cut at {at}: {report:?}", self.name);
        }
    }
}

/// The member's value is ignored with its name, so that nothing but the note tells.
fn assert_is_a_note(report: &StreamReport, what: &str) {
    match report.verdict {
        Verdict::Verified => {
            let said = report.notes.iter().any(|note| note.contains("no members_signature"));
            assert!(said, "{what}: verified without a note: {report:?}");
        }
        // The name's bytes changed into what ends a string, or is not allowed in one.
        Verdict::Changed => assert!(report.detail.contains("cannot be read"), "{what}: {report:?}"),
        Verdict::Absent | Verdict::Unverifiable | Verdict::Unsealed => panic!("{what}: {report:?}"),
    }
}

#[test]
fn no_flip_of_a_trace_is_verified() {
    Stream::inline().no_flip_of_its_bytes_is_verified();
}

#[test]
fn no_flip_of_a_trace_with_a_torn_line_is_verified() {
    Stream::inline_with_a_gap().no_flip_of_its_bytes_is_verified();
}

#[test]
fn no_flip_of_a_traces_seal_is_verified() {
    Stream::inline().no_flip_of_its_seal_is_verified();
}

#[test]
fn no_flip_of_the_scores_is_verified() {
    let scores = Stream::listed(EVAL_STREAM, Lines::Complete);
    scores.no_flip_of_its_bytes_is_verified();
    scores.no_flip_of_its_seal_is_verified();
}

#[test]
fn no_flip_of_a_completion_is_verified() {
    let completion = Stream::listed(COMPLETION_STREAM, Lines::WholeFile);
    completion.no_flip_of_its_bytes_is_verified();
    completion.no_flip_of_its_seal_is_verified();
}

#[test]
fn no_flip_of_a_conversation_is_verified() {
    let conversation = Stream::conversation();
    conversation.no_flip_of_its_bytes_is_verified();
    conversation.no_flip_of_its_seal_is_verified();
}

#[test]
fn no_stream_with_a_byte_more_or_less_is_verified() {
    Stream::inline().no_other_length_is_verified();
    Stream::inline_with_a_gap().no_other_length_is_verified();
    Stream::listed(EVAL_STREAM, Lines::Complete).no_other_length_is_verified();
    Stream::listed(COMPLETION_STREAM, Lines::WholeFile).no_other_length_is_verified();
    Stream::conversation().no_other_length_is_verified();
}

#[test]
fn no_flip_in_a_whole_record_is_verified() {
    // One bit of each byte, since every bit is tried on the streams alone: here it matters what the streams say of each
    // other, and which session the record is taken to be of.
    let golden = golden();
    assert_eq!(check_record(&golden).verdict, Verdict::Verified);
    let paths: Vec<String> = golden.iter().map(|(path, _)| path.to_owned()).filter(|path| is_checked(path)).collect();
    assert_eq!(paths.len(), 8);
    for path in paths {
        let excepted =
            if path.ends_with(SEAL_SUFFIX) { position_of(golden.bytes(&path), b"members_signature") } else { 0..0 };
        let mut tree = golden.clone();
        for at in (0..golden.bytes(&path).len()).filter(|at| !excepted.contains(at)) {
            let bit = at % 8;
            tree.edit(&path, |bytes| bytes[at] ^= 1 << bit);
            let report = check_record(&tree);
            assert_ne!(report.verdict, Verdict::Verified, "{path}: byte {at}, bit {bit}: {report:?}");
            tree.edit(&path, |bytes| bytes[at] ^= 1 << bit);
        }
    }
}

fn is_checked(path: &str) -> bool {
    let stream = path.strip_suffix(SEAL_SUFFIX).unwrap_or(path);
    [TRACE_STREAM, EVAL_STREAM, COMPLETION_STREAM].map(in_record).iter().any(|known| known == stream)
        || stream == conversation_path()
}

fn check_record(tree: &Tree) -> RecordReport {
    let keys = host_keys();
    let expectation = RecordExpectation { records_dir: RECORD_DIR, session: None, head: None, keys: &keys };
    let report: Result<RecordReport, Infallible> =
        verify_record(&mut tree.record(RECORD_DIR, Some(CONVERSATIONS_DIR)), &expectation);
    report.unwrap()
}

fn golden() -> Tree {
    case("golden/every-stream").tree()
}

fn host_keys() -> [PublicKey; 1] {
    [host_key().public_key().clone()]
}

fn for_each_flip(bytes: &[u8], mut check: impl FnMut(usize, u32, &[u8])) {
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            changed[at] ^= 1 << bit;
            check(at, bit, &changed);
            changed[at] ^= 1 << bit;
        }
    }
}

fn position_of(bytes: &[u8], wanted: &[u8]) -> std::ops::Range<usize> {
    let at = bytes.windows(wanted.len()).position(|window| window == wanted).unwrap();
    at..at + wanted.len()
}
