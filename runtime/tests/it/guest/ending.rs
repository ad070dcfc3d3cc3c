//! How a capsule ends, and how it is ended.

use super::scene::{Scene, capsule};
use mur_runtime::guest::{Access, GuestError, Stream, Toolbox, Witness, Workspace};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fails to compile when a run cannot be handed to a multi-threaded runtime.
#[allow(dead_code)]
fn a_run_may_move_between_threads(scene: &'static mut Scene) -> impl Send {
    scene.run()
}

#[tokio::test]
async fn returning_is_success() {
    assert!(Scene::new("ok").run().await.is_ok());
}

#[tokio::test]
async fn exiting_with_0_is_success() {
    assert!(Scene::new("exit 0").run().await.is_ok());
}

#[tokio::test]
async fn exiting_otherwise_is_failure() {
    let error = Scene::new("exit 3").run().await.unwrap_err();
    // WASI 0.2 knows success and failure only.
    assert!(matches!(error, GuestError::Exited { code: 1 }), "{error}");
}

#[tokio::test]
async fn a_panic_is_a_trap_and_its_message_is_on_stderr() {
    let mut scene = Scene::new("trap");
    let error = scene.run().await.unwrap_err();
    match &error {
        GuestError::Trapped { cause, .. } => assert_eq!(cause, "it panicked or aborted"),
        other => panic!("{other}"),
    }
    let stderr = scene.log.printed("test", Stream::Stderr);
    assert!(stderr.contains("the task says trap"), "{stderr}");
}

#[tokio::test]
async fn endless_recursion_is_a_trap() {
    let error = Scene::new("recurse").run().await.unwrap_err();
    match &error {
        GuestError::Trapped { cause, .. } => assert_eq!(cause, "call stack exhausted"),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_unknown_task_panics() {
    let error = Scene::new("dance").run().await.unwrap_err();
    assert!(matches!(error, GuestError::Trapped { .. }), "{error}");
}

#[test]
fn a_missing_directory_is_named() {
    let missing = Scene::new("ok").path("missing");
    match Workspace::open(&missing, Access::ReadWrite, Arc::default()) {
        Err(GuestError::Workspace { path, source }) => {
            assert_eq!(path, missing);
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        }
        other => panic!("{other:?}"),
    }
}

/// Drops a run after a while and returns how long that took.
async fn dropped(task: &'static str) -> Duration {
    let mut scene = Scene::new(task).with_tool_here("tool");
    capsule();
    let started = Instant::now();
    let outcome = tokio::time::timeout(Duration::from_millis(200), scene.run()).await;
    assert!(outcome.is_err(), "it ended by itself");
    started.elapsed()
}

#[tokio::test]
async fn a_run_can_be_dropped_while_it_computes() {
    assert!(dropped("spin").await < Duration::from_secs(5));
}

#[tokio::test]
async fn a_run_can_be_dropped_while_it_waits() {
    assert!(dropped("sleep 600").await < Duration::from_secs(5));
}

#[tokio::test]
async fn a_run_can_be_dropped_while_its_tool_computes() {
    assert!(dropped("call tool spin").await < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_can_be_aborted_from_another_thread() {
    let (started, running) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        let scene = Scene::new("spin");
        let witness: Arc<dyn Witness> = scene.log.clone();
        let toolbox = Arc::new(Toolbox::new());
        let capsule = capsule();
        started.send(()).unwrap();
        capsule.run("test", &scene.grants, &toolbox, &witness).await
    });
    running.await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    task.abort();
    let error = tokio::time::timeout(Duration::from_secs(5), task).await.unwrap();
    assert!(error.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn two_capsules_compute_side_by_side_on_one_thread() {
    let mut busy = Scene::new("spin");
    let mut quick = Scene::new("result done");
    tokio::select! {
        _ = busy.run() => panic!("the endless one ended"),
        outcome = quick.run() => outcome.unwrap(),
    }
    assert_eq!(quick.result(), "done");
}
