//! A registry over HTTP: an index and the files that it names, below one URL. It is only read.
//!
//! What a registry sends is bounded in bytes and in time. A redirect is followed where it stays with the same host and
//! scheme: whoever trusts a registry trusts no other.

use std::io::Read as _;
use std::sync::OnceLock;
use std::time::Duration;

use http::Uri;
use http::header::LOCATION;
use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use super::super::archive::Limit;
use super::super::error::ArtifactError;
use super::super::id::ArtifactId;
use super::super::platform::Platform;
use super::index::{INDEX_FILE, INDEX_MAX_BYTES, Index};
use super::{Fetched, Wanted, chosen, opened};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// How long one file may take, however steadily it comes.
const WHOLE: Duration = Duration::from_secs(60 * 60);
/// Redirects that are followed for one file.
const REDIRECTS: usize = 5;

/// A registry.
#[derive(Debug)]
pub struct HttpSource {
    base: Base,
    agent: Agent,
    /// Fetched once, by whoever needs it first.
    index: OnceLock<Result<Index, String>>,
}

/// A registry's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    /// `http` or `https`.
    scheme: String,
    authority: String,
    /// Without a slash at its end.
    path: String,
}

/// Why a file was not had.
enum Failure {
    /// The registry says that it is not there.
    Absent,
    /// It does not answer, or not as it should.
    Unanswered(String),
}

impl HttpSource {
    /// The registry at `url`.
    ///
    /// # Errors
    /// [`ArtifactError::Registry`]: it is no `http` or `https` URL of a place, without user, query or fragment.
    pub fn new(url: &str) -> Result<Self, ArtifactError> {
        let base = Base::parse(url)
            .map_err(|reason| ArtifactError::Registry { text: without_secrets(url), reason: reason.to_owned() })?;
        let agent = patience(SILENCE).build().new_agent();
        Ok(Self { base, agent, index: OnceLock::new() })
    }

    /// What messages call it.
    pub fn shown(&self) -> String {
        self.base.url("")
    }

    /// # Errors
    /// [`ArtifactError::Unanswered`] where the registry does not answer as one.
    pub(super) fn index(&self) -> Result<&Index, ArtifactError> {
        let index = self.index.get_or_init(|| {
            let text = self.get(INDEX_FILE, INDEX_MAX_BYTES).map_err(|failure| match failure {
                Failure::Absent => format!("it has no {INDEX_FILE}, so it is no registry"),
                Failure::Unanswered(reason) => reason,
            })?;
            Index::parse(&text)
        });
        index.as_ref().map_err(|reason| self.unanswered(reason.clone()))
    }

    pub(super) fn fetch(&self, id: &ArtifactId, wanted: Wanted, limit: Limit) -> Result<Vec<Fetched>, ArtifactError> {
        let Some(entry) = self.index()?.entry(id) else { return Ok(Vec::new()) };
        let there: Vec<Option<Platform>> = entry.assets.iter().map(|asset| asset.platform).collect();
        let mut fetched = Vec::new();
        for platform in chosen(wanted, &there) {
            for asset in entry.assets.iter().filter(|asset| asset.platform == platform).take(1) {
                let path = encoded(asset.file.as_str());
                let bytes = match self.get(&path, limit.bytes()) {
                    Ok(bytes) => bytes,
                    Err(Failure::Absent) => continue,
                    Err(Failure::Unanswered(reason)) => return Err(self.unanswered(reason)),
                };
                fetched.push(opened(&self.base.url(&path), bytes, asset.sha256, id, platform, limit)?);
            }
        }
        Ok(fetched)
    }

    fn unanswered(&self, reason: String) -> ArtifactError {
        ArtifactError::Unanswered { source_name: self.shown(), reason }
    }

    /// The file at a path below the registry, of at most `most` bytes.
    fn get(&self, path: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.url(path);
        for _ in 0..=REDIRECTS {
            let failed = |what: String| Failure::Unanswered(format!("{url}: {what}"));
            let mut response = self.agent.get(&url).call().map_err(|error| failed(error.to_string()))?;
            let status = response.status();
            if status.is_redirection() {
                let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
                let location = location.ok_or_else(|| failed(format!("it answered {status} and named no place")))?;
                let next = self.base.redirected(location);
                url = next.ok_or_else(|| failed(format!("it redirects to another place, {location}")))?;
                continue;
            }
            match status.as_u16() {
                200 => {}
                404 | 410 => return Err(Failure::Absent),
                429 => return Err(failed("it answered 429: too many requests".to_owned())),
                _ => return Err(failed(format!("it answered {status}"))),
            }
            let mut bytes = Vec::new();
            let body = response.body_mut().as_reader();
            let mut body = body.take(most.saturating_add(1));
            body.read_to_end(&mut bytes).map_err(|error| failed(format!("the answer broke off: {error}")))?;
            if bytes.len() as u64 > most {
                return Err(failed(format!("the answer is larger than {most} bytes")));
            }
            return Ok(bytes);
        }
        Err(Failure::Unanswered(format!("{url}: it redirects more than {REDIRECTS} times")))
    }
}

