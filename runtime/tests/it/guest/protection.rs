//! The record's files, under attack from inside.

use super::scene::Scene;
use mur_runtime::guest::{GuestError, Operation, ProtectedPaths, Stream};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

const TRACE: &str = "{\"event_type\":\"session_start\",\"prev_hash\":\"sha256:00\"}\n{\"event_type\":\"x\"}\n";

/// Protects what a session's directory holds of its record.
fn record(rules: ProtectedPaths, session: &Path) -> io::Result<ProtectedPaths> {
    rules
        .with_file("trace", session.join("trace.jsonl"))?
        .with_file("seal", session.join("trace.jsonl.seal"))?
        .with_prefix("parts", session, ".trace.jsonl")?
        .with_tree("blobs", session.join("blobs"))
}

/// Everything that an attack could change: what a path is, and of a file its bytes, identity and times.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    path: PathBuf,
    bytes: Option<Vec<u8>>,
    inode: u64,
    links: u64,
    modified: (i64, i64),
}

impl Fingerprint {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.canonicalize().unwrap(),
            bytes: metadata.is_file().then(|| fs::read(path).unwrap()),
            inode: metadata.ino(),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

/// Lets the capsule attack one path and asserts that nothing came of it. Returns its report.
async fn attacked(mut scene: Scene, path: &Path) -> String {
    let before = Fingerprint::of(path);
    let report = scene.report().await;
    assert!(!report.contains("DONE"), "{report}");
    assert_eq!(Fingerprint::of(path), before);
    let refusals = with_outcome(&report, "refused");
    let denials = scene.log.denials.lock().unwrap();
    assert_eq!(denials.len(), refusals.len());
    assert!(denials.iter().all(|denial| denial.guest == "test"), "{denials:?}");
    report
}

/// The attempts of a report that came out so.
fn with_outcome<'a>(report: &'a str, outcome: &str) -> BTreeSet<&'a str> {
    report.lines().filter_map(|line| line.strip_prefix(outcome)?.strip_prefix(' ')).collect()
}

/// A capsule that attacks `inner/notes.txt`, and what stands there: the ways differ in what they need.
fn attacks_on_notes() -> [Scene; 4] {
    let scene = || Scene::new("rewrite inner/notes.txt");
    let directory = |path: &'static str| {
        let scene = scene();
        fs::create_dir_all(scene.path(path)).unwrap();
        scene
    };
    [scene().with_file("inner/notes.txt", "notes"), directory("inner/notes.txt"), directory("inner"), scene()]
}

#[tokio::test]
async fn what_works_on_a_free_path_is_refused_on_a_protected_one() {
    let mut refused_ways = BTreeSet::new();
    let mut working_ways = BTreeSet::new();
    for (mut free, protected) in attacks_on_notes().into_iter().zip(attacks_on_notes()) {
        let free_report = free.report().await;
        assert!(free.log.denials.lock().unwrap().is_empty());
        let working = with_outcome(&free_report, "DONE");

        let protected = protected.protect(|rules, workdir| rules.with_file("notes", workdir.join("inner/notes.txt")));
        let path = protected.path("inner/notes.txt");
        let report = attacked(protected, &path).await;
        let refused = with_outcome(&report, "refused");

        let missed: Vec<_> = working.difference(&refused).collect();
        assert!(missed.is_empty(), "{missed:?}");
        working_ways.extend(working.into_iter().map(str::to_owned));
        refused_ways.extend(refused.into_iter().map(str::to_owned));
    }
    // All others were seen to work at least once, so their refusal says something. These never do: a slash
    // asks for a directory, and unlinking is not for directories.
    let idle: Vec<_> = refused_ways.difference(&working_ways).collect();
    let never = ["unlink inner/notes.txt/", "unlink the ancestor inner", "write inner/notes.txt/"];
    assert_eq!(idle, never);
}

#[tokio::test]
async fn a_record_at_the_root_of_the_directory_cannot_be_changed() {
    let scene = Scene::new("rewrite trace.jsonl").with_file("trace.jsonl", TRACE).protect(record);
    let path = scene.path("trace.jsonl");
    let report = attacked(scene, &path).await;
    assert!(with_outcome(&report, "refused").len() > 100, "{report}");
}

#[tokio::test]
async fn a_record_below_the_directory_cannot_be_changed() {
    let scene = Scene::new("rewrite .murmur/ses_1/trace.jsonl")
        .with_file(".murmur/ses_1/trace.jsonl", TRACE)
        .protect(|rules, workdir| record(rules, &workdir.join(".murmur/ses_1")));
    let path = scene.path(".murmur/ses_1/trace.jsonl");
    let report = attacked(scene, &path).await;
    assert!(with_outcome(&report, "refused").len() > 100, "{report}");
}

