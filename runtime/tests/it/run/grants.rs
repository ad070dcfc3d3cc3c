//! What a manifest grants reaches the guests that it is granted to, and no others.

use std::fs;

use axum::body::Body;
use axum::http::Response;
use serde_json::json;

use crate::servers::{Server, status};
use crate::support::{Project, guest};

/// A project whose capsule calls the tool that its task names, with this rest of its manifest.
fn caller(rest: &str) -> Project {
    let project = Project::new().with_file("murmur.yaml", &format!("name: caller\nversion: 0.1.0\n{rest}"));
    fs::remove_file(project.path("capsule.wasm")).unwrap();
    fs::copy(guest("example_call"), project.path("capsule.wasm")).unwrap();
    fs::copy(guest("test_courier"), project.path("tools/courier.wasm")).unwrap();
    project
}

const TOOL: &str = "artifacts:\n  - {name: tool, source: ./tools/tool.wasm}\n";

/// Runs a task in a workdir of the session's own. Its result.
fn result_of(project: &Project, task: &str) -> String {
    let ended = project.run_task(task).expect(0);
    fs::read_to_string(ended.says("result")).unwrap()
}

#[test]
fn variables_reach_guests_only_where_they_are_allowed_and_never_as_the_runtimes_own() {
    let project = caller(&format!("{TOOL}capabilities:\n  env: {{allow: [SHOWN, FROM_FILE]}}\n"));
    let project = project.with_file(".env", "FROM_FILE=file\nHIDDEN=1\n");
    let mut command = project.mur(["run", "--task", "tool env"]);
    command.env("SHOWN", "host").env("OTHER", "host").env("MURMUR_SESSION_ID", "forged");
    let ended = project.start(command).wait().expect(0);
    let mut lines: Vec<String> =
        fs::read_to_string(ended.says("result")).unwrap().lines().map(|line| project.redacted(line)).collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"), @r"
    FROM_FILE=file
    MURMUR_CAPSULE_NAME=caller
    MURMUR_CAPSULE_VERSION=0.1.0
    MURMUR_SESSION_ID=ses_…
    SHOWN=host
    ");
    let ended = project.run(["run", "--no-env-file", "--task", "tool env"]).expect(0);
    assert!(!fs::read_to_string(ended.says("result")).unwrap().contains("FROM_FILE"));
}

#[test]
fn an_artifacts_settings_reach_it_alone() {
    let project = caller(
        "artifacts:\n  - {name: tool, source: ./tools/tool.wasm, config: {b: 1, a: [x]}}\n  - {name: other, source: ./tools/tool.wasm}\n",
    );
    assert!(result_of(&project, "tool env").contains("MURMUR_ARTIFACT_CONFIG={\"a\":[\"x\"],\"b\":1}\n"));
    assert!(!result_of(&project, "other env").contains("MURMUR_ARTIFACT_CONFIG"));
}

#[test]
fn a_state_store_outlasts_sessions_and_is_seen_by_who_declared_it() {
    let project = caller(
        "artifacts:\n  - {name: keeper, source: ./tools/tool.wasm, capabilities: {state: {store: notes}}}\n  - {name: tool, source: ./tools/tool.wasm}\n",
    );
    let store = project.home().join("state/notes");
    project.run(["run", "--explain-scope"]).expect(0);
    assert!(!store.exists());
    result_of(&project, "keeper write state/a kept");
    assert_eq!(result_of(&project, "keeper read state/a"), "kept\n");
    assert_eq!(fs::read_to_string(store.join("a")).unwrap(), "kept");
    let ended = project.run_task("tool read state/a").expect(1);
    assert!(ended.stderr.contains("call: "), "{ended:?}");
    let events = project.records()[0].event("session_start");
    let expected = json!([{ "artifact": "keeper", "store": "notes", "host_path": store.to_str().unwrap() }]);
    assert_eq!(events["effective_grants"]["state_stores"], expected);
    assert_eq!(project.records()[0].event("session_start")["effective_grants"]["configured_artifacts"], json!([]));
}

#[test]
fn a_read_only_path_cannot_be_changed_and_the_attempt_is_recorded() {
    let project = caller(&format!("{TOOL}capabilities:\n  filesystem: {{read_only: [src]}}\n"));
    let project = project.with_file("given/src/lib.rs", "old");
    project.run(["run", "--workdir", "given", "--task", "tool write src/lib.rs new"]).expect(1);
    assert_eq!(fs::read_to_string(project.path("given/src/lib.rs")).unwrap(), "old");
    let record = &project.records_under(&project.path("given"))[0];
    let denied = record.event("protected_path_denied");
    assert_eq!(
        (&denied["target"], &denied["path"], &denied["rule"]),
        (&json!("tool"), &json!("src/lib.rs"), &json!("src"))
    );
    insta::assert_snapshot!(denied["reason"].as_str().unwrap(), @"the path is read-only (capabilities.filesystem.read_only)");
    project.assert_verified(record);
    project.run(["run", "--workdir", "given", "--task", "tool read src/lib.rs"]).expect(0);
}

