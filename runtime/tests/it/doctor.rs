//! `mur doctor`: what would make a run refuse, found before one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Project, tree};

fn doctor(project: &Project, code: i32) -> String {
    let before = tree(&project.path(""));
    let ended = project.run(["doctor"]).expect(code);
    assert_eq!(tree(&project.path("")), before);
    project.redacted(&format!("{}{}", ended.stderr, ended.stdout))
}

#[test]
fn a_project_that_can_run_passes() {
    let project = Project::new();
    fs::set_permissions(project.home(), Permissions::from_mode(0o700)).unwrap();
    insta::assert_snapshot!(doctor(&project, 0));
    project.run_task("ok").expect(0);
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_what_to_do() {
    let project = Project::new().with_file(
        "murmur.yaml",
        "name: ill\nversion: 1.0.0\nartifacts:\n  - {name: absent, version: 1.0.0}\n  - {name: broken, source: ./broken.wasm}\n\
         capabilities:\n  env: {allow: [IS_NOT_SET]}\n  containment: scoped\n",
    );
    let project = project.with_file("broken.wasm", "no component");
    fs::set_permissions(project.home(), Permissions::from_mode(0o755)).unwrap();
    insta::assert_snapshot!(doctor(&project, 1));
    project.run_task("ok").expect(1);
}

#[test]
fn a_manifest_that_cannot_be_used_is_one_of_the_findings() {
    let project =
        Project::new().with_file("murmur.yaml", "name: ill\nversion: 1.0.0\ncapabilities:\n  limits: {instances: 0}\n");
    fs::set_permissions(project.home(), Permissions::from_mode(0o700)).unwrap();
    insta::assert_snapshot!(doctor(&project, 1));
}

#[test]
fn without_a_project_the_host_is_looked_at() {
    let project = Project::new();
    fs::set_permissions(project.home(), Permissions::from_mode(0o700)).unwrap();
    let empty = project.author("empty", &[("note", "")]);
    let ended = project.run_in(&empty, &["doctor"]).expect(0);
    insta::assert_snapshot!(project.redacted(&ended.stdout));
}
