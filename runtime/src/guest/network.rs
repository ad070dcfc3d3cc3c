//! Which hosts a guest may send requests to.
//!
//! A host is a name or an address. Names are compared as names: exactly, whatever their case, without wildcards and
//! without looking them up. Addresses are compared as addresses. What is neither for certain, such as `0x7f.1`, which
//! some resolvers take for an address, is no host here.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The hosts that a guest may reach by `wasi:http`. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// What may be reached, each rule by itself.
    pub allow: Vec<NetworkRule>,
}

impl Network {
    pub(crate) fn allows(&self, destination: &Destination) -> bool {
        self.allow.iter().any(|rule| rule.allows(destination))
    }
}

/// Leave for requests to one host. It parses from a URL without a path, `host`, or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRule {
    /// Only this scheme; without it, both.
    pub scheme: Option<Scheme>,
    /// The host.
    pub host: Host,
    /// Only this port; without it, the request's scheme's own.
    pub port: Option<u16>,
}

impl NetworkRule {
    fn allows(&self, destination: &Destination) -> bool {
        self.scheme.is_none_or(|scheme| scheme == destination.scheme)
            && self.host == destination.host
            && destination.port == self.port.unwrap_or(destination.scheme.port())
    }
}

impl FromStr for NetworkRule {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.parse()?), rest.strip_suffix('/').unwrap_or(rest)),
            None => (None, text),
        };
        if rest.contains(['/', '?', '#']) {
            return Err(AddressError::Path);
        }
        let (host, port) = split_port(rest)?;
        Ok(Self { scheme, host, port })
    }
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{scheme}://")?;
        }
        write!(f, "{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// How a host is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The port where none is named.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Its name in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl FromStr for Scheme {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.to_ascii_lowercase().as_str() {
            "http" => Ok(Self::Http),
            "https" => Ok(Self::Https),
            _ => Err(AddressError::Scheme),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A host's name or address. Two that are equal are the same host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// In lower case, without the dot that may end it.
    Name(String),
    /// An IPv4 address that is written as an IPv6 one is the IPv4 address.
    Address(IpAddr),
}

impl Host {
    /// Whether requests to it stay on this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.0 {
            Kind::Name(name) => name == "localhost",
            Kind::Address(address) => address.is_loopback(),
        }
    }
}

impl FromStr for Host {
    type Err = AddressError;

    /// Parses a name, an IPv4 address, or an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr =
                inner.strip_suffix(']').and_then(|inner| inner.parse().ok()).ok_or(AddressError::Host)?;
            return Ok(Self(Kind::Address(address.to_canonical())));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return if address.is_ipv4() { Ok(Self(Kind::Address(address))) } else { Err(AddressError::Brackets) };
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.contains('*') {
            return Err(AddressError::Wildcard);
        }
        if !name.is_ascii() {
            return Err(AddressError::NotAscii);
        }
        let labels_fit = name.split('.').all(|label| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(fits)
        });
        if !labels_fit || name.len() > 253 || ends_in_a_number(&name) {
            return Err(AddressError::Host);
        }
        Ok(Self(Kind::Name(name)))
    }
}

/// Whether a resolver could take the name for an address: no top-level domain is a number.
fn ends_in_a_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    last.bytes().all(|byte| byte.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(hexadecimal)
}

impl fmt::Display for Host {
    /// As in a URL: an IPv6 address stands in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Name(name) => f.write_str(name),
            Kind::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Kind::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Why a text names no host, or not in a form that is fit here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another scheme.
    #[error("its scheme is neither http nor https")]
    Scheme,
    /// A path, a query or a fragment.
    #[error("it has a path, a query or a fragment")]
    Path,
    /// An endpoint with a query or a fragment.
    #[error("it has a query or a fragment")]
    Query,
    /// An endpoint with a path that not every server reads alike.
    #[error("its path has an empty part, a dot part, or characters that do not belong there")]
    Plain,
    /// A user's name or password.
    #[error("it names a user")]
    User,
    /// Neither a name nor an address.
    #[error("its host is neither a name nor an address")]
    Host,
    /// A wildcard.
    #[error("it has a wildcard; every host is named by itself")]
    Wildcard,
    /// A name that is not in its ASCII form.
    #[error("its host is not in its ASCII form, which begins with xn--")]
    NotAscii,
    /// An IPv6 address without brackets.
    #[error("its IPv6 address is not in brackets, as in [::1]")]
    Brackets,
    /// No port.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// A gateway's endpoint that a key would be sent to in the clear.
    #[error("it is http, and the host is not this machine: a key would be sent in the clear")]
    Clear,
}

