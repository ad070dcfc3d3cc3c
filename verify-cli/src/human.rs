//! A report as text: short enough to read, exact enough to paste into another report.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use mur_seal::{Code, Finding, LineHash, PublicKeyReport, Question, RecordReport, StreamReport, Verdict, escape};

use crate::console::Styling;
use crate::{KeyOrigin, Notes};

/// The longest name of a stream that is always there. A conversation's is much longer, and gets a line of its own.
const NAME_WIDTH: usize = mur_seal::EVAL_STREAM.len();
/// The longest verdict.
const VERDICT_WIDTH: usize = Verdict::Unverifiable.as_str().len();

/// Further findings that are shown of one stream; the rest are counted.
const MOST_FURTHER: usize = 3;

/// How a block is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) origin: KeyOrigin,
    pub(crate) notes: Notes,
    pub(crate) styling: Styling,
    /// Whether blocks of other records come before or after it.
    pub(crate) company: Company,
}

/// Whether a record is checked alone. What no check of one can tell is said once, at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Alone,
    OfMany,
}

/// One block: the record, a line for each stream with what was found in it below, what it was checked with, and what the
/// verdict does not say.
pub(crate) fn print(out: &mut dyn Write, report: &RecordReport, layout: Layout) -> io::Result<()> {
    let Layout { origin, notes, styling, company } = layout;
    let record = match (&report.session_id, report.verdict) {
        (Some(session), _) => session,
        (None, Verdict::Absent) => "no record",
        (None, _) => "a record that names no session",
    };
    writeln!(out, "{}  ({})", escape(&cut(record)), escape(&report.records_dir))?;
    for stream in &report.streams {
        print_stream(out, stream, styling)?;
    }
    let style = style(report.verdict, styling);
    let conclusion = match report.verdict {
        Verdict::Absent => "there is nothing to verify".into(),
        Verdict::Verified | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => {
            checked_with(&report.public_key, origin)
        }
    };
    write!(out, "{style}{}{style:#}", report.verdict)?;
    if report.verdict == Verdict::Verified && notes == Notes::Count && has_notes(report) {
        write!(out, ", but with notes, which --strict counts against it")?;
    }
    writeln!(out, ": {}", escape(&conclusion))?;
    match company {
        Company::Alone => Open::of(report).print(out),
        Company::OfMany => Ok(()),
    }
}

/// A session's id as far as it is shown. A host's is short, and a record may claim to be of a session of any name.
fn cut(session: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    match session.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &session[..end]).into(),
        None => session.into(),
    }
}

fn print_stream(out: &mut dyn Write, stream: &StreamReport, styling: Styling) -> io::Result<()> {
    let mut name = escape(&stream.stream);
    if name.chars().count() > NAME_WIDTH {
        writeln!(out, "  {name}")?;
        name = "".into();
    }
    let style = style(stream.verdict, styling);
    let verdict = stream.verdict;
    let statement = statement(stream);
    writeln!(out, "  {name:NAME_WIDTH$}  {style}{verdict:VERDICT_WIDTH$}{style:#}  {}", escape(&statement))?;
    let mut below = |text: &str| writeln!(out, "  {:NAME_WIDTH$}  {}", "", escape(text));
    let mut counting = stream.findings.iter().filter(|found| found.code.verdict().is_some());
    if let Some(place) = counting.next().and_then(place) {
        below(&place)?;
    }
    for found in counting.by_ref().take(MOST_FURTHER) {
        let place = place(found).map(|place| format!(", {place}")).unwrap_or_default();
        below(&format!("also: {}{place} [{}]", found.text, found.code))?;
    }
    match counting.count() as u64 + stream.more_findings {
        0 => {}
        1 => below("and 1 finding more")?,
        more => below(&format!("and {} findings more", grouped(more)))?,
    }
    for note in &stream.notes {
        let code = stream.findings.iter().find(|found| found.code.verdict().is_none() && found.text == *note);
        let code = code.map(|found| format!(" [{}]", found.code)).unwrap_or_default();
        below(&format!("note: {note}{code}"))?;
    }
    Ok(())
}

/// Where a finding is in its stream, and the hashes that tell: `at byte 812: expected 1a2b3c4d5e6f…, found 99ff00aa1122…`.
fn place(found: &Finding) -> Option<String> {
    let at = found.offset.map(|offset| format!("at byte {}", grouped(offset)));
    let expected = found.expected.map(|hash| format!("expected {}", shortened(&hash)));
    let is = found.found.map(|hash| format!("found {}", shortened(&hash)));
    let hashes: Vec<String> = [expected, is].into_iter().flatten().collect();
    match (at, hashes.is_empty()) {
        (at, true) => at,
        (Some(at), false) => Some(format!("{at}: {}", hashes.join(", "))),
        (None, false) => Some(hashes.join(", ")),
    }
}

