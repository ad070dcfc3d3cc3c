//! Where the task comes from, and where the result goes.

use std::fs;

use crate::support::{Project, Record};

/// How many bytes of task the one session under this workdir recorded.
fn task_bytes(project: &Project, workdir: &str) -> u64 {
    let records = project.records_under(&project.path(workdir));
    assert_eq!(records.len(), 1);
    records[0].event("task_start")["message_parts_bytes"].as_u64().unwrap()
}

fn result(record: &Record) -> String {
    fs::read_to_string(record.path("out/result.txt")).unwrap()
}

#[test]
fn a_task_that_names_a_file_is_its_content_and_any_other_is_the_text() {
    let project = Project::new().with_file("tasks/one.txt", "result from the file\nand more\n");
    project.run(["run", "--task", "tasks/one.txt"]).expect(0);
    let record = project.record();
    assert_eq!(fs::read_to_string(record.path("task.md")).unwrap(), "result from the file\nand more\n");
    assert_eq!(result(&record), "from the file");
    assert_eq!(record.event("task_start")["message_parts_bytes"], 30);

    let project = Project::new();
    project.run(["run", "--task", "result tasks/one.txt"]).expect(0);
    assert_eq!(result(&project.record()), "tasks/one.txt");
}

#[test]
fn a_task_that_looks_like_a_file_and_is_none_is_taken_as_text_with_a_warning() {
    let project = Project::new();
    for task in ["nofile.md", "./tools"] {
        let ended = project.run(["run", "--workdir", "work", "--task", task]);
        let warning = format!("warning: --task {task} names no file; taken as the task's text\n");
        assert!(ended.stderr.starts_with(&warning), "{ended:?}");
        assert_eq!(fs::read_to_string(project.path("work/task.md")).unwrap(), task);
    }
}

#[test]
fn without_one_the_task_is_task_md_as_it_stands_else_input_txt_else_nothing() {
    let project = Project::new()
        .with_file("both/task.md", "result of task.md")
        .with_file("both/input.txt", "ignored")
        .with_file("input/input.txt", "four");
    project.run(["run", "--workdir", "both"]).expect(0);
    assert_eq!(task_bytes(&project, "both"), 17);
    assert_eq!(fs::read_to_string(project.path("both/out/result.txt")).unwrap(), "of task.md");

    // The test capsule reads task.md alone, so that it fails here; what counts is what the session took for the task.
    project.run(["run", "--workdir", "input"]).expect(1);
    assert_eq!(task_bytes(&project, "input"), 4);
    project.run(["run", "--workdir", "nothing"]).expect(1);
    assert_eq!(task_bytes(&project, "nothing"), 0);
}

#[test]
fn a_given_task_replaces_the_one_of_the_workdir() {
    let project = Project::new().with_file("work/task.md", "trap, and this text is longer than the other");
    project.run(["run", "--workdir", "work", "--task", "result new"]).expect(0);
    assert_eq!(fs::read_to_string(project.path("work/task.md")).unwrap(), "result new");
}

#[test]
fn what_a_capsule_prints_is_its_result() {
    let project = Project::new();
    let ended = project.run_task("print").expect(0);
    assert_eq!(fs::read_to_string(ended.says("result")).unwrap(), "to stdout\n");
}

#[test]
fn what_a_capsule_writes_as_its_result_stands_over_what_it_prints() {
    let project = Project::new();
    let ended = project.run_task("write out/result.txt written").expect(0);
    assert!(ended.stderr.contains("ok: out/result.txt"), "{ended:?}");
    assert_eq!(fs::read_to_string(ended.says("result")).unwrap(), "written");
}

#[test]
fn a_result_is_cut_where_a_capsule_prints_too_much() {
    let project = Project::new();
    let ended = project.run_task("flood 1500000").expect(0);
    let result = fs::read_to_string(ended.says("result")).unwrap();
    let kept = result.strip_suffix("\n[cut here: the capsule printed more than 1 MiB]\n").unwrap();
    assert_eq!(kept, "x".repeat(1024 * 1024));
}

#[test]
fn what_a_tool_prints_is_not_the_capsules_result() {
    let project = Project::new();
    let ended = project.run_task("call tool print not mine").expect(0);
    assert_eq!(fs::read_to_string(ended.says("result")).unwrap(), "passed: ");
}

#[test]
fn an_earlier_sessions_result_never_passes_for_this_ones() {
    let project = Project::new();
    for (task, code) in [("ok", 0), ("trap", 1), ("exit 1", 1)] {
        project.run(["run", "--workdir", "work", "--task", "result of an earlier session"]).expect(0);
        let ended = project.run(["run", "--workdir", "work", "--task", task]).expect(code);
        assert_eq!(ended.says("result"), "none", "{task}");
        assert!(!project.path("work/out/result.txt").exists(), "{task}");
    }
}

#[test]
fn what_is_neither_a_file_nor_a_text_is_no_task() {
    let project = Project::new();
    let ended = project.run(["run", "--task", "/dev/null"]).expect(1);
    assert!(!project.path("workdir").exists());
    insta::assert_snapshot!(ended.stderr, @r"
    error[E-IO-003]: --task: /dev/null is not a regular file
      hint: give a file that holds the task, or the task's text
    ");
}
