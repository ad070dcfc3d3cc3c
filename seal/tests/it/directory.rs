//! What a records directory may be, and what may stand in it.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use mur_seal::{
    Code, DirectoryError, DirectoryRecord, Expectation, Found, Place, RecordExpectation, RecordReport, RecordSource,
    StreamBytes, Verdict, verify_inline, verify_record, verify_session_records,
};
use mur_testdata::{RECORD_DIR, RecordBuilder, SESSION, Tree, case, in_record};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use tempfile::{TempDir, tempdir};

use crate::child;
use crate::support::{append_raw, event, host_keys, make_fifo, set_mode};

/// The golden record of every stream kind, on disk.
fn golden() -> TempDir {
    let directory = tempdir().unwrap();
    tree().write_to(directory.path()).unwrap();
    directory
}

fn tree() -> Tree {
    case("golden/every-stream").tree()
}

fn check(directory: &Path) -> Result<RecordReport, DirectoryError> {
    let start = Instant::now();
    let report =
        verify_session_records(&directory.join(RECORD_DIR), &host_keys(), None, Some(&directory.join("conversations")));
    assert!(start.elapsed() < Duration::from_secs(5), "it waited for something");
    report
}

#[test]
fn the_golden_record_is_verified() {
    let directory = golden();
    let report = check(directory.path()).unwrap();
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report.streams.len(), 4);
    assert_eq!(report.records_dir, directory.path().join(RECORD_DIR).to_str().unwrap());
}

#[test]
fn a_directory_that_is_missing_or_none_is_an_error() {
    let directory = golden();
    let record = directory.path().join(RECORD_DIR);
    let error = |path: &Path, conversations: Option<&Path>| {
        verify_session_records(path, &host_keys(), None, conversations).unwrap_err()
    };
    assert!(matches!(error(&directory.path().join("nowhere"), None), DirectoryError::Missing(_)));
    assert!(matches!(error(Path::new(""), None), DirectoryError::Missing(_)));
    assert!(matches!(error(&record.join("trace.jsonl"), None), DirectoryError::NotADirectory(_)));
    assert!(matches!(error(&record.join("trace.jsonl/below"), None), DirectoryError::NotADirectory(_)));
    assert!(matches!(error(Path::new("/dev/null"), None), DirectoryError::NotADirectory(_)));
    assert!(matches!(error(&record, Some(Path::new("/nowhere"))), DirectoryError::Missing(_)));
    assert!(matches!(error(&record, Some(&record.join("trace.jsonl"))), DirectoryError::NotADirectory(_)));
    let fifo = directory.path().join("fifo");
    make_fifo(&fifo);
    assert!(matches!(error(&fifo, None), DirectoryError::NotADirectory(_)));
}

#[test]
fn an_empty_directory_is_absent() {
    let directory = tempdir().unwrap();
    let report = verify_session_records(directory.path(), &host_keys(), None, None).unwrap();
    assert_eq!(report.verdict, Verdict::Absent);
    assert!(report.streams.iter().all(|stream| stream.verdict == Verdict::Absent), "{report:?}");
}

#[test]
fn a_directory_reached_through_a_link_is_checked() {
    let directory = golden();
    let link = directory.path().join("link");
    symlink(directory.path().join(RECORD_DIR), &link).unwrap();
    let report = verify_session_records(&link, &host_keys(), None, None).unwrap();
    assert_eq!(report.verdict, Verdict::Verified);
}

#[test]
fn what_is_no_regular_file_is_changed_and_named_without_waiting_for_it() {
    type Make = fn(&Path);
    let kinds: [(&str, Make); 4] = [
        ("a FIFO", make_fifo),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a symbolic link", |path| symlink("/dev/zero", path).unwrap()),
    ];
    for (kind, make) in kinds {
        in_every_place(kind, make);
    }
}

#[test]
fn a_device_is_changed_and_named_and_not_opened() {
    let make = |path: &Path| mknodat(CWD, path, FileType::CharacterDevice, Mode::from_raw_mode(0o600), makedev(1, 5));
    if let Err(error) = make(&tempdir().unwrap().path().join("device")) {
        eprintln!("skipped: no device can be made here: {error}");
        return;
    }
    in_every_place("a device", |path| make(path).unwrap());
}

