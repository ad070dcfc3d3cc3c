//! Links in the workdir: what the runtime writes there does not follow them out, whoever made them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Project, tree};

/// A project with a directory beside the workdir that is nobody's to change.
fn with_precious_file() -> Project {
    Project::new().with_file("precious/result.txt", "precious").with_file("given/unused", "")
}

#[test]
fn the_result_is_not_written_through_a_link_that_the_capsule_made() {
    let project = with_precious_file();
    fs::remove_file(project.path("precious/result.txt")).unwrap();
    let ended = project.run(["run", "--workdir", "given", "--task", "link out ../precious"]).expect(0);
    assert_eq!(ended.stderr, "[tester] ok: out\n");
    assert_eq!(fs::read_link(project.path("given/out")).unwrap().to_str(), Some("../precious"));
    assert!(tree(&project.path("precious")).is_empty(), "{:?}", tree(&project.path("precious")));
    assert_eq!(ended.says("result"), "none");
}

/// Runs with the workdir `given`, and asserts that it is refused with nothing changed. What was said.
fn refused(project: &Project) -> String {
    let before = tree(&project.path(""));
    let ended = project.run(["run", "--workdir", "given", "--task", "print"]).expect(1);
    assert_eq!(ended.stdout, "");
    assert_eq!(tree(&project.path("")), before);
    assert_eq!(fs::read_to_string(project.path("precious/result.txt")).unwrap(), "precious");
    project.redacted(&ended.stderr)
}

#[test]
fn a_workdir_whose_results_lie_behind_a_link_is_refused() {
    let project = with_precious_file();
    symlink("../precious", project.path("given/out")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-IO-003]: PROJECT/given/out is a link or a file, and a directory is needed there
      hint: move it away, or pass another --workdir
    ");
}

#[test]
fn a_workdir_with_a_directory_in_the_results_place_is_refused() {
    let project = with_precious_file();
    fs::create_dir_all(project.path("given/out/result.txt")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-IO-003]: PROJECT/given/out/result.txt is a directory, and the result is written there
      hint: move it away, or pass another --workdir
    ");
}

#[test]
fn a_link_in_the_results_place_is_taken_away_and_not_followed() {
    let project = with_precious_file();
    fs::create_dir(project.path("given/out")).unwrap();
    symlink("../../precious/result.txt", project.path("given/out/result.txt")).unwrap();
    let ended = project.run(["run", "--workdir", "given", "--task", "print"]).expect(0);
    assert_eq!(fs::read_to_string(ended.says("result")).unwrap(), "to stdout\n");
    assert_eq!(fs::read_to_string(project.path("precious/result.txt")).unwrap(), "precious");
}

#[test]
fn a_project_whose_sessions_would_be_made_behind_a_link_is_refused() {
    let project = with_precious_file();
    symlink("precious", project.path("workdir")).unwrap();
    let before = tree(&project.path(""));
    let ended = project.run_task("ok").expect(1);
    assert_eq!(tree(&project.path("")), before);
    insta::assert_snapshot!(project.redacted(&ended.stderr), @r"
    error[E-IO-003]: PROJECT/workdir is a link, and sessions are made in a directory
      hint: remove it, or name the directory with --workdir
    ");
}

#[test]
fn what_a_link_in_place_of_the_runtimes_directory_or_the_lock_leads_to_is_not_a_guests_to_change() {
    let project = Project::new()
        .with_file("given/records/kept", "")
        .with_file("given/locks/a", "lock_version: 2\nartifacts: []\n")
        .with_file("given/free", "");
    symlink("records", project.path("given/.murmur")).unwrap();
    symlink("locks/a", project.path("given/murmur.lock")).unwrap();
    let _ = fs::remove_file(project.path("capsule.wasm"));
    fs::copy(crate::support::guest("example_call"), project.path("capsule.wasm")).unwrap();
    let write = |path: &str| project.run(["run", "--workdir", "given", "--task", &format!("tool write {path} x")]);
    write("records/forged").expect(1);
    write("locks/a").expect(1);
    write("free").expect(0);
    assert!(!project.path("given/records/forged").exists());
    assert!(fs::read_to_string(project.path("given/locks/a")).unwrap().starts_with("lock_version"));
}

#[test]
fn a_workdir_whose_records_would_lie_elsewhere_is_refused() {
    let project = with_precious_file();
    symlink("../precious", project.path("given/.murmur")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-IO-003]: PROJECT/given/.murmur is a link, and leads out of the workdir
      hint: remove it, or pass another --workdir
    ");
}

#[test]
fn a_task_replaces_what_stands_in_its_place_and_is_written_into_nothing_else() {
    let project = with_precious_file();
    let precious = project.path("precious/result.txt");
    let plants: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|from, to| symlink(from, to), |from, to| fs::hard_link(from, to)];
    for plant in plants {
        let _ = fs::remove_file(project.path("given/task.md"));
        plant(&precious, &project.path("given/task.md")).unwrap();
        project.run(["run", "--workdir", "given", "--task", "ok"]).expect(0);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::read_to_string(project.path("given/task.md")).unwrap(), "ok");
    }
}