#[tokio::test]
async fn a_protected_file_that_does_not_exist_yet_cannot_be_made() {
    for file in ["trace.jsonl.seal", ".trace.jsonl.seal.1.tmp", "blobs", "blobs/aa", ".murmur/ses_1/trace.jsonl"] {
        let scene = Scene::new(&format!("rewrite {file}"))
            .protect(|rules, workdir| record(record(rules, workdir)?, &workdir.join(".murmur/ses_1")));
        let path = scene.path(file);
        attacked(scene, &path).await;
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn nothing_in_a_protected_tree_can_be_changed() {
    let scene = Scene::new("rewrite blobs/aa/bb").with_file("blobs/aa/bb", "blob").protect(record);
    let path = scene.path("blobs/aa/bb");
    attacked(scene, &path).await;
}

#[tokio::test]
async fn a_protected_directory_cannot_be_changed() {
    let scene = Scene::new("rewrite blobs").with_file("blobs/aa", "blob").protect(record);
    let path = scene.path("blobs");
    attacked(scene, &path).await;
}

#[tokio::test]
async fn a_scope_below_the_workdir_is_protected_alike() {
    let mut scene = Scene::new("unused")
        .with_file(".murmur/ses_1/trace.jsonl", TRACE)
        .with_file(".murmur/task.md", "rewrite ses_1/trace.jsonl")
        .protect(|rules, workdir| record(rules, &workdir.join(".murmur/ses_1")));
    let directory = scene.path(".murmur");
    scene.work_in(&directory);
    let path = scene.path(".murmur/ses_1/trace.jsonl");
    let before = Fingerprint::of(&path);
    scene.run().await.unwrap();
    let report = fs::read_to_string(scene.path(".murmur/out/result.txt")).unwrap();
    assert!(!report.contains("DONE"), "{report}");
    assert_eq!(Fingerprint::of(&path), before);
}

#[tokio::test]
async fn a_directory_reached_over_a_link_is_protected_alike() {
    let mut scene = Scene::new("rewrite trace.jsonl").with_file("trace.jsonl", TRACE).protect(record);
    let link = scene.outside("link");
    symlink(scene.path(""), &link).unwrap();
    scene.work_in(&link);
    let path = scene.path("trace.jsonl");
    attacked(scene, &path).await;
}

#[tokio::test]
async fn another_hard_link_to_a_protected_file_cannot_be_written() {
    for file in ["trace.jsonl", ".trace.jsonl.seal.1.tmp", "blobs/aa/bb"] {
        let mut scene = Scene::new("overwrite alias.txt").with_file(file, TRACE).protect(record);
        fs::hard_link(scene.path(file), scene.path("alias.txt")).unwrap();
        let path = scene.path(file);
        let before = Fingerprint::of(&path);
        let report = scene.report().await;
        assert!(!report.contains("DONE"), "{report}");
        assert_eq!(Fingerprint::of(&path), before);
    }
}

#[tokio::test]
async fn a_consistent_forgery_does_not_reach_the_record() {
    let mut scene = Scene::new("forge trace.jsonl").with_file("trace.jsonl", TRACE).protect(record);
    let path = scene.path("trace.jsonl");
    let before = Fingerprint::of(&path);
    let report = scene.report().await;
    assert_eq!(report.lines().count(), 12);
    assert!(report.lines().all(|line| line.starts_with("refused")), "{report}");
    assert_eq!(Fingerprint::of(&path), before);
}

#[tokio::test]
async fn a_forgery_succeeds_where_nothing_is_protected() {
    let mut scene = Scene::new("forge trace.jsonl").with_file("trace.jsonl", TRACE);
    let report = scene.report().await;
    assert!(report.lines().all(|line| line.starts_with("DONE")), "{report}");
    assert_ne!(fs::read_to_string(scene.path("trace.jsonl")).unwrap(), TRACE);
}

#[tokio::test]
async fn a_protected_file_can_be_read() {
    let mut scene = Scene::new("read trace.jsonl").with_file("trace.jsonl", TRACE).protect(record);
    assert_eq!(scene.report().await, format!("ok: {TRACE}"));
    assert!(scene.log.denials.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_denial_names_guest_operation_path_and_rule() {
    let mut scene = Scene::new("write ./out/../trace.jsonl text")
        .with_file("trace.jsonl", TRACE)
        .with_file("out/keep", "")
        .protect(record);
    scene.run().await.unwrap();
    assert!(scene.log.printed("test", Stream::Stdout).starts_with("error: "));
    let denials = scene.log.denials.lock().unwrap();
    assert_eq!(denials.len(), 1, "{denials:?}");
    assert_eq!(denials[0].operation, Operation::Truncate);
    assert_eq!(denials[0].path, "./out/../trace.jsonl");
    assert_eq!(denials[0].rule, "trace");
}

#[tokio::test]
async fn a_denial_of_a_change_through_an_open_file_names_the_file() {
    let mut scene = Scene::new("rewrite trace.jsonl").with_file("trace.jsonl", TRACE).protect(record);
    scene.run().await.unwrap();
    let path = scene.path("trace.jsonl").to_str().unwrap().to_owned();
    let denials = scene.log.denials.lock().unwrap();
    let by_handle: Vec<_> = denials.iter().filter(|denial| denial.path == path).collect();
    assert_eq!(by_handle.len(), 1, "{by_handle:?}");
    assert_eq!(by_handle[0].operation, Operation::SetTimes);
}

#[tokio::test]
async fn a_tool_is_refused_under_its_own_name() {
    let mut scene = Scene::new("call tool remove trace.jsonl")
        .with_file("trace.jsonl", TRACE)
        .protect(record)
        .with_tool_here("tool");
    let report = scene.report().await;
    assert!(report.starts_with("error: "), "{report}");
    assert!(scene.path("trace.jsonl").exists());
    let denials = scene.log.denials.lock().unwrap();
    assert_eq!(denials.len(), 1, "{denials:?}");
    assert_eq!(denials[0].guest, "tool");
    assert_eq!(denials[0].operation, Operation::Unlink);
}

#[tokio::test]
async fn a_denial_that_cannot_be_recorded_ends_the_capsule() {
    for task in ["write trace.jsonl text", "call tool write trace.jsonl text"] {
        let mut scene = Scene::new(task).with_file("trace.jsonl", TRACE).protect(record).with_tool_here("tool");
        *scene.log.gives_up.lock().unwrap() = true;
        match scene.run().await {
            Err(GuestError::Witness(error)) => assert_eq!(error.to_string(), "the disk is full"),
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_to_string(scene.path("trace.jsonl")).unwrap(), TRACE);
    }
}
