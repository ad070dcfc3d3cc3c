//! An append that the operating system cuts short: the chain goes on afterwards, and nothing that was acknowledged is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use mur_seal::{Appenders, ChainError, InlineChain, SealingError, TRACE_STREAM, Verdict, read_seal};
use mur_testdata::{CLOCK_MS, SESSION};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::child;
use crate::support::{Records, event, host_keys, numbers, quiet};

/// A limit on the size of files stands in for a full disk: both end a write in the middle of a line.
#[test]
fn an_append_cut_short_anywhere_loses_nothing() {
    let records = Records::new();
    // A process is killed for exceeding the limit, unless it ignores that signal; only a shell can ask for that here.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    child::with_part(&mut command, "fill the disk", records.path().as_os_str(), "");
    child::wait_for_success(command.spawn().unwrap());
}

/// A file system of its own, in a mount namespace of its own, that holds no more than a few pages.
#[test]
fn a_disk_that_is_full_loses_nothing_and_leaves_the_last_seal() {
    let records = Records::new();
    let disk = records.file("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = |then: &str| {
        let mut command = Command::new("unshare");
        let script = format!("mount -t tmpfs -o size=64k none '{}' && {then}", disk.display());
        command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
        command
    };
    if !mounted("true").output().is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let mut command = mounted("exec \"$0\" \"$@\"");
    command.arg(std::env::current_exe().unwrap());
    child::with_part(&mut command, "fill a small disk", disk.as_os_str(), "");
    child::wait_for_success(command.spawn().unwrap());
}

pub(crate) fn append_until_the_disk_is_full(directory: &Path) {
    let is_full = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::StorageFull;
    let key = mur_testdata::host_key();
    let seal = |chain: &InlineChain| chain.seal(directory, TRACE_STREAM, SESSION, &key, CLOCK_MS, None);
    for appenders in [Appenders::Sole, Appenders::Shared] {
        let chain = InlineChain::open(&directory.join(TRACE_STREAM), quiet(appenders)).unwrap();
        chain.append(&event("host", 0)).unwrap();
        let sealed = seal(&chain).unwrap();
        // Room that can be made again.
        let filler = directory.join("filler");
        fs::write(&filler, [0; 20_000]).unwrap();
        let mut written = vec![0];
        let refused = loop {
            match chain.append(&event("host", written.len())) {
                Ok(_) => written.push(written.len()),
                Err(error) => break error,
            }
        };
        assert!(matches!(&refused, ChainError::Io { cause, .. } if is_full(cause)), "{refused}");
        for _ in 0..3 {
            chain.append(&event("host", written.len())).unwrap_err();
            let refused = seal(&chain).unwrap_err();
            let full = matches!(&refused, SealingError::Io { cause, .. } if is_full(cause));
            assert!(full || matches!(refused, SealingError::TornEnd(_)), "{refused}");
            assert_eq!(read_seal(directory, TRACE_STREAM).unwrap().unwrap().draft.lines, sealed.lines);
            assert_holds(directory, Verdict::Unsealed);
        }

        fs::remove_file(filler).unwrap();
        chain.append(&event("host", written.len())).unwrap();
        written.push(written.len());
        seal(&chain).unwrap();
        assert_holds(directory, Verdict::Verified);
        assert_eq!(chain.tampering(), None);
        let trace = fs::read_to_string(directory.join(TRACE_STREAM)).unwrap();
        let kept = numbers(&trace.lines().map(String::from).collect::<Vec<_>>(), "host");
        assert!(contains_in_order(&kept, &written), "{kept:?} {written:?}");
        let names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "nothing else is left behind: {names:?}");
        drop(chain);
        names.iter().for_each(|name| fs::remove_file(directory.join(name)).unwrap());
    }
}

pub(crate) fn append_at_every_limit(directory: &Path) {
    let trace = directory.join("trace.jsonl");
    let line_len = event("host", 1000).len() as u64 + 90;
    for appenders in [Appenders::Sole, Appenders::Shared] {
        fs::write(&trace, "").unwrap();
        let chain = InlineChain::open(&trace, quiet(appenders)).unwrap();
        let mut written = vec![1000];
        chain.append(&event("host", 1000)).unwrap();
        for cut in 0..line_len {
            let number = 1001 + usize::try_from(cut).unwrap();
            limit_files_to(Some(fs::metadata(&trace).unwrap().len() + cut));
            // Twice, so that the second one meets what the first one left.
            for _ in 0..2 {
                match chain.append(&event("host", number)) {
                    Ok(_) => written.push(number),
                    Err(error) => assert!(matches!(error, ChainError::Io { .. }), "{error}"),
                }
            }
            limit_files_to(None);
            assert_holds(directory, Verdict::Unsealed);
            chain.append(&event("host", number)).unwrap();
            written.push(number);
            assert_holds(directory, Verdict::Unsealed);
        }
        let lines: Vec<String> = fs::read_to_string(&trace).unwrap().lines().map(String::from).collect();
        let kept = numbers(&lines, "host");
        assert!(contains_in_order(&kept, &written), "{kept:?} {written:?}");
        assert_eq!(chain.tampering(), None);
        drop(chain);
        fs::remove_file(&trace).unwrap();
    }
}

fn limit_files_to(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn assert_holds(directory: &Path, verdict: Verdict) {
    let report = mur_seal::verify_session_records(directory, &host_keys(), None, None).unwrap();
    assert_eq!(report.verdict, verdict, "{report:?}");
}

/// Whether `wanted` is left when some of `all` are taken out: a line that was cut short may yet be whole but for its end.
fn contains_in_order(all: &[usize], wanted: &[usize]) -> bool {
    let mut all = all.iter();
    wanted.iter().all(|number| all.any(|found| found == number))
}
