//! A file that is rewritten behind the host's back: the host says so in it, and never seals it again.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mur_seal::{
    Appenders, ChainError, ChainHead, InlineChain, LineHash, SealDraft, SealingError, TAMPERED_EVENT, TRACE_STREAM,
    Tampering, Verdict, line_hash, link, seal_inline, seal_session_end, seal_session_teardown,
};
use mur_testdata::{RecordBuilder, SESSION};

use crate::support::{Records, append_raw, event, make_fifo, numbers, quiet, told};

/// The trace that an attacker would rather have: `lines` events of its own, consistently chained.
fn forged(lines: usize) -> Vec<u8> {
    let events: Vec<String> = (0..lines).map(|number| event("thief", number)).collect();
    RecordBuilder::new().events(&events).trace().to_vec()
}

fn written(records: &Records, appenders: Appenders) -> (Arc<InlineChain>, Arc<Mutex<Vec<Tampering>>>) {
    let heard = Arc::default();
    let chain = InlineChain::open(&records.trace(), told(appenders, &heard)).unwrap();
    for number in 1..=3 {
        chain.append(&event("host", number)).unwrap();
    }
    (chain, heard)
}

/// Appends and seals, and proves that the file counts as rewritten from now on.
fn assert_caught(records: &Records, chain: &InlineChain) {
    chain.append(&event("host", 4)).unwrap();
    assert!(chain.tampering().is_some());
    assert!(matches!(records.seal(chain), Err(SealingError::Rewritten(_))));
    assert!(!records.seal_file().exists());
    assert!(records.lines().iter().any(|line| line.contains(TAMPERED_EVENT)), "{:?}", records.lines());
    records.assert_trace(Verdict::Changed);
}

const BOTH: [Appenders; 2] = [Appenders::Sole, Appenders::Shared];

#[test]
fn a_rewritten_file_of_any_other_length_is_caught() {
    for appenders in BOTH {
        for lines in [0, 1, 2, 4, 5, 20] {
            let records = Records::new();
            let (chain, _) = written(&records, appenders);
            fs::write(records.trace(), forged(lines)).unwrap();
            assert_caught(&records, &chain);
        }
    }
}

#[test]
fn what_was_expected_and_what_was_found_is_told_and_recorded() {
    let records = Records::new();
    let (chain, heard) = written(&records, Appenders::Sole);
    let expected = chain.head().unwrap();
    fs::write(records.trace(), forged(2)).unwrap();
    let found = ChainHead { head: line_hash(records.lines()[1].as_bytes()), lines: 2 };
    chain.append(&event("host", 4)).unwrap();
    assert_eq!(*heard.lock().unwrap(), [Tampering { expected, found }]);
    assert_eq!(chain.tampering(), Some(Tampering { expected, found }));
    let lines = records.lines();
    assert_eq!(lines.len(), 4);
    let told = format!(
        "{{\"event_type\":\"record_tampered\",\"expected_lines\":3,\"expected_head\":\"{}\",\"found_lines\":2,\"found_head\":\"{}\",\"prev_hash\":",
        expected.head, found.head
    );
    assert!(lines[2].starts_with(&told), "{lines:?}");
    assert_eq!(numbers(&lines, "host"), [4], "the event itself is not lost");
}

#[test]
fn a_file_rewritten_at_the_same_length_is_sealed_as_it_was_and_reads_changed() {
    for appenders in BOTH {
        let records = Records::new();
        let (chain, _) = written(&records, appenders);
        let events: Vec<String> = (1..=3).map(|number| event("tsoh", number)).collect();
        fs::write(records.trace(), RecordBuilder::new().events(&events).trace()).unwrap();
        chain.append(&event("host", 4)).unwrap();
        let _ = records.seal(&chain);
        records.assert_trace(Verdict::Changed);
    }
}

#[test]
fn a_file_rewritten_at_the_same_length_right_before_its_seal_reads_changed() {
    let records = Records::new();
    let (chain, _) = written(&records, Appenders::Sole);
    let events: Vec<String> = (1..=3).map(|number| event("tsoh", number)).collect();
    fs::write(records.trace(), RecordBuilder::new().events(&events).trace()).unwrap();
    let _ = records.seal(&chain);
    records.assert_trace(Verdict::Changed);
}

