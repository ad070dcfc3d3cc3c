//! Capsules that call tools.

use super::scene::{Call, Scene};
use mur_runtime::guest::{Access, Grants, GuestError, Status, Workspace};
use std::sync::Arc;
use std::time::Duration;

/// Runs a capsule that calls the tool named `tool` and returns its report and the call as it was told.
async fn call(input: &str) -> (String, Call) {
    let mut scene = Scene::new(&format!("call tool {input}")).with_tool_here("tool");
    let report = scene.report().await;
    (report, scene.log.call())
}

#[tokio::test]
async fn a_result_comes_back_and_is_told() {
    let (report, call) = call("echo hello there").await;
    assert_eq!(report, "passed: hello there");
    assert_eq!(
        call,
        Call {
            name: "tool".to_owned(),
            data: Some("echo hello there".to_owned()),
            log_path: None,
            outcome: Ok("hello there".to_owned()),
            status: Status::Passed,
            bytes: (16, 11),
            state_effect: None,
            resource_id: None,
        }
    );
}

#[tokio::test]
async fn a_summary_counts_as_output_where_there_are_no_data() {
    let (report, call) = call("summary four").await;
    assert_eq!(report, "passed: four");
    assert_eq!(call.bytes, (12, 4));
}

#[tokio::test]
async fn a_tool_that_is_not_content_gives_a_result_all_the_same() {
    for (input, status, expected) in
        [("fail too long", Status::Failed, "failed: too long"), ("error no file", Status::Error, "error: no file")]
    {
        let (report, call) = call(input).await;
        assert_eq!(report, expected);
        assert_eq!(call.status, status);
        assert!(call.outcome.is_ok());
    }
}

#[tokio::test]
async fn of_metadata_the_first_of_a_name_counts() {
    let (_, call) = call("metadata").await;
    assert_eq!(call.state_effect.as_deref(), Some("mutate"));
    assert_eq!(call.resource_id.as_deref(), Some("r-1"));
}

#[tokio::test]
async fn a_tool_can_be_handed_a_file() {
    let mut scene = Scene::new("log tool notes.txt").with_file("notes.txt", "noted").with_tool_here("tool");
    assert_eq!(scene.report().await, "passed: noted");
    let call = scene.log.call();
    assert_eq!(call.data, None);
    assert_eq!(call.log_path.as_deref(), Some("notes.txt"));
    assert_eq!(call.bytes, (9, 5));
}

#[tokio::test]
async fn an_undeclared_tool_is_an_error_for_the_capsule_and_no_more() {
    let mut scene = Scene::new("call other echo").with_tool_here("tool");
    let reason = "tool `other` is not declared in the manifest";
    assert_eq!(scene.report().await, format!("no result: {reason}"));
    let call = scene.log.call();
    assert_eq!(call.outcome, Err(reason.to_owned()));
    assert_eq!(call.status, Status::Error);
    assert_eq!(call.bytes, (4, reason.len()));
}

#[tokio::test]
async fn a_tool_that_gives_no_result_is_an_error_for_the_capsule_and_no_more() {
    for (input, reason) in [
        ("trap", "tool `tool`: the guest trapped: it panicked or aborted"),
        ("exit 1", "tool `tool`: the guest exited with code 1"),
        ("exit 0", "tool `tool`: the tool exited without a result"),
    ] {
        let (report, call) = call(input).await;
        assert_eq!(report, format!("no result: {reason}"));
        assert_eq!(call.outcome, Err(reason.to_owned()));
    }
}

#[tokio::test]
async fn a_tool_has_limits_of_its_own() {
    for (input, reason) in [
        ("spin", "tool `tool`: the guest did not end within its 0.3 seconds (capabilities.limits.deadline_seconds)"),
        (
            "sleep 600",
            "tool `tool`: the guest did not end within its 0.3 seconds (capabilities.limits.deadline_seconds)",
        ),
        (
            "balloon",
            "tool `tool`: the guest needs more than its 8388608 bytes of memory (capabilities.limits.memory_bytes)",
        ),
    ] {
        let mut grants = Grants::default();
        grants.limits.memory_bytes = 8 << 20;
        if input != "balloon" {
            grants.limits.deadline = Duration::from_millis(300);
        }
        let mut scene = Scene::new(&format!("call tool {input}")).with_tool("tool", grants);
        assert_eq!(scene.report().await, format!("no result: {reason}"));
    }
}

#[tokio::test]
async fn a_large_result_comes_back_whole() {
    let (report, call) = call("big 5000000").await;
    assert_eq!(report.len(), "passed: ".len() + 5_000_000);
    assert_eq!(call.bytes.1, 5_000_000);
}

#[tokio::test]
async fn a_result_past_what_the_engine_copies_is_an_error() {
    let (report, call) = call("big 140000000").await;
    assert!(report.starts_with("no result: tool `tool`: the guest trapped: "), "{report}");
    assert!(call.outcome.is_err());
}

#[tokio::test]
async fn every_call_meets_a_fresh_tool() {
    let mut scene = Scene::new("call-many 50 tool").with_tool_here("tool");
    assert_eq!(scene.report().await, "50 passed");
    assert_eq!(scene.log.calls.lock().unwrap().len(), 50);
}

#[tokio::test]
async fn a_tool_sees_its_own_environment_and_directory_only() {
    let grants = Grants { environment: vec![("FOR".to_owned(), "the tool".to_owned())], ..Grants::default() };
    let mut scene = Scene::new("call tool env").with_tool("tool", grants);
    scene.grants.environment = vec![("FOR".to_owned(), "the capsule".to_owned())];
    assert_eq!(scene.report().await, "passed: FOR=the tool\n");

    let mut scene = Scene::new("call tool list .").with_file("scope/inner.txt", "");
    let grants = Grants {
        workspace: Some(Workspace::open(&scene.path("scope"), Access::ReadOnly, Arc::default()).unwrap()),
        ..Grants::default()
    };
    scene = scene.with_tool("tool", grants);
    assert_eq!(scene.report().await, "passed: inner.txt");
}

#[tokio::test]
async fn a_tool_with_read_only_access_cannot_write() {
    let mut scene = Scene::new("call tool write new.txt text");
    let mut grants = scene.grants.clone();
    grants.workspace.as_mut().unwrap().access = Access::ReadOnly;
    scene = scene.with_tool("tool", grants);
    let report = scene.report().await;
    assert!(report.starts_with("error: "), "{report}");
    assert!(!scene.path("new.txt").exists());
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_ends_the_capsule() {
    let mut scene = Scene::new("call-many 10 tool").with_tool_here("tool");
    *scene.log.gives_up.lock().unwrap() = true;
    match scene.run().await {
        Err(GuestError::Witness(error)) => assert_eq!(error.to_string(), "the disk is full"),
        other => panic!("{other:?}"),
    }
    assert!(!scene.path("out").exists());
}
