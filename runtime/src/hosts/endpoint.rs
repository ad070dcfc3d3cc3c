//! Where requests are sent: a URL without user, query and fragment.

use std::fmt;
use std::str::FromStr;

use super::{Host, HostError, Scheme};

/// A URL that requests can be sent to: `https`, or `http` on this machine; without user, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
    /// Empty, or `/` and what follows; without `/` at its end.
    path: String,
}

/// Why a text is no [`Endpoint`]. Each message completes "the endpoint …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// A variable's value is never put in.
    #[error("holds `${{`, and no variable is put in: write the URL itself")]
    Variable,
    /// Not one of the two schemes.
    #[error("must begin with `https://`, or with `http://`")]
    Scheme,
    /// Without TLS to another machine.
    #[error("must begin with `https://`: without TLS, only localhost and loopback addresses can be reached")]
    Plain,
    /// There is a query or a fragment.
    #[error("holds `?` or `#`, and only a path may follow the host")]
    Query,
    /// The path holds what paths do not.
    #[error(
        "has a path that not every server reads alike: with an empty part, `..`, `\\`, a space or another such character"
    )]
    Path,
    /// The host or the port.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Endpoint {
    /// Its path: empty, or `/` and what follows, without `/` at its end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether a request's path, as it is written, is the endpoint's or lies below it, for every server that might read it.
    pub fn covers(&self, path: &str) -> bool {
        let below = path.strip_prefix(&*self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below && is_plain(path)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::with_or_without_tls(text)?;
        if endpoint.scheme == Scheme::Http && !endpoint.host.is_loopback() {
            return Err(EndpointError::Plain);
        }
        Ok(endpoint)
    }
}

impl Endpoint {
    /// Any such URL, to another machine also without TLS.
    fn with_or_without_tls(text: &str) -> Result<Self, EndpointError> {
        if text.contains("${") {
            return Err(EndpointError::Variable);
        }
        let (word, rest) = text.split_once("://").ok_or(EndpointError::Scheme)?;
        let scheme: Scheme = word.parse().map_err(|_| EndpointError::Scheme)?;
        if rest.contains(['?', '#']) {
            return Err(EndpointError::Query);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
        let (host, port) = super::authority(authority)?;
        let path = path.trim_end_matches('/').to_owned();
        let foreign = |c: char| !c.is_ascii_graphic() || matches!(c, '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}');
        if path.contains(foreign) || !is_plain(&path) {
            return Err(EndpointError::Path);
        }
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()), path })
    }
}

/// The URL, its port left out where it is the scheme's own.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

/// The URL that others are made of by adding to its path: `https` or `http`; without user, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Endpoint);

impl FromStr for BaseUrl {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        Endpoint::with_or_without_tls(text).map(Self)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_with_tls_or_on_this_machine() {
        let forms = [
            ("https://api.example.com", "https://api.example.com"),
            ("https://API.example.com:443/v1/", "https://api.example.com/v1"),
            ("http://localhost:11434/v1", "http://localhost:11434/v1"),
            ("http://127.0.0.1", "http://127.0.0.1"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ];
        for (text, shown) in forms {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn every_other_endpoint_is_refused_with_its_own_reason() {
        let cases = [
            ("https://${HOST}/v1", EndpointError::Variable),
            ("api.example.com", EndpointError::Scheme),
            ("ws://api.example.com", EndpointError::Scheme),
            ("http://api.example.com", EndpointError::Plain),
            ("http://localhost.evil.example", EndpointError::Plain),
            ("http://127.0.0.1.evil.example", EndpointError::Plain),
            ("http://10.0.0.1", EndpointError::Plain),
            ("https://api.example.com/v1?x=1", EndpointError::Query),
            ("https://api.example.com#x", EndpointError::Query),
            ("https://api.example.com/../x", EndpointError::Path),
            ("https://api.example.com\\@evil.example", EndpointError::Path),
            ("https://api.example.com/a b", EndpointError::Path),
            ("https://user:pw@api.example.com", EndpointError::Host(HostError::UserInfo)),
            ("https://", EndpointError::Host(HostError::Empty)),
            ("https:///v1", EndpointError::Host(HostError::Empty)),
            ("https://*.example.com", EndpointError::Host(HostError::Wildcard)),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<Endpoint>(), Err(reason), "{text:?}");
        }
    }

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
}
