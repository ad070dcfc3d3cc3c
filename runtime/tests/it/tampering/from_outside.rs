//! Attacks by a process of the same user that no sandbox holds, while the session runs.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use mur_seal::{ChainKind, HostKey, InlineWalker, SealDraft, TRACE_STREAM, Verdict, read_seal};
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use rustix::process::{Pid, Signal, kill_process};

use super::forgery::{FORGERIES, WAYS, Way};
use crate::support::{Ended, Project, Record, eventually, walk};

/// Where an attacker puts a record that is in the way.
const AWAY: &str = "away";

/// What a session is doing when its record is attacked.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It appends, some thousand times a second.
    Calling,
    /// It appends nothing before it is told to stop.
    Sleeping,
    /// It appends, and has sealed its record already.
    CallingSealed,
}

/// One session, attacked while it runs and told to stop some time after.
struct Attacked {
    project: Project,
    record: Record,
    ended: Ended,
    /// The session's log, wherever it is by now.
    log: File,
}

impl Attacked {
    fn new(doing: Doing, attack: impl FnOnce(&Record)) -> Self {
        let project = Project::new();
        let task = match doing {
            Doing::Calling | Doing::CallingSealed => "call-many 1000000 tool",
            Doing::Sleeping => "sleep 600",
        };
        let (running, record) = project.start_session(task, &[]);
        match doing {
            Doing::Calling => record.wait_for_lines(10),
            Doing::Sleeping => record.wait_for_lines(2),
            Doing::CallingSealed => {
                record.wait_for_seal();
                record.wait_for_lines(sealed_lines(&record) + 1);
            }
        }
        let log = File::open(record.path("logs/bootstrap.log")).unwrap();
        attack(&record);
        thread::sleep(Duration::from_millis(20));
        running.signal(Signal::TERM);
        Self { ended: running.wait().expect(1), project, record, log }
    }

    /// Whether any directory below the project's holds a record that reads as verified. What the attacker has put away is
    /// the host's own, and may.
    fn anything_verified(&self) -> bool {
        let is_record = |directory: &PathBuf| directory.join(TRACE_STREAM).exists() && !directory.ends_with(AWAY);
        let directories = walk(&self.project.path("")).into_iter().filter(is_record).map(Record::at);
        directories.chain([self.record.clone()]).any(|record| {
            let report = mur_verify::check_record(&record.dir, &[self.project.public_key()], None, None);
            report.is_ok_and(|report| report.verdict == Verdict::Verified)
        })
    }

    fn assert_never_verified(&self, what: &str) {
        assert!(!self.anything_verified(), "{what}: {:?}", self.ended);
    }

    /// The host, too, must have seen that something was wrong, and say so on stderr and in the log.
    fn assert_told(&self, what: &str) {
        let log = io::read_to_string(&self.log).unwrap();
        for (place, said) in [("stderr", &self.ended.stderr), ("the log", &log)] {
            let told =
                ["trace.jsonl was rewritten while", "trace.jsonl was not sealed"].map(|text| said.contains(text));
            assert!(told.contains(&true), "{what}: not told on {place}: {said}\n{:?}", self.ended);
        }
    }
}

fn sealed_lines(record: &Record) -> usize {
    let seal = read_seal(&record.dir, TRACE_STREAM).unwrap().unwrap();
    usize::try_from(seal.draft.lines).unwrap()
}

fn never_ends_verified(doing: Doing, ways: &[Way]) {
    for forgery in &FORGERIES {
        for (way, place) in ways {
            let what = format!("{doing:?}: {}, {way}", forgery.name);
            let attacked = Attacked::new(doing, |record| {
                place(&record.path(TRACE_STREAM), &forgery.of(&record.trace()));
            });
            attacked.assert_never_verified(&what);
            // In place and with the same length it is the verifier who notices.
            if !forgery.name.starts_with("the same length") {
                attacked.assert_told(&what);
            }
        }
    }
}

#[test]
fn a_consistent_forgery_while_the_session_appends_never_ends_verified() {
    never_ends_verified(Doing::Calling, &WAYS);
}

#[test]
fn a_consistent_forgery_while_the_session_waits_never_ends_verified() {
    never_ends_verified(Doing::Sleeping, &WAYS);
}

