//! `wasi:http/outgoing-handler`: requests of guests, to the hosts that they may reach.
//!
//! Every request is judged by itself: nothing here follows a redirect, so where one leads is the guest's next request. What
//! is sent is made from what was judged. A refused request is answered with the error code `HTTP-request-denied`.
//!
//! Nothing is made before the first request: no connection, no TLS.

use super::error::WitnessError;
use super::gateway::{Credential, Gateway, KeySource, Novelty, STAND_IN_AUTHORITY};
use super::network::{Destination, Network};
use super::replay::Kept;
use super::store::Failure;
use super::witness::{GatewayKey, KeyChange, Trigger, Witness};
use crate::hosts::AuthHeader;
use crate::secret::Secret;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi::runtime::spawn_blocking;
use wasmtime_wasi_http::{Error, RequestOptions, Result, WasiBody, WasiHttpCtx, WasiHttpHooks, default_send_request};

/// How long a connection may take, TLS included, unless the guest wants less.
const CONNECT: Duration = Duration::from_secs(30);

/// How long a host may think: a model that answers in one piece takes minutes.
const FIRST_BYTE: Duration = Duration::from_secs(600);

/// How long an answer may stall.
const BETWEEN_BYTES: Duration = Duration::from_secs(120);

/// How many requests of one guest may be under way at once, each of which takes a file descriptor.
const REQUESTS: usize = 64;

/// What one store knows of `wasi:http`.
pub(crate) struct Http {
    pub(crate) context: WasiHttpCtx,
    pub(crate) hooks: Hooks,
}

/// Judges and sends one guest's requests.
pub(crate) struct Hooks {
    network: Network,
    gateway: Option<Gateway>,
    watch: Onlooker,
    slots: Arc<Semaphore>,
}

/// Whom it is told what happens to a gateway's key, from requests that run beside the guest.
#[derive(Clone)]
pub(crate) struct Onlooker {
    pub(crate) guest: Arc<str>,
    pub(crate) witness: Arc<dyn Witness>,
    pub(crate) failure: Arc<Failure>,
}

impl Onlooker {
    /// Tells the witness. When it gives up, the guest ends, and so does the request.
    fn tell(&self, source: &dyn KeySource, told: Told<'_>) -> Result<()> {
        let Told { change, trigger, sent, reason } = told;
        let status = match trigger {
            Trigger::Request => None,
            Trigger::Rejection => Some(StatusCode::UNAUTHORIZED.as_u16()),
        };
        let retried = sent == Sent::Again;
        let event =
            GatewayKey { guest: &self.guest, origin: source.origin(), change, trigger, status, retried, reason };
        self.witness.gateway_key(&event).map_err(|error: WitnessError| {
            self.failure.set(error);
            Error::HttpRequestDenied
        })
    }
}

/// What is told of a key.
struct Told<'a> {
    change: KeyChange,
    trigger: Trigger,
    sent: Sent,
    reason: Option<&'a str>,
}

/// How often a request is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Once,
    Again,
}

impl Http {
    pub(crate) fn new(network: Network, gateway: Option<Gateway>, watch: Onlooker) -> Self {
        let slots = Arc::new(Semaphore::new(REQUESTS));
        Self { context: WasiHttpCtx::new(), hooks: Hooks { network, gateway, watch, slots } }
    }
}

/// An answer, and the connection that its body comes over, to be driven beside it.
type Answer = (Response<WasiBody>, Box<dyn Future<Output = Result<()>> + Send>);

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<()>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer>> + Send> {
        let route = self.route(&request);
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let watch = self.watch.clone();
        Box::new(async move {
            let route = route?;
            let slot = slot.map_err(|_| Error::ConnectionLimitReached)?;
            let options = shortened(options.unwrap_or_default());
            let answer = match route {
                Route::Host(destination) => send(addressed(request, &destination)?, options).await?,
                Route::Gateway(gateway) => send_through(&gateway, request, options, &watch).await?,
            };
            Ok(holding(slot, answer))
        })
    }
}

/// Where a request goes.
enum Route {
    /// To a host that is allowed.
    Host(Destination),
    /// To the gateway's endpoint.
    Gateway(Gateway),
}

impl Hooks {
    /// Judges a request.
    fn route(&self, request: &Request<WasiBody>) -> Result<Route> {
        // A tunnel would lead anywhere.
        if *request.method() == Method::CONNECT {
            return Err(Error::HttpRequestDenied);
        }
        let target = request.uri();
        let destination = Destination::of(target).map_err(|_| Error::HttpRequestDenied)?;
        if let Some(gateway) = &self.gateway {
            let exactly = |authority: &http::uri::Authority| authority.as_str() == STAND_IN_AUTHORITY;
            if target.scheme_str() == Some("http") && target.authority().is_some_and(exactly) {
                // That method has the host send back what it was sent, the key included.
                let reflected = *request.method() == Method::TRACE;
                if reflected || !gateway.endpoint.covers(target.path()) {
                    return Err(Error::HttpRequestDenied);
                }
                return Ok(Route::Gateway(gateway.clone()));
            }
        }
        if self.network.allows(&destination) { Ok(Route::Host(destination)) } else { Err(Error::HttpRequestDenied) }
    }
}