/// A torn line is evidence like any other: neither another torn line nor a whole one may stand in its place.
#[test]
fn a_torn_line_that_was_rewritten_is_never_verified() {
    for appenders in BOTH {
        let records = Records::new();
        let first = {
            let chain = records.chain(appenders);
            chain.append(&event("host", 1)).unwrap()
        };
        let whole = records.bytes();
        let fitting = link(&event("thief", 1), &first.head, None).unwrap();
        let torn = format!("{{\"torn\":\"{}", "x".repeat(fitting.len() - 9));
        let same_length = [fitting.clone(), torn.replace('x', "y"), torn.replacen('x', "\n", 1)];
        let longer = [format!("{fitting}\n"), format!("{fitting}\n{{\"torn"), format!("{}\n", torn.replace('x', "y"))];
        for forged in same_length.iter().chain(&longer) {
            fs::write(records.trace(), [&whole[..], torn.as_bytes()].concat()).unwrap();
            let chain = records.chain(appenders);
            fs::write(records.trace(), [&whole[..], forged.as_bytes()].concat()).unwrap();
            chain.append(&event("host", 2)).unwrap();
            let _ = records.seal(&chain);
            records.assert_trace(Verdict::Changed);
            let _ = fs::remove_file(records.seal_file());
        }
    }
}

/// A whole line but for its newline, that follows a forged history: ending it must not adopt that history.
#[test]
fn a_forged_line_without_its_newline_does_not_stand_for_what_is_before_it() {
    let records = Records::new();
    let (chain, _) = written(&records, Appenders::Shared);
    let events: Vec<String> = (1..=3).map(|number| event("tsoh", number)).chain([event("thief", 4)]).collect();
    let forged = RecordBuilder::new().events(&events).trace().to_vec();
    fs::write(records.trace(), &forged[..forged.len() - 1]).unwrap();
    chain.append(&event("host", 4)).unwrap();
    let _ = records.seal(&chain);
    records.assert_trace(Verdict::Changed);
}

#[test]
fn a_line_of_another_writer_is_a_rewrite_where_the_host_is_the_only_one() {
    for foreign in ["whole", "torn"] {
        let records = Records::new();
        let (chain, _) = written(&records, Appenders::Sole);
        let line = link(&event("thief", 1), &chain.head().unwrap().head, None).unwrap();
        append_raw(&records.trace(), if foreign == "whole" { format!("{line}\n") } else { line });
        assert_caught(&records, &chain);
    }
}

#[test]
fn a_line_of_another_writer_that_fits_is_adopted_where_the_file_is_shared() {
    let records = Records::new();
    let (chain, _) = written(&records, Appenders::Shared);
    let line = link(&event("other", 1), &chain.head().unwrap().head, None).unwrap();
    append_raw(&records.trace(), format!("{line}\n"));
    chain.append(&event("host", 4)).unwrap();
    assert_eq!(chain.tampering(), None);
    records.seal(&chain).unwrap();
    assert_eq!(records.assert_trace(Verdict::Verified).lines, 5);
}

#[test]
fn a_line_of_another_writer_that_does_not_fit_is_a_rewrite() {
    let wrong = line_hash(b"something else");
    for line in [
        link(&event("thief", 1), &LineHash::GENESIS, None).unwrap(),
        link(&event("thief", 1), &wrong, None).unwrap(),
        link(&event("thief", 1), &wrong, Some(&wrong)).unwrap(),
    ] {
        let records = Records::new();
        let (chain, _) = written(&records, Appenders::Shared);
        append_raw(&records.trace(), format!("{line}\n"));
        assert_caught(&records, &chain);
    }
    // A gap that is closed without its hash would leave what stands before it unbound.
    let records = Records::new();
    let (chain, _) = written(&records, Appenders::Shared);
    let closing = link(&event("thief", 1), &line_hash(b"{\"torn"), None).unwrap();
    append_raw(&records.trace(), format!("{{\"torn\n{closing}\n"));
    assert_caught(&records, &chain);
}

#[test]
fn another_file_in_its_place_is_a_rewrite_even_with_the_same_bytes() {
    for appenders in BOTH {
        let records = Records::new();
        let (chain, _) = written(&records, appenders);
        let copy = records.file("copy");
        fs::copy(records.trace(), &copy).unwrap();
        fs::rename(copy, records.trace()).unwrap();
        assert_caught(&records, &chain);
    }
}

#[test]
fn a_file_that_was_removed_is_begun_again_and_says_so() {
    for appenders in BOTH {
        let records = Records::new();
        let (chain, _) = written(&records, appenders);
        fs::remove_file(records.trace()).unwrap();
        assert_caught(&records, &chain);
        assert_eq!(records.lines().len(), 2);
        assert!(records.lines()[0].starts_with("{\"event_type\":\"record_tampered\",\"expected_lines\":3,"));
    }
}

