//! Appending: one linear chain, whoever appends, and whatever a crash left at the file's end.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mur_seal::{Appenders, ChainError, ChainHead, InlineChain, LineHash, LinkError, Verdict, line_hash, listed_head};

use crate::child;
use crate::support::{Records, append_raw, event, numbers, quiet};

#[test]
fn each_line_names_the_hash_of_the_line_before_it() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    for number in 1..=4 {
        chain.append(&event("host", number)).unwrap();
    }
    let mut before = LineHash::GENESIS;
    for (line, number) in records.lines().iter().zip(1..) {
        let body = event("host", number);
        let body = body.strip_suffix('}').unwrap();
        assert_eq!(*line, format!("{body},\"prev_hash\":\"{before}\"}}"));
        before = line_hash(line.as_bytes());
    }
    assert_eq!(chain.head().unwrap(), ChainHead { head: before, lines: 4 });
}

#[test]
fn an_append_answers_with_the_head_that_it_made() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    assert_eq!(chain.head().unwrap(), ChainHead { head: LineHash::GENESIS, lines: 0 });
    let head = chain.append("{}").unwrap();
    assert_eq!(head, ChainHead { head: line_hash(records.lines()[0].as_bytes()), lines: 1 });
    assert_eq!(head, chain.head().unwrap());
}

#[test]
fn an_event_that_cannot_be_a_line_leaves_the_file_as_it_was() {
    let records = Records::new();
    let chain = records.chain(Appenders::Sole);
    chain.append("{}").unwrap();
    let before = records.bytes();
    for (refused, reserved) in [
        ("[]", false),
        ("{\"a\":1", false),
        ("{\"a\":\n1}", false),
        ("{\"prev_hash\":1}", true),
        ("{\"gap_hash\":null}", true),
    ] {
        let error = chain.append(refused).unwrap_err();
        assert_eq!(matches!(error, ChainError::Event(LinkError::Reserved(_))), reserved, "{refused}: {error}");
    }
    assert_eq!(records.bytes(), before);
    chain.append("{}").unwrap();
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
}

#[test]
fn one_file_has_one_chain_however_it_is_named() {
    let records = Records::new();
    let first = records.chain(Appenders::Sole);
    let through_link = records.file("directory");
    std::os::unix::fs::symlink(records.path(), &through_link).unwrap();
    let hard_link = records.file("again.jsonl");
    fs::hard_link(records.trace(), &hard_link).unwrap();
    for path in [records.trace(), through_link.join("trace.jsonl"), hard_link] {
        let again = InlineChain::open(&path, quiet(Appenders::Shared)).unwrap();
        assert!(Arc::ptr_eq(&first, &again), "{}", path.display());
    }
}

#[test]
fn threads_append_to_one_linear_chain() {
    const THREADS: usize = 8;
    const EACH: usize = 60;
    let records = Records::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let chain = records.chain(Appenders::Sole);
            scope.spawn(move || {
                (0..EACH).for_each(|number| {
                    chain.append(&event(&format!("thread {thread}"), number)).unwrap();
                });
            });
        }
    });
    let chain = records.chain(Appenders::Sole);
    assert_eq!(records.seal(&chain).unwrap().lines, (THREADS * EACH) as u64);
    records.assert_trace(Verdict::Verified);
    let lines = records.lines();
    for thread in 0..THREADS {
        assert_eq!(numbers(&lines, &format!("thread {thread}")), Vec::from_iter(0..EACH));
    }
}

const EACH_PROCESS: usize = 150;

pub(crate) fn append_as_another_process(trace: &Path, name: &str) {
    let chain = InlineChain::open(trace, quiet(Appenders::Shared)).unwrap();
    child::say_ready();
    for number in 0..EACH_PROCESS {
        chain.append(&event(name, number)).unwrap();
    }
    assert_eq!(chain.tampering(), None);
}

#[test]
fn processes_append_to_one_linear_chain() {
    let records = Records::new();
    let chain = records.chain(Appenders::Shared);
    let children: Vec<_> = (0..3)
        .map(|process| {
            let name = format!("process {process}");
            (child::command("append", records.trace().as_os_str(), &name).spawn().unwrap(), name)
        })
        .collect();
    for number in 0..EACH_PROCESS {
        chain.append(&event("parent", number)).unwrap();
    }
    let mut names = vec!["parent".to_owned()];
    for (child, name) in children {
        child::wait_for_success(child);
        names.push(name);
    }
    let sealed = records.seal(&chain).unwrap();
    assert_eq!(sealed.lines, (EACH_PROCESS * names.len()) as u64);
    assert_eq!(chain.tampering(), None);
    records.assert_trace(Verdict::Verified);
    let lines = records.lines();
    for name in names {
        assert_eq!(numbers(&lines, &name), Vec::from_iter(0..EACH_PROCESS), "{name}");
    }
}

#[test]
fn the_head_is_what_the_file_holds_now() {
    let records = Records::new();
    let chain = records.chain(Appenders::Shared);
    chain.append("{}").unwrap();
    let next = mur_seal::link("{\"a\":1}", &chain.head().unwrap().head, None).unwrap();
    append_raw(&records.trace(), format!("{next}\n"));
    assert_eq!(chain.head().unwrap(), ChainHead { head: line_hash(next.as_bytes()), lines: 2 });
    fs::remove_file(records.trace()).unwrap();
    assert_eq!(chain.head().unwrap(), ChainHead { head: LineHash::GENESIS, lines: 0 });
}