/// Puts what `make` makes in the place of each stream and seal of a record, which must read changed, and say why.
fn in_every_place(kind: &str, make: impl Fn(&Path)) {
    for (index, name) in ["trace.jsonl", "hooks/eval.jsonl", "completion.json"].iter().enumerate() {
        for (what, suffix) in [("stream", ""), ("seal", ".seal")] {
            let directory = golden();
            let path = directory.path().join(RECORD_DIR).join(format!("{name}{suffix}"));
            fs::remove_file(&path).unwrap();
            make(&path);
            let report = check(directory.path()).unwrap();
            let stream = &report.streams[index];
            assert_eq!((report.verdict, stream.verdict), (Verdict::Changed, Verdict::Changed), "{stream:?}");
            assert_eq!(stream.detail, format!("the {what} is {kind}"), "{name}{suffix}: {stream:?}");
        }
    }
}

#[test]
fn a_directory_on_the_way_that_is_a_link_is_not_followed() {
    for (moved, index) in [("record/hooks", 1), ("conversations/reviewer", 3)] {
        let directory = golden();
        let path = directory.path().join(moved);
        let elsewhere = directory.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let stream = check(directory.path()).unwrap().streams.swap_remove(index);
        assert_eq!((stream.verdict, stream.detail.as_str()), (Verdict::Changed, "the stream is a symbolic link"));
    }
}

#[test]
fn a_seal_larger_than_any_seal_is_changed_and_not_read_to_its_end() {
    let directory = golden();
    let seal = directory.path().join("record/trace.jsonl.seal");
    fs::File::create(&seal).unwrap().set_len(1 << 40).unwrap();
    let stream = check(directory.path()).unwrap().streams.swap_remove(0);
    assert_eq!((stream.verdict, stream.detail.as_str()), (Verdict::Changed, "the seal is larger than any seal"));
}

