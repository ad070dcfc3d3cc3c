//! Hosts, and what is allowed of them: the words in which manifests grant them, and in which guests' requests are judged.
//!
//! A host is a name or an address. Names are compared as names: exactly, whatever their case, without wildcards and without
//! looking them up. Addresses are compared as addresses. What is neither for certain, such as `0x7f.1`, which some resolvers
//! take for an address, is no host here.

mod auth;
mod endpoint;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

pub use auth::{AuthHeader, HeaderError};
pub use endpoint::{BaseUrl, Endpoint, EndpointError};

/// A scheme of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Http, Self::Https];

    /// The scheme as it stands in a URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where a URL names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl FromStr for Scheme {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        Self::ALL.into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.as_str())).ok_or(HostError::Scheme)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A host: a name in lower case without a dot at its end, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name of the domain name system.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address. One that stands for an IPv4 address is that address instead.
    V6(Ipv6Addr),
}

impl Host {
    /// Whether it is certainly this machine.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::V4(address) => address.is_loopback(),
            Self::V6(address) => address.is_loopback(),
        }
    }
}

/// As in a URL: IPv6 addresses stand in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

/// One entry of a list of hosts: which requests are let through.
///
/// Written as `host`, `host:port`, `scheme://host` or `scheme://host:port`. Without a scheme it stands for both; without
/// a port, for the scheme's own port alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    /// The only scheme.
    pub scheme: Option<Scheme>,
    /// The host, compared as a whole: what lies below a name is not meant.
    pub host: Host,
    /// The only port; never 0.
    pub port: Option<u16>,
}

impl HostRule {
    /// Every scheme and port that it lets through: one or two.
    pub fn endpoints(&self) -> impl Iterator<Item = (Scheme, u16)> + '_ {
        let schemes = Scheme::ALL.into_iter().filter(|scheme| self.scheme.is_none_or(|only| only == *scheme));
        schemes.map(|scheme| (scheme, self.port.unwrap_or(scheme.default_port())))
    }

    /// Whether it lets a request through.
    pub fn allows(&self, scheme: Scheme, host: &Host, port: u16) -> bool {
        self.host == *host && self.endpoints().any(|endpoint| endpoint == (scheme, port))
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{scheme}://")?;
        }
        write!(f, "{}", self.host)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Why a text is no [`HostRule`]. Each message completes "the entry …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// There is nothing.
    #[error("names no host")]
    Empty,
    /// There is a `*`.
    #[error("holds `*`, and every host is named by itself")]
    Wildcard,
    /// Another scheme than these two.
    #[error("has a scheme that is neither `http` nor `https`")]
    Scheme,
    /// Something follows the host and the port.
    #[error("goes on after the host, and paths and queries are not compared")]
    Path,
    /// There is a user or a password in front of the host.
    #[error("holds `@`, and no user or password belongs there")]
    UserInfo,
    /// The port is no number from 1 to 65535.
    #[error("has a port that is no number from 1 to 65535")]
    Port,
    /// Several colons without brackets.
    #[error("has several `:`; an IPv6 address stands in brackets, as in `[::1]:443`")]
    Brackets,
    /// The brackets hold no IPv6 address.
    #[error("has brackets that hold no IPv6 address")]
    V6,
    /// It ends with a number like an address and is none.
    #[error("is neither a name nor an IPv4 address of four decimal numbers")]
    V4,
    /// A character that host names do not have.
    #[error("holds a character that host names do not have; a name in another script is written as `xn--…`")]
    Character,
    /// An empty or overlong part, or a hyphen at the end of one.
    #[error("is not a host name: each part between dots has 1 to 63 letters, digits and inner hyphens")]
    Name,
}

impl FromStr for HostRule {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (scheme, rest) = match text.split_once("://") {
            None => (None, text),
            Some((word, rest)) => (Some(word.parse()?), rest),
        };
        if rest.contains(['/', '?', '#', '\\']) {
            return Err(HostError::Path);
        }
        let (host, port) = authority(rest)?;
        Ok(Self { scheme, host, port })
    }
}