/// The guest's own times, where they are shorter than ours.
fn shortened(options: RequestOptions) -> RequestOptions {
    let at_most = |wanted: Option<Duration>, most: Duration| Some(wanted.unwrap_or(most).min(most));
    RequestOptions {
        connect_timeout: at_most(options.connect_timeout, CONNECT),
        first_byte_timeout: at_most(options.first_byte_timeout, FIRST_BYTE),
        between_bytes_timeout: at_most(options.between_bytes_timeout, BETWEEN_BYTES),
    }
}

/// The request with its target and its `Host` made anew, from where it was found to go.
fn addressed(mut request: Request<WasiBody>, destination: &Destination) -> Result<Request<WasiBody>> {
    let authority = destination.authority();
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let target = Uri::builder().scheme(destination.scheme.as_str()).authority(&*authority).path_and_query(path).build();
    let host = HeaderValue::from_str(&authority).map_err(|_| Error::HttpRequestUriInvalid)?;
    *request.uri_mut() = target.map_err(|_| Error::HttpRequestUriInvalid)?;
    request.headers_mut().insert(HOST, host);
    Ok(request)
}

/// Sends a request that was judged, and waits for the head of its answer.
async fn send(request: Request<WasiBody>, options: RequestOptions) -> Result<Answer> {
    let longest = options.connect_timeout.unwrap_or(CONNECT) + options.first_byte_timeout.unwrap_or(FIRST_BYTE);
    // A TLS handshake has no time of its own.
    let sent = timeout(longest, default_send_request(request, Some(options))).await;
    let (answer, connection) = sent.map_err(|_| Error::ConnectionTimeout)??;
    Ok((answer.map(http_body_util::BodyExt::boxed_unsync), Box::new(connection)))
}

/// Keeps a slot as long as the connection is open.
fn holding(slot: OwnedSemaphorePermit, (answer, connection): Answer) -> Answer {
    let connection = async move {
        let ended = Pin::from(connection).await;
        drop(slot);
        ended
    };
    (answer, Box::new(connection))
}

/// Sends a request to a gateway's endpoint, with the key as it is now; and once more with another one if that was refused
/// and the key has changed meanwhile.
async fn send_through(
    gateway: &Gateway,
    request: Request<WasiBody>,
    options: RequestOptions,
    watch: &Onlooker,
) -> Result<Answer> {
    let mut request = addressed(request, &Destination::of_endpoint(&gateway.endpoint))?;
    let Credential::Key { header, source } = &gateway.credential else {
        return send(request, options).await;
    };
    let tell = |change, trigger, sent, reason| watch.tell(&**source, Told { change, trigger, sent, reason });
    let (key, value) = match read_key(header, source).await {
        Ok(read) => read,
        Err(reason) => {
            tell(KeyChange::Unreadable, Trigger::Request, Sent::Once, Some(&reason))?;
            return Err(Error::ConfigurationError);
        }
    };
    if gateway.used(&key) == Novelty::Rotated {
        tell(KeyChange::Rotated, Trigger::Request, Sent::Once, None)?;
    }
    request.headers_mut().insert(header.name(), value);

    let (head, body) = request.into_parts();
    let announced = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let (body, kept) = Kept::new(body, announced);
    let answer = send(Request::from_parts(head.clone(), body.boxed_unsync()), options).await?;
    if answer.0.status() != StatusCode::UNAUTHORIZED {
        return Ok(answer);
    }

    let (other, value) = match read_key(header, source).await {
        Ok(read) => read,
        Err(reason) => {
            tell(KeyChange::Unreadable, Trigger::Rejection, Sent::Once, Some(&reason))?;
            return Ok(answer);
        }
    };
    if other == key {
        tell(KeyChange::Rejected, Trigger::Rejection, Sent::Once, None)?;
        return Ok(answer);
    }
    gateway.used(&other);
    let Some(body) = kept.take() else {
        let reason = "the request's body is too large or was not sent whole, so it cannot be sent again";
        tell(KeyChange::Rotated, Trigger::Rejection, Sent::Once, Some(reason))?;
        return Ok(answer);
    };
    tell(KeyChange::Rotated, Trigger::Rejection, Sent::Again, None)?;
    drop(answer);
    let mut request = Request::from_parts(head, body);
    request.headers_mut().insert(header.name(), value);
    let answer = send(request, options).await?;
    if answer.0.status() == StatusCode::UNAUTHORIZED {
        tell(KeyChange::Rejected, Trigger::Rejection, Sent::Again, None)?;
    }
    Ok(answer)
}

/// Asks for the key, and makes the header's value of it.
///
/// # Errors
/// Why there is none, as it is recorded.
async fn read_key(
    header: &AuthHeader,
    source: &Arc<dyn KeySource>,
) -> std::result::Result<(Secret, HeaderValue), String> {
    let source = Arc::clone(source);
    let key = spawn_blocking(move || source.key().map_err(|error| error.to_string())).await?;
    let key = key.ok_or("there is no key")?;
    let value = header.value(key.expose()).ok_or("the key is empty or has characters that no header may hold")?;
    Ok((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_can_shorten_its_times_and_not_lengthen_them() {
        let times =
            |time| RequestOptions { connect_timeout: time, first_byte_timeout: time, between_bytes_timeout: time };
        let ours = RequestOptions {
            connect_timeout: Some(CONNECT),
            first_byte_timeout: Some(FIRST_BYTE),
            between_bytes_timeout: Some(BETWEEN_BYTES),
        };
        let short = times(Some(Duration::from_millis(1)));
        assert_eq!(shortened(short), short);
        assert_eq!(shortened(times(None)), ours);
        assert_eq!(shortened(times(Some(Duration::MAX))), ours);
    }
}