/// Splits `host` or `host:port`.
pub(crate) fn split_port(text: &str) -> Result<(Host, Option<u16>), AddressError> {
    if text.contains('@') {
        return Err(AddressError::User);
    }
    let end_of_host = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = text[end_of_host..].find(':').map(|colon| end_of_host + colon) else {
        return Ok((text.parse()?, None));
    };
    let (host, port) = (&text[..colon], &text[colon + 1..]);
    if end_of_host == 0 && port.contains(':') {
        return Err(AddressError::Brackets);
    }
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits && port != 0 => Ok((host.parse()?, Some(port))),
        Ok(_) | Err(_) => Err(AddressError::Port),
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl Destination {
    /// Reads it from a request's target, which names scheme and authority.
    pub(crate) fn of(target: &http::Uri) -> Result<Self, AddressError> {
        let scheme: Scheme = target.scheme_str().unwrap_or_default().parse()?;
        let authority = target.authority().ok_or(AddressError::Host)?;
        let (host, port) = split_port(authority.as_str())?;
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.port()) })
    }

    /// `host:port`, and `host` alone where the port is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        if self.port == self.scheme.port() { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn allowed(rule: &str, target: &str) -> bool {
        let network = Network { allow: vec![rule.parse().unwrap()] };
        Destination::of(&target.parse().unwrap()).is_ok_and(|destination| network.allows(&destination))
    }

    #[test]
    fn a_rule_allows_its_host_and_no_other() {
        assert!(allowed("example.com", "https://example.com/a?b"));
        assert!(allowed("Example.COM", "https://eXample.com/"));
        for other in ["sub.example.com", "example.com.evil", "example.co", "xexample.com", "127.0.0.1"] {
            assert!(!allowed("example.com", &format!("https://{other}/")), "{other}");
        }
    }

    #[test]
    fn a_dot_at_the_end_of_a_name_changes_nothing() {
        assert!(allowed("example.com", "https://example.com./"));
        assert!(allowed("example.com.", "https://example.com/"));
        assert!(!allowed("example.com", "https://example.com../"));
    }

    #[test]
    fn a_rule_without_a_port_allows_the_schemes_own() {
        assert!(allowed("example.com", "http://example.com/"));
        assert!(allowed("example.com", "http://example.com:80/"));
        assert!(allowed("example.com", "https://example.com:443/"));
        assert!(!allowed("example.com", "http://example.com:443/"));
        assert!(!allowed("example.com", "https://example.com:8443/"));
    }

    #[test]
    fn a_rule_with_a_port_allows_that_one_alone() {
        assert!(allowed("example.com:8080", "http://example.com:8080/"));
        assert!(allowed("example.com:8080", "https://example.com:8080/"));
        assert!(!allowed("example.com:8080", "http://example.com/"));
    }

    #[test]
    fn a_rule_with_a_scheme_allows_that_one_alone() {
        assert!(allowed("https://example.com", "https://example.com/"));
        assert!(allowed("https://example.com/", "https://example.com/"));
        assert!(!allowed("https://example.com", "http://example.com/"));
        assert!(!allowed("https://example.com", "http://example.com:443/"));
        assert!(allowed("http://example.com:8080", "http://example.com:8080/"));
    }

    #[test]
    fn addresses_are_compared_as_addresses() {
        assert!(allowed("[::1]:80", "http://[0:0:0:0:0:0:0:1]/"));
        assert!(allowed("127.0.0.1", "http://127.0.0.1/"));
        assert!(allowed("127.0.0.1", "http://[::ffff:127.0.0.1]/"));
        assert!(!allowed("127.0.0.1", "http://127.0.0.2/"));
        assert!(!allowed("localhost", "http://127.0.0.1/"));
    }

    #[test]
    fn what_a_resolver_could_take_for_an_address_is_no_host() {
        for text in ["127.1", "2130706433", "0x7f000001", "0x7f.1", "1.2.3.4.5", "127.0.0.01", "a.0x1", "host.0x"] {
            assert_eq!(text.parse::<Host>(), Err(AddressError::Host), "{text}");
        }
    }

    #[test]
    fn a_target_with_a_user_or_an_odd_port_goes_nowhere() {
        for target in ["https://example.com@evil/", "https://evil@example.com/", "https://u:p@example.com/"] {
            assert_eq!(Destination::of(&target.parse().unwrap()), Err(AddressError::User), "{target}");
        }
        for target in ["https://example.com:/", "https://example.com:0/", "https://example.com:99999/"] {
            assert!(Destination::of(&target.parse().unwrap()).is_err(), "{target}");
        }
    }

    #[test]
    fn a_rule_says_what_is_wrong_with_it() {
        let mut said = String::new();
        for text in [
            "",
            "ftp://example.com",
            "https://example.com/v1",
            "example.com?x",
            "*.example.com",
            "user@example.com",
            "bücher.example",
            "::1",
            "[::1",
            "example.com:0",
            "example.com:port",
            "example.com:65536",
            "a b",
        ] {
            said += &format!("{text}: {}\n", text.parse::<NetworkRule>().unwrap_err());
        }
        insta::assert_snapshot!(said, @r"
        : its host is neither a name nor an address
        ftp://example.com: its scheme is neither http nor https
        https://example.com/v1: it has a path, a query or a fragment
        example.com?x: it has a path, a query or a fragment
        *.example.com: it has a wildcard; every host is named by itself
        user@example.com: it names a user
        bücher.example: its host is not in its ASCII form, which begins with xn--
        ::1: its IPv6 address is not in brackets, as in [::1]
        [::1: its IPv6 address is not in brackets, as in [::1]
        example.com:0: its port is not a number from 1 to 65535
        example.com:port: its port is not a number from 1 to 65535
        example.com:65536: its port is not a number from 1 to 65535
        a b: its host is neither a name nor an address
        ");
    }

    #[test]
    fn a_rule_is_shown_as_it_can_be_written() {
        for text in ["example.com", "http://example.com:81", "[::1]:8080", "https://127.0.0.1"] {
            assert_eq!(text.parse::<NetworkRule>().unwrap().to_string(), text);
        }
    }
}
