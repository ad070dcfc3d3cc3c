//! Files that the host did not begin: with a seal or without, with one that does not hold, with another host's.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mur_seal::{
    Appenders, ChainError, ChainOptions, InlineChain, Seal, SealingError, TAMPERED_EVENT, TRACE_STREAM, Tampering,
    Verdict,
};
use mur_testdata::{RECORD_DIR, RecordBuilder, Tree, in_record, other_key, script_events};

use crate::child;
use crate::support::{Records, event, make_fifo, quiet, told};

/// Writes a built record's files into the records directory.
fn put(records: &Records, tree: &Tree) {
    for (path, _) in tree.iter() {
        let name = path.strip_prefix(RECORD_DIR).and_then(|path| path.strip_prefix('/')).unwrap();
        fs::write(records.file(name), tree.bytes(path)).unwrap();
    }
}

fn script() -> RecordBuilder {
    RecordBuilder::new().events(&script_events())
}

fn open_told(records: &Records) -> (Arc<InlineChain>, Arc<Mutex<Vec<Tampering>>>) {
    let heard = Arc::default();
    (InlineChain::open(&records.trace(), told(Appenders::Sole, &heard)).unwrap(), heard)
}

#[test]
fn a_file_without_a_seal_is_continued() {
    let records = Records::new();
    put(&records, &script().build());
    let chain = records.chain(Appenders::Sole);
    assert_eq!(chain.head().unwrap().lines, 5);
    chain.append(&event("host", 1)).unwrap();
    records.seal(&chain).unwrap();
    assert_eq!(records.assert_trace(Verdict::Verified).lines, 6);
}

#[test]
fn a_file_with_a_seal_that_holds_for_its_beginning_is_continued() {
    let records = Records::new();
    let events = script_events();
    put(&records, &RecordBuilder::new().events(&events[..3]).seal_trace().events(&events[3..]).build());
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    records.seal(&chain).unwrap();
    assert_eq!(records.assert_trace(Verdict::Verified).sealed_lines, Some(6));
}

#[test]
fn a_new_file_is_made_and_an_empty_one_is_begun() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    assert_eq!(records.bytes(), b"");
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
    drop(chain);
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    assert_eq!(chain.tampering(), None);
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
}

/// Files in which something is wrong that a first look must see. None of them is ever sealed again.
#[test]
fn a_file_that_its_seal_does_not_hold_for_is_never_sealed_again() {
    let sealed = || script().seal_trace().build();
    let seal = in_record("trace.jsonl.seal");
    let trace = in_record(TRACE_STREAM);
    let rewritten = {
        let mut events = script_events();
        events[2] = events[2].replace("\"ok\"", "\"no\"");
        let mut tree = sealed();
        tree.file(&trace, RecordBuilder::new().events(&events).trace());
        tree
    };
    let with = |change: &dyn Fn(&mut Tree)| {
        let mut tree = sealed();
        change(&mut tree);
        tree
    };
    let shortened = with(&|tree| tree.file(&trace, RecordBuilder::new().events(&script_events()[..4]).trace()));
    let broken = with(&|tree| {
        tree.remove(&seal);
        tree.edit(&trace, |bytes| bytes[40] ^= 1);
    });
    for (what, tree) in [
        ("rewritten with every link anew", rewritten),
        ("shortened", shortened),
        ("emptied", with(&|tree| tree.file(&trace, ""))),
        ("only torn bytes left", with(&|tree| tree.file(&trace, "{\"event"))),
        ("its chain broken, without a seal", broken),
        ("with half a seal", with(&|tree| tree.edit(&seal, |bytes| bytes.truncate(bytes.len() / 2)))),
        ("with an empty seal", with(&|tree| tree.file(&seal, ""))),
    ] {
        let records = Records::new();
        put(&records, &tree);
        let before = records.bytes();
        let (chain, heard) = open_told(&records);
        chain.append(&event("host", 1)).unwrap();
        assert!(chain.tampering().is_some(), "{what}");
        assert_eq!(heard.lock().unwrap().len(), 1, "{what}");
        assert!(matches!(records.seal(&chain), Err(SealingError::Rewritten(_))), "{what}");
        assert!(records.bytes().starts_with(&before), "{what}: evidence was cut away");
        assert!(records.lines().iter().any(|line| line.contains(TAMPERED_EVENT)), "{what}");
        let report = records.assert_trace(Verdict::Changed);
        drop(chain);
        // Nor by the next process, which sees the report in the file.
        let (chain, heard) = open_told(&records);
        chain.append(&event("host", 2)).unwrap();
        assert!(matches!(records.seal(&chain), Err(SealingError::Rewritten(_))), "{what}: {report:?}");
        assert_eq!(heard.lock().unwrap().len(), 0, "{what}: it was told before");
        records.assert_trace(Verdict::Changed);
    }
}

#[test]
fn a_seal_without_its_file_is_not_sealed_over() {
    let records = Records::new();
    put(&records, &script().seal_trace().build());
    fs::remove_file(records.trace()).unwrap();
    let (chain, _) = open_told(&records);
    chain.append(&event("host", 1)).unwrap();
    assert!(matches!(records.seal(&chain), Err(SealingError::Rewritten(_))));
    records.assert_trace(Verdict::Changed);
}

