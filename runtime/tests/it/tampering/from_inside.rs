//! Attacks by the capsule: every one is refused and recorded, and the record is what the host wrote.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use mur_runtime::context::Context;
use mur_runtime::diagnostic::Diagnostic;
use mur_runtime::session::environment::EnvFile;
use mur_runtime::session::ids::{SequentialIds, SessionId};
use mur_runtime::session::plan::{Origin, Plan, Wish};
use mur_runtime::session::script::{self, Outcome, Status};
use mur_runtime::session::staging::{Prepared, Request, Task};
use mur_seal::HostKey;

use crate::support::{MANIFEST, Project, Record};

/// Asserts that none of the attempts in a capsule's report came through, that so many were made and as many were
/// recorded, and that the record is whole.
fn assert_in_vain(project: &Project, record: &Record, report: &str, at_least: usize) {
    assert!(!report.contains("DONE"), "{report}");
    let refused = report.lines().filter(|line| line.starts_with("refused ")).count();
    assert!(refused >= at_least, "{refused}: {report}");
    project.assert_verified(record);
    let denials = record.events_of("protected_path_denied");
    assert_eq!(denials.len(), refused);
    let task = record.event("task_start")["event_id"].clone();
    for denial in denials {
        assert_eq!((denial["target"].as_str(), denial["call"].as_str()), (Some("tester"), Some("tool")), "{denial}");
        assert_eq!(denial["parent_id"], task);
    }
    assert_eq!(record.event("session_end")["exit_status"], "ok");
}

#[test]
fn a_capsule_cannot_rewrite_its_own_record_in_any_way_that_wasi_knows() {
    // Some stand in the record at that time and some do not; below what does not stand there little can be tried.
    for (path, at_least) in [
        ("trace.jsonl", 150),
        ("trace.jsonl.seal", 100),
        (".trace.jsonl.seal.0.tmp", 100),
        ("logs/bootstrap.log", 150),
        ("completion.json", 100),
        ("completion.json.seal", 100),
        ("hooks", 100),
        ("hooks/eval.jsonl", 8),
        ("eval.jsonl", 100),
        ("blobs", 100),
        // A session of its own is nobody's to make here.
        (".murmur", 100),
        (".murmur/ses_1/trace.jsonl", 8),
    ] {
        let project = Project::new();
        project.run_task(&format!("rewrite {path}")).expect(0);
        let record = project.record();
        let report = fs::read_to_string(record.path("out/result.txt")).unwrap();
        assert_in_vain(&project, &record, &report, at_least);
    }
}

#[test]
fn a_capsule_cannot_put_a_consistent_forgery_of_any_length_in_its_records_place() {
    let project = Project::new();
    project.run_task("forge trace.jsonl").expect(0);
    let record = project.record();
    let report = fs::read_to_string(record.path("out/result.txt")).unwrap();
    let attempts: Vec<&str> = report.lines().collect();
    assert_eq!(attempts.len(), 12, "three lengths in four ways: {report}");
    assert_in_vain(&project, &record, &report, 12);
}

#[test]
fn a_tool_cannot_rewrite_the_record_either() {
    for attempt in ["write trace.jsonl forged", "remove trace.jsonl", "write hooks {}", "write completion.json {}"] {
        let project = Project::new();
        project.run_task(&format!("call tool {attempt}")).expect(0);
        let record = project.record();
        project.assert_verified(&record);
        assert_eq!(record.event("tool_call")["status"], "error", "{attempt}");
        let denials = record.events_of("protected_path_denied");
        assert!(!denials.is_empty() && denials.iter().all(|denial| denial["target"] == "tool"), "{denials:?}");
    }
}

#[test]
fn a_capsule_cannot_rewrite_the_record_of_an_earlier_session_in_its_workdir() {
    let project = Project::new();
    project.run(["run", "--workdir", "work", "--task", "call tool echo evidence"]).expect(0);
    let earlier = project.records_under(&project.path("work"))[0].clone();
    let before = (earlier.trace(), fs::read(earlier.path("trace.jsonl.seal")).unwrap());
    for (attack, attempts) in [("rewrite", 150), ("forge", 12)] {
        let task = format!("{attack} .murmur/{}/trace.jsonl", earlier.session());
        project.run(["run", "--workdir", "work", "--task", &task]).expect(0);
        let own = project.records_under(&project.path("work")).pop().unwrap();
        let report = fs::read_to_string(project.path("work/out/result.txt")).unwrap();
        assert_in_vain(&project, &own, &report, attempts);
        assert_eq!((earlier.trace(), fs::read(earlier.path("trace.jsonl.seal")).unwrap()), before);
        project.assert_verified(&earlier);
    }
}