/// How registries are spoken with, where a server may be silent for so long.
fn patience(silence: Duration) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(silence))
        .timeout_per_read(Some(silence))
        .timeout_global(Some(WHOLE))
        .user_agent(concat!("mur/", env!("CARGO_PKG_VERSION")))
}

impl Base {
    fn parse(url: &str) -> Result<Self, &'static str> {
        if url.contains('#') {
            return Err("it has a fragment");
        }
        let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let scheme = scheme.ok_or("its scheme is neither http nor https")?;
        let authority = uri.authority().filter(|authority| !authority.host().is_empty()).ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it holds a user name");
        }
        if uri.query().is_some() {
            return Err("it has a query");
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: authority.as_str().to_ascii_lowercase(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The URL of a path below it; its own for an empty one.
    fn url(&self, path: &str) -> String {
        let Self { scheme, authority, path: base } = self;
        if path.is_empty() {
            format!("{scheme}://{authority}{base}")
        } else {
            format!("{scheme}://{authority}{base}/{path}")
        }
    }

    /// Where a redirect leads: to a path, or to a URL with the same scheme and host.
    fn redirected(&self, location: &str) -> Option<String> {
        let Self { scheme, authority, .. } = self;
        if location.starts_with('/') && !location.starts_with("//") {
            return Some(format!("{scheme}://{authority}{location}"));
        }
        let uri: Uri = location.parse().ok()?;
        let same = uri.scheme_str() == Some(scheme)
            && uri.authority().is_some_and(|there| there.as_str().eq_ignore_ascii_case(authority));
        same.then(|| location.to_owned())
    }
}

/// What of a URL can be shown: a user's name, a password, a query and a fragment may be secrets.
fn without_secrets(url: &str) -> String {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    match place.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default()),
        None => place.to_owned(),
    }
}

/// A path as a URL holds it.
fn encoded(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/');
    path.as_bytes()
        .iter()
        .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_registry_is_a_plain_place_on_a_host() {
        let base = Base::parse("https://Registry.example:8443/a/b/").unwrap();
        assert_eq!(base.url(""), "https://registry.example:8443/a/b");
        assert_eq!(base.url("x.mur.zip"), "https://registry.example:8443/a/b/x.mur.zip");
        let refused = ["ftp://a", "http://", "http://u:p@a", "http://a?q", "http://a#f", "a b://c"]
            .map(|url| Base::parse(url).unwrap_err());
        insta::assert_snapshot!(refused.join("\n"), @r"
        its scheme is neither http nor https
        it is no URL
        it holds a user name
        it has a query
        it has a fragment
        it is no URL
        ");
    }

    #[test]
    fn what_is_refused_is_named_without_its_secrets() {
        let said = ["http://u:hunter2@a/b", "https://a/b?token=hunter2", "https://a#hunter2", "ftp://u:a@hunter2@a"]
            .map(|url| HttpSource::new(url).unwrap_err().to_string());
        insta::assert_snapshot!(said.join("\n"), @r"
        `http://a/b` is no registry: it holds a user name
        `https://a/b` is no registry: it has a query
        `https://a` is no registry: it has a fragment
        `ftp://a` is no registry: its scheme is neither http nor https
        ");
    }

    #[test]
    fn a_redirect_stays_with_its_host_and_scheme() {
        let base = Base::parse("https://registry.example/a").unwrap();
        assert_eq!(base.redirected("/b"), Some("https://registry.example/b".to_owned()));
        assert_eq!(base.redirected("https://registry.example/c"), Some("https://registry.example/c".to_owned()));
        for elsewhere in ["//evil.example/b", "http://registry.example/c", "https://registry.example:444/c", "b", ""] {
            assert_eq!(base.redirected(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_server_that_falls_silent_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            // One that never answers, and one that stops in the middle. Both stay connected until the client goes.
            for answer in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(answer).unwrap();
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        for _ in 0..2 {
            let base = Base::parse(&format!("http://{address}")).unwrap();
            let agent = patience(Duration::from_millis(100)).proxy(None).build().new_agent();
            let registry = HttpSource { base, agent, index: OnceLock::new() };
            let error = registry.index().unwrap_err();
            assert!(matches!(error, ArtifactError::Unanswered { .. }), "{error}");
        }
        server.join().unwrap();
    }

    #[test]
    fn a_path_is_encoded_as_a_url_holds_it() {
        assert_eq!(encoded("a/b-1.0.0+5 ü?#%.mur.zip"), "a/b-1.0.0%2B5%20%C3%BC%3F%23%25.mur.zip");
    }
}
