//! The committed corpus through the library: every report is, byte for byte, the one beside it.

use std::path::Path;

use mur_seal::{
    DirectoryError, DirectoryRecord, FileBytes, Found, Place, RecordExpectation, RecordReport, RecordSource,
    StreamBytes, verify_record,
};
use mur_testdata::{Case, cases, root};

#[test]
fn every_case_is_reported_byte_for_byte_as_expected() {
    let mut differing = Vec::new();
    for case in cases() {
        let report = check(&case, &mut open(&case));
        if json(&report) != case.stdout || report.verdict.exit_code() != case.exit {
            differing.push(format!("{}: {}\n{}{}", case.name, case.row, case.stdout, json(&report)));
        }
    }
    assert!(differing.is_empty(), "expected and reported:\n{}", differing.join("\n"));
}

#[test]
fn a_report_does_not_depend_on_the_sizes_of_the_blocks_that_are_read() {
    for case in cases() {
        for size in [1, 2, 3, 97] {
            let report = check(&case, &mut InBlocks { source: open(&case), size });
            assert_eq!(json(&report), case.stdout, "{} in blocks of {size}", case.name);
        }
    }
}

#[test]
fn a_report_reads_back_from_its_json() {
    for case in cases() {
        let report: RecordReport = serde_json::from_str(&case.stdout).unwrap();
        assert_eq!(json(&report), case.stdout, "{}", case.name);
    }
}

fn open(case: &Case) -> DirectoryRecord {
    let conversations = case.arguments.conversations.as_ref().map(|path| root().join(path));
    DirectoryRecord::open(&root().join(&case.arguments.records), conversations.as_deref().map(Path::new)).unwrap()
}

fn check<S: RecordSource<Error = DirectoryError>>(case: &Case, source: &mut S) -> RecordReport {
    let keys = case.arguments.public_keys();
    let session = case.arguments.session.as_deref();
    let expectation = RecordExpectation { records_dir: &case.arguments.records, session, head: None, keys: &keys };
    verify_record(source, &expectation).unwrap()
}

fn json(report: &RecordReport) -> String {
    serde_json::to_string(report).unwrap() + "\n"
}

/// A record whose streams are read in small blocks.
struct InBlocks {
    source: DirectoryRecord,
    size: usize,
}

struct Blocks {
    stream: FileBytes,
    size: usize,
}

impl RecordSource for InBlocks {
    type Error = DirectoryError;
    type Stream = Blocks;

    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<Blocks>, DirectoryError> {
        Ok(match self.source.open_stream(place)? {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(stream) => Found::File(Blocks { stream, size: self.size }),
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, DirectoryError> {
        self.source.read_seal(place)
    }

    fn has_conversations(&self) -> bool {
        self.source.has_conversations()
    }
}

impl StreamBytes for Blocks {
    type Error = DirectoryError;

    fn read(&mut self, block: &mut [u8]) -> Result<usize, DirectoryError> {
        let size = self.size.min(block.len());
        self.stream.read(&mut block[..size])
    }

    fn read_again(&mut self, offset: u64, block: &mut [u8]) -> Result<usize, DirectoryError> {
        self.stream.read_again(offset, block)
    }
}
