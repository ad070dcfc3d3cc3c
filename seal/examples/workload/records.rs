//! Sealed records of any size, written line by line.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use mur_seal::{
    COMPLETION_STREAM, ChainKind, ChainState, EVAL_STREAM, LineHash, SEAL_SUFFIX, SealDraft, TRACE_STREAM, line_hash,
    link, listed_head,
};
use mur_testdata::{CLOCK_MS, SESSION, completion, eval_lines, host_key, script_events};

const PUBLIC_KEY_FILE: &str = "record-seal.pub";

/// An event that makes a line of `line` bytes, its newline included.
pub(crate) fn event(line: u64) -> String {
    let start = format!("{{\"event_type\":\"tool_call\",\"session_id\":\"{SESSION}\",\"output\":\"");
    let around = start.len() + "\"}".len() + ",\"prev_hash\":\"\"".len() + LineHash::TEXT_LEN + "\n".len();
    let text = usize::try_from(line).unwrap().checked_sub(around).unwrap();
    format!("{start}{}\"}}", "x".repeat(text))
}

/// A record in `directory/record` whose trace has at least so many bytes, in lines of so many.
pub(crate) fn inline(directory: &Path, bytes: u64, line: u64) {
    let record = create(directory);
    let event = event(line);
    write_trace(&record, (0..bytes.div_ceil(line)).map(|_| event.as_str()));
}

/// A record in `directory/record` with so many scores.
pub(crate) fn listed(directory: &Path, lines: u64) {
    let record = create(directory);
    write_trace(&record, script_events().iter().map(String::as_str));
    fs::create_dir_all(record.join("hooks")).unwrap();
    let mut file = BufWriter::with_capacity(1 << 20, File::create(record.join(EVAL_STREAM)).unwrap());
    let mut hashes = Vec::new();
    for number in 0..lines {
        let line = format!("{{\"record_type\":\"event_score\",\"event\":{number},\"score\":\"pass\"}}");
        hashes.push(line_hash(line.as_bytes()));
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
    seal_listed(&record, EVAL_STREAM, hashes);
}

/// So many records of three streams each, in directories below `directory/records`.
pub(crate) fn many(directory: &Path, records: u64) {
    write_public_key(directory);
    let events = script_events();
    let (scores, outcome) = (eval_lines(), completion());
    for number in 0..records {
        // A hundred to a directory, so that a search has to go down.
        let record = directory.join(format!("records/{:03}/{:02}", number / 100, number % 100));
        fs::create_dir_all(record.join("hooks")).unwrap();
        write_trace(&record, events.iter().map(String::as_str));
        fs::write(record.join(EVAL_STREAM), &scores).unwrap();
        seal_listed(&record, EVAL_STREAM, scores.lines().map(|line| line_hash(line.as_bytes())).collect());
        fs::write(record.join(COMPLETION_STREAM), &outcome).unwrap();
        seal_listed(&record, COMPLETION_STREAM, vec![line_hash(outcome.as_bytes())]);
    }
}

fn create(directory: &Path) -> std::path::PathBuf {
    write_public_key(directory);
    let record = directory.join("record");
    fs::create_dir_all(&record).unwrap();
    record
}

fn write_public_key(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(PUBLIC_KEY_FILE), host_key().public_key().to_hex() + "\n").unwrap();
}

fn write_trace<'a>(record: &Path, events: impl IntoIterator<Item = &'a str>) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(record.join(TRACE_STREAM)).unwrap());
    let mut chain = ChainState::new();
    for event in events {
        let line = link(event, &chain.head(), None).unwrap();
        chain.push_chained(line_hash(line.as_bytes()));
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
    seal(record, TRACE_STREAM, ChainKind::Inline, chain.lines(), chain.head(), None);
}

fn seal_listed(record: &Path, stream: &str, hashes: Vec<LineHash>) {
    seal(record, stream, ChainKind::Listed, hashes.len() as u64, listed_head(&hashes), Some(hashes));
}

fn seal(record: &Path, stream: &str, chain: ChainKind, lines: u64, head: LineHash, line_hashes: Option<Vec<LineHash>>) {
    let draft = SealDraft {
        stream: stream.into(),
        chain,
        session_id: SESSION.into(),
        lines,
        line_hashes,
        head,
        sealed_at: CLOCK_MS,
        conversation: None,
    };
    let seal = host_key().seal(draft).unwrap().to_file();
    fs::write(record.join(format!("{stream}{SEAL_SUFFIX}")), seal).unwrap();
}