#[test]
fn a_consistent_forgery_of_a_record_with_a_seal_never_ends_verified() {
    never_ends_verified(Doing::CallingSealed, &WAYS[2..]);
}

/// An attack on one record.
type Attack = (&'static str, fn(&Record));

/// Puts something else in a path's place, in one step, and what stood there at `away`. `make` makes it at `away`.
pub(super) fn exchange(path: &Path, away: &Path, make: impl FnOnce()) {
    make();
    renameat_with(CWD, path, CWD, away, RenameFlags::EXCHANGE).unwrap();
}

/// Puts something else in the trace's place. It is made where the trace will be then.
fn in_the_traces_place(record: &Record, make: impl FnOnce(&Path)) {
    let away = record.dir.with_extension("trace");
    exchange(&record.path(TRACE_STREAM), &away, || make(&away));
}

/// Puts something else in the record's place. It is made where the record will be then.
fn in_the_records_place(record: &Record, make: impl FnOnce(&Path)) {
    let away = record.dir.with_file_name(AWAY);
    exchange(&record.dir, &away, || make(&away));
}

/// Makes a copy of a record at `to`, its trace changed by `forge`.
fn copy(record: &Record, to: &Path, forge: impl Fn(Vec<u8>) -> Vec<u8>) {
    for directory in ["out", "logs"] {
        fs::create_dir_all(to.join(directory)).unwrap();
    }
    fs::write(to.join(TRACE_STREAM), forge(record.trace())).unwrap();
    let _ = fs::copy(record.path("trace.jsonl.seal"), to.join("trace.jsonl.seal"));
}

fn one_line_less(trace: Vec<u8>) -> Vec<u8> {
    FORGERIES[0].of(&trace)
}

/// Attacks after which there is no record at its place, or one that the host did not write.
const REPLACEMENTS: [Attack; 17] = [
    ("the trace is removed", |record| fs::remove_file(record.path(TRACE_STREAM)).unwrap()),
    ("the trace is moved away", |record| {
        fs::rename(record.path(TRACE_STREAM), record.dir.with_extension("trace")).unwrap();
    }),
    ("a copy is in the trace's place", |record| {
        in_the_traces_place(record, |away| fs::write(away, record.trace()).unwrap());
    }),
    ("a link to the trace is in its place", |record| in_the_traces_place(record, |away| symlink(away, away).unwrap())),
    ("a link to a forgery is in the trace's place", |record| {
        let forged = record.path("forged");
        fs::write(&forged, one_line_less(record.trace())).unwrap();
        in_the_traces_place(record, |away| symlink(&forged, away).unwrap());
    }),
    ("a link to nothing is in the trace's place", |record| {
        in_the_traces_place(record, |away| symlink("nothing", away).unwrap());
    }),
    ("a link to a device is in the trace's place", |record| {
        in_the_traces_place(record, |away| symlink("/dev/null", away).unwrap());
    }),
    ("a directory is in the trace's place", |record| in_the_traces_place(record, |away| fs::create_dir(away).unwrap())),
    ("a FIFO is in the trace's place", |record| in_the_traces_place(record, fifo)),
    ("a line without a link is appended", |record| append(record, b"{\"event_type\":\"invented\"}\n")),
    ("half a line is appended", |record| append(record, b"{\"event_type\":\"inv")),
    ("the record is moved away", |record| fs::rename(&record.dir, record.dir.with_file_name(AWAY)).unwrap()),
    ("the record is removed", |record| {
        // Not at once where the host is just putting something into it.
        eventually("an empty directory", || {
            let _ = fs::remove_dir_all(&record.dir);
            (!record.dir.exists()).then_some(())
        });
    }),
    ("a file is in the record's place", |record| in_the_records_place(record, |away| fs::write(away, "").unwrap())),
    ("a copy is in the record's place", |record| {
        in_the_records_place(record, |away| copy(record, away, |trace| trace));
    }),
    ("a forged copy is in the record's place", |record| {
        in_the_records_place(record, |away| copy(record, away, one_line_less));
    }),
    ("a link to a forged copy is in the record's place", |record| {
        let forged = record.dir.with_extension("forged");
        copy(record, &forged, one_line_less);
        in_the_records_place(record, |away| symlink(forged, away).unwrap());
    }),
];

fn fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

fn append(record: &Record, bytes: &[u8]) {
    File::options().append(true).open(record.path(TRACE_STREAM)).unwrap().write_all(bytes).unwrap();
}

fn nothing_in_its_place_ends_verified(doing: Doing) {
    for (name, attack) in REPLACEMENTS {
        let what = format!("{doing:?}: {name}");
        let attacked = Attacked::new(doing, attack);
        attacked.assert_never_verified(&what);
        attacked.assert_told(&what);
    }
}

#[test]
fn whatever_is_put_in_the_records_place_while_the_session_appends_never_ends_verified() {
    nothing_in_its_place_ends_verified(Doing::Calling);
}

#[test]
fn whatever_is_put_in_the_records_place_while_the_session_waits_never_ends_verified() {
    nothing_in_its_place_ends_verified(Doing::Sleeping);
}

#[test]
fn whatever_is_put_in_the_place_of_a_record_with_a_seal_never_ends_verified() {
    nothing_in_its_place_ends_verified(Doing::CallingSealed);
}

#[test]
fn a_trace_that_is_cut_back_to_what_its_seal_covers_reads_as_changed() {
    let attacked = Attacked::new(Doing::CallingSealed, |record| {
        let trace = record.trace();
        let lines = trace.split_inclusive(|byte| *byte == b'\n').take(sealed_lines(record));
        let len = lines.map(<[u8]>::len).sum::<usize>();
        File::options().write(true).open(record.path(TRACE_STREAM)).unwrap().set_len(len as u64).unwrap();
    });
    attacked.assert_told("cut back");
    assert_eq!(attacked.project.check(&attacked.record).verdict, Verdict::Changed);
}

/// Starts a busy session whose stderr is a pipe.
fn with_piped_stderr(project: &Project) -> (Child, Record) {
    let mut command = project.mur(["run", "--task", "call-many 1000000 tool"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let record = eventually("the session", || project.records().pop());
    record.wait_for_lines(10);
    (child, record)
}

/// Tells it to stop, and asserts that it ends in order and that its record reads as changed.
fn assert_ends_in_order(project: &Project, mut child: Child, record: &Record) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = eventually("the end of the process", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(1));
    assert_eq!(record.event_types().pop().unwrap(), "session_end");
    assert_eq!(project.check(record).verdict, Verdict::Changed);
}

#[test]
fn a_host_whose_stderr_has_no_reader_any_more_ends_in_order_all_the_same() {
    let project = Project::new();
    let (mut child, record) = with_piped_stderr(&project);
    drop(child.stderr.take());
    let place = WAYS[0].1;
    place(&record.path(TRACE_STREAM), &FORGERIES[0].of(&record.trace()));
    thread::sleep(Duration::from_millis(20));
    assert_ends_in_order(&project, child, &record);
}

#[test]
fn a_record_that_is_rewritten_again_and_again_does_not_fill_a_stderr_that_nobody_reads() {
    let project = Project::new();
    let (child, record) = with_piped_stderr(&project);
    let trace = File::options().write(true).open(record.path(TRACE_STREAM)).unwrap();
    for _ in 0..700 {
        // The host appends within a millisecond; what it finds is another length each time.
        trace.set_len(10).unwrap();
        eventually("another line", || (trace.metadata().unwrap().len() > 10).then_some(()));
    }
    trace.set_len(0).unwrap();
    eventually("another line", || (trace.metadata().unwrap().len() > 0).then_some(()));
    assert_ends_in_order(&project, child, &record);
}

#[test]
fn a_forger_who_also_takes_back_what_the_host_says_of_it_is_found_out() {
    for doing in [Doing::Calling, Doing::Sleeping] {
        for (way, place) in WAYS {
            let attacked = Attacked::new(doing, |record| {
                place(&record.path(TRACE_STREAM), &FORGERIES[0].of(&record.trace()));
            });
            let report = attacked.project.check(&attacked.record);
            assert_eq!(report.verdict, Verdict::Changed, "{doing:?}, {way}: {report:?}");
            attacked.assert_told(way);
            // The host's own event is gone again, and the chain is intact without it.
            let events = attacked.record.event_types();
            let said = events.iter().position(|kind| kind == "record_tampered").unwrap();
            let trace = attacked.record.trace();
            let before: Vec<&[u8]> = trace.split_inclusive(|byte| *byte == b'\n').take(said).collect();
            fs::write(attacked.record.path(TRACE_STREAM), before.concat()).unwrap();
            attacked.assert_never_verified(way);
        }
    }
}

/// Attacks on the seal alone. The trace is the host's own, so that it may well be verified in the end.
const ON_THE_SEAL: [Attack; 6] = [
    ("it is removed", |record| fs::remove_file(record.path("trace.jsonl.seal")).unwrap_or_default()),
    ("it is emptied", |record| in_the_seals_place(record, |path| fs::write(path, ""))),
    ("it is another host's", |record| {
        let seal = another_hosts_seal(record);
        in_the_seals_place(record, |path| fs::write(path, &seal));
    }),
    ("it is a directory", |record| in_the_seals_place(record, |path| fs::create_dir(path))),
    ("it is a link to nothing", |record| in_the_seals_place(record, |path| symlink("nothing", path))),
    ("it is a FIFO", |record| {
        in_the_seals_place(record, |path| {
            fifo(path);
            Ok(())
        });
    }),
];

/// Puts something else in the place of the seal, whether there is one or not.
fn in_the_seals_place(record: &Record, make: impl Fn(&Path) -> io::Result<()>) {
    let (seal, made) = (record.path("trace.jsonl.seal"), record.dir.with_extension("seal"));
    make(&made).unwrap();
    eventually("the seal's place", || {
        let _ = fs::remove_file(&seal);
        fs::rename(&made, &seal).ok()
    });
}

/// A good seal of what the trace holds, by a key that is not this host's.
fn another_hosts_seal(record: &Record) -> String {
    let mut walker = InlineWalker::new();
    walker.update(&record.trace());
    let walk = walker.finish();
    let draft = SealDraft {
        stream: TRACE_STREAM.into(),
        chain: ChainKind::Inline,
        session_id: record.session().into(),
        lines: walk.state.lines(),
        line_hashes: None,
        head: walk.state.head(),
        sealed_at: 0,
        conversation: None,
    };
    HostKey::from_seed(&[7; 32]).unwrap().seal(draft).unwrap().to_file()
}

#[test]
fn a_seal_that_is_taken_away_or_replaced_is_made_again_or_said_to_be_missing() {
    for doing in [Doing::Sleeping, Doing::CallingSealed] {
        for (name, attack) in ON_THE_SEAL {
            let what = format!("{doing:?}: {name}");
            let attacked = Attacked::new(doing, attack);
            let verdict = attacked.project.check(&attacked.record).verdict;
            if name.starts_with("it is a ") {
                assert_ne!(verdict, Verdict::Verified, "{what}");
                attacked.assert_told(&what);
            } else {
                assert_eq!(verdict, Verdict::Verified, "{what}: {:?}", attacked.ended);
                assert_eq!(attacked.record.events_of("session_end").len(), 1);
                let seal = read_seal(&attacked.record.dir, TRACE_STREAM).unwrap().unwrap();
                assert_eq!(seal.key_id, attacked.project.public_key().key_id());
            }
        }
    }
}

/// The trace is moved back and forth, so that the host finds it at times and at times does not.
#[test]
fn a_record_that_lost_an_event_never_ends_verified() {
    let mut lost = 0;
    for round in 0..20 {
        let project = Project::new();
        let (mut running, record) = project.start_session("call-many 300 tool", &[]);
        let (trace, other) = (record.path(TRACE_STREAM), record.path("other"));
        fs::create_dir(&other).unwrap();
        while running.is_running() {
            for _ in 0..2 {
                renameat_with(CWD, &trace, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                thread::sleep(Duration::from_micros(200 + 50 * round));
            }
        }
        let ended = running.wait();
        let complete =
            record.events_of("tool_call").len() == 300 && record.event_types().last().unwrap() == "session_end";
        lost += u32::from(!complete);
        if project.check(&record).verdict == Verdict::Verified {
            assert!(complete, "round {round}: {ended:?}\n{:?}", record.event_types());
            assert_eq!(ended.code(), 0);
        }
    }
    assert_ne!(lost, 0, "nothing was ever lost, so nothing was shown");
}
