//! How sessions end that do not end well. However that is, the record is whole, sealed and says so.

use std::time::{Duration, Instant};

use crate::support::Project;

/// Runs a task that does not end well, and says what is printed about it. The record must be verified and say `failed`.
fn ends_badly(project: &Project, task: &str, status: &str) -> String {
    let started = Instant::now();
    let ended = project.run_task(task).expect(1);
    assert!(started.elapsed() < Duration::from_secs(20), "{task}: {:?}", started.elapsed());
    assert_eq!(ended.says("status"), status, "{task}");
    let record = project.record();
    project.assert_verified(&record);
    let events = record.event_types();
    assert_eq!(events[..2], ["session_start", "task_start"], "{task}");
    assert_eq!(events[events.len() - 2..], ["task_end", "session_end"], "{task}");
    assert_eq!(record.event("task_end")["exit_status"], "failed");
    assert_eq!(record.event("session_end")["exit_status"], "failed");
    project.run(["trace", "verify"]).expect(0);
    ended.diagnostics()
}

#[test]
fn a_capsule_that_says_it_failed_did_not_complete_its_task() {
    insta::assert_snapshot!(ends_badly(&Project::new(), "exit 1", "failed"), @"error[E-RUN-040]: the capsule did not end well: the guest exited with code 1");
}

#[test]
fn a_capsule_that_exits_with_0_completed_its_task() {
    let project = Project::new();
    assert_eq!(project.run_task("exit 0").expect(0).says("status"), "ok");
    assert_eq!(project.record().event("session_end")["exit_status"], "ok");
}

#[test]
fn a_panic_is_a_trap() {
    insta::assert_snapshot!(ends_badly(&Project::new(), "trap", "trapped"), @"error[E-RUN-001]: the capsule did not end well: the guest trapped: it panicked or aborted");
}

#[test]
fn a_call_stack_that_is_used_up_is_a_trap() {
    let said = ends_badly(&Project::new(), "recurse", "trapped");
    insta::assert_snapshot!(said, @"error[E-RUN-001]: the capsule did not end well: the guest trapped: call stack exhausted");
}

#[test]
fn a_limit_that_is_hit_is_named_with_its_setting() {
    let cases = [
        ("deadline_seconds: 1", "spin"),
        ("deadline_seconds: 1", "sleep 600"),
        ("deadline_seconds: 1", "call tool spin"),
        ("memory_bytes: 16777216", "balloon"),
        ("memory_bytes: 65536", "ok"),
        ("table_elements: 10", "ok"),
        ("instances: 1", "ok"),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|(limit, task)| {
            let said = ends_badly(&Project::new().with_limits(limit), task, "trapped");
            format!("{limit}, {task}\n{said}")
        })
        .collect();
    insta::assert_snapshot!(said.concat(), @r"
    deadline_seconds: 1, spin
    error[E-RUN-001]: the capsule did not end well: the guest did not end within its 1 seconds (capabilities.limits.deadline_seconds)
      hint: raise capabilities.limits.deadline_seconds in murmur.yaml, if the capsule is right to need more
    deadline_seconds: 1, sleep 600
    error[E-RUN-001]: the capsule did not end well: the guest did not end within its 1 seconds (capabilities.limits.deadline_seconds)
      hint: raise capabilities.limits.deadline_seconds in murmur.yaml, if the capsule is right to need more
    deadline_seconds: 1, call tool spin
    error[E-RUN-001]: the capsule did not end well: the guest did not end within its 1 seconds (capabilities.limits.deadline_seconds)
      hint: raise capabilities.limits.deadline_seconds in murmur.yaml, if the capsule is right to need more
    memory_bytes: 16777216, balloon
    error[E-RUN-001]: the capsule did not end well: the guest needs more than its 16777216 bytes of memory (capabilities.limits.memory_bytes)
      hint: raise capabilities.limits.memory_bytes in murmur.yaml, if the capsule is right to need more
    memory_bytes: 65536, ok
    error[E-RUN-001]: the capsule did not end well: the guest needs more than its 65536 bytes of memory (capabilities.limits.memory_bytes)
      hint: raise capabilities.limits.memory_bytes in murmur.yaml, if the capsule is right to need more
    table_elements: 10, ok
    error[E-RUN-001]: the capsule did not end well: the guest needs more than its 10 table elements (capabilities.limits.table_elements)
      hint: raise capabilities.limits.table_elements in murmur.yaml, if the capsule is right to need more
    instances: 1, ok
    error[E-RUN-001]: the capsule did not end well: the guest needs more than its 1 instances (capabilities.limits.instances)
      hint: raise capabilities.limits.instances in murmur.yaml, if the capsule is right to need more
    ");
}

#[test]
fn a_tool_that_runs_into_a_limit_does_not_take_the_session_with_it() {
    let project = Project::new().with_limits("memory_bytes: 16777216");
    project.run_task("call tool balloon").expect(0);
    let record = project.record();
    assert_eq!(record.event("tool_call")["status"], "error");
    project.assert_verified(&record);
}

#[test]
fn a_call_that_is_cut_off_by_the_deadline_or_a_signal_is_recorded_all_the_same() {
    let project = Project::new().with_limits("deadline_seconds: 1");
    project.run_task("call tool spin").expect(1);
    let record = project.record();
    assert_eq!(record.event("tool_call")["status"], "error");
    assert_eq!(record.event("tool_call")["input"], serde_json::json!({"data": "spin"}));
    assert_eq!(record.event("session_end")["total_tool_calls"], 1);
    project.assert_verified(&record);
}