/// As much of a hash as a person compares.
fn shortened(hash: &LineHash) -> String {
    const SHOWN: std::ops::Range<usize> = 7..19; // behind `sha256:`
    hash.to_string().get(SHOWN).map(|digits| format!("{digits}…")).unwrap_or_default()
}

/// Whether anything is noted of a record.
pub(crate) fn has_notes(report: &RecordReport) -> bool {
    report.streams.iter().any(|stream| !stream.notes.is_empty())
}

/// What checks left open: codes, and in how many records.
#[derive(Debug, Default)]
pub(crate) struct Open {
    records: u64,
    not_checked: BTreeMap<String, u64>,
    cannot_be_known: BTreeMap<String, u64>,
}

impl Open {
    pub(crate) fn of(report: &RecordReport) -> Self {
        let mut open = Open::default();
        open.add(report);
        open
    }

    pub(crate) fn add(&mut self, report: &RecordReport) {
        self.records += 1;
        count(&mut self.not_checked, &report.not_checked);
        count(&mut self.cannot_be_known, &report.cannot_be_known);
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for (what, codes) in [("not checked", &self.not_checked), ("cannot be known", &self.cannot_be_known)] {
            if !codes.is_empty() {
                let codes = codes.iter().map(|(code, count)| match *count == self.records {
                    true => code.clone(),
                    false => format!("{code} (in {} of them)", grouped(*count)),
                });
                let codes: Vec<String> = codes.collect();
                writeln!(out, "  {what}: {}", escape(&codes.join(", ")))?;
            }
        }
        if !self.not_checked.is_empty() || !self.cannot_be_known.is_empty() {
            writeln!(out, "  what each of these means: mur-verify explain WORD")?;
        }
        Ok(())
    }
}

/// Counts each code once, however many streams it is about.
fn count(counts: &mut BTreeMap<String, u64>, questions: &[Question]) {
    let codes: BTreeSet<&str> = questions.iter().map(|question| question.code.as_str()).collect();
    for code in codes {
        match counts.get_mut(code) {
            Some(count) => *count += 1,
            None => drop(counts.insert(code.into(), 1)),
        }
    }
}

/// A report in one line, without a newline: the verdict, what it is the verdict on, and the stream that it hangs on.
/// Escaped for a terminal.
pub fn summary(report: &RecordReport) -> String {
    let record = report.session_id.as_deref().map_or(Cow::from(&report.records_dir), cut);
    let decisive = report.streams.iter().find(|stream| stream.verdict == report.verdict);
    let why = match decisive {
        Some(stream) if report.verdict != Verdict::Verified => format!(": {}: {}", stream.stream, stream.detail),
        _ => String::new(),
    };
    let text = format!("{} {record}{why}; {}", report.verdict, checked_with(&report.public_key, KeyOrigin::Given));
    escape(&text).into_owned()
}

/// What is said of one stream beside its verdict, with the code of the finding that decided it.
fn statement(stream: &StreamReport) -> String {
    match stream.verdict {
        Verdict::Verified => {
            let lines = match stream.lines {
                1 => "1 line".into(),
                lines => format!("{} lines", grouped(lines)),
            };
            let unsigned = stream.findings.iter().any(|found| found.code == Code::MembersUnsigned);
            match stream.sealed_at {
                Some(at) if unsigned => format!("{lines}, sealed; the time that it gives, {}, is not signed", date(at)),
                Some(at) => format!("{lines}, sealed {} by the host's clock", date(at)),
                None => lines,
            }
        }
        Verdict::Absent => stream.detail.clone(),
        Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => match stream.findings.first() {
            Some(found) if found.code.verdict().is_some() => format!("{} [{}]", stream.detail, found.code),
            _ => stream.detail.clone(),
        },
    }
}

fn checked_with(key: &PublicKeyReport, origin: KeyOrigin) -> String {
    let Some(id) = key.key_id else { return "checked without a key".into() };
    let from = match (&key.path, origin) {
        (Some(path), KeyOrigin::Given) => format!("from {path}"),
        (Some(path), KeyOrigin::ThisHost) => format!("this host's own, from {path}"),
        (None, _) => "given as text".into(),
    };
    format!("checked with key {id} ({from})")
}

/// Milliseconds since the Unix epoch as `2026-11-30 15:00:01 UTC`; a time that no calendar has, as a number.
pub fn date(ms: u64) -> String {
    const LAST: u64 = 253_402_300_799_999; // the end of the year 9999
    if ms > LAST {
        return format!("{ms} ms after 1970");
    }
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms)).to_string();
    text.replacen('T', " ", 1).replacen('Z', " UTC", 1)
}