#[test]
fn a_project_s_lock_is_not_a_guests_to_change() {
    let project = caller(TOOL).with_file("given/murmur.lock", "lock_version: 2\nartifacts: []\n");
    project.run(["run", "--workdir", "given", "--task", "tool write murmur.lock x"]).expect(1);
    let record = &project.records_under(&project.path("given"))[0];
    assert_eq!(record.event("protected_path_denied")["rule"], "murmur.lock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hosts_are_reached_where_they_are_allowed_and_narrowed_by_an_artifacts_own_block() {
    let server = Server::friendly().await;
    let authority = server.authority();
    let project = caller(&format!(
        "artifacts:\n  - {{name: courier, source: ./tools/courier.wasm}}\n  - {{name: narrow, source: ./tools/courier.wasm, \
         capabilities: {{network: {{allow: []}}}}}}\ncapabilities:\n  network: {{allow: ['{authority}']}}\n"
    ));
    assert!(result_of(&project, &format!("courier send\nGET http {authority} /")).contains("hello"));
    let denied = project.run_task(&format!("narrow send\nGET http {authority} /")).expect(1);
    assert!(denied.stderr.contains("HttpRequestDenied"), "{denied:?}");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(project.records()[0].event("session_start")["capabilities"], json!(["network", "filesystem"]));
}

/// A project whose courier has a gateway to a server, with this key.
fn with_gateway(server: &Server, key: &str) -> Project {
    let project = caller(&format!(
        "artifacts:\n  - name: courier\n    source: ./courier\n    gateway: {{endpoint: 'http://{}/v1', {key}}}\n",
        server.authority()
    ));
    let manifest = "name: courier\nversion: 0.1.0\nruntime: tool\nrequires_files: [courier.wasm]\n\
                    upstream_auth: {header: x-key, value: \"Key {key}\"}\n";
    let project = project.with_file("courier/murmur.yaml", manifest);
    fs::copy(guest("test_courier"), project.path("courier/courier.wasm")).unwrap();
    project
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_sends_the_configured_key_and_a_rotated_one_is_recorded() {
    let server = Server::start(|request| {
        if request.header("x-key") == "Key second" { Response::new(Body::from("welcome")) } else { status(401) }
    })
    .await;
    let project = with_gateway(&server, "api_key: '${MY_KEY}'");
    let task = "courier send\nGET http 127.0.0.1:9 /v1/models";
    // No key: refused before anything is made.
    let refused = project.run_task(task).expect(1);
    assert!(!project.path("workdir").exists());
    insta::assert_snapshot!(project.redacted(&refused.stderr));
    project.run(["config", "set", "-g", "credentials.MY_KEY", "first"]).expect(0);
    assert!(result_of(&project, task).contains("401"));
    project.run(["config", "set", "-g", "credentials.MY_KEY", "second"]).expect(0);
    assert!(result_of(&project, task).contains("welcome"));

    let records = project.records();
    let start = records[0].event("session_start");
    assert_eq!(
        start["gateways"],
        json!([{ "artifact": "courier", "host": "127.0.0.1", "credential_source": "config", "metered": false }])
    );
    let rejected = records[0].event("gateway_credential");
    assert_eq!((&rejected["change"], &rejected["credential"]), (&json!("rejected"), &json!("MY_KEY")));
    for record in &records {
        let trace = String::from_utf8(record.trace()).unwrap();
        assert!(!trace.contains("first") && !trace.contains("second"), "{trace}");
        project.assert_verified(record);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_key_of_the_environment_is_used_with_a_warning() {
    let server = Server::friendly().await;
    let project = with_gateway(&server, "api_key: '${MY_KEY}'");
    let mut command = project.mur(["run", "--task", "courier send\nGET http 127.0.0.1:9 /v1"]);
    command.env("MY_KEY", "of the environment");
    let ended = project.start(command).wait().expect(0);
    assert_eq!(server.only().header("x-key"), "Key of the environment");
    insta::assert_snapshot!(project.redacted(&ended.diagnostics()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_whose_artifact_does_not_say_how_the_key_is_sent_is_refused() {
    let server = Server::friendly().await;
    let project = with_gateway(&server, "api_key: literally-a-key").with_file(
        "courier/murmur.yaml",
        "name: courier\nversion: 0.1.0\nruntime: tool\nrequires_files: [courier.wasm]\n",
    );
    let none = project.run_task("courier send").expect(1);
    let project = project.with_file(
        "courier/murmur.yaml",
        "name: courier\nversion: 0.1.0\nruntime: tool\nrequires_files: [courier.wasm]\nupstream_auth: {header: host, value: '{key}'}\n",
    );
    let wrong = project.run_task("courier send").expect(1);
    assert!(!none.stderr.contains("literally-a-key") && server.seen().is_empty());
    insta::assert_snapshot!(project.redacted(&format!("{}{}", none.stderr, wrong.stderr)));
}
