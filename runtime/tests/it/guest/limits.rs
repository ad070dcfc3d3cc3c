//! The limits of a guest, each by itself.

use super::scene::Scene;
use crate::support;
use mur_runtime::guest::{Engine, GuestError, Limit, LimitHit, Witness};
use std::sync::Arc;
use std::time::{Duration, Instant};

async fn hit(scene: &mut Scene) -> LimitHit {
    match scene.run().await {
        Err(GuestError::Limit(hit)) => hit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_balloon_hits_the_memory_limit() {
    let mut scene = Scene::new("balloon");
    scene.grants.limits.memory_bytes = 16 << 20;
    let hit = hit(&mut scene).await;
    assert_eq!(hit.limit, Limit::MemoryBytes);
    assert_eq!(hit.allowed, 16 << 20);
}

#[tokio::test]
async fn a_guest_that_does_not_even_fit_hits_the_memory_limit() {
    let mut scene = Scene::new("ok");
    scene.grants.limits.memory_bytes = 65536;
    assert_eq!(hit(&mut scene).await.limit, Limit::MemoryBytes);
}

#[tokio::test]
async fn a_guest_with_large_tables_hits_the_table_limit() {
    let mut scene = Scene::new("ok");
    scene.grants.limits.table_elements = 10;
    let hit = hit(&mut scene).await;
    assert_eq!(hit.limit, Limit::TableElements);
    assert_eq!(hit.allowed, 10);
}

#[tokio::test]
async fn a_guest_of_many_parts_hits_the_instance_limit() {
    let mut scene = Scene::new("ok");
    scene.grants.limits.instances = 1;
    let hit = hit(&mut scene).await;
    assert_eq!(hit.limit, Limit::Instances);
    assert_eq!(hit.allowed, 1);
}

/// Runs with a deadline of 300 ms; a spinning or waiting guest would take minutes.
async fn past_the_deadline(mut scene: Scene) {
    scene.grants.limits.deadline = Duration::from_millis(300);
    let started = Instant::now();
    let hit = hit(&mut scene).await;
    assert_eq!(hit.limit, Limit::Deadline);
    assert_eq!(hit.allowed, 300);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_spinning_guest_hits_the_deadline() {
    past_the_deadline(Scene::new("spin")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spinning_guest_hits_the_deadline_in_any_runtime() {
    past_the_deadline(Scene::new("spin")).await;
}

#[tokio::test]
async fn a_waiting_guest_hits_the_deadline() {
    past_the_deadline(Scene::new("sleep 600")).await;
}

#[tokio::test]
async fn the_deadline_covers_the_tools_that_a_capsule_calls() {
    past_the_deadline(Scene::new("call tool spin").with_tool_here("tool")).await;
    past_the_deadline(Scene::new("call tool sleep 600").with_tool_here("tool")).await;
}

#[tokio::test]
async fn the_deadline_holds_when_the_engine_is_gone() {
    let mut scene = Scene::new("spin");
    scene.grants.limits.deadline = Duration::from_millis(300);
    let engine = Engine::new(Some(&support::target().join("guests/compiled"))).unwrap();
    let capsule = engine.load_capsule(&support::guest("test_capsule")).unwrap();
    drop(engine);
    let witness: Arc<dyn Witness> = scene.log.clone();
    let outcome = capsule.run("test", &scene.grants, &Arc::default(), &witness).await;
    assert!(matches!(outcome, Err(GuestError::Limit(_))), "{outcome:?}");
}

/// Nothing but the host can make a FIFO, but a guest can be given one.
#[test]
fn the_deadline_covers_a_file_that_blocks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let scene = Scene::new("read fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    runtime.block_on(past_the_deadline(scene));
    // The thread that opens the FIFO waits for a writer that never comes.
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_guest_within_its_limits_does_not_notice_them() {
    let mut scene = Scene::new("sleep 0");
    scene.grants.limits.memory_bytes = 4 << 20;
    scene.grants.limits.deadline = Duration::from_secs(60);
    scene.run().await.unwrap();
}

#[tokio::test]
async fn a_guest_cannot_take_all_file_descriptors() {
    assert_eq!(Scene::new("files 200").report().await, "200 open at once");
    let mut greedy = Scene::new("files 5000");
    match greedy.run().await {
        Err(GuestError::Trapped { cause, .. }) => assert!(cause.contains("400"), "{cause}"),
        other => panic!("{other:?}"),
    }
}
