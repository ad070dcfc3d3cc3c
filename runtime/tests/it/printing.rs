//! Results that nobody takes.

use std::fs::File;
use std::process::Stdio;

use crate::support::Project;

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_finds_no_room_is_an_error() {
    let project = Project::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ended = project.mur(["doctor"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.starts_with("error[E-IO-003]: what this command has to say could not be printed: "), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn a_reader_who_has_gone_is_no_error() {
    let project = Project::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = project.mur(["doctor"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}
