//! `artifacts[].gateway`: the provider that an artifact reaches, and the key that only the runtime holds.

use std::fmt;
use std::str::FromStr;

use super::Place;
use super::hosts::{self, Host, HostError, Scheme};

/// A secret. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text as a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where an artifact's requests go, and with which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// The provider.
    pub endpoint: GatewayEndpoint,
    /// What it is shown.
    pub key: GatewayKey,
    /// Where the block stands.
    pub place: Place,
}

/// The key that goes with a gateway's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayKey {
    /// None; the manifest says so.
    Keyless,
    /// One that stands in the manifest.
    Literal(Secret),
    /// The one that the host has under this name.
    Named(CredentialName),
}

/// The name of a credential: `A-Z`, `0-9` and `_`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialName(String);

/// Why a text is no [`CredentialName`]. The message completes "the name …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be A-Z, 0-9 and `_`, beginning with a letter")]
pub struct NoCredentialName;

impl CredentialName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CredentialName {
    type Err = NoCredentialName;

    fn from_str(text: &str) -> Result<Self, NoCredentialName> {
        let plain = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
        if plain && begins { Ok(Self(text.to_owned())) } else { Err(NoCredentialName) }
    }
}

impl fmt::Display for CredentialName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A URL that requests can be sent to: `https`, or `http` on this machine; without user, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayEndpoint {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
    /// Empty, or `/` and what follows; without `/` at its end.
    path: String,
}

/// Why a text is no [`GatewayEndpoint`]. Each message completes "the endpoint …".
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
    #[error("has a path with `..`, `\\`, a space or another character that paths do not have")]
    Path,
    /// The host or the port.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl GatewayEndpoint {
    /// Its path: empty, or `/` and what follows, without `/` at its end.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl FromStr for GatewayEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::with_or_without_tls(text)?;
        if endpoint.scheme == Scheme::Http && !endpoint.host.is_loopback() {
            return Err(EndpointError::Plain);
        }
        Ok(endpoint)
    }
}

impl GatewayEndpoint {
    /// Any such URL, to another machine also without TLS.
    fn with_or_without_tls(text: &str) -> Result<Self, EndpointError> {
        if text.contains("${") {
            return Err(EndpointError::Variable);
        }
        let (word, rest) = text.split_once("://").ok_or(EndpointError::Scheme)?;
        let known = Scheme::ALL.into_iter().find(|scheme| word.eq_ignore_ascii_case(scheme.as_str()));
        let scheme = known.ok_or(EndpointError::Scheme)?;
        if rest.contains(['?', '#']) {
            return Err(EndpointError::Query);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
        let (host, port) = hosts::authority(authority)?;
        let foreign =
            |c: char| !c.is_ascii_graphic() || matches!(c, '\\' | '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}');
        if path.contains(foreign) || path.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err(EndpointError::Path);
        }
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()), path })
    }
}

/// The URL, its port left out where it is the scheme's own.
impl fmt::Display for GatewayEndpoint {
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
pub struct BaseUrl(GatewayEndpoint);

impl FromStr for BaseUrl {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        GatewayEndpoint::with_or_without_tls(text).map(Self)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
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
            assert_eq!(text.parse::<GatewayEndpoint>().unwrap().to_string(), shown);
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
            assert_eq!(text.parse::<GatewayEndpoint>(), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        assert_eq!(format!("{:?}", GatewayKey::Literal(Secret::new("s3cret".to_owned()))), "Literal(Secret(…))");
    }
}
