//! The two directories of a guest: what it can reach from them, what outlasts it, and what was given to read only.

use super::scene::Scene;
use mur_runtime::guest::{Access, Grants, GuestError, Limit, ProtectedPaths, Reason, Stream, Workspace};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn open(path: &Path) -> Workspace {
    Workspace::open(path, Access::ReadWrite, Arc::default()).unwrap()
}

/// A capsule with a state store, which lies beside its directory.
fn with_state(task: &str) -> Scene {
    let mut scene = Scene::new(task);
    let state = scene.outside("store/state");
    fs::create_dir_all(&state).unwrap();
    scene.grants.state = Some(open(&state));
    scene
}

#[tokio::test]
async fn nothing_outside_of_either_directory_can_be_reached() {
    for (directory, inside) in [(".", "workdir"), ("state", "store/state")] {
        let mut scene = with_state(&format!("reach {directory}"));
        let here = scene.outside(inside);
        let above = here.parent().unwrap().to_owned();
        fs::write(above.join("secret.txt"), "secret").unwrap();
        fs::write(here.join("inside.txt"), "inside").unwrap();
        fs::create_dir(here.join("inner")).unwrap();
        symlink("/etc/passwd", here.join("host-link")).unwrap();
        symlink(&above, here.join("host-directory")).unwrap();
        let report = scene.report().await;
        assert!(report.lines().all(|line| line.starts_with("refused ")), "{directory}: {report}");
        assert_eq!(report.lines().count(), 20);
        assert_eq!(fs::read_to_string(here.join("inside.txt")).unwrap(), "inside");
        assert!(here.join("inner").is_dir() && !here.join("stolen.txt").exists());
        assert!(!above.join("planted.txt").exists());
        assert_eq!(fs::read_to_string(above.join("secret.txt")).unwrap(), "secret");
    }
}

#[tokio::test]
async fn a_link_of_the_guests_leads_from_neither_directory_into_the_other() {
    let mut scene = with_state("read link/kept.txt");
    fs::write(scene.outside("store/state/kept.txt"), "kept").unwrap();
    symlink(scene.outside("store/state"), scene.path("link")).unwrap();
    assert!(scene.report().await.starts_with("error: "));
}

#[tokio::test]
async fn state_outlasts_the_guest_and_is_seen_by_the_next() {
    let mut first = with_state("write state/kept.txt kept");
    first.run().await.unwrap();
    let mut second = Scene::new("read state/kept.txt");
    second.grants.state = first.grants.state.clone();
    assert_eq!(second.report().await, "ok: kept");
}

#[tokio::test]
async fn state_that_a_guest_wrote_before_its_deadline_is_there_for_the_next() {
    let mut first = with_state("linger state/kept.txt kept");
    first.grants.limits.deadline = Duration::from_millis(500);
    match first.run().await {
        Err(GuestError::Limit(hit)) => assert_eq!(hit.limit, Limit::Deadline),
        other => panic!("{other:?}"),
    }
    let mut second = Scene::new("read state/kept.txt");
    second.grants.state = first.grants.state.clone();
    assert_eq!(second.report().await, "ok: kept");
}

#[tokio::test]
async fn a_guest_without_the_grant_sees_no_state() {
    let scene = with_state("call tool list state");
    fs::write(scene.outside("store/state/kept.txt"), "kept").unwrap();
    let state = scene.grants.state.clone();
    let mut denied = scene.with_tool_here("tool");
    assert!(denied.report().await.starts_with("error: "), "the capsule's state is not its tool's");

    let granted = Grants { state, ..Grants::default() };
    let mut scene = Scene::new("call tool list state").with_tool("tool", granted);
    assert_eq!(scene.report().await, "passed: kept.txt");
    let mut capsule = Scene::new("read state/kept.txt");
    assert!(capsule.report().await.starts_with("error: "), "the tool's state is not its capsule's");
}

#[tokio::test]
async fn a_state_store_that_is_moved_away_is_still_the_one_that_was_opened() {
    let mut scene = with_state("write state/kept.txt kept");
    let (state, moved) = (scene.outside("store/state"), scene.outside("moved"));
    fs::rename(&state, &moved).unwrap();
    symlink(scene.outside("workdir"), &state).unwrap();
    scene.run().await.unwrap();
    assert_eq!(fs::read_to_string(moved.join("kept.txt")).unwrap(), "kept");
    assert!(!scene.path("kept.txt").exists());
}

/// A state store where no store should be, in the middle of the record: the rules are over paths of the host.
#[tokio::test]
async fn what_is_protected_is_protected_through_the_state_store_too() {
    for task in ["write state/trace.jsonl forged", "forge state/trace.jsonl"] {
        let mut scene = Scene::new(task)
            .with_file("session/trace.jsonl", "{\"a\":1}\n")
            .protect(|rules, workdir| rules.with_file("trace", workdir.join("session/trace.jsonl")));
        scene.grants.state = Some(open(&scene.path("session")));
        scene.run().await.unwrap();
        assert_eq!(fs::read_to_string(scene.path("session/trace.jsonl")).unwrap(), "{\"a\":1}\n");
        let denials = scene.log.denials.lock().unwrap();
        assert!(!denials.is_empty());
        assert!(denials.iter().all(|denial| denial.rule == "trace" && denial.reason == Reason::Record), "{denials:?}");
    }
}