#[test]
fn another_hosts_seal_is_left_alone() {
    let foreign = script().sealing_with(other_key()).seal_trace().build();
    let claimed = {
        let record = script().sealing_with(other_key());
        let seal = record.sign(record.trace_draft());
        let claimed = Seal { key_id: mur_testdata::host_key().key_id(), ..seal };
        record.with_file("trace.jsonl.seal", claimed.to_file()).build()
    };
    for tree in [foreign, claimed] {
        let records = Records::new();
        put(&records, &tree);
        let before = fs::read(records.seal_file()).unwrap();
        let chain = records.chain(Appenders::Sole);
        chain.append(&event("host", 1)).unwrap();
        for _ in 0..2 {
            assert!(matches!(records.seal(&chain), Err(SealingError::ForeignSeal(_))));
        }
        assert_eq!(fs::read(records.seal_file()).unwrap(), before);
        assert_ne!(records.check_trace().verdict, Verdict::Verified);
    }
}

#[test]
fn another_hosts_seal_beside_an_empty_file_is_left_alone() {
    let records = Records::new();
    put(&records, &RecordBuilder::new().torn_bytes("").sealing_with(other_key()).seal_trace().build());
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    assert!(matches!(records.seal(&chain), Err(SealingError::ForeignSeal(_))));
}

#[test]
fn the_seal_of_an_earlier_session_of_this_host_is_continued() {
    let records = Records::new();
    put(&records, &script().sealing_for(mur_testdata::OTHER_SESSION).seal_trace().build());
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let records = Records::new();
    let elsewhere = records.file("elsewhere.jsonl");
    fs::write(&elsewhere, "").unwrap();

    std::os::unix::fs::symlink(&elsewhere, records.trace()).unwrap();
    assert!(matches!(refusal(&records), ChainError::Replaced(_)));
    fs::remove_file(records.trace()).unwrap();

    make_fifo(&records.trace());
    assert!(matches!(refusal(&records), ChainError::Replaced(_)));
    fs::remove_file(records.trace()).unwrap();

    fs::create_dir(records.trace()).unwrap();
    assert!(matches!(refusal(&records), ChainError::Io { .. } | ChainError::Replaced(_)));
    fs::remove_dir(records.trace()).unwrap();

    let missing = InlineChain::open(&records.file("missing/trace.jsonl"), quiet(Appenders::Sole));
    assert!(matches!(missing.err().unwrap(), ChainError::Io { .. }));
    assert_eq!(fs::read(elsewhere).unwrap(), b"");
}

fn refusal(records: &Records) -> ChainError {
    let start = Instant::now();
    let refused = InlineChain::open(&records.trace(), quiet(Appenders::Sole)).err().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "it waited for something");
    refused
}

#[test]
fn a_sole_appender_holds_the_files_lock_while_it_is_open_and_others_for_one_append() {
    let is_locked = |records: &Records| {
        let file = File::open(records.trace()).unwrap();
        // Let go of explicitly: a process that another test starts just now may hold a copy of the handle.
        let locked = file.try_lock().is_err();
        file.unlock().unwrap();
        locked
    };
    let records = Records::new();
    let sole = records.chain(Appenders::Sole);
    assert!(is_locked(&records));
    sole.append(&event("host", 1)).unwrap();
    records.seal(&sole).unwrap();
    assert!(is_locked(&records));
    // What was put in its place is locked in its stead.
    fs::remove_file(records.trace()).unwrap();
    sole.append(&event("host", 2)).unwrap();
    assert!(is_locked(&records));
    drop(sole);
    // Whoever looks for open chains at this moment keeps this one open a little longer.
    let start = Instant::now();
    while is_locked(&records) {
        assert!(start.elapsed() < Duration::from_secs(5), "it is still locked");
        std::thread::yield_now();
    }

    let shared = records.chain(Appenders::Shared);
    assert!(!is_locked(&records));
    shared.append(&event("host", 3)).unwrap();
    assert!(!is_locked(&records));
}

pub(crate) fn hold_the_lock(trace: &Path) {
    let file = File::options().append(true).open(trace).unwrap();
    file.lock().unwrap();
    child::say_ready();
    child::wait_for_parent();
}

#[test]
fn an_append_waits_for_another_processs_lock() {
    let records = Records::new();
    let options = ChainOptions { lock_wait: Duration::from_secs(120), ..quiet(Appenders::Shared) };
    let chain = InlineChain::open(&records.trace(), options).unwrap();
    chain.append(&event("host", 1)).unwrap();
    let mut child = child::command("hold the lock", records.trace().as_os_str(), "").spawn().unwrap();
    child::wait_until_ready(&mut child);

    let waiting = std::thread::spawn({
        let chain = Arc::clone(&chain);
        move || chain.append(&event("host", 2))
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waiting.is_finished());
    assert_eq!(records.lines().len(), 1);
    drop(child.stdin.take()); // lets the child go
    waiting.join().unwrap().unwrap();
    child::wait_for_success(child);
    assert_eq!(records.lines().len(), 2);
}
