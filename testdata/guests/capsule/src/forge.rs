//! Forging a record: an edited history whose hashes are all consistent again, put in the true one's
//! place.

use sha2::{Digest as _, Sha256};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

/// What stands before the hash at the end of every line, and after it.
const BEFORE: &str = "\"prev_hash\":\"";
const AFTER: &str = "\"}";

const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Forges the record at `path` in three lengths and tries to put each in its place in every way,
/// reporting one line an attempt.
///
/// # Panics
/// When the record cannot be read: reading is allowed.
pub(crate) fn forge(path: &str) {
    let record = match fs::read_to_string(path) {
        Ok(record) => record,
        Err(error) => panic!("{path}: {error}"),
    };
    let lines: Vec<String> = record.lines().map(str::to_owned).collect();

    let mut report = String::new();
    for (name, forged) in [
        ("same length", chained(&same_length(&lines))),
        ("shorter", chained(&shorter(&lines))),
        ("longer", chained(&longer(&lines))),
    ] {
        for (way, place) in WAYS {
            let verdict = if place(path, &forged).is_ok() { "DONE" } else { "refused" };
            report.push_str(&format!("{verdict} {name}, {way}\n"));
        }
    }
    super::report(&report);
}

/// A way of putting bytes in a file's place.
type Way = fn(&str, &str) -> io::Result<()>;

const WAYS: [(&str, Way); 4] = [
    ("written", |path, forged| fs::write(path, forged)),
    ("patched", |path, forged| OpenOptions::new().write(true).open(path)?.write_all(forged.as_bytes())),
    ("moved there", |path, forged| {
        fs::write("forged.jsonl", forged)?;
        fs::rename("forged.jsonl", path)
    }),
    ("removed and written", |path, forged| {
        fs::remove_file(path)?;
        fs::write(path, forged)
    }),
];

/// Links every line to the one before it, by the hashes that the lines have now.
fn chained(lines: &[String]) -> String {
    let mut text = String::new();
    let mut previous = GENESIS.to_owned();
    for line in lines {
        let body = line.rfind(BEFORE).map_or(line.as_str(), |at| &line[..at]);
        let line = format!("{body}{BEFORE}{previous}{AFTER}");
        previous = line_hash(line.as_bytes());
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn line_hash(line: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(line) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// One letter of the first line is another.
fn same_length(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    if let Some(first) = lines.first_mut() {
        *first = first.replacen("start", "stort", 1);
    }
    lines
}

/// The last line is gone.
fn shorter(lines: &[String]) -> Vec<String> {
    lines[..lines.len().saturating_sub(1)].to_vec()
}

/// A line more, made from the last.
fn longer(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    lines.extend(lines.last().cloned());
    lines
}
