//! A tool for the runtime's tests that sends requests. Of the interfaces for telling of work it uses the older one.
//!
//! The first line of its data chooses what it does, and where that sends a request, the other lines are the request:
//! `METHOD SCHEME AUTHORITY PATH`, headers as `name: value`, an empty line, a body.
//!
//! | first line | |
//! |---|---|
//! | `send` | sends it; the answer, or the error, is the data |
//! | `follow` | sends it, and again to where the answer says, as often as it says so |
//! | `large BYTES` | sends it with a body of so many bytes |
//! | `hurry MILLISECONDS` | sends it with these timeouts |
//! | `patient` | sends it with timeouts of a day |
//! | `many COUNT` | sends it so many times at once, and tells each outcome once |
//! | `requests`, `timers` | makes requests, or timers, without end |
//! | `env` | tells its environment |
//! | `say TEXT`, `think TEXT` | emits text |
//!
//! It is a component for wasm32-wasip2; for other targets this crate is empty.
#![cfg(target_arch = "wasm32")]

mod bindings;

use bindings::exports::murmur::tool::run::{Status, ToolInput, ToolResult};
use bindings::murmur::text::chunks;
use std::collections::BTreeSet;
use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler::{self, FutureIncomingResponse};
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

/// Does what the input says.
///
/// # Panics
/// When the input is unknown.
fn run(input: &ToolInput) -> ToolResult {
    let data = input.data.as_deref().unwrap_or_default();
    let (line, request) = data.split_once('\n').unwrap_or((data, ""));
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    let request = || Order::parse(request);
    match command {
        "send" => outcome(request().exchange(None)),
        "follow" => outcome(follow(request())),
        "large" => {
            let mut request = request();
            request.body = "x".repeat(number(rest) as usize);
            outcome(request.exchange(None))
        }
        "hurry" => outcome(request().exchange(Some(number(rest) * 1_000_000))),
        "patient" => outcome(request().exchange(Some(24 * 3600 * 1_000_000_000))),
        "many" => many(&request(), number(rest)),
        "requests" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(OutgoingRequest::new(Fields::new()));
            }
        }
        "timers" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(monotonic_clock::subscribe_duration(1_000_000_000));
            }
        }
        "env" => {
            let variables: String = std::env::vars().map(|(name, value)| format!("{name}={value}\n")).collect();
            result(Status::Passed, variables)
        }
        "say" => {
            chunks::emit_chunk(rest);
            result(Status::Passed, String::new())
        }
        "think" => {
            chunks::emit_thinking_chunk(rest);
            result(Status::Passed, String::new())
        }
        other => panic!("the input {other:?} is not known"),
    }
}

fn result(status: Status, data: String) -> ToolResult {
    ToolResult { status, summary: None, data: Some(data), data_path: None, truncated: false, metadata: Vec::new() }
}

fn outcome(outcome: Result<Answer, String>) -> ToolResult {
    match outcome {
        Ok(Answer { status, headers, body }) => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
            result(Status::Passed, format!("{status}\n{headers}\n{body}"))
        }
        Err(error) => result(Status::Error, error),
    }
}

