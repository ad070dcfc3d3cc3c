//! `mur run --explain-scope`, and that the trace says the same.

use serde_json::{Value, json};

use crate::support::{Project, tree};

const RICH: &str = "\
name: rich
version: 1.0.0
artifacts:
  - name: tool
    source: ./tools/tool.wasm
    config: {a: 1}
    capabilities:
      filesystem: {scope: src/app}
      state: {}
capabilities:
  filesystem: {scope: src, read_only: [src/fixed]}
  network: {allow: ['https://example.com', 'localhost:8080']}
  env: {allow: [LANG]}
";

fn report(project: &Project, args: &[&str]) -> Value {
    let ended = project.run(["run", "--explain-scope", "--json"].iter().chain(args)).expect(0);
    assert_eq!(ended.stdout.lines().count(), 1);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn the_report_is_what_the_trace_of_a_run_holds() {
    let project = Project::new().with_file("murmur.yaml", RICH).with_file("given/src/task.md", "ok");
    for args in [&[][..], &["--workdir", "given"]] {
        let report = report(&project, args);
        // Without its task in scope the test capsule fails, which is beside the point.
        project.run(["run"].iter().chain(args));
        let record = match args {
            [] => project.record(),
            _ => project.records_under(&project.path("given"))[0].clone(),
        };
        assert_eq!(record.event("session_start")["effective_grants"], report);
    }
}

#[test]
fn the_report_has_every_key_and_its_shapes() {
    let project = Project::new().with_file("murmur.yaml", RICH);
    let mut report = report(&project, &[]);
    report.as_object_mut().unwrap().remove("runtime_writes");
    insta::assert_snapshot!(project.redacted(&serde_json::to_string_pretty(&report).unwrap()));
}

#[test]
fn the_report_for_people_says_what_stands_against_a_run_and_makes_nothing() {
    let project = Project::new().with_file(
        "murmur.yaml",
        "name: rich\nversion: 1.0.0\nartifacts:\n  - {name: absent, version: 1.0.0}\ncapabilities:\n  shell: {alow: [ls], allow: [cat]}\n  containment: sealed\n",
    );
    let before = tree(&project.path(""));
    let ended = project.run(["run", "--explain-scope"]).expect(0);
    assert_eq!(tree(&project.path("")), before);
    assert!(!project.home().join("keys").exists());
    insta::assert_snapshot!(project.redacted(&format!("{}---\n{}", ended.stderr, ended.stdout)));
}

#[test]
fn a_manifest_that_cannot_be_used_is_refused_here_too() {
    let project = Project::new().with_file("murmur.yaml", "name: rich\nversion: 1.0.0\nartifacts: 3\n");
    project.run(["run", "--explain-scope"]).expect(1);
}

#[test]
fn a_containment_that_is_asked_for_is_reported_and_refused_by_a_run() {
    let project = Project::new();
    let report = report(&project, &["--containment", "sealed"]);
    assert_eq!((&report["declared_containment"], &report["floor_met"]), (&json!("sealed"), &json!(false)),);
    let refused = project.run(["run", "--containment", "scoped", "--task", "ok"]).expect(1);
    let unknown = project.run(["run", "--containment", "iron"]).expect(1);
    insta::assert_snapshot!(project.redacted(&format!("{}{}", refused.stderr, unknown.stderr)));
}

#[test]
fn a_component_that_would_not_load_is_told_before_a_run() {
    let project = Project::new();
    std::fs::remove_file(project.path("tools/tool.wasm")).unwrap();
    let project = project.with_file("tools/tool.wasm", "garbage");
    let before = tree(&project.home());
    let ended = project.run(["run", "--explain-scope", "--json"]).expect(0);
    assert_eq!(tree(&project.home()), before);
    insta::assert_snapshot!(project.redacted(&ended.stderr));
    assert_eq!(project.run_task("ok").expect(1).stderr, ended.stderr);
}
