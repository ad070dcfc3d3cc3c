//! What a guest sees of the host and what it can reach.

use super::scene::Scene;
use mur_runtime::guest::{Access, Grants, Stream};
use std::fs;
use std::os::unix::fs::symlink;

#[tokio::test]
async fn a_capsule_sees_its_own_environment_and_nothing_else() {
    let mut scene = Scene::new("env");
    scene.grants.environment =
        vec![("MURMUR_CAPSULE_NAME".to_owned(), "test".to_owned()), ("EMPTY".to_owned(), String::new())];
    assert_eq!(scene.report().await, "MURMUR_CAPSULE_NAME=test\nEMPTY=\nentry task.md\n");
}

#[tokio::test]
async fn there_is_no_network() {
    assert_eq!(
        Scene::new("net").report().await,
        "refused tcp connect\nrefused tcp listen\nrefused udp\nrefused lookup\n"
    );
}

#[tokio::test]
async fn nothing_outside_the_directory_can_be_reached() {
    let mut scene = Scene::new("escape").with_file("out/keep", "");
    fs::write(scene.outside("secret.txt"), "secret").unwrap();
    symlink("/etc/passwd", scene.path("host-link")).unwrap();
    let report = scene.report().await;
    assert!(report.lines().all(|line| line.starts_with("refused ")), "{report}");
    assert!(!scene.outside("planted.txt").exists());
}

#[tokio::test]
async fn a_scope_is_all_that_a_capsule_sees() {
    let mut scene = Scene::new("unused").with_file("scope/task.md", "read ../task.md");
    let scope = scene.path("scope");
    scene.work_in(&scope);
    scene.run().await.unwrap();
    let report = fs::read_to_string(scene.path("scope/out/result.txt")).unwrap();
    assert!(report.starts_with("error: "), "{report}");
}

#[tokio::test]
async fn a_read_only_directory_cannot_be_changed() {
    let mut scene = Scene::new("write new.txt text");
    scene.workspace().access = Access::ReadOnly;
    scene.run().await.unwrap();
    assert!(scene.log.printed("test", Stream::Stdout).starts_with("error: "));
    assert!(!scene.path("new.txt").exists());
}

#[tokio::test]
async fn without_a_directory_there_are_no_files() {
    let mut scene = Scene::new("call tool list .").with_tool("tool", Grants::default());
    let report = scene.report().await;
    assert!(report.starts_with("error: "), "{report}");
}

#[tokio::test]
async fn what_is_printed_reaches_the_witness_by_stream() {
    let mut scene = Scene::new("print");
    scene.run().await.unwrap();
    assert_eq!(scene.log.printed("test", Stream::Stdout), "to stdout\n");
    assert_eq!(scene.log.printed("test", Stream::Stderr), "to stderr\n");
}

#[tokio::test]
async fn what_a_tool_prints_is_told_under_its_name() {
    let mut scene = Scene::new("call tool print hello").with_tool_here("tool");
    scene.run().await.unwrap();
    assert_eq!(scene.log.printed("tool", Stream::Stdout), "hello\n");
    assert_eq!(scene.log.printed("test", Stream::Stdout), "");
}

#[tokio::test]
async fn a_flood_arrives_whole_and_in_small_pieces() {
    let mut scene = Scene::new("flood 10000000");
    scene.run().await.unwrap();
    assert_eq!(scene.log.printed("test", Stream::Stdout).len(), 10_000_000);
    assert!(scene.log.largest_piece() <= 8192, "{}", scene.log.largest_piece());
}

#[tokio::test]
async fn a_directory_that_is_exchanged_for_a_link_later_is_still_the_one_that_was_opened() {
    let mut scene = Scene::new("result text");
    let (workdir, moved, secret) = (scene.path(""), scene.outside("moved"), scene.outside("secret"));
    std::fs::create_dir(&secret).unwrap();
    std::fs::rename(&workdir, &moved).unwrap();
    std::os::unix::fs::symlink(&secret, workdir.parent().unwrap().join("workdir")).unwrap();
    scene.run().await.unwrap();
    assert!(moved.join("out/result.txt").is_file(), "the guest works where it was told to");
    assert_eq!(std::fs::read_dir(&secret).unwrap().count(), 0, "and nowhere else");
}