/// A number with its thousands apart: `1,204`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn style(verdict: Verdict, styling: Styling) -> Style {
    if styling == Styling::Plain {
        return Style::new();
    }
    match verdict {
        Verdict::Absent => Style::new().dimmed(),
        Verdict::Verified => AnsiColor::Green.on_default(),
        Verdict::Unverifiable | Verdict::Unsealed => AnsiColor::Yellow.on_default(),
        Verdict::Changed => AnsiColor::Red.on_default().bold(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mur_seal::{Code, line_hash};
    use serde_json::json;

    use super::*;

    fn finding(code: Code, line: u64, text: &str) -> Finding {
        Finding {
            code,
            line: Some(line),
            offset: Some(line * 1000),
            expected: Some(line_hash(b"expected")),
            found: Some(line_hash(b"found")),
            text: text.into(),
        }
    }

    fn without_place(code: Code, text: &str) -> Finding {
        Finding { line: None, offset: None, expected: None, found: None, ..finding(code, 0, text) }
    }

    fn question(code: &str) -> serde_json::Value {
        json!({"code": code, "stream": null, "text": "whether", "needs": "something"})
    }

    /// A report whose trace reads so, for these reasons.
    fn report(verdict: Verdict, findings: Vec<Finding>, more_findings: u64) -> RecordReport {
        let notes = findings.iter().filter(|found| found.code.verdict().is_none()).map(|found| &found.text);
        let stream = json!({
            "stream": "trace.jsonl", "verdict": verdict, "lines": 9000, "sealed_lines": 9000, "chain_intact_through": 9000,
            "first_bad_line": null, "key_id": "21fe31dfa154a261", "sealed_at": 0,
            "detail": findings.first().map_or("every line is sealed", |found| &found.text),
            "notes": notes.collect::<Vec<_>>(), "findings": findings, "more_findings": more_findings,
        });
        let report = json!({
            "schema": 1, "session_id": "ses_1", "records_dir": "record", "verdict": verdict, "streams": [stream],
            "public_key": {"key_id": "21fe31dfa154a261", "path": "record-seal.pub"},
            "checked": [], "not_checked": [question("session-meant")],
            "cannot_be_known": [question("truth"), question("time"), question("time")],
        });
        serde_json::from_value(report).unwrap()
    }

    fn shown(report: &RecordReport, notes: Notes, company: Company) -> String {
        let mut out = Vec::new();
        let layout = Layout { origin: KeyOrigin::Given, notes, styling: Styling::Plain, company };
        print(&mut out, report, layout).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_found_beside_the_deciding_finding_is_shown_in_short() {
        let lines = (3..9).map(|line| finding(Code::LineChanged, line, &format!("line {line} is not what was sealed")));
        let note = without_place(Code::LineEndsRewritten, "every line ends in CR LF");
        let report = report(Verdict::Changed, lines.chain([note]).collect(), 1234);
        insta::assert_snapshot!(shown(&report, Notes::Inform, Company::Alone));
    }

    #[test]
    fn a_finding_without_a_place_takes_one_line() {
        let report = report(Verdict::Unsealed, vec![without_place(Code::NoSeal, "no seal")], 0);
        insta::assert_snapshot!(shown(&report, Notes::Inform, Company::Alone));
    }

    #[test]
    fn notes_that_count_are_said_to_count() {
        let report =
            report(Verdict::Verified, vec![without_place(Code::GenesisForeign, "line 1 is another writer's")], 0);
        insta::assert_snapshot!(shown(&report, Notes::Count, Company::Alone));
    }

    #[test]
    fn what_is_left_open_is_said_once_of_many_records() {
        let one = report(Verdict::Verified, Vec::new(), 0);
        assert!(!shown(&one, Notes::Inform, Company::OfMany).contains("session-meant"));
        let mut other = one.clone();
        other.not_checked.clear();
        let mut open = Open::default();
        [&one, &other].iter().for_each(|report| open.add(report));
        let mut out = Vec::new();
        open.print(&mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn what_a_finding_repeats_of_a_record_is_escaped() {
        let hostile = without_place(Code::SealOfOtherStream, "of `\u{1b}[2J`");
        let mut report = report(Verdict::Changed, vec![hostile.clone(), hostile], 0);
        report.streams[0].findings[1].text = "of `\u{202e}`".into();
        report.not_checked[0].code = "\u{9b}31m".into();
        let shown = shown(&report, Notes::Inform, Company::Alone);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{}", shown.escape_debug());
    }

    #[test]
    fn a_session_of_a_long_name_is_cut_where_it_is_shown() {
        let mut report = report(Verdict::Verified, Vec::new(), 0);
        report.session_id = Some("ü".repeat(60_000));
        let expected = format!("{}…", "ü".repeat(200));
        let shown = shown(&report, Notes::Inform, Company::Alone);
        assert_eq!(shown.lines().next(), Some(format!("{expected}  (record)").as_str()));
        assert!(summary(&report).starts_with(&format!("verified {expected}; checked")), "{}", summary(&report));
        let whole = "ü".repeat(200);
        assert_eq!(cut(&whole), whole);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn dates_are_utc_and_never_panic() {
        assert_eq!(date(1_796_050_801_000), "2026-11-30 15:00:01 UTC");
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(253_402_300_799_999), "9999-12-31 23:59:59 UTC");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms after 1970");
    }
}