/// Runs a session whose id is known before, in the workdir `work`. The session's id decides the task and what stands in
/// the workdir.
fn run_foreseen(project: &Project, prepare: impl FnOnce(SessionId) -> String) -> Result<(Outcome, Record), Diagnostic> {
    let ids = || Arc::new(SequentialIds::starting_at(1_800_000_000_000));
    let session = SessionId::mint(&*ids());
    let task = prepare(session);
    let mut context = Context::of_process();
    context.ids = ids();

    let capsule = Origin::Project(project.path("murmur.yaml"));
    let wish = Wish { capsule, containment: None, env_file: EnvFile::Ignored };
    let prepared = Prepared::load(Plan::of(&wish, &project.home(), &context, |_| {})?)?;
    let key = Arc::new(HostKey::load_or_create(&project.home()).unwrap());
    let request = Request { task: Some(Task::Text(task)), workdir: Some(project.path("work")) };
    let outcome = script::run(prepared.stage(&request, key, &context)?, &context, |_| {})?;
    let record = Record::at(&outcome.records_dir);
    assert_eq!(record.session(), session.to_string());
    Ok((outcome, record))
}

#[test]
fn a_capsule_cannot_rewrite_its_own_record_below_a_given_workdir() {
    for (attack, attempts) in [("rewrite", 150), ("forge", 12)] {
        let project = Project::new();
        let task = |session| format!("{attack} .murmur/{session}/trace.jsonl");
        let (outcome, record) = run_foreseen(&project, task).unwrap();
        assert_eq!(outcome.status, Status::Ok);
        let report = fs::read_to_string(project.path("work/out/result.txt")).unwrap();
        assert_in_vain(&project, &record, &report, attempts);
    }
}

/// A workdir is somebody else's, and so may be what leads to the records in it.
#[test]
fn a_capsule_cannot_rewrite_its_own_record_behind_a_link_of_the_workdirs() {
    for (scope, attack, path, attempts) in [
        (".", "rewrite", "data/records", 150),
        (".", "forge", "data/records", 12),
        ("data", "rewrite", "records", 150),
        ("data", "forge", "records", 12),
        ("data", "forge", "another-link", 12),
    ] {
        let manifest = format!("{MANIFEST}capabilities:\n  filesystem: {{scope: {scope:?}}}\n");
        let project = Project::new().with_file("murmur.yaml", &manifest);
        let seen = project.path("work").join(scope);
        fs::create_dir_all(project.path("work/data/records")).unwrap();
        symlink("data/records", project.path("work/.murmur")).unwrap();
        symlink("records", project.path("work/data/another-link")).unwrap();
        let prepare = |session| {
            let task = format!("{attack} {path}/{session}/trace.jsonl");
            fs::write(seen.join("task.md"), &task).unwrap();
            task
        };
        let (outcome, record) = run_foreseen(&project, prepare).unwrap();
        assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.failure);
        let report = fs::read_to_string(seen.join("out/result.txt")).unwrap();
        assert_in_vain(&project, &record, &report, attempts);
    }
}

#[test]
fn a_trace_that_is_there_already_is_not_continued() {
    let project = Project::new();
    let planted = |session| project.path("work/.murmur").join(format!("{session}/trace.jsonl"));
    let mut path = None;
    let refused = run_foreseen(&project, |session| {
        let planted = path.insert(planted(session));
        fs::create_dir_all(planted.parent().unwrap()).unwrap();
        fs::write(planted, "{\"event_type\":\"invented\"}\n").unwrap();
        "ok".to_owned()
    });
    let said = refused.map(|(outcome, _)| outcome).unwrap_err().to_string();
    assert!(said.starts_with("error[E-RUN-007]: the session could not begin: "), "{said}");
    assert_eq!(fs::read_to_string(path.unwrap()).unwrap(), "{\"event_type\":\"invented\"}\n");
}
