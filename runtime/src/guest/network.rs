//! Which hosts a guest may send requests to, and where a request goes.

use crate::hosts::{self, Endpoint, Host, HostError, HostRule, Scheme};

/// The hosts that a guest may reach by `wasi:http`. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// What may be reached, each rule by itself.
    pub allow: Vec<HostRule>,
}

impl Network {
    pub(crate) fn allows(&self, destination: &Destination) -> bool {
        self.allow.iter().any(|rule| rule.allows(destination.scheme, &destination.host, destination.port))
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
    pub(crate) fn of(target: &http::Uri) -> Result<Self, HostError> {
        let scheme: Scheme = target.scheme_str().unwrap_or_default().parse()?;
        let authority = target.authority().ok_or(HostError::Empty)?;
        let (host, port) = hosts::authority(authority.as_str())?;
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()) })
    }

    /// Where a gateway's requests go.
    pub(crate) fn of_endpoint(endpoint: &Endpoint) -> Self {
        Self { scheme: endpoint.scheme, host: endpoint.host.clone(), port: endpoint.port }
    }

    /// `host:port`, and `host` alone where the port is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
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
            assert_eq!(text.parse::<HostRule>(), Err(HostError::V4), "{text}");
        }
    }

    #[test]
    fn a_target_with_a_user_or_an_odd_port_goes_nowhere() {
        for target in ["https://example.com@evil/", "https://evil@example.com/", "https://u:p@example.com/"] {
            assert_eq!(Destination::of(&target.parse().unwrap()), Err(HostError::UserInfo), "{target}");
        }
        for target in ["https://example.com:/", "https://example.com:0/", "https://example.com:99999/"] {
            assert!(Destination::of(&target.parse().unwrap()).is_err(), "{target}");
        }
    }
}
