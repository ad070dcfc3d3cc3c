//! A gateway: an endpoint that a guest reaches with a key that it never sees.
//!
//! The guest sends its requests to a stand-in, `http://127.0.0.1:9`, where nothing listens. They are sent on to the
//! endpoint, with the key in a header, if they stay below the endpoint's path.

use super::network::{AddressError, Destination, Scheme, split_port};
use http::{HeaderName, HeaderValue};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// What a guest believes to be the endpoint's scheme and authority.
pub(crate) const STAND_IN: &str = "http://127.0.0.1:9";

/// The stand-in's authority: requests to exactly that are the gateway's.
pub(crate) const STAND_IN_AUTHORITY: &str = "127.0.0.1:9";

/// The variable by which a guest learns where to send its requests.
pub(crate) const VARIABLE: &str = "MURMUR_GATEWAY_ENDPOINT";

/// A gateway. Clones share what is known of its key.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub(crate) endpoint: Endpoint,
    pub(crate) credential: Credential,
    /// The key that was used last: another one is a rotation.
    last: Arc<Mutex<Option<Key>>>,
}

impl Gateway {
    /// A gateway to that endpoint.
    pub fn new(endpoint: Endpoint, credential: Credential) -> Self {
        Self { endpoint, credential, last: Arc::default() }
    }

    /// What the guest is told of the endpoint: the stand-in and the endpoint's path.
    pub fn stand_in(&self) -> String {
        format!("{STAND_IN}{}", self.endpoint.base_path)
    }

    /// Remembers a key as the one that is used, and says whether there was another one before.
    pub(crate) fn used(&self, key: &Key) -> Novelty {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.replace(key.clone()) {
            Some(before) if before != *key => Novelty::Rotated,
            Some(_) | None => Novelty::Known,
        }
    }
}

/// How a key stands to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It is the same, or the first.
    Known,
    /// It is another one.
    Rotated,
}

/// Where a gateway's requests go. It parses from a URL: https, or http where the host is this machine; without user, query
/// and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) destination: Destination,
    /// Empty, or with a slash in front and none at its end.
    base_path: String,
}

impl Endpoint {
    /// Its host, for whoever reports where keys are sent.
    pub fn host(&self) -> &super::network::Host {
        &self.destination.host
    }

    /// Whether a request's path, as it is written, is the endpoint's or lies below it, for every server that might read it.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let below = path.strip_prefix(&*self.base_path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below && is_plain(path)
    }
}

impl FromStr for Endpoint {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let scheme: Scheme = scheme.parse()?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (host, port) = split_port(authority)?;
        let base_path = path.trim_end_matches('/');
        let fits = base_path.parse::<http::uri::PathAndQuery>().is_ok() || base_path.is_empty();
        if path.contains(['?', '#']) {
            return Err(AddressError::Query);
        }
        if !fits || !is_plain(base_path) {
            return Err(AddressError::Plain);
        }
        if scheme == Scheme::Http && !host.is_loopback() {
            return Err(AddressError::Clear);
        }
        let destination = Destination { scheme, host, port: port.unwrap_or(scheme.port()) };
        Ok(Self { destination, base_path: base_path.to_owned() })
    }
}

/// Whether every server takes a path for the same one: however often it is decoded, it has no part that is empty, `.` or
/// `..` (or one of those before parameters, as in `..;x`), no backslash and no control character.
fn is_plain(path: &str) -> bool {
    let mut path = path.as_bytes().to_vec();
    loop {
        let decoded = percent_decoded(&path);
        if decoded == path {
            break;
        }
        path = decoded;
    }
    if path.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\') {
        return false;
    }
    let inner = path.strip_prefix(b"/").unwrap_or(&path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    inner.is_empty()
        || inner.split(|byte| *byte == b'/').all(|part| {
            let name = part.split(|byte| *byte == b';').next().unwrap_or(part);
            !matches!(name, b"" | b"." | b"..")
        })
}

