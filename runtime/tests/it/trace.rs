//! `mur trace`: session addresses, what `verify` answers, and what `show` shows.

use std::fs;
use std::io::Write as _;

use mur_seal::{Appenders, ChainOptions, InlineChain, RecordReport, TRACE_STREAM, Verdict};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Ended, Project, Record, walk};

/// A public key that sealed nothing here.
const OTHER_KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

/// A text without this host's key id, and with `…` for every time, duration, line hash and byte offset.
fn without_times(project: &Project, text: &str) -> String {
    let text = project.redacted(text).replace(&project.public_key().key_id().to_string(), "KEY");
    let lines: Vec<String> = text.lines().map(line_without_times).collect();
    lines.join("\n")
}

fn line_without_times(line: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_duration = |word: &str| ["ms", "s"].iter().any(|unit| word.strip_suffix(unit).is_some_and(is_number));
    let is_moment = |word: &str| {
        let parts = word.split(['-', ':']);
        parts.clone().count() == 3 && parts.clone().all(is_number)
    };
    let is_hash = |word: &str| {
        let digits = word.trim_end_matches(',').strip_suffix('…').unwrap_or_default();
        digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_offset = |word: &str| word.strip_suffix(':').is_some_and(|number| is_number(&number.replace(',', "")));
    let varies = |word: &str| is_duration(word) || is_moment(word) || is_hash(word) || is_offset(word);
    let words: Vec<&str> = line.split(' ').collect();
    let shown = words.iter().map(|word| if varies(word) { "…" } else { word });
    let shown = shown.collect::<Vec<_>>().join(" ");
    // How wide a duration is says how long it took: where one stands, columns are not kept.
    match words.iter().any(|word| is_duration(word)) {
        true => shown.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "),
        false => shown.trim_end().to_owned(),
    }
}

/// A project with one session that called a tool.
fn recorded() -> (Project, Record) {
    let project = Project::new();
    project.run_task("call tool echo hello").expect(0);
    let record = project.record();
    (project, record)
}

fn verify(project: &Project, args: &[&str]) -> Ended {
    project.run(["trace", "verify"].iter().chain(args))
}

#[test]
fn verify_checks_the_newest_session_with_this_hosts_own_key_and_says_so() {
    let (project, _) = recorded();
    let ended = verify(&project, &[]).expect(0);
    assert_eq!(ended.stderr, "");
    insta::assert_snapshot!(without_times(&project, &ended.stdout), @r"
    ses_…  (PROJECT/workdir/ses_…)
      trace.jsonl       verified      5 lines, sealed … … UTC by the host's clock
      hooks/eval.jsonl  absent        neither stream nor seal
      completion.json   absent        neither stream nor seal
    verified: checked with key KEY (this host's own, from ROOT/home/keys/record-seal.pub)
      cannot be known: older-pair, record-missing, stream-removed, time, truth
      what each of these means: mur-verify explain WORD
    ");
}

#[test]
fn verify_says_which_line_was_changed() {
    let (project, record) = recorded();
    let trace = String::from_utf8(record.trace()).unwrap();
    fs::write(record.path(TRACE_STREAM), trace.replace("echo hello", "echo jello")).unwrap();
    let ended = verify(&project, &[]).expect(1);
    insta::assert_snapshot!(without_times(&project, &ended.stdout), @r"
    ses_…  (PROJECT/workdir/ses_…)
      trace.jsonl       changed       line 3 is not the line that line 4 follows [line-changed]
                        at byte … expected … found …
      hooks/eval.jsonl  absent        neither stream nor seal
      completion.json   absent        neither stream nor seal
    changed: checked with key KEY (this host's own, from ROOT/home/keys/record-seal.pub)
      cannot be known: older-pair, record-missing, stream-removed, time, truth
      what each of these means: mur-verify explain WORD
    ");
}

#[test]
fn verify_with_another_key_verifies_nothing() {
    let (project, _) = recorded();
    let ended = verify(&project, &["--key", OTHER_KEY]).expect(4);
    insta::assert_snapshot!(without_times(&project, &ended.stdout), @r"
    ses_…  (PROJECT/workdir/ses_…)
      trace.jsonl       unverifiable  sealed by key KEY, not by the key given (21fe31dfa154a261) [key-unknown]
      hooks/eval.jsonl  absent        neither stream nor seal
      completion.json   absent        neither stream nor seal
    unverifiable: checked with key 21fe31dfa154a261 (given as text)
      not checked: signature
      cannot be known: older-pair, record-missing, stream-removed, time, truth
      what each of these means: mur-verify explain WORD
    ");
}

#[test]
fn verify_prints_the_same_report_as_the_auditors_command() {
    let (project, record) = recorded();
    let ended = verify(&project, &["--json"]).expect(0);
    let report: RecordReport = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report, project.check(&record));
    assert_eq!(ended.stdout, mur_verify::to_json(&report) + "\n");
}

#[test]
fn every_form_of_address_leads_to_its_session() {
    let project = Project::new();
    for _ in 0..3 {
        project.run_task("ok").expect(0);
    }
    let records = project.records();
    let (oldest, newest) = (records[0].session(), records[2].session());
    let relative = format!("workdir/{oldest}");
    let suffix = &oldest[oldest.len() - 12..];
    for (address, session) in [
        (None, newest),
        (Some("@1"), newest),
        (Some("@3"), oldest),
        (Some(oldest), oldest),
        (Some(suffix), oldest),
        (Some(&suffix.to_uppercase()), oldest),
        (Some(&relative), oldest),
        (Some(records[0].dir.to_str().unwrap()), oldest),
    ] {
        let ended = verify(&project, address.as_slice()).expect(0);
        assert!(ended.stdout.starts_with(&format!("{session}  (")), "{address:?}: {}", ended.stdout);
        let shown = project.run(["trace", "show"].iter().copied().chain(address)).expect(0);
        assert!(shown.stdout.contains(&format!("\nsession     {session}\n")), "{address:?}: {}", shown.stdout);
    }
}

#[test]
fn a_workdirs_sessions_are_found_with_that_option() {
    let project = Project::new();
    project.run(["run", "--workdir", "work", "--task", "ok"]).expect(0);
    verify(&project, &[]).expect(2);
    verify(&project, &["--workdir", "work"]).expect(0);
    project.run(["trace", "show", "--workdir", "work"]).expect(0);
}

#[test]
fn an_address_that_leads_nowhere_is_an_error_and_never_a_verdict() {
    let empty = Project::new();
    let (project, _) = recorded();
    let said = [
        empty.redacted(&verify(&empty, &[]).expect(2).stderr),
        project.redacted(&verify(&project, &["@2"]).expect(2).stderr),
        project.redacted(&verify(&project, &["0000"]).expect(2).stderr),
        project.redacted(&verify(&project, &["./nowhere"]).expect(2).stderr),
        empty.redacted(&empty.run(["trace", "show"]).expect(1).stderr),
        project.redacted(&project.run(["trace", "show", "./nowhere"]).expect(1).stderr),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-TRC-002]: no session is recorded under PROJECT/workdir or PROJECT/.murmur
      hint: run a capsule first, pass its --workdir, or write the path of a records directory
    error[E-TRC-002]: `@2` is out of range: 1 session recorded under PROJECT/workdir or PROJECT/.murmur
      hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
    error[E-TRC-002]: no session fits `0000`: 1 session recorded under PROJECT/workdir or PROJECT/.murmur
      hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
    error: PROJECT/./nowhere: there is no such directory
    error[E-TRC-002]: no session is recorded under PROJECT/workdir or PROJECT/.murmur
      hint: run a capsule first, pass its --workdir, or write the path of a records directory
    error[E-TRC-001]: PROJECT/./nowhere: there is no such directory
    ");
}

#[test]
fn show_says_where_a_record_is_when_it_was_given_another_place() {
    let (project, record) = recorded();
    let project = project.with_file("other/hooks/eval.jsonl", "");
    let trace = format!("workdir/{}/{TRACE_STREAM}", record.session());
    let said = [".", "./tools", "./other", &trace]
        .map(|address| project.redacted(&project.run(["trace", "show", address]).expect(1).stderr));
    insta::assert_snapshot!(said.concat(), @r"
    error[E-TRC-001]: PROJECT/.: nothing to verify: a records directory holds trace.jsonl, hooks/eval.jsonl, completion.json, or a seal; there is a record in PROJECT/./workdir/ses_…
    error[E-TRC-001]: PROJECT/./tools: nothing to verify: a records directory holds trace.jsonl, hooks/eval.jsonl, completion.json, or a seal
    error[E-TRC-001]: PROJECT/./other/trace.jsonl: No such file or directory (os error 2)
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl: a file, not a records directory
      hint: give the directory that it is in: PROJECT/workdir/ses_…
    ");
}

/// A host without a key has sealed nothing, and verifying must not make one.
#[test]
fn a_host_without_a_key_needs_to_be_given_one() {
    let (project, record) = recorded();
    let key = project.public_key().to_hex();
    fs::rename(project.home().join("keys"), project.home().join("elsewhere")).unwrap();
    let ended = verify(&project, &[]).expect(2);
    assert_eq!(ended.stdout, "");
    insta::assert_snapshot!(project.redacted(&ended.stderr), @r"
    error[E-IO-001]: this host has no public key to check with: ROOT/home/keys/record-seal.pub: there is no such file; give the host's record-seal.pub, or its 64 hexadecimal digits
      hint: give the public key of the host that wrote the record: --key record-seal.pub
    ");
    assert!(!project.home().join("keys").exists());
    verify(&project, &["--key", &key]).expect(0);
    verify(&project, &[record.session(), "--key", project.home().join("elsewhere/record-seal.pub").to_str().unwrap()])
        .expect(0);
    verify(&project, &["--key", project.home().join("elsewhere/record-seal.key").to_str().unwrap()]).expect(2);
}

#[test]
fn the_record_of_another_session_does_not_pass_for_the_one_that_was_named() {
    let project = Project::new();
    for task in ["result of the good one", "trap"] {
        project.run_task(task);
    }
    let [good, bad] = project.records().try_into().unwrap();
    for file in [TRACE_STREAM, "trace.jsonl.seal"] {
        fs::copy(good.path(file), bad.path(file)).unwrap();
    }
    let relative = format!("workdir/{}", bad.session());
    let mut said = String::new();
    for address in [&[][..], &["@1"], &[bad.session()], &[&relative]] {
        let ended = verify(&project, address).expect(1);
        assert!(ended.stdout.starts_with(bad.session()), "{}", ended.stdout);
        assert!(said.is_empty() || said == ended.stdout, "{}", ended.stdout);
        said = ended.stdout;
    }
    insta::assert_snapshot!(without_times(&project, &said), @r"
    ses_…  (PROJECT/workdir/ses_…)
      trace.jsonl       changed       the seal is that of another session, `ses_…`, and the record is that of `ses_…` [seal-of-other-session]
                        note: its first line names session `ses_…`, not `ses_…` [session-named-otherwise]
      hooks/eval.jsonl  absent        neither stream nor seal
      completion.json   absent        neither stream nor seal
    changed: checked with key KEY (this host's own, from ROOT/home/keys/record-seal.pub)
      cannot be known: older-pair, record-missing, stream-removed, time, truth
      what each of these means: mur-verify explain WORD
    ");
    verify(&project, &["@1", "--session", good.session()]).expect(0);
}

#[test]
fn reading_a_record_writes_nothing() {
    let (project, record) = recorded();
    let state = || {
        let files = walk(&record.dir).into_iter();
        files.map(|path| (fs::metadata(&path).unwrap().modified().unwrap(), path)).collect::<Vec<_>>()
    };
    let before = state();
    verify(&project, &[]).expect(0);
    project.run(["trace", "show"]).expect(0);
    assert_eq!(state(), before);
}

fn show(project: &Project) -> String {
    without_times(project, &project.run(["trace", "show"]).expect(0).stdout)
}

#[test]
fn show_tells_what_a_session_did() {
    let (project, _) = recorded();
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    duration …
    status      ok

    ── Tool calls ──────────────────────────────────────────────────────────
    tool ok … 10 B in, 5 B out

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0
    ");
}

#[test]
fn show_counts_calls_that_were_made_twice() {
    let project = Project::new();
    project.run_task("call-many 3 tool").expect(0);
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    duration …
    status      ok

    ── Tool calls ──────────────────────────────────────────────────────────
    tool ok … 6 B in, 1 B out
    tool ok … 6 B in, 1 B out
    tool ok … 6 B in, 1 B out

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0
    ");
}

#[test]
fn show_tells_what_a_capsule_was_refused() {
    let project = Project::new();
    project.run_task("call tool remove trace.jsonl").expect(0);
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    duration …
    status      ok

    ── Tool calls ──────────────────────────────────────────────────────────
    tool error … 18 B in, 37 B out

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0

    ── Protected-path refusals ─────────────────────────────────────────────
    tool  unlink  trace.jsonl  (rule trace.jsonl)
    ");
}

#[test]
fn show_tells_a_last_line_that_a_crash_cut_short() {
    let (project, record) = recorded();
    let trace = String::from_utf8(record.trace()).unwrap();
    let cut = trace.find("session_end").unwrap() + "session".len();
    fs::write(record.path(TRACE_STREAM), &trace[..cut]).unwrap();
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    status      no session_end: the session is running, or was cut off

    ── Tool calls ──────────────────────────────────────────────────────────
    tool ok … 10 B in, 5 B out

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0

    ── Damage ──────────────────────────────────────────────────────────────
    torn        line 5 was cut short after 22 bytes
    ");
}

#[test]
fn show_tells_a_torn_line_that_the_next_appender_ended() {
    let (project, record) = recorded();
    let mut trace = fs::File::options().append(true).open(record.path(TRACE_STREAM)).unwrap();
    trace.write_all(b"{\"event_type\":\"to").unwrap();
    let chain = InlineChain::open(&record.path(TRACE_STREAM), ChainOptions::new(Appenders::Shared)).unwrap();
    chain.append("{\"event_type\":\"continued\"}").unwrap();
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    duration …
    status      ok

    ── Tool calls ──────────────────────────────────────────────────────────
    tool ok … 10 B in, 5 B out

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0

    ── Damage ──────────────────────────────────────────────────────────────
    torn        line 6 was cut short after 17 bytes
    ");
}

#[test]
fn show_tells_that_the_host_found_the_record_rewritten() {
    let project = Project::new();
    let (running, record) = project.start_session("sleep 600", &[]);
    record.wait_for_lines(2);
    let trace = record.trace();
    let first_line = trace.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    fs::write(record.path(TRACE_STREAM), first_line).unwrap();
    running.signal(Signal::TERM);
    running.wait().expect(1);
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    duration …
    status      canceled

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0

    ── Damage ──────────────────────────────────────────────────────────────
    rewritten   the host found the trace rewritten: it expected 2 lines and found 1
    ");
}

#[test]
fn show_tells_of_a_session_that_did_not_end() {
    let project = Project::new();
    let (running, record) = project.start_session("sleep 600", &[]);
    record.wait_for_lines(2);
    running.signal(Signal::KILL);
    running.wait();
    insta::assert_snapshot!(show(&project), @r"
    ── Session ─────────────────────────────────────────────────────────────
    record      PROJECT/workdir/ses_…
    session     ses_…
    capsule     tester 1.2.3
    started     … … UTC
    status      no session_end: the session is running, or was cut off

    ── Redundant calls ─────────────────────────────────────────────────────
    count       0
    ");
}

#[test]
fn what_a_record_says_cannot_steer_the_terminal() {
    let hostile = "\u{1b}[2J\u{202e}\r\n\u{9b}";
    let project = Project::new();
    let record = Record::at(project.path("workdir/ses_00000000000000000000000000000001"));
    fs::create_dir_all(&record.dir).unwrap();
    let trace = [
        json!({
            "event_type": "session_start",
            "session_id": hostile,
            "capsule_name": hostile,
            "capsule_version": hostile,
            "timestamp": 0,
        }),
        json!({"event_type": "tool_call", "tool_name": hostile, "status": hostile, "input": hostile}),
        json!({
            "event_type": "protected_path_denied",
            "target": hostile,
            "signal": hostile,
            "path": hostile,
            "rule": hostile,
        }),
        json!({"event_type": "task_end", "task_id": hostile, "exit_status": hostile}),
        json!({"event_type": "task_end", "task_id": hostile, "exit_status": hostile}),
        json!({"event_type": "session_end", "exit_status": hostile}),
    ];
    fs::write(record.path(TRACE_STREAM), trace.map(|event| format!("{event}\n")).concat()).unwrap();
    let shown = project.run(["trace", "show"]).expect(0);
    let verified = verify(&project, &["--key", OTHER_KEY]);
    let printed = shown.stdout + &verified.stdout + &verified.stderr;
    assert!(printed.contains("\\u{1b}[2J"), "{printed}");
    let steering =
        |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!printed.chars().any(steering), "{printed:?}");
}

#[test]
fn a_trace_that_cannot_be_shown_is_an_error() {
    let (project, record) = recorded();
    let trace = record.path(TRACE_STREAM);
    let mut said = String::new();
    let mut show = || said += &project.redacted(&project.run(["trace", "show"]).expect(1).stderr);
    fs::write(&trace, "{\"event_type\":\"a\"}\nnot JSON\n").unwrap();
    show();
    fs::write(&trace, "").unwrap();
    show();
    fs::remove_file(&trace).unwrap();
    show();
    fs::create_dir(&trace).unwrap();
    show();
    fs::remove_dir(&trace).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &trace, rustix::fs::Mode::RUSR).unwrap();
    show();
    insta::assert_snapshot!(said, @r"
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl:2: not a JSON object: expected ident at line 1 column 2
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl: empty: the session did not begin
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl: No such file or directory (os error 2)
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl: not a regular file
    error[E-TRC-001]: PROJECT/workdir/ses_…/trace.jsonl: not a regular file
    ");
}

#[test]
fn a_name_of_any_length_is_recorded_and_shown_cut() {
    let project = Project::new();
    project.run_task("call-long 70000").expect(0);
    let record = project.record();
    let name = record.event("tool_call")["tool_name"].as_str().unwrap().to_owned();
    assert!(name.len() < 4096 && name.contains("70000 bytes, sha256 "), "{} bytes", name.len());
    let shown = project.run(["trace", "show"]).expect(0);
    assert!(shown.stdout.lines().all(|line| line.chars().count() < 120), "{}", shown.stdout);
    project.assert_verified(&record);
}
