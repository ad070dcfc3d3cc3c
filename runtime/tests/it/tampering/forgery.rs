//! Consistent forgeries: another history, linked anew from its first line to its last.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use mur_seal::{Expectation, LineHash, TRACE_STREAM, Verdict, line_hash, link, verify_inline};

/// One way to make another history of a trace's lines, given without their links.
pub(super) struct Forgery {
    pub(super) name: &'static str,
    forge: fn(&mut Vec<String>),
}

/// Every forgery changes a trace that has at least two lines.
pub(super) const FORGERIES: [Forgery; 8] = [
    Forgery { name: "one line less", forge: |lines| drop(lines.pop()) },
    Forgery { name: "the front cut off", forge: |lines| drop(lines.remove(0)) },
    Forgery { name: "emptied", forge: Vec::clear },
    Forgery { name: "a line more in between", forge: |lines| lines.insert(1, invented(0)) },
    Forgery { name: "a line more at the end", forge: |lines| lines.push(invented(0)) },
    Forgery {
        name: "the same length, one letter changed",
        forge: |lines| lines[0] = lines[0].replace("tester", "testes"),
    },
    Forgery { name: "the same length, two lines swapped", forge: |lines| lines.swap(0, 1) },
    Forgery {
        name: "the same length, two lines made one",
        forge: |lines| {
            let last = lines.pop().unwrap();
            let before = lines.pop().unwrap();
            // With its link and its newline a line is so much longer than without.
            let of_link = link("{}", &LineHash::GENESIS, None).unwrap().len() + ",".len() + "\n".len() - "{}".len();
            let filler = last.len() + before.len() + of_link - invented(0).len();
            lines.push(invented(filler));
        },
    },
];

/// An event that never was, made longer by so many bytes.
fn invented(filler: usize) -> String {
    format!("{{\"event_type\":\"invented\",\"filler\":\"{}\"}}", "x".repeat(filler))
}

impl Forgery {
    pub(super) fn of(&self, trace: &[u8]) -> Vec<u8> {
        let trace = str::from_utf8(trace).unwrap();
        let whole = &trace[..trace.rfind('\n').unwrap() + 1];
        let mut lines: Vec<String> = whole.lines().map(without_link).collect();
        (self.forge)(&mut lines);
        chained(&lines)
    }
}

fn without_link(line: &str) -> String {
    format!("{}}}", &line[..line.rfind(",\"prev_hash\":").unwrap()])
}

/// These events as a trace, each linked to the one before it.
pub(super) fn chained(events: &[String]) -> Vec<u8> {
    let mut text = String::new();
    let mut head = LineHash::GENESIS;
    for event in events {
        let line = link(event, &head, None).unwrap();
        head = line_hash(line.as_bytes());
        text.push_str(&line);
        text.push('\n');
    }
    text.into_bytes()
}

/// A way to bring a forged trace to the place of the true one.
pub(super) type Way = (&'static str, fn(&Path, &[u8]));

pub(super) const WAYS: [Way; 3] = [
    ("truncated and written", |trace, forged| fs::write(trace, forged).unwrap()),
    ("overwritten in place", |trace, forged| {
        let mut file = File::options().write(true).open(trace).unwrap();
        file.write_all(forged).unwrap();
        file.set_len(forged.len() as u64).unwrap();
    }),
    ("another file moved there", |trace, forged| {
        let other = trace.with_extension("forged");
        fs::write(&other, forged).unwrap();
        fs::rename(other, trace).unwrap();
    }),
];

#[test]
fn forgeries_are_intact_chains_and_those_of_the_same_length_are() {
    let events = ["{\"name\":\"tester\"}", "{\"n\":2}", "{\"n\":3,\"long\":\"enough to hold what is invented here\"}"];
    let trace = chained(&events.map(String::from));
    for forgery in &FORGERIES {
        let forged = forgery.of(&trace);
        assert_ne!(forged, trace, "{}", forgery.name);
        assert_eq!(forged.len() == trace.len(), forgery.name.starts_with("the same length"), "{}", forgery.name);
        let report = verify_inline(&Expectation { stream: TRACE_STREAM, session: None, keys: &[] }, &forged, None);
        assert_eq!(report.verdict, Verdict::Unsealed, "{}: {report:?}", forgery.name);
    }
}
