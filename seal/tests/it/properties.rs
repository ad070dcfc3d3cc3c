//! The laws of chains, seals and checks, on records chosen at random: what a host writes is verified, what is verified was
//! not changed, a report does not depend on how bytes arrive, and no bytes whatever end in a panic.

use mur_seal::{
    CONVERSATIONS_DIR, Code, EVAL_STREAM, Expectation, HostKey, Lines, PublicKey, RecordReport, SEAL_SUFFIX, Seal,
    SealDraft, StreamReport, StreamVerifier, TRACE_STREAM, Verdict, verify_inline, verify_listed, verify_record,
};
use mur_testdata::{RECORD_DIR, RecordBuilder, SESSION, Tree, conversation_path, host_key, in_record};
use proptest::prelude::*;
use proptest::sample::Index;

/// What a host, or a crash, adds to a trace.
#[derive(Debug, Clone)]
enum Step {
    Event(String),
    /// A line without its link.
    Torn(String),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => "[a-zA-Z0-9 é日{}:,\\[\\]]{0,80}".prop_map(Step::Event),
        1 => "[a-z{\"]{1,40}".prop_map(Step::Torn),
    ]
}

/// The lines of a listed stream: anything but a newline.
fn listed() -> impl Strategy<Value = String> {
    proptest::collection::vec("[^\n]{0,60}", 0..8).prop_map(|lines| lines.into_iter().map(|line| line + "\n").collect())
}

/// A record of every stream kind, sealed by its host. The first event says whose record it is, and the last line has its
/// link: a host seals no trace that ends in a torn line, since nothing would bind what stands before it.
fn record() -> impl Strategy<Value = Tree> {
    let pointed = any::<Index>();
    (proptest::collection::vec(step(), 0..8), listed(), ".{0,80}", listed(), pointed).prop_map(
        |(steps, eval, completion, conversation, pointed)| {
            let first = format!("{{\"session_id\":\"{SESSION}\"}}");
            let builder = steps.iter().fold(RecordBuilder::new().event(&first), |builder, step| match step {
                Step::Event(text) => builder.event(&format!("{{\"text\":\"{text}\"}}")),
                Step::Torn(text) => builder.unlinked_line(text),
            });
            let lines = pointed.index(conversation.matches('\n').count() + 1);
            let builder = builder.event("{}").conversation(&conversation).seal_trace_pointing_at(lines);
            builder.eval(&eval).completion(&completion).build()
        },
    )
}

fn check(tree: &Tree) -> RecordReport {
    let keys = host_keys();
    let expectation =
        mur_seal::RecordExpectation { records_dir: RECORD_DIR, session: Some(SESSION), head: None, keys: &keys };
    let Ok(report) = verify_record(&mut tree.record(RECORD_DIR, Some(CONVERSATIONS_DIR)), &expectation);
    report
}

fn host_keys() -> [PublicKey; 1] {
    [host_key().public_key().clone()]
}

/// Every stream and seal of a record.
fn files() -> Vec<String> {
    let streams = [TRACE_STREAM, EVAL_STREAM, mur_seal::COMPLETION_STREAM].map(in_record);
    let streams = streams.into_iter().chain([conversation_path()]);
    streams.flat_map(|stream| [format!("{stream}{SEAL_SUFFIX}"), stream]).collect()
}

