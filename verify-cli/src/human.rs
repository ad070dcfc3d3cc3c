//! A report as text: short enough to read, exact enough to paste into another report.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use mur_seal::{PublicKeyReport, RecordReport, StreamReport, Verdict, escape};

use crate::KeyOrigin;
use crate::console::Styling;

/// The longest name of a stream that is always there. A conversation's is much longer, and gets a line of its own.
const NAME_WIDTH: usize = mur_seal::EVAL_STREAM.len();
/// The longest verdict.
const VERDICT_WIDTH: usize = Verdict::Unverifiable.as_str().len();

/// One block: the record, a line for each stream with its notes below, and what it was checked with.
pub(crate) fn print(out: &mut dyn Write, report: &RecordReport, origin: KeyOrigin, styling: Styling) -> io::Result<()> {
    let record = match (&report.session_id, report.verdict) {
        (Some(session), _) => session,
        (None, Verdict::Absent) => "no record",
        (None, _) => "a record that names no session",
    };
    writeln!(out, "{}  ({})", escape(record), escape(&report.records_dir))?;
    for stream in &report.streams {
        let mut name = escape(&stream.stream);
        if name.chars().count() > NAME_WIDTH {
            writeln!(out, "  {name}")?;
            name = "".into();
        }
        let style = style(stream.verdict, styling);
        let statement = statement(stream);
        let (verdict, statement) = (stream.verdict, escape(&statement));
        writeln!(out, "  {name:NAME_WIDTH$}  {style}{verdict:VERDICT_WIDTH$}{style:#}  {statement}")?;
        for note in &stream.notes {
            writeln!(out, "  {:NAME_WIDTH$}  note: {}", "", escape(note))?;
        }
    }
    let style = style(report.verdict, styling);
    let conclusion = match report.verdict {
        Verdict::Absent => "there is nothing to verify".into(),
        Verdict::Verified | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => {
            checked_with(&report.public_key, origin)
        }
    };
    writeln!(out, "{style}{}{style:#}: {}", report.verdict, escape(&conclusion))
}

/// A report in one line, without a newline: the verdict, what it is the verdict on, and the stream that it hangs on.
/// Escaped for a terminal.
pub fn summary(report: &RecordReport) -> String {
    let record = report.session_id.as_deref().unwrap_or(&report.records_dir);
    let decisive = report.streams.iter().find(|stream| stream.verdict == report.verdict);
    let why = match decisive {
        Some(stream) if report.verdict != Verdict::Verified => format!(": {}: {}", stream.stream, stream.detail),
        _ => String::new(),
    };
    let text = format!("{} {record}{why}; {}", report.verdict, checked_with(&report.public_key, KeyOrigin::Given));
    escape(&text).into_owned()
}

/// What is said of one stream beside its verdict.
fn statement(stream: &StreamReport) -> String {
    match stream.verdict {
        Verdict::Verified => {
            let lines = match stream.lines {
                1 => "1 line".into(),
                lines => format!("{} lines", grouped(lines)),
            };
            match stream.sealed_at {
                Some(at) => format!("{lines}, sealed {} by the host's clock", date(at)),
                None => lines,
            }
        }
        Verdict::Absent | Verdict::Unverifiable | Verdict::Unsealed | Verdict::Changed => stream.detail.clone(),
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

fn style(verdict: Verdict, styling: Styling) -> Style {
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
mod tests {
    use super::*;

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
