//! `capabilities.filesystem.scope`: the part of the workdir that guests see.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{MANIFEST, Project, tree};

fn scoped(scope: &str) -> Project {
    let text = format!("{MANIFEST}capabilities:\n  filesystem: {{scope: {scope:?}}}\n");
    Project::new().with_file("murmur.yaml", &text)
}

/// Runs with the workdir `given`, and asserts that it is refused with nothing left behind. What was said.
fn refused(project: &Project) -> String {
    let before = tree(&project.path(""));
    let ended = project.run(["run", "--workdir", "given", "--task", "ok"]).expect(1);
    assert_eq!(tree(&project.path("")), before);
    project.redacted(&ended.stderr)
}

#[test]
fn guests_see_the_scope_as_their_directory_and_nothing_above_it() {
    let project = scoped("src/app").with_file("given/src/app/task.md", "read ../outside.txt");
    let project = project.with_file("given/src/outside.txt", "secret");
    project.run(["run", "--workdir", "given"]).expect(0);
    let report = fs::read_to_string(project.path("given/src/app/out/result.txt")).unwrap();
    assert!(report.starts_with("error: "), "{report}");

    let project = project.with_file("given/src/app/task.md", "call tool list .");
    project.run(["run", "--workdir", "given"]).expect(0);
    let report = fs::read_to_string(project.path("given/src/app/out/result.txt")).unwrap();
    assert_eq!(report, "passed: out\ntask.md");
}

#[test]
fn the_scope_is_made_where_it_is_missing_and_recorded() {
    let project = scoped("deep/er");
    // There is no task.md in the scope, so that the test capsule fails.
    project.run(["run", "--task", "ok"]).expect(1);
    let record = project.record();
    assert!(record.path("deep/er").is_dir());
    let grants = record.event("session_start")["effective_grants"].clone();
    assert_eq!(grants["filesystem_scope"], "deep/er");
    assert_eq!(grants["preopens"][0]["surface"], "scoped-subtree");
    assert_eq!(grants["preopens"][1]["scope"], json!("deep/er"));
    project.assert_verified(&record);
}

#[test]
fn a_scope_that_leads_out_over_a_link_is_refused() {
    let project = scoped("src").with_file("elsewhere/secret.txt", "secret").with_file("given/unused", "");
    symlink("../elsewhere", project.path("given/src")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-CAP-002]: capabilities.filesystem.scope: PROJECT/given/src leads out of the workdir
      hint: name a directory in the workdir that is no link
    ");
}

#[test]
fn a_scope_below_a_link_that_leads_out_is_refused() {
    let project = scoped("src/deeper").with_file("elsewhere/secret.txt", "secret").with_file("given/unused", "");
    symlink("../elsewhere", project.path("given/src")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-CAP-002]: capabilities.filesystem.scope: PROJECT/given/src/deeper leads out of the workdir
      hint: name a directory in the workdir that is no link
    ");
}

#[test]
fn a_scope_in_the_runtimes_own_directory_is_refused() {
    insta::assert_snapshot!(refused(&scoped(".murmur").with_file("given/unused", "")), @r"
    error[E-CAP-002]: capabilities.filesystem.scope: PROJECT/given/.murmur is the runtime's own
      hint: name another directory of the workdir
    ");
    let over_a_link = scoped("src").with_file("given/.murmur/unused", "");
    symlink(".murmur", over_a_link.path("given/src")).unwrap();
    insta::assert_snapshot!(refused(&over_a_link), @r"
    error[E-CAP-002]: capabilities.filesystem.scope: PROJECT/given/src is the runtime's own
      hint: name another directory of the workdir
    ");
}

#[test]
fn a_scope_over_a_link_that_stays_inside_is_granted() {
    let project = scoped("src").with_file("given/real/task.md", "result here");
    symlink("real", project.path("given/src")).unwrap();
    project.run(["run", "--workdir", "given"]).expect(0);
    assert_eq!(fs::read_to_string(project.path("given/real/out/result.txt")).unwrap(), "here");
}
