//! Hosts on this machine, for guests to send requests to.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server that remembers what it was sent. It ends with the test's runtime.
pub(super) struct Server {
    pub(super) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: String,
    /// The target of the request line.
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Seen {
    /// A header, `-` where there is none, and all of its values where there are several.
    pub(super) fn header(&self, name: &str) -> String {
        let values: Vec<_> = self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        if values.is_empty() { "-".to_owned() } else { values.join(" and ") }
    }
}

impl Server {
    /// Starts a server that answers so.
    pub(super) async fn start(answer: impl Fn(&Seen) -> Response<Body> + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let log = Arc::clone(&seen);
        let router = Router::new().fallback(async move |request: Request| {
            let (head, body) = request.into_parts();
            let request = Seen {
                method: head.method.to_string(),
                target: head.uri.to_string(),
                headers: head.headers,
                body: axum::body::to_bytes(body, usize::MAX).await.unwrap(),
            };
            log.lock().unwrap().push(request.clone());
            answer(&request)
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, seen }
    }

    /// One that answers with a few words.
    pub(super) async fn friendly() -> Self {
        Self::start(|_| Response::new(Body::from("hello"))).await
    }

    pub(super) fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The one request that arrived.
    pub(super) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

/// An answer with a status.
pub(super) fn status(status: u16) -> Response<Body> {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

/// A server that reads the head of a request, and then writes these bytes; and then, as it is told, closes the
/// connection or leaves it open.
pub(super) async fn raw(answer: &'static [u8], afterwards: Afterwards) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            read_head(&mut connection).await;
            connection.write_all(answer).await.unwrap();
            match afterwards {
                Afterwards::Close => drop(connection),
                Afterwards::Wait => open.push(connection),
            }
        }
    });
    authority
}

/// What becomes of a connection after the answer.
#[derive(Clone, Copy)]
pub(super) enum Afterwards {
    Close,
    Wait,
}

async fn read_head(connection: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        match connection.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(read) => head.extend_from_slice(&piece[..read]),
        }
    }
}
