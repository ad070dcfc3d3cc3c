//! `mur trace show`: what a session did, for people. It says nothing about whether the record is whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use mur_seal::escape;
use mur_verify::{date, grouped};

use crate::record::{Recorded, RecordedLine};

/// Columns of a section's rule.
const WIDTH: usize = 72;
/// Characters that are shown of a tool's name.
const NAME_WIDTH: usize = 40;

/// The sections that have something to say, and the count of redundant calls always.
pub(crate) fn render(records_dir: &Path, lines: &[RecordedLine]) -> String {
    let events: Vec<&Recorded> = lines
        .iter()
        .filter_map(|line| match line {
            RecordedLine::Event(event) => Some(event),
            RecordedLine::Torn { .. } => None,
        })
        .collect();
    let mut text = String::new();
    session(&mut text, records_dir, &events);
    tasks(&mut text, &events);
    tool_calls(&mut text, &events);
    redundant_calls(&mut text, &events);
    denials(&mut text, &events);
    damage(&mut text, lines, &events);
    text
}

fn rule(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    let head = format!("── {name} ");
    let _ = writeln!(text, "{head}{}", "─".repeat(WIDTH.saturating_sub(head.chars().count())));
}

fn row(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name:<12}{}", escape(value));
}

fn of_kind<'a>(events: &[&'a Recorded], kind: &str) -> Vec<&'a Recorded> {
    events.iter().copied().filter(|event| event.kind() == kind).collect()
}

fn session(text: &mut String, records_dir: &Path, events: &[&Recorded]) {
    rule(text, "Session");
    row(text, "record", &records_dir.to_string_lossy());
    let Some(start) = of_kind(events, "session_start").first().copied() else {
        row(text, "status", "no session_start: the session did not begin");
        return;
    };
    row(text, "session", start.text("session_id").unwrap_or("unknown"));
    let name = start.text("capsule_name").unwrap_or("unknown");
    row(text, "capsule", &format!("{name} {}", start.text("capsule_version").unwrap_or_default()));
    if let Some(at) = start.number("timestamp") {
        row(text, "started", &date(at));
    }
    match of_kind(events, "session_end").last() {
        Some(end) => {
            row(text, "duration", &duration(end.number("duration_ms").unwrap_or(0)));
            row(text, "status", end.text("exit_status").unwrap_or("unknown"));
        }
        None => row(text, "status", "no session_end: the session is running, or was cut off"),
    }
}

fn tasks(text: &mut String, events: &[&Recorded]) {
    let ends = of_kind(events, "task_end");
    if ends.len() < 2 {
        return;
    }
    rule(text, "Tasks");
    for end in ends {
        let id = end.text("task_id").unwrap_or("unknown");
        let took = duration(end.number("duration_ms").unwrap_or(0));
        let _ = writeln!(text, "{}  {:<10}{took}", escape(id), escape(end.text("exit_status").unwrap_or("unknown")));
    }
}

fn tool_calls(text: &mut String, events: &[&Recorded]) {
    let calls = of_kind(events, "tool_call");
    if calls.is_empty() {
        return;
    }
    rule(text, "Tool calls");
    let names: Vec<String> = calls.iter().map(|call| tool_name(call)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (call, name) in calls.iter().zip(names) {
        let bytes = |member| grouped(call.number(member).unwrap_or(0));
        let _ = writeln!(
            text,
            "{name:<width$}  {:<6}{:>8}  {} B in, {} B out",
            escape(call.text("status").unwrap_or("unknown")),
            duration(call.number("duration_ms").unwrap_or(0)),
            bytes("input_bytes"),
            bytes("output_bytes"),
        );
    }
}

/// Calls of one tool with one input, beyond the first.
fn redundant_calls(text: &mut String, events: &[&Recorded]) {
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    for call in of_kind(events, "tool_call") {
        let text = |member| call.text(member).unwrap_or_default().to_owned();
        *seen.entry((text("tool_name"), text("input"))).or_default() += 1;
    }
    rule(text, "Redundant calls");
    let redundant: usize = seen.values().map(|count| count - 1).sum();
    row(text, "count", &redundant.to_string());
}

fn denials(text: &mut String, events: &[&Recorded]) {
    let denials = of_kind(events, "protected_path_denied");
    if denials.is_empty() {
        return;
    }
    rule(text, "Protected-path refusals");
    for denial in denials {
        let member = |name| escape(denial.text(name).unwrap_or("unknown")).into_owned();
        let _ =
            writeln!(text, "{}  {}  {}  (rule {})", member("target"), member("signal"), member("path"), member("rule"));
    }
}

/// What the record says of its own state: a rewrite that the host found, lines that a crash cut short.
fn damage(text: &mut String, lines: &[RecordedLine], events: &[&Recorded]) {
    let torn: Vec<(u64, u64)> = lines
        .iter()
        .filter_map(|line| match line {
            RecordedLine::Torn { line, bytes } => Some((*line, *bytes)),
            RecordedLine::Event(_) => None,
        })
        .collect();
    let tampered = of_kind(events, mur_seal::TAMPERED_EVENT);
    if torn.is_empty() && tampered.is_empty() {
        return;
    }
    rule(text, "Damage");
    for event in tampered {
        let count = |member| event.number(member).map_or("unknown".into(), |lines| lines.to_string());
        let said = format!(
            "the host found the trace rewritten: it expected {} lines and found {}",
            count("expected_lines"),
            count("found_lines")
        );
        row(text, "rewritten", &said);
    }
    for (line, bytes) in torn {
        row(text, "torn", &format!("line {line} was cut short after {bytes} bytes"));
    }
}

/// The name as it is shown: a capsule may call any name it likes, however long.
fn tool_name(call: &Recorded) -> String {
    let name = escape(call.text("tool_name").unwrap_or("unknown"));
    match name.char_indices().nth(NAME_WIDTH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_owned(),
    }
}

fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms}ms") } else { format!("{}.{}s", ms / 1000, ms % 1000 / 100) }
}
