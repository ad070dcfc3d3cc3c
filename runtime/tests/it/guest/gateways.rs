//! Gateways: a guest reaches an endpoint with a key that it never sees.

use super::scene::{Log, courier};
use crate::servers::{Server, status};
use axum::body::Body;
use axum::http::Response;
use mur_runtime::guest::{
    Credential, Gateway, Grants, GuestError, KeyError, KeyOrigin, KeySource, Network, ToolInput, Witness,
};
use mur_runtime::hosts::AuthHeader;
use mur_runtime::secret::Secret;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Keys that are read one after the other, the last of them from then on.
struct Keys {
    origin: KeyOrigin,
    left: Mutex<VecDeque<Result<Option<&'static str>, &'static str>>>,
}

impl KeySource for Keys {
    fn origin(&self) -> &KeyOrigin {
        &self.origin
    }

    fn key(&self) -> Result<Option<Secret>, KeyError> {
        let mut left = self.left.lock().unwrap();
        let next = if left.len() > 1 { left.pop_front().unwrap() } else { left[0] };
        Ok(next?.map(|key| Secret::new(key.to_owned())))
    }
}

fn keys<const N: usize>(keys: [Result<Option<&'static str>, &'static str>; N]) -> Credential {
    let header = AuthHeader::new("authorization", "Bearer {key}").unwrap();
    let origin = KeyOrigin { source: "config".to_owned(), credential: None };
    Credential::Key { header, source: Arc::new(Keys { origin, left: Mutex::new(keys.into()) }) }
}

/// A guest whose gateway leads to a server, below `/v1`.
struct Caller {
    server: Server,
    grants: Grants,
    log: Arc<Log>,
}

impl Caller {
    fn new(server: Server, credential: Credential) -> Self {
        let endpoint = format!("http://{}/v1", server.authority()).parse().unwrap();
        let gateway = Some(Gateway::new(endpoint, credential));
        Self { server, grants: Grants { gateway, ..Grants::default() }, log: Arc::default() }
    }

    async fn run(&self, data: &str) -> Result<String, GuestError> {
        let input = ToolInput { data: Some(data.to_owned()), log_path: None };
        let witness: Arc<dyn Witness> = self.log.clone();
        Ok(courier().run("courier", &self.grants, &input, &witness).await?.data.unwrap())
    }

    /// The first line of what the guest says.
    async fn status(&self, data: &str) -> String {
        self.run(data).await.unwrap().lines().next().unwrap_or_default().to_owned()
    }

    fn told(&self) -> String {
        self.log.keys.lock().unwrap().join("\n")
    }

    /// The keys that arrived.
    fn arrived(&self) -> Vec<String> {
        self.server.seen().iter().map(|seen| seen.header("authorization")).collect()
    }
}

/// A server that accepts one key.
async fn accepting(key: &'static str) -> Server {
    Server::start(move |seen| status(if seen.header("authorization") == format!("Bearer {key}") { 200 } else { 401 }))
        .await
}

const ASK: &str = "send\nPOST http 127.0.0.1:9 /v1/ask?x=y\n\nquestion";