/// Something done to the bytes of a file.
#[derive(Debug, Clone)]
enum Edit {
    Overwrite(Index, Vec<u8>),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    Move(Index, usize, Index),
    SwapLines(Index, Index),
    Truncate(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let bytes = || {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..6),
            proptest::sample::select(vec!["\n", "\r", " ", "\"", "}", "{", ",", "0", "\\u0061", "null", "\u{2028}"])
                .prop_map(|text| text.as_bytes().to_vec()),
        ]
    };
    prop_oneof![
        3 => (any::<Index>(), bytes()).prop_map(|(at, bytes)| Edit::Overwrite(at, bytes)),
        2 => (any::<Index>(), bytes()).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (any::<Index>(), 1usize..40).prop_map(|(at, len)| Edit::Remove(at, len)),
        1 => (any::<Index>(), 1usize..40).prop_map(|(at, len)| Edit::Repeat(at, len)),
        1 => (any::<Index>(), 1usize..40, any::<Index>()).prop_map(|(at, len, to)| Edit::Move(at, len, to)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(first, second)| Edit::SwapLines(first, second)),
        1 => any::<Index>().prop_map(Edit::Truncate),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let range = |bytes: &Vec<u8>, at: &Index, len: usize| {
            let at = at.index(bytes.len() + 1);
            at..bytes.len().min(at + len)
        };
        match self {
            Edit::Overwrite(at, with) => {
                let range = range(bytes, at, with.len());
                bytes.splice(range, with.iter().copied());
            }
            Edit::Insert(at, with) => {
                let range = range(bytes, at, 0);
                bytes.splice(range, with.iter().copied());
            }
            Edit::Remove(at, len) => {
                let range = range(bytes, at, *len);
                bytes.drain(range);
            }
            Edit::Repeat(at, len) => {
                let range = range(bytes, at, *len);
                let repeated = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, repeated);
            }
            Edit::Move(at, len, to) => {
                let range = range(bytes, at, *len);
                let moved: Vec<u8> = bytes.drain(range).collect();
                let to = to.index(bytes.len() + 1);
                bytes.splice(to..to, moved);
            }
            Edit::SwapLines(first, second) => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let (first, second) = (first.index(lines.len()), second.index(lines.len()));
                    lines.swap(first, second);
                    *bytes = lines.concat();
                }
            }
            Edit::Truncate(at) => bytes.truncate(at.index(bytes.len() + 1)),
        }
    }
}

/// Whether another text of a seal says what the genuine one says: white space, the order of members, unknown members and
/// escapes are not signed, and make no difference to what is read.
fn says_the_same(genuine: &[u8], other: &[u8]) -> bool {
    Seal::parse(genuine).ok() == Seal::parse(other).ok()
}

/// Whether all that another text of a seal lacks is its `members_signature`, which makes it a seal of another writer.
fn lacks_only_its_members_signature(genuine: &[u8], other: &[u8]) -> bool {
    match (Seal::parse(genuine), Seal::parse(other)) {
        (Ok(genuine), Ok(other)) => {
            // What the missing signature covered may have been changed with it.
            let SealDraft { sealed_at, conversation, .. } = other.draft.clone();
            let draft = SealDraft { sealed_at, conversation, ..genuine.draft };
            Seal { draft, members_signature: None, ..genuine } == other
        }
        _ => false,
    }
}

