//! Streams that are hashed by several threads.

use std::cell::RefCell;
use std::num::NonZeroUsize;

use mur_seal::{
    ChainKind, DirectoryRecord, EVAL_STREAM, LineHash, Lines, RecordExpectation, RecordReport, SealDraft, TRACE_STREAM,
    line_hash, verify_record,
};
use tempfile::TempDir;

use crate::input::{Input, SESSION, directory, host, keys};
use crate::verify_listed::seal_of;

/// Streams above this size are read by several threads.
const LARGE: usize = (4 << 20) + (1 << 18);

/// A stream made large by repeating the input's gets the same report from one thread and from several, and so does a chain
/// of events made of its lines with one of its bytes changed.
///
/// The size is how many threads there are, and where the change is.
pub fn parallel(input: &[u8]) {
    let Some(input) = Input::read(input) else { return };
    let (file, bytes, seal) = if input.flag() {
        let (mut bytes, seal) = chain_of(input.stream);
        if !input.is_to_be_sealed() {
            let at = bytes.len() / 256 * (input.size - 1);
            bytes[at] ^= 1;
        }
        (TRACE_STREAM, bytes, Some(seal))
    } else {
        let bytes = repeated(input.stream);
        let seal = input.is_to_be_sealed().then(|| seal_of(EVAL_STREAM, Lines::Complete, &bytes));
        (EVAL_STREAM, bytes, seal.or_else(|| input.seal.map(<[u8]>::to_vec)))
    };
    DIRECTORY.with_borrow(|directory| {
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(directory.path().join(name), bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        };
        let other = if file == TRACE_STREAM { EVAL_STREAM } else { TRACE_STREAM };
        for name in [file, other].into_iter().flat_map(|name| [name.to_owned(), format!("{name}.seal")]) {
            let _ = std::fs::remove_file(directory.path().join(name)); // may not be there
        }
        write(file, &bytes);
        if let Some(seal) = &seal {
            write(&format!("{file}.seal"), seal);
        }
        assert_eq!(check(directory, 2 + input.size % 3), check(directory, 1));
    });
}

thread_local! {
    static DIRECTORY: RefCell<TempDir> = RefCell::new({
        let directory = directory();
        std::fs::create_dir(directory.path().join("hooks")).unwrap_or_else(|error| panic!("{error}"));
        directory
    });
}

fn check(directory: &TempDir, jobs: usize) -> RecordReport {
    let expectation = RecordExpectation { records_dir: ".", session: Some(SESSION), head: None, keys: keys() };
    let record = DirectoryRecord::open(directory.path(), None).unwrap_or_else(|error| panic!("{error}"));
    let mut record = record.with_jobs(NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN));
    verify_record(&mut record, &expectation).unwrap_or_else(|error| panic!("{error}"))
}

/// The bytes over and over. Of very short lines not so many: their hashes alone would be a large seal.
fn repeated(bytes: &[u8]) -> Vec<u8> {
    let bytes = if bytes.is_empty() { b"\n" } else { bytes };
    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let mut line = bytes.to_vec();
    line.resize(bytes.len().max(newlines * 200), b'x');
    line.repeat(LARGE / line.len() + 1)
}

/// A chain of events made of a stream's lines, over and over, and its seal.
fn chain_of(stream: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let texts: Vec<String> = stream.split(|byte| *byte == b'\n').map(|line| line.escape_ascii().to_string()).collect();
    let mut trace = Vec::with_capacity(LARGE + stream.len());
    let mut head = LineHash::GENESIS;
    let mut lines = 0;
    for text in texts.iter().cycle() {
        let start = trace.len();
        trace.extend_from_slice(format!("{{\"text\":\"{text:>200}\",\"prev_hash\":\"{head}\"}}").as_bytes());
        head = line_hash(&trace[start..]);
        trace.push(b'\n');
        lines += 1;
        if trace.len() > LARGE {
            break;
        }
    }
    let draft = SealDraft {
        stream: TRACE_STREAM.into(),
        chain: ChainKind::Inline,
        session_id: SESSION.into(),
        lines,
        line_hashes: None,
        head,
        sealed_at: 0,
        conversation: None,
    };
    let seal = host().seal(draft).unwrap_or_else(|error| panic!("{error}"));
    (trace, seal.to_file().into())
}