#[tokio::test]
async fn the_endpoint_gets_the_key_and_the_guest_never_does() {
    let caller = Caller::new(Server::friendly().await, keys([Ok(Some("secret"))]));
    let said = caller.run("send\nPOST http 127.0.0.1:9 /v1/ask?x=y\nAuthorization: mine\n\nquestion").await.unwrap();
    assert!(said.starts_with("200\n") && said.ends_with("hello"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    let seen = caller.server.only();
    assert_eq!((seen.target.as_str(), &seen.body[..]), ("/v1/ask?x=y", &b"question"[..]));
    assert_eq!(seen.header("authorization"), "Bearer secret");
    assert_eq!(seen.header("host"), caller.server.authority());
    assert_eq!(caller.told(), "");
}

#[tokio::test]
async fn the_environment_names_the_stand_in_and_nothing_more() {
    let mut caller = Caller::new(Server::friendly().await, keys([Ok(Some("secret"))]));
    caller.grants.environment =
        vec![("A".to_owned(), "b".to_owned()), ("MURMUR_GATEWAY_ENDPOINT".to_owned(), "http://elsewhere".to_owned())];
    assert_eq!(caller.run("env").await.unwrap(), "A=b\nMURMUR_GATEWAY_ENDPOINT=http://127.0.0.1:9/v1\n");
}

#[tokio::test]
async fn only_what_lies_below_the_endpoints_path_is_reached() {
    let caller = Caller::new(Server::friendly().await, keys([Ok(Some("secret"))]));
    for path in [
        "/",
        "/v2",
        "/v10/ask",
        "//v1/ask",
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1/%252e%252e/admin",
        "/v1/..%2fadmin",
        "/v1/..;/admin",
        "/v1//admin",
        "/v1/./ask",
        "?x=/v1",
    ] {
        let said = caller.run(&format!("send\nGET http 127.0.0.1:9 {path}")).await.unwrap();
        assert_eq!(said, "ErrorCode::HttpRequestDenied", "{path}");
    }
    assert!(caller.server.seen().is_empty(), "{:?}", caller.server.seen());
    assert_eq!(caller.status("send\nGET http 127.0.0.1:9 /v1").await, "200");
}

#[tokio::test]
async fn a_gateway_gives_reach_to_nothing_but_its_stand_in() {
    let caller = Caller::new(Server::friendly().await, keys([Ok(Some("secret"))]));
    for target in [
        format!("http {} /v1/ask", caller.server.authority()),
        "https 127.0.0.1:9 /v1/ask".to_owned(),
        "http 127.0.0.1:10 /v1/ask".to_owned(),
        "http 127.0.0.1 /v1/ask".to_owned(),
        "http localhost:9 /v1/ask".to_owned(),
        "http user@127.0.0.1:9 /v1/ask".to_owned(),
        "http [::ffff:127.0.0.1]:9 /v1/ask".to_owned(),
    ] {
        let said = caller.run(&format!("send\nGET {target}")).await.unwrap();
        assert_eq!(said, "ErrorCode::HttpRequestDenied", "{target}");
    }
    let said = caller.run("send\nTRACE http 127.0.0.1:9 /v1/ask").await.unwrap();
    assert_eq!(said, "ErrorCode::HttpRequestDenied", "an answer to TRACE would show the key");
    assert!(caller.server.seen().is_empty());
}

#[tokio::test]
async fn without_a_gateway_the_stand_in_is_nowhere() {
    let mut caller = Caller::new(Server::friendly().await, keys([Ok(Some("secret"))]));
    caller.grants.gateway = None;
    assert_eq!(caller.run(ASK).await.unwrap(), "ErrorCode::HttpRequestDenied");
    assert_eq!(caller.run("env").await.unwrap(), "");
}

#[tokio::test]
async fn the_key_does_not_follow_a_redirect() {
    let elsewhere = Server::friendly().await;
    let location = format!("http://{}/v1/ask", elsewhere.authority());
    let server = Server::start(move |_| {
        Response::builder().status(302).header("location", &location).body(Body::empty()).unwrap()
    })
    .await;
    let mut caller = Caller::new(server, keys([Ok(Some("secret"))]));
    let follow = "follow\nGET http 127.0.0.1:9 /v1/ask";
    assert_eq!(caller.run(follow).await.unwrap(), "ErrorCode::HttpRequestDenied");
    assert!(elsewhere.seen().is_empty());
    caller.grants.network = Network { allow: vec![elsewhere.authority().parse().unwrap()] };
    assert_eq!(caller.status(follow).await, "200");
    assert_eq!(elsewhere.only().header("authorization"), "-");
}

#[tokio::test]
async fn a_keyless_gateway_leaves_the_guests_headers_alone() {
    let caller = Caller::new(Server::friendly().await, Credential::Keyless);
    assert_eq!(caller.status("send\nGET http 127.0.0.1:9 /v1/ask\nauthorization: mine").await, "200");
    assert_eq!(caller.arrived(), ["mine"]);
}

#[tokio::test]
async fn a_key_is_read_anew_for_every_request() {
    let caller = Caller::new(Server::friendly().await, keys([Ok(Some("old")), Ok(Some("old")), Ok(Some("new"))]));
    for _ in 0..4 {
        assert_eq!(caller.status(ASK).await, "200");
    }
    assert_eq!(caller.arrived(), ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]);
    assert_eq!(caller.told(), "courier config rotated request None false None");
}

#[tokio::test]
async fn a_request_whose_key_was_just_replaced_is_sent_again_whole() {
    let caller = Caller::new(accepting("new").await, keys([Ok(Some("old")), Ok(Some("new"))]));
    assert_eq!(caller.status(ASK).await, "200");
    assert_eq!(caller.arrived(), ["Bearer old", "Bearer new"]);
    assert!(caller.server.seen().iter().all(|seen| seen.body == "question" && seen.method == "POST"));
    assert_eq!(caller.told(), "courier config rotated rejection Some(401) true None");
}

#[tokio::test]
async fn a_request_is_sent_again_once_at_most() {
    let caller = Caller::new(accepting("none").await, keys([Ok(Some("a")), Ok(Some("b")), Ok(Some("c"))]));
    assert_eq!(caller.status(ASK).await, "401");
    assert_eq!(caller.arrived(), ["Bearer a", "Bearer b"]);
    insta::assert_snapshot!(caller.told(), @"
    courier config rotated rejection Some(401) true None
    courier config rejected rejection Some(401) true None
    ");
}

#[tokio::test]
async fn a_rejected_key_that_is_still_the_same_is_told_and_not_tried_again() {
    let caller = Caller::new(accepting("new").await, keys([Ok(Some("old"))]));
    assert_eq!(caller.status(ASK).await, "401");
    assert_eq!(caller.arrived(), ["Bearer old"]);
    assert_eq!(caller.told(), "courier config rejected rejection Some(401) false None");
}

#[tokio::test]
async fn a_large_request_is_not_sent_again() {
    let caller = Caller::new(accepting("new").await, keys([Ok(Some("old")), Ok(Some("new"))]));
    assert_eq!(caller.status("large 2000000\nPOST http 127.0.0.1:9 /v1/ask").await, "401");
    assert_eq!(caller.arrived(), ["Bearer old"]);
    insta::assert_snapshot!(
        caller.told(),
        @r#"courier config rotated rejection Some(401) false Some("the request's body is too large or was not sent whole, so it cannot be sent again")"#
    );
}

#[tokio::test]
async fn without_a_key_that_can_be_sent_nothing_is_sent() {
    let mut told = String::new();
    for key in [Err("the file is gone"), Ok(None), Ok(Some("")), Ok(Some("se\r\ncret: x"))] {
        let caller = Caller::new(Server::friendly().await, keys([key]));
        assert_eq!(caller.run(ASK).await.unwrap(), "ErrorCode::ConfigurationError");
        assert!(caller.server.seen().is_empty());
        told += &format!("{}\n", caller.told());
    }
    insta::assert_snapshot!(told, @r#"
    courier config unreadable request None false Some("the file is gone")
    courier config unreadable request None false Some("there is no key")
    courier config unreadable request None false Some("the key is empty or has characters that no header may hold")
    courier config unreadable request None false Some("the key is empty or has characters that no header may hold")
    "#);
}

#[tokio::test]
async fn a_rotation_that_cannot_be_recorded_ends_the_guest_before_the_request_is_sent() {
    let caller = Caller::new(Server::friendly().await, keys([Ok(Some("old")), Ok(Some("new"))]));
    assert_eq!(caller.status(ASK).await, "200");
    *caller.log.gives_up.lock().unwrap() = true;
    match caller.run(ASK).await {
        Err(GuestError::Witness(error)) => assert_eq!(error.to_string(), "the disk is full"),
        other => panic!("{other:?}"),
    }
    assert_eq!(caller.arrived(), ["Bearer old"]);
}
