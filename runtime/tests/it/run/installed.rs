//! Running what is installed: the lock, and capsules that belong to no project.

use std::fs;
use std::path::Path;

use crate::support::{Project, guest};

/// A project whose capsule calls the installed test tool, which is published on this machine.
fn project() -> Project {
    let project = Project::new()
        .with_file("murmur.yaml", "name: caller\nversion: 0.1.0\nartifacts:\n  - {name: tester, version: 1.0.0}\n");
    let archive = project.built_component();
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    project
}

fn result_of(project: &Project, task: &str) -> String {
    let ended = project.run_task(task).expect(0);
    fs::read_to_string(ended.says("result")).unwrap()
}

#[test]
fn a_first_run_pins_what_it_runs_and_later_ones_only_verify() {
    let project = project();
    assert_eq!(result_of(&project, "call tester echo hello"), "passed: hello");
    let lock = fs::read(project.path("murmur.lock")).unwrap();
    let record = project.record();
    assert_eq!(
        fs::read_to_string(record.path("tools/tester/murmur.yaml")).unwrap().lines().next(),
        Some("name: tester")
    );
    project.assert_verified(&record);
    assert_eq!(result_of(&project, "call tester echo again"), "passed: again");
    assert_eq!(fs::read(project.path("murmur.lock")).unwrap(), lock);
}

#[test]
fn what_disagrees_with_the_lock_does_not_run_and_leaves_nothing() {
    let project = project();
    let cases = [
        (
            "another hash",
            format!(
                "lock_version: 2\nartifacts:\n  - name: tester\n    resolved_version: \"1.0.0\"\n    sha256:\n      any: \"{}\"\n",
                "0".repeat(64)
            ),
        ),
        (
            "another version",
            format!(
                "lock_version: 2\nartifacts:\n  - name: tester\n    resolved_version: \"2.0.0\"\n    sha256:\n      any: \"{}\"\n",
                "0".repeat(64)
            ),
        ),
        ("no entry", "lock_version: 2\nartifacts: []\n".to_owned()),
        ("an old lock", "lock_version: 1\nartifacts: []\n".to_owned()),
    ];
    let mut shown = String::new();
    for (what, lock) in cases {
        fs::write(project.path("murmur.lock"), &lock).unwrap();
        let ended = project.run_task("call tester echo hello").expect(1);
        shown += &format!("{what}:\n{}", project.redacted(&ended.stderr));
        assert!(!project.path("workdir").exists());
        assert_eq!(fs::read_to_string(project.path("murmur.lock")).unwrap(), lock);
    }
    let digest =
        shown.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64 && !word.starts_with("0000"));
    let found: Vec<String> = digest.map(str::to_owned).collect();
    let shown = found.iter().fold(shown, |shown, digest| shown.replace(digest, "DIGEST"));
    insta::assert_snapshot!(shown);
}

#[test]
fn everything_that_is_not_installed_is_named_at_once() {
    let project = Project::new().with_file(
        "murmur.yaml",
        "name: caller\nversion: 0.1.0\nartifacts:\n  - {name: one, version: 1.0.0}\n  - {name: two, version: 2.0.0}\n",
    );
    let ended = project.run_task("ok").expect(1);
    assert!(!project.path("workdir").exists() && !project.path("murmur.lock").exists());
    insta::assert_snapshot!(project.redacted(&ended.stderr));
}

#[test]
fn an_installed_capsule_runs_without_a_project() {
    let project = Project::new();
    let manifest = "name: roamer\nversion: 0.2.0\nruntime: capsule\nexecution: wasm\nrequires_files: [capsule.wasm]\n";
    let source = project.author("src/roamer", &[("murmur.yaml", manifest)]);
    fs::copy(guest("test_capsule"), source.join("capsule.wasm")).unwrap();
    project.run_in(&source, &["build"]).expect(0);
    project.run_in(&source, &["publish", "roamer-0.2.0.mur.zip"]).expect(0);
    let elsewhere = project.author("elsewhere", &[("note", "")]);

    let args = ["run", "--capsule", "roamer", "--capsule-version", "0.2.0", "--task", "result from afar"];
    let ended = project.run_in(&elsewhere, &args).expect(0);
    assert_eq!(fs::read_to_string(ended.says("result")).unwrap(), "from afar");
    assert!(Path::new(ended.says("record")).starts_with(&elsewhere));
    assert!(!elsewhere.join("murmur.lock").exists());

    let absent = project.run_in(&elsewhere, &["run", "--capsule", "roamer", "--capsule-version", "9"]).expect(1);
    let alone = project.run_in(&elsewhere, &["run", "--capsule", "roamer"]).expect(2);
    assert!(alone.stderr.contains("--capsule-version"));
    insta::assert_snapshot!(project.redacted(&absent.stderr));
}

#[test]
fn a_native_tool_is_refused_before_anything_is_made() {
    let project = Project::new()
        .with_file("murmur.yaml", "name: caller\nversion: 0.1.0\nartifacts:\n  - {name: probe, version: 1.0.0}\n");
    let archive = project.built_script("1.0.0");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    let ended = project.run_task("call probe").expect(1);
    assert!(!project.path("workdir").exists());
    insta::assert_snapshot!(project.redacted(&ended.stderr));
}

#[test]
fn a_capsule_is_told_of_its_artifacts_and_can_add_none() {
    let project = project();
    let mut shown = String::new();
    for task in [
        "list",
        "describe tester",
        "describe other",
        "pull tester 1.0.0",
        "pull tester 2.0.0",
        "pull other 1.0.0",
        "remove tester",
        "search tester",
    ] {
        shown += &format!("{task}: {}\n", result_of(&project, &format!("manage {task}")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_native_tool_with_a_gateway_and_a_skill_in_a_tools_place_are_refused() {
    let project = Project::new().with_file(
        "murmur.yaml",
        "name: caller\nversion: 0.1.0\nartifacts:\n  - name: probe\n    version: 1.0.0\n    config: {a: 1}\n    \
         gateway: {endpoint: 'http://localhost:1', keyless: true}\n  - {name: advice, version: 0.1.0}\n  \
         - {name: local, runtime: skill, source: ./nowhere}\n",
    );
    let archive = project.built_script("1.0.0");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    let skill = project.author("advice", &[("SKILL.md", "Be brief.\n")]);
    let directory = project.author("made", &[("note", "")]);
    project.run_in(&directory, &["build", "--skill", "advice", skill.to_str().unwrap()]).expect(0);
    project.run_in(&directory, &["publish", "advice-0.1.0.mur.zip"]).expect(0);
    let ended = project.run(["run", "--explain-scope", "--json"]).expect(0);
    insta::assert_snapshot!(project.redacted(&ended.stderr));
}