/// Decodes each `%XX` once.
fn percent_decoded(path: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        let value = match after {
            [high, low, ..] if first == b'%' => digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        decoded.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    decoded
}

/// How a gateway proves who asks.
#[derive(Clone)]
pub enum Credential {
    /// It does not; the guest's headers stay as they are.
    Keyless,
    /// By a key in a header, in place of the guest's own header of that name.
    Key {
        /// The header.
        header: AuthHeader,
        /// Where the key comes from.
        source: Arc<dyn KeySource>,
    },
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyless => f.write_str("Keyless"),
            Self::Key { header, source } => {
                f.debug_struct("Key").field("header", header).field("origin", source.origin()).finish_non_exhaustive()
            }
        }
    }
}

/// Where a gateway's key comes from.
pub trait KeySource: Send + Sync {
    /// Where that is, for the record.
    fn origin(&self) -> &KeyOrigin;

    /// The key as it is now, or `None` where there is none. It is asked anew for every request, on a thread that may
    /// block.
    ///
    /// # Errors
    /// Why the key cannot be read. The text is recorded, so it must hold nothing of the key.
    fn key(&self) -> Result<Option<Key>, KeyError>;
}

/// Where a key comes from, as a record names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyOrigin {
    /// For instance `config`, `environment` or `manifest`.
    pub source: String,
    /// The name that it has there, if it has one.
    pub credential: Option<String>,
}

/// Why a key cannot be read.
pub type KeyError = Box<dyn std::error::Error + Send + Sync>;