#[test]
fn each_way_in_which_a_seal_is_none_reads_differently_and_none_as_a_missing_seal() {
    let mut details = Vec::new();
    let places: [fn(&Path); 5] = [
        |_| (),
        |path| fs::create_dir(path).unwrap(),
        |path| fs::write(path, "").unwrap(),
        |path| fs::write(path, "{\"format\":\"murmur.se").unwrap(),
        |path| symlink("nowhere", path).unwrap(),
    ];
    for place in places {
        let directory = golden();
        let seal = directory.path().join("record/trace.jsonl.seal");
        fs::remove_file(&seal).unwrap();
        place(&seal);
        details.push(check(directory.path()).unwrap().streams.swap_remove(0).detail);
    }
    assert!(details[0].contains("no seal"), "{details:?}");
    assert!(details[1..].iter().all(|detail| !detail.contains("no seal")), "{details:?}");
    details.sort_unstable();
    details.dedup();
    assert_eq!(details.len(), 5, "{details:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_never_a_verdict() {
    for unreadable in ["trace.jsonl", "trace.jsonl.seal", "hooks/eval.jsonl", "completion.json.seal", "hooks"] {
        let directory = golden();
        let path = directory.path().join(RECORD_DIR).join(unreadable);
        set_mode(&path, 0);
        if !rustix::process::geteuid().is_root() {
            read_without_permission(directory.path());
        } else {
            // A privileged user reads everything, so another one has to look.
            set_mode(directory.path(), 0o755);
            let mut command = child::command("read without permission", directory.path().as_os_str(), "");
            command.uid(65534).gid(65534).current_dir("/");
            match command.spawn() {
                Ok(child) => child::wait_for_success(child),
                Err(error) => eprintln!("skipped: no unprivileged user can run this test here: {error}"),
            }
        }
        set_mode(&path, 0o755);
    }
}

pub(crate) fn read_without_permission(directory: &Path) {
    let record = directory.join(RECORD_DIR);
    let error = verify_session_records(&record, &host_keys(), None, None).unwrap_err();
    let DirectoryError::Unreadable { path, cause } = error else { panic!("{error}") };
    assert!(path.starts_with(&record), "{}", path.display());
    assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
}

/// Larger than what one thread reads alone.
#[test]
fn a_large_stream_reads_the_same_on_any_number_of_threads() {
    let writer = "host".repeat(1000);
    let events: Vec<String> = (0..1100).map(|number| event(&writer, number)).collect();
    let record = RecordBuilder::new().events(&events).seal_trace();
    let good = record.trace().to_vec();
    let middle = good.len() / 2;
    let mut edited = good.clone();
    edited[middle] ^= 1;
    let with_returns = good.iter().flat_map(|&byte| [Some(byte), (byte == b'}').then_some(b'\r')]).flatten().collect();
    let tree = record.build();
    let seal = tree.bytes(&in_record("trace.jsonl.seal"));
    let keys = host_keys();
    let expectation = Expectation { stream: "trace.jsonl", session: Some(SESSION), keys: &keys };
    for (bytes, verdict) in [
        (good.clone(), Verdict::Verified),
        (good[..middle].to_vec(), Verdict::Changed),
        ([&good[..], b"{}\n{\"torn"].concat(), Verdict::Unsealed),
        (edited, Verdict::Changed),
        (with_returns, Verdict::Changed),
    ] {
        let directory = tempdir().unwrap();
        fs::write(directory.path().join("trace.jsonl"), &bytes).unwrap();
        fs::write(directory.path().join("trace.jsonl.seal"), seal).unwrap();
        let expected = verify_inline(&expectation, &bytes, Some(seal));
        assert_eq!(expected.verdict, verdict, "{expected:?}");
        for jobs in [1, 3] {
            let jobs = NonZeroUsize::new(jobs).unwrap();
            let mut source = DirectoryRecord::open(directory.path(), None).unwrap().with_jobs(jobs);
            let expectation = RecordExpectation { records_dir: "", session: Some(SESSION), head: None, keys: &keys };
            let trace = verify_record(&mut source, &expectation).unwrap().streams.swap_remove(0);
            assert_eq!(trace, expected, "{jobs} threads");
        }
    }
}

/// A record to which a line is appended whenever its trace has been opened, and again whenever it is read.
struct Growing {
    source: DirectoryRecord,
    trace: std::path::PathBuf,
}

struct GrowingStream<S> {
    stream: S,
    trace: std::path::PathBuf,
}

impl RecordSource for Growing {
    type Error = DirectoryError;
    type Stream = GrowingStream<<DirectoryRecord as RecordSource>::Stream>;

    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<Self::Stream>, DirectoryError> {
        let found = self.source.open_stream(place)?;
        append_raw(&self.trace, "{\"event_type\":\"later");
        Ok(match found {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(stream) => Found::File(GrowingStream { stream, trace: self.trace.clone() }),
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, DirectoryError> {
        self.source.read_seal(place)
    }

    fn has_conversations(&self) -> bool {
        self.source.has_conversations()
    }
}

impl<S: StreamBytes<Error = DirectoryError>> StreamBytes for GrowingStream<S> {
    type Error = DirectoryError;

    fn read(&mut self, block: &mut [u8]) -> Result<usize, DirectoryError> {
        append_raw(&self.trace, " and later\"}\n");
        let size = block.len().min(100);
        self.stream.read(&mut block[..size])
    }

    fn has_grown(&mut self) -> Result<bool, DirectoryError> {
        self.stream.has_grown()
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_judged_by_one_length() {
    let directory = golden();
    let record = directory.path().join(RECORD_DIR);
    let source = DirectoryRecord::open(&record, None).unwrap();
    let keys = host_keys();
    let expectation = RecordExpectation { records_dir: "", session: None, head: None, keys: &keys };
    let mut growing = Growing { source, trace: record.join("trace.jsonl") };
    let trace = verify_record(&mut growing, &expectation).unwrap().streams.swap_remove(0);
    assert_eq!((trace.verdict, trace.lines), (Verdict::Verified, 5), "{trace:?}");
    assert_eq!(trace.findings.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::BeingWritten]);
    let trace = check(directory.path()).unwrap().streams.swap_remove(0);
    assert_eq!(trace.verdict, Verdict::Unsealed, "{trace:?}");
}