/// `host` or `host:port`.
pub(crate) fn authority(text: &str) -> Result<(Host, Option<u16>), HostError> {
    if text.contains('@') {
        return Err(HostError::UserInfo);
    }
    if text.contains('*') {
        return Err(HostError::Wildcard);
    }
    if let Some(bracketed) = text.strip_prefix('[') {
        let (address, rest) = bracketed.split_once(']').ok_or(HostError::V6)?;
        let address: Ipv6Addr = address.parse().map_err(|_| HostError::V6)?;
        let host = match address.to_canonical() {
            IpAddr::V4(address) => Host::V4(address),
            IpAddr::V6(address) => Host::V6(address),
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(port(digits)?),
            None if rest.is_empty() => None,
            None => return Err(HostError::V6),
        };
        return Ok((host, port));
    }
    let (host, port) = match text.split_once(':') {
        None => (text, None),
        Some((_, rest)) if rest.contains(':') => return Err(HostError::Brackets),
        Some((host, digits)) => (host, Some(port(digits)?)),
    };
    Ok((host_name(host)?, port))
}

fn port(digits: &str) -> Result<u16, HostError> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HostError::Port);
    }
    digits.parse().ok().filter(|&port| port != 0).ok_or(HostError::Port)
}

fn host_name(text: &str) -> Result<Host, HostError> {
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    if let Ok(address) = text.parse() {
        return Ok(Host::V4(address));
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if !name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.')) {
        return Err(HostError::Character);
    }
    let fits = |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
    if name.len() > 253 || !name.split('.').all(fits) {
        return Err(HostError::Name);
    }
    // What resolvers take for an address in another notation must not pass for a name: `127.1`, `0x7f.1`.
    let last = name.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    if hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HostError::V4);
    }
    Ok(Host::Name(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn rule(text: &str) -> HostRule {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_rule_is_a_host_with_or_without_scheme_and_port() {
        let forms = [
            ("example.com", "example.com"),
            ("Example.COM.", "example.com"),
            ("example.com:8443", "example.com:8443"),
            ("HTTPS://example.com", "https://example.com"),
            ("http://localhost:11434", "http://localhost:11434"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("https://[::1]:443", "https://[::1]:443"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("under_score.internal", "under_score.internal"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ];
        for (text, shown) in forms {
            assert_eq!(rule(text).to_string(), shown);
            assert_eq!(rule(shown), rule(text), "what is shown is read as the same rule");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_own_reason() {
        let cases = [
            ("", HostError::Empty),
            ("https://", HostError::Empty),
            (":443", HostError::Empty),
            ("*", HostError::Wildcard),
            ("*.example.com", HostError::Wildcard),
            ("ftp://example.com", HostError::Scheme),
            ("://example.com", HostError::Scheme),
            ("https://example.com/", HostError::Path),
            ("example.com/v1", HostError::Path),
            ("example.com?x", HostError::Path),
            ("https:\\\\example.com", HostError::Path),
            ("https://user@example.com", HostError::UserInfo),
            ("example.com@evil.example", HostError::UserInfo),
            ("example.com:", HostError::Port),
            ("example.com:0", HostError::Port),
            ("example.com:+80", HostError::Port),
            ("example.com:65536", HostError::Port),
            ("example.com:https", HostError::Port),
            ("::1", HostError::Brackets),
            ("[::1", HostError::V6),
            ("[::1]x", HostError::V6),
            ("[127.0.0.1]", HostError::V6),
            ("[fe80::1%eth0]", HostError::V6),
            ("127.1", HostError::V4),
            ("0x7f.1", HostError::V4),
            ("2130706433", HostError::V4),
            ("0177.0.0.1", HostError::V4),
            ("1.2.3.0x4", HostError::V4),
            ("256.1.1.1", HostError::V4),
            ("exa mple.com", HostError::Character),
            ("bücher.example", HostError::Character),
            ("example.com\n", HostError::Character),
            ("a..b", HostError::Name),
            (".", HostError::Name),
            ("-a.example", HostError::Name),
            (&"a".repeat(64), HostError::Name),
            (&"a.".repeat(130), HostError::Name),
        ];
        for (text, reason) in cases {
            assert_eq!(text.parse::<HostRule>(), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn without_a_port_only_the_schemes_own_is_meant() {
        let host = |text: &str| rule(text).host;
        let allows = |text: &str, scheme, port| rule(text).allows(scheme, &host("example.com"), port);
        assert!(allows("example.com", Scheme::Http, 80) && allows("example.com", Scheme::Https, 443));
        assert!(!allows("example.com", Scheme::Http, 443) && !allows("example.com", Scheme::Https, 8443));
        assert!(allows("example.com:8443", Scheme::Http, 8443) && allows("example.com:8443", Scheme::Https, 8443));
        assert!(!allows("example.com:8443", Scheme::Https, 443));
        assert!(!allows("https://example.com", Scheme::Http, 80));
        assert!(!allows("www.example.com", Scheme::Https, 443), "what lies below a name is not meant, nor above");
    }
}