/// A key. It is not shown, and leaves no copy behind in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// That key.
    pub fn new(key: String) -> Self {
        Self(Zeroizing::new(key))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A header that carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthHeader {
    name: HeaderName,
    before: String,
    after: String,
}

impl AuthHeader {
    /// A header of that name, whose value is the template with the key in place of `{key}`.
    ///
    /// # Errors
    /// When it is no header's name or value, one that belongs to the connection or the body, or when `{key}` does not
    /// stand in the template exactly once.
    pub fn new(name: &str, template: &str) -> Result<Self, HeaderError> {
        let name = HeaderName::from_str(name).map_err(|_| HeaderError::Name)?;
        if FORBIDDEN.contains(&name.as_str()) {
            return Err(HeaderError::Forbidden);
        }
        let (before, after) = template.split_once("{key}").ok_or(HeaderError::Template)?;
        if after.contains("{key}") {
            return Err(HeaderError::Template);
        }
        let fits = |text: &str| HeaderValue::from_str(text).is_ok();
        if !fits(before) || !fits(after) {
            return Err(HeaderError::Value);
        }
        Ok(Self { name, before: before.to_owned(), after: after.to_owned() })
    }

    pub(crate) fn name(&self) -> &HeaderName {
        &self.name
    }

    /// The value with that key, unless the key holds what no header may.
    pub(crate) fn value(&self, key: &Key) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("{}{}{}", self.before, *key.0, self.after));
        let mut value = HeaderValue::from_str(&text).ok().filter(|_| !key.0.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Headers that no key is sent in: they say where a request goes and how its body is read.
const FORBIDDEN: [&str; 16] = [
    "host",
    "origin",
    "referer",
    "cookie",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
    "http2-settings",
];

/// Why a header cannot carry a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No header's name.
    #[error("it is no header's name")]
    Name,
    /// A header with a meaning of its own.
    #[error("that header says where a request goes or how it is read, and carries no key")]
    Forbidden,
    /// Not exactly one place for the key.
    #[error("its value needs `{{key}}` exactly once")]
    Template,
    /// Characters that no header may hold.
    #[error("its value has characters that no header may hold")]
    Value,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn covers(endpoint: &str, path: &str) -> bool {
        endpoint.parse::<Endpoint>().unwrap().covers(path)
    }

    #[test]
    fn a_path_below_the_endpoints_is_covered() {
        for path in ["/v1", "/v1/", "/v1/a/b", "/v1/a%20b", "/v1/a%2Fb", "/v1/a.b/..c", "/v1/100%"] {
            assert!(covers("https://example.com/v1", path), "{path}");
            assert!(covers("https://example.com", path), "{path}");
        }
        assert!(covers("https://example.com/v1/", "/v1/a"));
        assert!(covers("https://example.com/", "/"));
    }

    #[test]
    fn a_path_beside_the_endpoints_is_not_covered() {
        for path in ["/", "/v", "/v10", "/V1/a", "/v2/v1", "", "v1/a", "/%76%31/a", "//v1/a"] {
            assert!(!covers("https://example.com/v1", path), "{path}");
        }
    }

    #[test]
    fn a_path_that_some_server_could_read_as_another_is_not_covered() {
        for path in [
            "/v1/../admin",
            "/v1/..",
            "/v1/.",
            "/v1/./a",
            "/v1//a",
            "/v1/a//",
            "/v1/%2e%2e/admin",
            "/v1/%2E./admin",
            "/v1/.%2e/admin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e%25252e/admin",
            "/v1/..%2fadmin",
            "/v1/%2e%2e%2fadmin",
            "/v1/%2fadmin",
            "/v1/..%5cadmin",
            "/v1/..\\admin",
            "/v1/..;/admin",
            "/v1/..;x=y/admin",
            "/v1/%2e%2e%3b/admin",
            "/v1/.%09./admin",
            "/v1/%00",
            "/v1/%0d%0aHost:%20evil",
        ] {
            assert!(!covers("https://example.com/v1", path), "{path}");
            assert!(!covers("https://example.com", path), "{path}");
        }
    }

    #[test]
    fn an_endpoint_says_what_is_wrong_with_it() {
        let mut said = String::new();
        for text in [
            "example.com",
            "ftp://example.com",
            "https://",
            "https://key@example.com",
            "https://example.com/?key=1",
            "https://example.com#x",
            "https://example.com/a/../b",
            "http://example.com/v1",
            "http://127.0.0.1.example.com",
        ] {
            said += &format!("{text}: {}\n", text.parse::<Endpoint>().unwrap_err());
        }
        for text in ["http://localhost:1/v1", "http://127.0.0.2", "http://[::1]:1", "https://example.com:8443/v1/"] {
            text.parse::<Endpoint>().unwrap();
        }
        insta::assert_snapshot!(said, @r"
        example.com: its scheme is neither http nor https
        ftp://example.com: its scheme is neither http nor https
        https://: its host is neither a name nor an address
        https://key@example.com: it names a user
        https://example.com/?key=1: it has a query or a fragment
        https://example.com#x: it has a query or a fragment
        https://example.com/a/../b: its path has an empty part, a dot part, or characters that do not belong there
        http://example.com/v1: it is http, and the host is not this machine: a key would be sent in the clear
        http://127.0.0.1.example.com: it is http, and the host is not this machine: a key would be sent in the clear
        ");
    }

    #[test]
    fn a_header_says_what_is_wrong_with_it() {
        let mut said = String::new();
        for (name, template) in [
            ("", "{key}"),
            ("a b", "{key}"),
            ("Host", "{key}"),
            ("authorization", "Bearer"),
            ("authorization", "{key}{key}"),
            ("authorization", "Bearer\n{key}"),
        ] {
            said += &format!("{name}: {}\n", AuthHeader::new(name, template).unwrap_err());
        }
        insta::assert_snapshot!(said, @r"
        : it is no header's name
        a b: it is no header's name
        Host: that header says where a request goes or how it is read, and carries no key
        authorization: its value needs `{key}` exactly once
        authorization: its value needs `{key}` exactly once
        authorization: its value has characters that no header may hold
        ");
    }

    #[test]
    fn a_key_is_not_shown() {
        let header = AuthHeader::new("authorization", "Bearer {key}").unwrap();
        let key = Key::new("secret".to_owned());
        let value = header.value(&key).unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer secret");
        assert!(!format!("{key:?} {value:?}").contains("secret"));
    }

    #[test]
    fn a_key_that_would_break_out_of_its_header_is_not_sent() {
        let header = AuthHeader::new("authorization", "Bearer {key}").unwrap();
        for key in ["", "a\r\nb: c", "a\n"] {
            assert_eq!(header.value(&Key::new(key.to_owned())), None);
        }
    }
}
