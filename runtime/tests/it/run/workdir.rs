//! `--workdir`: a directory that is somebody else's, with the records below `.murmur`.

use std::fs;

use mur_seal::Verdict;

use crate::support::{MANIFEST, Project, tree};

#[test]
fn records_lie_below_the_workdir_and_the_manifest_is_copied_there() {
    let project = Project::new();
    let ended = project.run(["run", "--workdir", "work", "--task", "result done"]).expect(0);
    let records = project.records_under(&project.path("work"));
    let session = records[0].session();
    assert_eq!(ended.says("record"), records[0].dir.to_str().unwrap());
    assert_eq!(ended.says("result"), project.path("work/out/result.txt").to_str().unwrap());
    let expected = [
        ".murmur".to_owned(),
        format!(".murmur/{session}"),
        format!(".murmur/{session}/logs"),
        format!(".murmur/{session}/logs/bootstrap.log"),
        format!(".murmur/{session}/trace.jsonl"),
        format!(".murmur/{session}/trace.jsonl.seal"),
        "murmur.yaml".to_owned(),
        "out".to_owned(),
        "out/result.txt".to_owned(),
        "task.md".to_owned(),
    ];
    assert_eq!(tree(&project.path("work")), expected);
    assert_eq!(fs::read_to_string(project.path("work/murmur.yaml")).unwrap(), MANIFEST);
    project.assert_verified(&records[0]);
    assert!(!project.path("workdir").exists());
}

#[test]
fn the_manifest_is_not_copied_over_a_file_that_is_there() {
    let project = Project::new().with_file("work/murmur.yaml", "mine");
    project.run(["run", "--workdir", "work", "--task", "ok"]).expect(0);
    assert_eq!(fs::read_to_string(project.path("work/murmur.yaml")).unwrap(), "mine");
}

#[test]
fn an_absolute_workdir_and_a_manifest_elsewhere_are_found() {
    let project = Project::new();
    let (manifest, workdir) = (project.path("murmur.yaml"), project.beside("work"));
    let elsewhere = project.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut command = project.mur(["run", "--task", "ok", "--manifest"]);
    command.arg(&manifest).arg("--workdir").arg(&workdir).current_dir(&elsewhere);
    project.start(command).wait().expect(0);
    project.assert_verified(&project.records_under(&workdir)[0]);
    assert!(tree(&elsewhere).is_empty());
}

#[test]
fn the_projects_own_directory_can_be_the_workdir() {
    let project = Project::new();
    project.run(["run", "--workdir", ".", "--task", "result done"]).expect(0);
    project.assert_verified(&project.records_under(&project.path(""))[0]);
    assert_eq!(fs::read_to_string(project.path("murmur.yaml")).unwrap(), MANIFEST);
}

#[test]
fn sessions_in_one_workdir_have_records_of_their_own() {
    let project = Project::new();
    for task in ["ok", "trap", "ok"] {
        project.run(["run", "--workdir", "work", "--task", task]);
    }
    let records = project.records_under(&project.path("work"));
    assert_eq!(records.len(), 3);
    for record in records {
        assert_eq!(project.check(&record).verdict, Verdict::Verified);
    }
}