/// A request as the input describes it.
struct Order {
    method: String,
    scheme: String,
    authority: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// What came back.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Order {
    /// # Panics
    /// When the text describes none.
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let mut lines = head.lines();
        let first: Vec<_> = lines.next().unwrap_or_default().split(' ').map(str::to_owned).collect();
        let Ok([method, scheme, authority, path]) = <[String; 4]>::try_from(first) else {
            panic!("{text:?} is no request");
        };
        let headers = lines.filter_map(|line| line.split_once(": ")).map(|(a, b)| (a.to_owned(), b.to_owned()));
        Self { method, scheme, authority, path, headers: headers.collect(), body: body.to_owned() }
    }

    /// Sends the request and reads the answer. The error is an error code, or names the call that was refused.
    fn exchange(&self, nanoseconds: Option<u64>) -> Result<Answer, String> {
        read(self.start(nanoseconds)?)
    }

    fn start(&self, nanoseconds: Option<u64>) -> Result<FutureIncomingResponse, String> {
        let headers = Fields::new();
        for (name, value) in &self.headers {
            headers.append(name, value.as_bytes()).map_err(|error| format!("header {name}: {error}"))?;
        }
        let request = OutgoingRequest::new(headers);
        let method = match self.method.as_str() {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "CONNECT" => Method::Connect,
            "TRACE" => Method::Trace,
            other => Method::Other(other.to_owned()),
        };
        let scheme = match self.scheme.as_str() {
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            "-" => None,
            other => Some(Scheme::Other(other.to_owned())),
        };
        request.set_method(&method).map_err(|()| "method".to_owned())?;
        request.set_scheme(scheme.as_ref()).map_err(|()| "scheme".to_owned())?;
        request.set_authority(Some(&self.authority)).map_err(|()| "authority".to_owned())?;
        request.set_path_with_query(Some(&self.path)).map_err(|()| "path".to_owned())?;
        let options = nanoseconds.map(|time| {
            let options = RequestOptions::new();
            let _ = options.set_connect_timeout(Some(time));
            let _ = options.set_first_byte_timeout(Some(time));
            let _ = options.set_between_bytes_timeout(Some(time));
            options
        });
        let body = request.body().map_err(|()| "body".to_owned())?;
        let future = outgoing_handler::handle(request, options).map_err(named)?;
        // A host that does not read all of it may answer all the same.
        let _ = self.write(body);
        Ok(future)
    }

    fn write(&self, body: OutgoingBody) -> Result<(), String> {
        if !self.body.is_empty() {
            let stream = body.write().map_err(|()| "write".to_owned())?;
            for piece in self.body.as_bytes().chunks(4096) {
                stream.blocking_write_and_flush(piece).map_err(|error| error.to_string())?;
            }
        }
        OutgoingBody::finish(body, None).map_err(named)
    }
}

fn named(error: ErrorCode) -> String {
    format!("{error:?}")
}

fn read(future: FutureIncomingResponse) -> Result<Answer, String> {
    let response = loop {
        match future.get() {
            Some(Ok(response)) => break response.map_err(named)?,
            Some(Err(())) => return Err("taken".to_owned()),
            None => future.subscribe().block(),
        }
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = response.headers().entries().iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let (status, body) = (response.status(), read_body(&response)?);
    Ok(Answer { status, headers, body: text(&body) })
}

fn read_body(response: &IncomingResponse) -> Result<Vec<u8>, String> {
    let body = response.consume().map_err(|()| "consume".to_owned())?;
    let stream = body.stream().map_err(|()| "stream".to_owned())?;
    let mut read = Vec::new();
    loop {
        match stream.blocking_read(65536) {
            Ok(bytes) => read.extend(bytes),
            Err(StreamError::Closed) => return Ok(read),
            Err(StreamError::LastOperationFailed(_)) => return Err(format!("cut after {} bytes", read.len())),
        }
    }
}

/// Follows redirects as a client does that knows of no rules.
fn follow(mut request: Order) -> Result<Answer, String> {
    loop {
        let answer = request.exchange(None)?;
        let Some((_, location)) = answer.headers.iter().find(|(name, _)| name == "location") else {
            return Ok(answer);
        };
        let Some((scheme, rest)) = location.split_once("://") else {
            return Err(format!("{location} is no URL"));
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        (request.scheme, request.authority) = (scheme.to_owned(), authority.to_owned());
        request.path = path.to_owned();
    }
}

/// Starts all of them before it reads any answer.
fn many(request: &Order, count: u64) -> ToolResult {
    let started: Vec<_> = (0..count).map(|_| request.start(None)).collect();
    let outcomes: BTreeSet<String> = started
        .into_iter()
        .map(|future| match future.and_then(read) {
            Ok(answer) => answer.status.to_string(),
            Err(error) => error,
        })
        .collect();
    result(Status::Passed, outcomes.into_iter().collect::<Vec<_>>().join(", "))
}

/// The number that an input names.
///
/// # Panics
/// When it is none.
fn number(text: &str) -> u64 {
    match text.trim().parse() {
        Ok(number) => number,
        Err(_) => panic!("{text:?} is not a number"),
    }
}
