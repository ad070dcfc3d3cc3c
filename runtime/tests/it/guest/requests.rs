//! Requests of guests: to the hosts that they may reach, and to no others.

use super::scene::{Log, courier};
use crate::servers::{Afterwards, Server, raw, status};
use axum::body::Body;
use axum::http::Response;
use mur_runtime::guest::{Grants, GuestError, Limit, Network, Status, ToolInput, ToolResult, Witness};
use mur_runtime::hosts::HostRule;
use std::sync::Arc;
use std::time::Duration;

/// A guest that may reach these hosts.
fn reaching(rules: &[&str]) -> Grants {
    let allow = rules.iter().map(|rule| rule.parse::<HostRule>().unwrap()).collect();
    Grants { network: Network { allow }, ..Grants::default() }
}

async fn run(grants: &Grants, data: &str) -> Result<ToolResult, GuestError> {
    let input = ToolInput { data: Some(data.to_owned()), log_path: None };
    let witness: Arc<dyn Witness> = Arc::<Log>::default();
    courier().run("courier", grants, &input, &witness).await
}

/// What the guest says that came of it.
async fn said(grants: &Grants, data: &str) -> String {
    run(grants, data).await.unwrap().data.unwrap()
}

#[tokio::test]
async fn a_guest_without_hosts_is_denied_and_goes_on() {
    let server = Server::friendly().await;
    let grants = Grants::default();
    let result = run(&grants, &format!("send\nGET http {} /", server.authority())).await.unwrap();
    assert_eq!((result.status, result.data.as_deref()), (Status::Error, Some("ErrorCode::HttpRequestDenied")));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_allowed_host_is_sent_the_request_and_its_answer_comes_back() {
    let server =
        Server::start(|_| Response::builder().status(201).header("x-answer", "yes").body(Body::from("made")).unwrap())
            .await;
    let request = format!("send\nPOST http {} /a/b?c=d\nx-own: value\n\na body", server.authority());
    let said = said(&reaching(&[&server.authority()]), &request).await;
    assert!(said.starts_with("201\n") && said.contains("x-answer: yes\n") && said.ends_with("\n\nmade"), "{said}");
    let seen = server.only();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/a/b?c=d"));
    assert_eq!((seen.header("x-own"), seen.header("host")), ("value".to_owned(), server.authority()));
    assert_eq!(seen.body, "a body");
}

#[tokio::test]
async fn another_port_or_another_name_of_an_allowed_host_is_denied() {
    let server = Server::friendly().await;
    let (port, authority) = (server.port, server.authority());
    for (rules, target) in [
        (["127.0.0.1".to_owned()], authority.clone()),
        ([format!("127.0.0.1:{}", port ^ 1)], authority.clone()),
        (["http://127.0.0.1".to_owned()], authority.clone()),
        ([format!("https://{authority}")], authority.clone()),
        ([authority.clone()], format!("localhost:{port}")),
        ([authority.clone()], format!("127.1:{port}")),
        ([authority.clone()], format!("2130706433:{port}")),
        ([authority.clone()], format!("0x7f.0.0.1:{port}")),
        ([format!("localhost:{port}")], authority.clone()),
    ] {
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let said = said(&reaching(&rules), &format!("send\nGET http {target} /")).await;
        assert_eq!(said, "ErrorCode::HttpRequestDenied", "{rules:?} {target}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_address_in_another_notation_is_the_same_address() {
    let server = Server::friendly().await;
    let request = format!("send\nGET http [::ffff:127.0.0.1]:{} /", server.port);
    assert!(said(&reaching(&[&server.authority()]), &request).await.starts_with("200"));
    assert_eq!(server.only().header("host"), server.authority());
}

#[tokio::test]
async fn a_redirect_is_a_request_of_its_own() {
    let there = Server::friendly().await;
    let location = format!("http://{}/there", there.authority());
    let here = Server::start(move |_| {
        Response::builder().status(307).header("location", &location).body(Body::empty()).unwrap()
    })
    .await;
    let request = format!("follow\nGET http {} /here", here.authority());
    let denied = said(&reaching(&[&here.authority()]), &request).await;
    assert_eq!(denied, "ErrorCode::HttpRequestDenied");
    assert!(there.seen().is_empty());
    let allowed = said(&reaching(&[&here.authority(), &there.authority()]), &request).await;
    assert!(allowed.starts_with("200\n"), "{allowed}");
    assert_eq!(there.only().target, "/there");
}

/// Whatever a request looks like, it goes where its authority says, or nowhere.
#[tokio::test]
async fn no_form_of_a_request_reaches_another_host() {
    let (server, other) = (Server::friendly().await, Server::friendly().await);
    let (here, there) = (server.authority(), other.authority());
    let grants = reaching(&[&here]);
    let mut told = String::new();
    for (form, request) in [
        ("absolute form", format!("GET http {here} http://{there}/")),
        ("authority form", format!("GET http {here} {there}")),
        ("asterisk form", format!("OPTIONS http {here} *")),
        ("a user before the host", format!("GET http {here}@{there} /")),
        ("a user before the allowed host", format!("GET http {there}@{here} /")),
        ("an empty port", "GET http 127.0.0.1: /".to_owned()),
        ("a path in the authority", format!("GET http {here}/@{there} /")),
        ("Host", format!("GET http {here} /\nhost: {there}")),
        ("upgrade", format!("GET http {here} /\nupgrade: websocket")),
        ("connection", format!("GET http {here} /\nconnection: upgrade")),
        ("transfer-encoding", format!("POST http {here} /\ntransfer-encoding: chunked")),
        ("two lengths", format!("POST http {here} /\ncontent-length: 1\ncontent-length: 2")),
        ("CONNECT", format!("CONNECT http {there} /")),
        ("CONNECT to the allowed host", format!("CONNECT http {here} /")),
        ("another scheme", format!("GET ftp {here} /")),
        ("no scheme", format!("GET - {here} /")),
        ("a line break in the path", format!("GET http {here} /\u{b}HTTP/1.1")),
    ] {
        let said = said(&grants, &format!("send\n{request}")).await;
        told += &format!("{form}: {said}\n");
    }
    assert!(server.seen().is_empty() && other.seen().is_empty(), "{:?} {:?}", server.seen(), other.seen());
    insta::assert_snapshot!(told, @"
    absolute form: path
    authority form: path
    asterisk form: path
    a user before the host: ErrorCode::HttpRequestDenied
    a user before the allowed host: ErrorCode::HttpRequestDenied
    an empty port: ErrorCode::HttpRequestDenied
    a path in the authority: authority
    Host: header host: HeaderError::Forbidden
    upgrade: header upgrade: HeaderError::Forbidden
    connection: header connection: HeaderError::Forbidden
    transfer-encoding: header transfer-encoding: HeaderError::Forbidden
    two lengths: header content-length: HeaderError::InvalidSyntax
    CONNECT: ErrorCode::HttpRequestDenied
    CONNECT to the allowed host: ErrorCode::HttpRequestDenied
    another scheme: ErrorCode::HttpProtocolError
    no scheme: ErrorCode::TlsProtocolError
    a line break in the path: path
    ");

    let slashes = said(&grants, &format!("send\nGET http {here} //{there}/")).await;
    assert!(slashes.starts_with("200"), "{slashes}");
    assert_eq!(server.only().target, format!("//{there}/"));
    assert!(other.seen().is_empty());
}

async fn past_the_deadline(mut grants: Grants, data: &str) {
    grants.limits.deadline = Duration::from_millis(500);
    match run(&grants, data).await {
        Err(GuestError::Limit(hit)) => assert_eq!(hit.limit, Limit::Deadline),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_deadline_covers_a_host_that_stalls() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"] {
        let authority = raw(answer, Afterwards::Wait).await;
        past_the_deadline(reaching(&[&authority]), &format!("patient\nGET http {authority} /")).await;
    }
}

#[tokio::test]
async fn the_deadline_covers_a_host_that_never_ends_its_tls_handshake() {
    let authority = raw(b"", Afterwards::Wait).await;
    past_the_deadline(reaching(&[&authority]), &format!("send\nGET https {authority} /")).await;
}

#[tokio::test]
async fn a_guests_own_timeouts_are_kept() {
    let silent = raw(b"", Afterwards::Wait).await;
    let said_of_silence = said(&reaching(&[&silent]), &format!("hurry 100\nGET http {silent} /")).await;
    assert_eq!(said_of_silence, "ErrorCode::ConnectionReadTimeout");
    let half = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", Afterwards::Wait).await;
    assert_eq!(said(&reaching(&[&half]), &format!("hurry 100\nGET http {half} /")).await, "cut after 4 bytes");
}

#[tokio::test]
async fn a_host_that_answers_badly_is_an_error_that_the_guest_can_handle() {
    let mut told = String::new();
    for (case, answer) in [
        ("nothing", &b""[..]),
        ("half a head", b"HTTP/1.1 200 OK\r\nx-a: "),
        ("half a body", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"),
        ("half a chunk", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf"),
        ("no HTTP", b"\x15\x03\x01\x00\x02\x02\x28"),
        ("an upgrade that nobody asked for", b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nraw"),
    ] {
        let authority = raw(answer, Afterwards::Close).await;
        let said = said(&reaching(&[&authority]), &format!("send\nGET http {authority} /")).await;
        told += &format!("{case}: {}\n", said.lines().next().unwrap_or_default());
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said_of_nobody = said(&reaching(&[&nobody]), &format!("send\nGET http {nobody} /")).await;
    told += &format!("nobody there: {said_of_nobody}\n");
    let clear = Server::friendly().await.authority();
    let said_of_clear = said(&reaching(&[&clear]), &format!("send\nGET https {clear} /")).await;
    told += &format!("no TLS: {said_of_clear}\n");
    insta::assert_snapshot!(told, @"
    nothing: ErrorCode::HttpProtocolError
    half a head: ErrorCode::HttpProtocolError
    half a body: cut after 4 bytes
    half a chunk: cut after 4 bytes
    no HTTP: ErrorCode::HttpProtocolError
    an upgrade that nobody asked for: 101
    nobody there: ErrorCode::ConnectionRefused
    no TLS: ErrorCode::TlsProtocolError
    ");
}

#[tokio::test]
async fn a_guest_has_so_many_requests_under_way_and_no_more() {
    // Nothing is answered before so many have arrived, so none of them is over before all have begun.
    let arrived = Arc::new(std::sync::Mutex::new(0));
    let (everyone, _) = tokio::sync::watch::channel(0);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let router = axum::Router::new().fallback({
        let arrived = Arc::clone(&arrived);
        async move || {
            let count = {
                let mut arrived = arrived.lock().unwrap();
                *arrived += 1;
                *arrived
            };
            everyone.send_replace(count);
            everyone.subscribe().wait_for(|count| *count >= 64).await.unwrap();
            status(204)
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let said = said(&reaching(&[&authority]), &format!("many 80\nGET http {authority} /")).await;
    assert_eq!(said, "204, ErrorCode::ConnectionLimitReached");
    assert_eq!(*arrived.lock().unwrap(), 64);
}

#[tokio::test]
async fn a_flood_of_requests_or_timers_ends_the_guest_and_not_the_host() {
    for flood in ["requests", "timers"] {
        match run(&Grants::default(), flood).await {
            Err(GuestError::Trapped { cause, .. }) => {
                assert_eq!(cause, "it holds more than 400 open files, streams, timers and requests at once", "{flood}");
            }
            other => panic!("{other:?}"),
        }
    }
}