#[tokio::test]
async fn rules_of_the_state_store_hold_beside_those_of_the_directory() {
    let mut scene = with_state("write state/fixed.txt changed")
        .with_file("trace.jsonl", "{}\n")
        .protect(|rules, workdir| rules.with_file("trace", workdir.join("trace.jsonl")));
    let state = scene.outside("store/state");
    fs::write(state.join("fixed.txt"), "fixed").unwrap();
    let rules = ProtectedPaths::new().with_read_only("fixed", state.join("fixed.txt")).unwrap();
    scene.grants.state.as_mut().unwrap().protected = Arc::new(rules);
    scene.run().await.unwrap();
    assert_eq!(fs::read_to_string(state.join("fixed.txt")).unwrap(), "fixed");
    fs::write(scene.path("task.md"), "write trace.jsonl changed").unwrap();
    scene.run().await.unwrap();
    let denials = scene.log.denials.lock().unwrap();
    let rules: Vec<_> = denials.iter().map(|denial| denial.rule.as_str()).collect();
    assert_eq!(rules, ["fixed", "trace"]);
}

fn read_only(rules: ProtectedPaths, workdir: &Path) -> std::io::Result<ProtectedPaths> {
    rules.with_read_only("docs", workdir.join("docs"))?.with_file("trace", workdir.join("trace.jsonl"))
}

#[tokio::test]
async fn what_was_given_to_read_only_withstands_every_way_of_changing_it() {
    for path in ["docs/guide.txt", "docs"] {
        let mut scene = Scene::new(&format!("rewrite {path}")).with_file("docs/guide.txt", "guide").protect(read_only);
        let report = scene.report().await;
        assert!(!report.contains("DONE"), "{report}");
        assert!(report.lines().filter(|line| line.starts_with("refused")).count() > 50, "{report}");
        assert_eq!(fs::read_to_string(scene.path("docs/guide.txt")).unwrap(), "guide");
        let denials = scene.log.denials.lock().unwrap();
        assert!(denials.iter().all(|denial| denial.rule == "docs" && denial.reason == Reason::ReadOnly), "{denials:?}");
    }
}

#[tokio::test]
async fn what_a_read_only_link_leads_to_is_read_only_by_every_name() {
    for path in ["docs/guide.txt", "really/guide.txt", "docs", "really"] {
        let mut scene = Scene::new(&format!("rewrite {path}")).with_file("really/guide.txt", "guide");
        symlink("really", scene.path("docs")).unwrap();
        scene = scene.protect(read_only);
        let report = scene.report().await;
        assert!(!report.contains("DONE"), "{path}: {report}");
        assert_eq!(fs::read_to_string(scene.path("docs/guide.txt")).unwrap(), "guide");
        assert_eq!(fs::read_link(scene.path("docs")).unwrap(), Path::new("really"));
    }
}

#[tokio::test]
async fn a_read_only_path_is_compared_part_by_part() {
    let mut scene = Scene::new("write docs-of-mine.txt text").with_file("docs/guide.txt", "guide").protect(read_only);
    scene.run().await.unwrap();
    assert_eq!(fs::read_to_string(scene.path("docs-of-mine.txt")).unwrap(), "text");
    assert!(scene.log.denials.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_was_given_to_read_only_can_be_read() {
    let mut scene = Scene::new("read docs/guide.txt").with_file("docs/guide.txt", "guide").protect(read_only);
    assert_eq!(scene.report().await, "ok: guide");
}

#[tokio::test]
async fn a_denial_says_for_which_of_the_two_reasons() {
    let mut told = String::new();
    for path in ["docs/new.txt", "trace.jsonl"] {
        let mut scene =
            Scene::new(&format!("write {path} text")).with_file("docs/guide.txt", "guide").protect(read_only);
        scene.run().await.unwrap();
        assert!(scene.log.printed("test", Stream::Stdout).starts_with("error: "));
        let denials = scene.log.denials.lock().unwrap();
        assert_eq!(denials.len(), 1, "{denials:?}");
        told += &format!("{path}: {}\n", denials[0].reason.as_str());
    }
    insta::assert_snapshot!(told, @"
    docs/new.txt: the path is read-only (capabilities.filesystem.read_only)
    trace.jsonl: the path belongs to the session's record
    ");
}

#[tokio::test]
async fn names_that_are_no_text_do_not_break_a_guest() {
    let mut scene = Scene::new("call tool list .").with_tool_here("tool");
    fs::write(scene.path("").join(OsStr::from_bytes(b"bad\xff\xfename")), "x").unwrap();
    let report = scene.report().await;
    assert!(report.starts_with("error: ") || report.starts_with("passed: "), "{report}");
    let mut scene = Scene::new("read plain.txt").with_file("plain.txt", "plain");
    fs::write(scene.path("").join(OsStr::from_bytes(b"bad\xff\xfename")), "x").unwrap();
    assert_eq!(scene.report().await, "ok: plain");
}
