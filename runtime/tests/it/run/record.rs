//! What a session leaves on disk: its files, and the events of its trace.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Project, Record, entries, tree};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A session that called a tool and left a result.
fn recorded() -> (Project, Record) {
    let project = Project::new();
    project.run_task("call tool echo hello").expect(0);
    let record = project.record();
    (project, record)
}

#[test]
fn a_session_leaves_its_task_its_result_its_log_and_a_sealed_trace() {
    let (project, record) = recorded();
    project.assert_verified(&record);
    let expected =
        ["logs", "logs/bootstrap.log", "out", "out/result.txt", "task.md", "trace.jsonl", "trace.jsonl.seal"];
    assert_eq!(tree(&record.dir), expected);
    assert_eq!(fs::read_to_string(record.path("task.md")).unwrap(), "call tool echo hello");
    assert_eq!(fs::read_to_string(record.path("out/result.txt")).unwrap(), "passed: hello");
    assert_eq!(fs::read_to_string(record.path("logs/bootstrap.log")).unwrap(), "");
}

#[test]
fn every_session_has_a_directory_of_its_own_and_one_key_seals_them_all() {
    let project = Project::new();
    project.run_task("ok").expect(0);
    let key = project.public_key();
    project.run_task("ok").expect(0);
    assert_eq!(project.public_key(), key);
    assert_eq!(project.records().len(), 2);
    for record in project.records() {
        project.assert_verified(&record);
    }
}

#[test]
fn the_first_session_makes_the_key_for_its_owner_alone() {
    let project = Project::new();
    project.run_task("ok").expect(0);
    let mode = |path: &str| fs::metadata(project.home().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("keys"), 0o700);
    assert_eq!(mode("keys/record-seal.key"), 0o600);
    assert_eq!(mode("keys/record-seal.pub"), 0o644);
    assert_eq!(mode("compiled"), 0o700);
    assert_eq!(entries(&project.home()).len(), 2);
}

#[test]
fn session_start_has_exactly_the_members_that_readers_know_and_its_link() {
    let (_project, record) = recorded();
    let start = record.event("session_start");
    let expected = [
        "event_type",
        "event_id",
        "parent_id",
        "session_id",
        "timestamp",
        "capsule_name",
        "capsule_version",
        "model",
        "max_turns",
        "max_session_tokens",
        "machine_tokens_per_day",
        "capabilities",
        "tools_declared",
        "containment_declared",
        "containment_achieved",
        "userns_grant",
        "workdir_exec",
        "resumed_from",
        "context_id",
        "system_prompt_source",
        "system_prompt_sha256",
        "credential_source",
        "gateways",
        "effective_grants",
    ];
    assert_eq!(expected.len(), 24);
    assert_eq!(keys(&start)[..24], expected);
    assert_eq!(keys(&start)[24..], ["prev_hash"]);
    assert_eq!(start["capsule_name"], "tester");
    assert_eq!(start["capsule_version"], "1.2.3");
    assert_eq!(start["tools_declared"], json!(["tool"]));
}

#[test]
fn every_event_begins_with_its_envelope_and_ends_with_its_link() {
    let (_project, record) = recorded();
    let events = record.events();
    for event in &events {
        assert_eq!(keys(event)[..5], ["event_type", "event_id", "parent_id", "session_id", "timestamp"], "{event}");
        assert_eq!(keys(event).last(), Some(&"prev_hash"), "{event}");
        assert_eq!(event["session_id"], record.session());
    }
    let ids: Vec<&str> = events.iter().map(|event| event["event_id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.starts_with("evt_") && id.len() == 36), "{ids:?}");
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let times: Vec<u64> = events.iter().map(|event| event["timestamp"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn every_parent_is_the_session_or_the_task_that_an_event_belongs_to() {
    let (_project, record) = recorded();
    assert_eq!(record.event_types(), ["session_start", "task_start", "tool_call", "task_end", "session_end"]);
    let parent = |kind: &str| record.event(kind)["parent_id"].clone();
    let id = |kind: &str| record.event(kind)["event_id"].clone();
    assert_eq!(parent("session_start"), Value::Null);
    assert_eq!(parent("task_start"), id("session_start"));
    assert_eq!(parent("tool_call"), id("task_start"));
    assert_eq!(parent("task_end"), id("task_start"));
    assert_eq!(parent("session_end"), id("session_start"));
    let task = record.event("task_start")["task_id"].clone();
    assert_eq!(record.event("tool_call")["task_id"], task);
    assert_eq!(record.event("task_end")["task_id"], task);
}

#[test]
fn a_tool_call_is_recorded_with_what_went_in_and_how_much_came_out() {
    let (_project, record) = recorded();
    let mut call = record.event("tool_call");
    assert_eq!(
        keys(&call)[5..],
        [
            "turn",
            "task_id",
            "tool_name",
            "tool_call_id",
            "input",
            "input_bytes",
            "output_bytes",
            "duration_ms",
            "status",
            "prev_hash",
        ]
    );
    assert!(call["duration_ms"].take().is_u64());
    assert_eq!(call["tool_name"], "tool");
    assert_eq!(call["input"], json!({"data": "echo hello"}));
    assert_eq!((&call["input_bytes"], &call["output_bytes"]), (&json!(10), &json!(5)));
    assert_eq!(call["status"], "ok");
    assert_eq!(record.event("task_end")["tool_calls"], 1);
    assert_eq!(record.event("session_end")["total_tool_calls"], 1);
}

#[test]
fn a_tool_that_gives_no_result_is_told_to_the_capsule_and_does_not_end_it() {
    for (task, told) in [
        ("call tool trap", "no result: tool `tool`: the guest trapped"),
        ("call tool exit 1", "no result: tool `tool`: the guest exited with code 1"),
        ("call tool fail no luck", "failed: no luck"),
        ("call tool error no luck", "error: no luck"),
        ("call other echo x", "no result: tool `other` is not declared in the manifest"),
    ] {
        let project = Project::new();
        project.run_task(task).expect(0);
        let record = project.record();
        let result = fs::read_to_string(record.path("out/result.txt")).unwrap();
        assert!(result.starts_with(told), "{task}: {result}");
        assert_eq!(record.event("tool_call")["status"], "error", "{task}");
        project.assert_verified(&record);
    }
}

#[test]
fn what_a_tool_says_of_its_resource_is_recorded() {
    let project = Project::new();
    project.run_task("call tool metadata").expect(0);
    let call = project.record().event("tool_call");
    assert_eq!((&call["state_effect"], &call["resource_id"]), (&json!("mutate"), &json!("r-1")));
}