fn has(report: &RecordReport, code: Code) -> bool {
    report.streams.iter().flat_map(|stream| &stream.findings).any(|finding| finding.code == code)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_a_host_appends_and_seals_is_verified(tree in record()) {
        let report = check(&tree);
        let verdicts: Vec<Verdict> = report.streams.iter().map(|stream| stream.verdict).collect();
        prop_assert_eq!(verdicts, vec![Verdict::Verified; 4], "{:?}", report);
        for stream in &report.streams {
            prop_assert_eq!(stream.sealed_lines, Some(stream.lines));
            prop_assert_eq!(stream.chain_intact_through, Some(stream.lines));
            prop_assert_eq!(stream.first_bad_line, None);
        }
    }

    #[test]
    fn a_seal_reads_back_as_it_was_made(tree in record()) {
        for path in files().iter().filter(|path| path.ends_with(SEAL_SUFFIX)) {
            let seal = Seal::parse(tree.bytes(path)).unwrap();
            prop_assert_eq!(seal.to_file().into_bytes(), tree.bytes(path));
        }
    }

    #[test]
    fn a_seal_made_with_any_key_holds_under_that_key_alone(
        tree in record(),
        seed in any::<[u8; 32]>(),
    ) {
        let key = HostKey::from_seed(&seed).unwrap();
        let genuine = Seal::parse(tree.bytes(&in_record("trace.jsonl.seal"))).unwrap();
        let seal = key.seal(genuine.draft).unwrap().to_file();
        let verdict = |keys: &[PublicKey]| {
            let expectation = Expectation { stream: TRACE_STREAM, session: Some(SESSION), keys };
            verify_inline(&expectation, tree.bytes(&in_record(TRACE_STREAM)), Some(seal.as_bytes())).verdict
        };
        prop_assert_eq!(verdict(&[key.public_key().clone()]), Verdict::Verified);
        prop_assert_eq!(verdict(&host_keys()), Verdict::Unverifiable);
        prop_assert_eq!(verdict(&[]), Verdict::Unverifiable);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_verified_record_that_is_changed_anywhere_is_not_verified(
        tree in record(),
        file in 0usize..8,
        edits in proptest::collection::vec(edit(), 1..4),
    ) {
        let path = &files()[file];
        let mut changed = tree.clone();
        changed.edit(path, |bytes| edits.iter().for_each(|edit| edit.apply(bytes)));
        let (before, after) = (tree.bytes(path), changed.bytes(path));
        prop_assume!(before != after);
        let report = check(&changed);
        if !path.ends_with(SEAL_SUFFIX) {
            prop_assert!(report.verdict != Verdict::Verified, "{path}: {report:?}");
        } else if says_the_same(before, after) {
            prop_assert_eq!(report, check(&tree), "{}", path);
        } else if lacks_only_its_members_signature(before, after) {
            prop_assert!(report.verdict != Verdict::Verified || has(&report, Code::MembersUnsigned), "{path}: {report:?}");
        } else {
            prop_assert!(report.verdict != Verdict::Verified, "{path}: {report:?}");
        }
    }

    #[test]
    fn a_report_does_not_depend_on_how_the_bytes_are_cut(
        tree in record(),
        edits in proptest::collection::vec((0usize..8, edit()), 0..3),
        cuts in proptest::collection::vec(any::<Index>(), 0..12),
    ) {
        let files = files();
        let mut changed = tree;
        for (file, edit) in &edits {
            changed.edit(&files[*file], |bytes| edit.apply(bytes));
        }
        for (stream, lines) in [(TRACE_STREAM, None), (EVAL_STREAM, Some(Lines::Complete)), (mur_seal::COMPLETION_STREAM, Some(Lines::WholeFile))] {
            let path = in_record(stream);
            let bytes = changed.bytes(&path);
            let seal = changed.bytes(&format!("{path}{SEAL_SUFFIX}"));
            for seal in [Some(seal), None] {
                let at_once = report_of(stream, lines, seal, &[bytes]);
                prop_assert_eq!(&report_of(stream, lines, seal, &pieces(bytes, &cuts)), &at_once);
                let by_function = match lines {
                    None => verify_inline(&expectation(stream, &host_keys()), bytes, seal),
                    Some(lines) => verify_listed(&expectation(stream, &host_keys()), bytes, lines, seal),
                };
                prop_assert_eq!(&by_function, &at_once);
                findings_point_at_lines(&at_once, lines, bytes)?;
            }
        }
    }

    #[test]
    fn no_bytes_end_in_a_panic(
        stream in proptest::collection::vec(any::<u8>(), 0..400),
        seal in proptest::collection::vec(any::<u8>(), 0..400),
        text in any::<String>(),
        raw in any::<[u8; 32]>(),
    ) {
        let keys = host_keys();
        for seal in [None, Some(seal.as_slice())] {
            let verdicts = [
                verify_inline(&expectation(TRACE_STREAM, &keys), &stream, seal).verdict,
                verify_listed(&expectation(EVAL_STREAM, &keys), &stream, Lines::Complete, seal).verdict,
                verify_listed(&expectation(EVAL_STREAM, &keys), &stream, Lines::WholeFile, seal).verdict,
            ];
            prop_assert!(!verdicts.contains(&Verdict::Verified));
        }
        let _ = PublicKey::from_hex(&text);
        if let Ok(key) = PublicKey::from_raw(raw) {
            prop_assert_eq!(PublicKey::from_hex(&key.to_hex()).unwrap(), key.clone());
            prop_assert!(!key.verifies(&stream, &text));
        }
    }
}

fn expectation<'a>(stream: &'a str, keys: &'a [PublicKey]) -> Expectation<'a> {
    Expectation { stream, session: Some(SESSION), keys }
}

fn report_of(stream: &str, lines: Option<Lines>, seal: Option<&[u8]>, pieces: &[&[u8]]) -> StreamReport {
    let keys = host_keys();
    let mut verifier = match lines {
        None => StreamVerifier::inline(seal),
        Some(lines) => StreamVerifier::listed(lines, seal),
    };
    pieces.iter().for_each(|piece| verifier.update(piece));
    verifier.finish(&expectation(stream, &keys))
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Where a finding gives the offset of a line, that line begins there; where it gives its hash, that is its hash.
fn findings_point_at_lines(report: &StreamReport, lines: Option<Lines>, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut starts = vec![0];
    if lines != Some(Lines::WholeFile) {
        starts.extend(bytes.iter().zip(1..).filter(|(byte, _)| **byte == b'\n').map(|(_, next)| next));
    }
    for finding in &report.findings {
        if let (Some(line), Some(offset)) = (finding.line, finding.offset) {
            let start = starts.get(line as usize - 1).map(|start| *start as u64);
            prop_assert_eq!(start, Some(offset), "{:?}", finding);
        }
        if let (Some(expected), Some(found)) = (finding.expected, finding.found) {
            prop_assert_ne!(expected, found, "{:?}", finding);
        }
    }
    let deciding = report.findings.first().and_then(|finding| finding.code.verdict());
    prop_assert_eq!(deciding.unwrap_or(Verdict::Verified), report.verdict, "{:?}", report);
    Ok(())
}

#[cfg(unix)]
mod on_several_threads {
    use std::num::NonZeroUsize;

    use mur_seal::{ChainState, DirectoryRecord, line_hash, link};
    use proptest::test_runner::FileFailurePersistence;

    use super::*;

    /// Streams above this size are hashed on several threads.
    const LARGE: usize = 5 << 20;

    /// Lines of these texts, over and over.
    fn large_lines(texts: &[String]) -> String {
        let lines = texts.join("\n") + "\n";
        lines.repeat(LARGE / lines.len() + 1)
    }

    /// A chain of events with these texts, over and over, and its seal.
    fn large_trace(texts: &[String]) -> (Vec<u8>, String) {
        let mut chain = ChainState::new();
        let mut trace = Vec::new();
        let first = format!("{{\"session_id\":\"{SESSION}\"}}");
        let events = texts.iter().cycle().map(|text| format!("{{\"text\":\"{text}\"}}"));
        for event in std::iter::once(first).chain(events) {
            let line = link(&event, &chain.head(), None).unwrap();
            chain.push_chained(line_hash(line.as_bytes()));
            trace.extend_from_slice(line.as_bytes());
            trace.push(b'\n');
            if trace.len() > LARGE {
                break;
            }
        }
        let builder = RecordBuilder::new();
        let draft = SealDraft { lines: chain.lines(), head: chain.head(), ..builder.trace_draft() };
        (trace, builder.sign(draft).to_file())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 16,
            failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
            ..ProptestConfig::default()
        })]

        #[test]
        fn several_threads_report_what_one_reports(
            texts in proptest::collection::vec("[a-z]{200,2000}", 1..40),
            edits in proptest::collection::vec((0usize..6, edit()), 0..3),
            jobs in 2usize..5,
        ) {
            let lines = large_lines(&texts);
            let mut tree = RecordBuilder::new().eval(&lines).completion(&lines).build();
            let (trace, seal) = large_trace(&texts);
            tree.file(&in_record(TRACE_STREAM), trace);
            tree.file(&in_record("trace.jsonl.seal"), seal);
            let files = files();
            for (file, edit) in &edits {
                tree.edit(&files[*file], |bytes| edit.apply(bytes));
            }
            let directory = tempfile::tempdir().unwrap();
            tree.write_to(directory.path()).unwrap();
            let keys = host_keys();
            let expectation =
                mur_seal::RecordExpectation { records_dir: RECORD_DIR, session: Some(SESSION), head: None, keys: &keys };
            let report = |jobs: usize| {
                let record = DirectoryRecord::open(&directory.path().join(RECORD_DIR), None).unwrap();
                verify_record(&mut record.with_jobs(NonZeroUsize::new(jobs).unwrap()), &expectation).unwrap()
            };
            let alone = report(1);
            prop_assert_eq!(report(jobs), alone.clone());
            let Ok(in_memory) = verify_record(&mut tree.record(RECORD_DIR, None), &expectation);
            prop_assert_eq!(in_memory, alone);
        }
    }
}