/// What a crash may leave of a line, ended or not by the next append.
#[test]
fn a_torn_line_is_kept_named_and_bound_wherever_it_was_torn() {
    let whole = {
        let records = Records::new();
        let chain = records.chain(Appenders::Sole);
        chain.append(&event("host", 1)).unwrap();
        chain.append(&event("host", 2)).unwrap();
        records.lines()
    };
    for cut in 1..=whole[1].len() {
        let torn = &whole[1][..cut];
        let records = Records::new();
        fs::write(records.trace(), format!("{}\n{torn}", whole[0])).unwrap();
        let chain = records.chain(Appenders::Sole);
        chain.append(&event("host", 3)).unwrap();
        chain.append(&event("host", 4)).unwrap();
        records.seal(&chain).unwrap();

        let lines = records.lines();
        assert_eq!(lines.len(), 4, "torn at {cut}");
        assert_eq!(lines[..2], [whole[0].clone(), torn.to_owned()], "torn at {cut}");
        let report = records.assert_trace(Verdict::Verified);
        if cut < whole[1].len() {
            let gap = listed_head(&[line_hash(whole[0].as_bytes()), line_hash(torn.as_bytes())]);
            assert!(lines[2].contains(&format!(",\"gap_hash\":\"{gap}\",\"prev_hash\":")), "torn at {cut}: {lines:?}");
            assert!(report.notes[0].starts_with("line 2 without a link"), "torn at {cut}: {report:?}");
        } else {
            // Only its newline was missing.
            assert_eq!(report.notes, Vec::<String>::new());
        }
    }
}

/// A member of an event may look like a link, and a crash may cut the line right behind it.
#[test]
fn a_torn_line_that_ends_like_a_link_is_not_read_as_one() {
    let head = |records: &Records| records.chain(Appenders::Sole).append(&event("host", 1)).unwrap().head;
    for torn in [
        |_: LineHash| "{\"input\":{\"prev_hash\":\"x\"}".to_owned(),
        |_| format!("{{\"input\":{{\"prev_hash\":\"{}\"}}", line_hash(b"x")),
        |head| format!("{{\"input\":{{\"gap_hash\":\"{}\",\"prev_hash\":\"{head}\"}}", line_hash(b"x")),
    ] {
        let records = Records::new();
        let torn = torn(head(&records));
        append_raw(&records.trace(), &torn);
        let chain = records.chain(Appenders::Sole);
        chain.append(&event("host", 2)).unwrap();
        records.seal(&chain).unwrap();
        let report = records.assert_trace(Verdict::Verified);
        assert!(report.notes[0].starts_with("line 2 without a link"), "{torn}: {report:?}");
        assert!(records.lines()[1].starts_with(&torn), "its bytes are kept");
    }
}

#[test]
fn a_line_torn_by_another_process_is_repaired_by_the_next_append() {
    let records = Records::new();
    let chain = records.chain(Appenders::Shared);
    chain.append(&event("host", 1)).unwrap();
    append_raw(&records.trace(), "{\"event_type\":\"tes");
    chain.append(&event("host", 2)).unwrap();
    append_raw(&records.trace(), "{");
    append_raw(&records.trace(), "\"event");
    chain.append(&event("host", 3)).unwrap();
    assert_eq!(chain.tampering(), None);
    records.seal(&chain).unwrap();
    let report = records.assert_trace(Verdict::Verified);
    assert_eq!(report.lines, 5);
    assert!(report.notes[0].starts_with("lines 2, 4 without a link"), "{report:?}");
    assert_eq!(numbers(&records.lines(), "host"), [1, 2, 3]);
}

#[test]
fn every_line_of_a_gap_is_bound() {
    let records = Records::new();
    let chain = records.chain(Appenders::Shared);
    chain.append(&event("host", 1)).unwrap();
    append_raw(&records.trace(), "{\"torn\n{\"torn again\n{\"and ag");
    chain.append(&event("host", 2)).unwrap();
    records.seal(&chain).unwrap();
    let report = records.assert_trace(Verdict::Verified);
    assert!(report.notes[0].starts_with("lines 2..=4 without a link"), "{report:?}");

    let good = records.bytes();
    for (at, _) in good.iter().enumerate().filter(|(_, byte)| **byte != b'\n') {
        let mut changed = good.clone();
        changed[at] ^= 1;
        fs::write(records.trace(), &changed).unwrap();
        records.assert_trace(Verdict::Changed);
    }
}

#[test]
fn a_file_of_an_older_writer_is_continued_and_bound() {
    let records = Records::new();
    fs::write(records.trace(), "{\"event_type\":\"old\"}\n{\"event_type\":\"older\"}\n").unwrap();
    let chain = records.chain(Appenders::Sole);
    chain.append(&event("host", 1)).unwrap();
    records.seal(&chain).unwrap();
    let report = records.assert_trace(Verdict::Verified);
    assert!(report.notes[0].starts_with("lines 1..=2 without a link"), "{report:?}");
    assert_eq!(report.notes.len(), 1, "{report:?}");
}

#[test]
fn a_file_whose_last_line_is_torn_is_not_sealed_before_it_is_repaired() {
    let records = Records::new();
    let chain = records.chain(Appenders::Shared);
    chain.append(&event("host", 1)).unwrap();
    append_raw(&records.trace(), "{\"torn");
    assert!(records.seal(&chain).unwrap_err().to_string().contains("torn"));
    append_raw(&records.trace(), "\n");
    assert!(records.seal(&chain).unwrap_err().to_string().contains("torn"));
    records.assert_trace(Verdict::Unsealed);
    chain.append(&event("host", 2)).unwrap();
    records.seal(&chain).unwrap();
    records.assert_trace(Verdict::Verified);
}