#[test]
fn what_is_no_regular_file_in_its_place_is_an_error_and_is_not_waited_for() {
    let records = Records::new();
    let (chain, _) = written(&records, Appenders::Sole);
    let elsewhere = records.file("elsewhere");
    fs::rename(records.trace(), &elsewhere).unwrap();
    let kept = fs::read(&elsewhere).unwrap();
    let start = Instant::now();
    let refused = |place: &dyn Fn()| {
        place();
        assert!(matches!(chain.append(&event("host", 4)), Err(ChainError::Replaced(_) | ChainError::Io { .. })));
        assert!(records.seal(&chain).is_err());
    };
    refused(&|| symlink(&elsewhere, records.trace()).unwrap());
    fs::remove_file(records.trace()).unwrap();
    refused(&|| make_fifo(&records.trace()));
    fs::remove_file(records.trace()).unwrap();
    refused(&|| fs::create_dir(records.trace()).unwrap());
    assert!(start.elapsed() < Duration::from_secs(5), "it waited for something");
    assert_eq!(fs::read(elsewhere).unwrap(), kept, "nothing was written through the link");
    assert!(!records.seal_file().exists());
}

#[test]
fn a_rewritten_file_is_not_sealed_any_more_even_when_it_is_put_back() {
    for appenders in BOTH {
        let records = Records::new();
        let (chain, _) = written(&records, appenders);
        let good = records.bytes();
        fs::write(records.trace(), forged(2)).unwrap();
        chain.append(&event("host", 4)).unwrap();
        fs::write(records.trace(), &good).unwrap();
        for number in 5..8 {
            chain.append(&event("host", number)).unwrap();
            assert!(matches!(records.seal(&chain), Err(SealingError::Rewritten(_))));
            assert_ne!(records.check_trace().verdict, Verdict::Verified);
        }
    }
}

/// The seal of an earlier moment is good for the lines that it covers, so the evidence must not be lost with the rest.
#[test]
fn a_file_cut_back_to_its_last_seal_again_and_again_is_never_verified() {
    for appenders in BOTH {
        let records = Records::new();
        let (chain, _) = written(&records, appenders);
        records.seal(&chain).unwrap();
        let sealed = records.bytes();
        chain.append(&event("host", 4)).unwrap();
        let last_steps: [fn(&Records); 4] = [
            |records| assert!(records.seal(&records.chain(Appenders::Sole)).is_err()),
            |records| assert_eq!(seal_inline(records.path(), TRACE_STREAM, SESSION, &records.key, None), None),
            |records| assert_eq!(seal_session_end(records.path(), SESSION, &records.key), None),
            |records| seal_session_teardown(records.path(), SESSION, &records.key),
        ];
        for last_step in last_steps {
            fs::write(records.trace(), &sealed).unwrap();
            last_step(&records);
            records.assert_trace(Verdict::Changed);
        }
        fs::write(records.trace(), &sealed).unwrap();
        chain.append(&event("host", 5)).unwrap();
        records.assert_trace(Verdict::Changed);
    }
}

/// As above, but so that the file's length tells nothing, or that only few bytes seem to have been added.
#[test]
fn a_file_cut_back_to_its_last_seal_at_about_the_length_that_it_has_is_never_verified() {
    for appenders in BOTH {
        for added in [0, 1, 2, 40, 80, 90, 200] {
            let records = Records::new();
            let (chain, _) = written(&records, appenders);
            let padded = |len: usize| format!("{{\"event_type\":\"test\",\"text\":\"{}\"}}", "x".repeat(len));
            chain.append(&padded(1000)).unwrap();
            records.seal(&chain).unwrap();
            let sealed = records.bytes();
            fs::remove_file(records.trace()).unwrap();
            chain.append(&event("host", 4)).unwrap();
            let missing = sealed.len() - added - records.bytes().len();
            let line_without_text = padded(0).len() + ",\"prev_hash\":\"\"".len() + LineHash::TEXT_LEN + 1;
            chain.append(&padded(missing - line_without_text)).unwrap();
            assert_eq!(records.bytes().len() + added, sealed.len());
            fs::write(records.trace(), &sealed).unwrap();
            assert!(matches!(records.seal(&chain), Err(SealingError::Rewritten(_))));
            records.assert_trace(Verdict::Changed);
        }
    }
}

/// What another process of the session appended and sealed, and what was then taken away, this one need not have seen.
#[test]
fn a_seal_of_another_process_is_not_replaced_once_the_lines_that_it_covers_are_gone() {
    for (keep, add, refused) in [(5, 0, false), (5, 1, false), (2, 0, true), (2, 1, true), (2, 3, true), (2, 5, true)] {
        let records = Records::new();
        let chain = records.chain(Appenders::Shared);
        for number in 1..=2 {
            chain.append(&event("host", number)).unwrap();
        }
        let mut others = records.bytes();
        let mut head = chain.head().unwrap().head;
        for number in 3..=5 {
            let line = link(&event("other", number), &head, None).unwrap();
            head = line_hash(line.as_bytes());
            others.extend(format!("{line}\n").bytes());
        }
        let draft = SealDraft { lines: 5, head, ..RecordBuilder::new().trace_draft() };
        let seal = records.key.seal(draft).unwrap().to_file();
        fs::write(records.seal_file(), &seal).unwrap();
        let kept: Vec<u8> = others.split_inclusive(|&byte| byte == b'\n').take(keep).flatten().copied().collect();
        fs::write(records.trace(), kept).unwrap();
        for number in 0..add {
            chain.append(&event("host", number)).unwrap();
        }
        assert_eq!(chain.tampering(), None);
        let sealed = records.seal(&chain);
        if refused {
            assert!(matches!(sealed, Err(SealingError::SealedLinesLost(_))), "{keep} + {add}: {sealed:?}");
            assert_eq!(fs::read_to_string(records.seal_file()).unwrap(), seal, "{keep} + {add}");
            records.assert_trace(Verdict::Changed);
        } else {
            sealed.unwrap();
            records.assert_trace(Verdict::Verified);
        }
    }
}

/// Every function that seals finds the chain that witnessed the file, whatever now bears its name.
#[test]
fn a_file_replaced_right_before_it_is_sealed_is_not_sealed() {
    type Act = fn(&Records);
    let seal_moments: [(&str, Act); 3] = [
        ("seal_inline", |records| {
            seal_inline(records.path(), TRACE_STREAM, SESSION, &records.key, None);
        }),
        ("seal_session_end", |records| {
            seal_session_end(records.path(), SESSION, &records.key);
        }),
        ("seal_session_teardown", |records| seal_session_teardown(records.path(), SESSION, &records.key)),
    ];
    let replacements: [(&str, Act); 3] = [
        ("renamed over", |records| {
            let copy = records.file("copy");
            fs::write(&copy, forged(3)).unwrap();
            fs::rename(copy, records.trace()).unwrap();
        }),
        ("removed", |records| fs::remove_file(records.trace()).unwrap()),
        ("removed and made anew, shorter", |records| {
            fs::remove_file(records.trace()).unwrap();
            fs::write(records.trace(), forged(1)).unwrap();
        }),
    ];
    for (moment, seal) in seal_moments {
        for (replacement, replace) in replacements {
            for sealed_before in [false, true] {
                let records = Records::new();
                let (chain, _) = written(&records, Appenders::Sole);
                if sealed_before {
                    records.seal(&chain).unwrap();
                }
                replace(&records);
                seal(&records);
                let report = records.check_trace();
                assert_ne!(report.verdict, Verdict::Verified, "{replacement}, then {moment}: {report:?}");
                // A teardown does not look again at a trace that has as many lines as its seal covers.
                assert!(chain.tampering().is_some() || sealed_before, "{replacement}, then {moment}");
            }
        }
    }
}

#[test]
fn a_report_that_could_not_be_written_is_written_with_the_next_append() {
    let records = Records::new();
    let calls = Arc::new(Mutex::new(0));
    let options = mur_seal::ChainOptions {
        on_tampering: Box::new({
            let calls = Arc::clone(&calls);
            move |tampering| {
                let mut calls = calls.lock().unwrap();
                *calls += 1;
                // No event at first, as if it could not be written.
                if *calls == 1 {
                    return "no event".into();
                }
                format!("{{\"event_type\":\"{TAMPERED_EVENT}\",{}}}", tampering.members())
            }
        }),
        ..quiet(Appenders::Sole)
    };
    let chain = InlineChain::open(&records.trace(), options).unwrap();
    chain.append(&event("host", 1)).unwrap();
    fs::write(records.trace(), forged(2)).unwrap();
    chain.append(&event("host", 2)).unwrap_err();
    chain.append(&event("host", 3)).unwrap();
    assert!(records.lines().iter().any(|line| line.contains(TAMPERED_EVENT)), "{:?}", records.lines());
    records.assert_trace(Verdict::Changed);
}
