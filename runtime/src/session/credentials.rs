//! From an artifact's `gateway` block to a gateway that a guest can be given: where its requests go, in which header the
//! key is sent, and where the key comes from.

use std::sync::Arc;

use super::environment::HostEnvironment;
use crate::config::{Credential, CredentialOrigin, Credentials};
use crate::diagnostic::{Code, Diagnostic};
use crate::guest::{self, KeyError, KeyOrigin, KeySource};
use crate::hosts::AuthHeader;
use crate::manifest::{Artifact, CredentialName, Gateway, GatewayKey, Packed};
use crate::secret::Secret;

/// A gateway that is ready to be given, and what is reported of it.
#[derive(Clone)]
pub(crate) struct GatewayPlan {
    pub(crate) gateway: guest::Gateway,
    pub(crate) host: String,
    /// `config`, `environment`, `manifest` or `keyless`.
    pub(crate) credential_source: &'static str,
}

/// Plans the gateway of `artifact`, whose own manifest is `packed`. With it comes what is to be told of its key.
pub(crate) fn plan(
    artifact: &Artifact,
    gateway: &Gateway,
    packed: Option<&Packed>,
    credentials: &Credentials,
    environment: &HostEnvironment,
) -> Result<(GatewayPlan, Option<Diagnostic>), Diagnostic> {
    let mut warning = None;
    let source: Option<Source> = match &gateway.key {
        GatewayKey::Keyless => None,
        GatewayKey::Literal(secret) => Some(Source::of_manifest(secret)),
        GatewayKey::Named(name) => {
            let found = lookup(credentials, environment, name).map_err(|error| error.diagnostic())?;
            let found = found.ok_or_else(|| Credentials::missing(name, &gateway.place).diagnostic())?;
            warning = Credentials::warning(name, &found, &gateway.place).map(|warning| warning.diagnostic());
            Some(Source::named(name, found.origin, credentials, environment))
        }
    };
    let (credential_source, credential) = match source {
        None => ("keyless", guest::Credential::Keyless),
        Some(source) => {
            let (word, header) = (source.word, auth_header(artifact, gateway, packed)?);
            (word, guest::Credential::Key { header, source: Arc::new(source) })
        }
    };
    let host = gateway.endpoint.host.to_string();
    Ok((
        GatewayPlan { gateway: guest::Gateway::new(gateway.endpoint.clone(), credential), host, credential_source },
        warning,
    ))
}

/// The header that the artifact's own manifest names for the key.
fn auth_header(artifact: &Artifact, gateway: &Gateway, packed: Option<&Packed>) -> Result<AuthHeader, Diagnostic> {
    let refused = |reason: String| {
        let text = format!("{}: `{}` has a gateway, and {reason}", gateway.place, artifact.name);
        Diagnostic::new(Code::UpstreamAuth, text).with_hint(
            "its own murmur.yaml says how the key is sent: `upstream_auth: {header: authorization, value: \"Bearer {key}\"}`",
        )
    };
    let declared = packed.and_then(|packed| packed.upstream_auth.as_ref());
    match declared {
        None => Err(refused("its own manifest has no `upstream_auth`".to_owned())),
        Some(Err(problem)) => Err(refused(format!("its own manifest cannot be used for it: {problem}"))),
        Some(Ok(auth)) => Ok(auth.clone()),
    }
}

fn lookup(
    credentials: &Credentials,
    environment: &HostEnvironment,
    name: &CredentialName,
) -> Result<Option<Credential>, crate::config::ConfigError> {
    let found = credentials.lookup(name)?;
    let of_project = || {
        let value = Secret::new(environment.variable(name.as_str())?);
        Some(Credential { value, origin: CredentialOrigin::Environment })
    };
    Ok(found.or_else(of_project))
}

/// A key's source, asked anew for every request.
struct Source {
    origin: KeyOrigin,
    word: &'static str,
    place: Place,
}

enum Place {
    Manifest(Secret),
    Host(Box<Host>),
}

struct Host {
    name: CredentialName,
    credentials: Credentials,
    environment: HostEnvironment,
}

impl Source {
    fn of_manifest(secret: &Secret) -> Self {
        let origin = KeyOrigin { source: "manifest".into(), credential: None };
        Self { origin, word: "manifest", place: Place::Manifest(secret.clone()) }
    }

    fn named(
        name: &CredentialName,
        origin: CredentialOrigin,
        credentials: &Credentials,
        environment: &HostEnvironment,
    ) -> Self {
        let host = Host { name: name.clone(), credentials: credentials.clone(), environment: environment.clone() };
        let place = Place::Host(Box::new(host));
        let word = origin.as_str();
        Self { origin: KeyOrigin { source: word.into(), credential: Some(name.to_string()) }, word, place }
    }
}

impl KeySource for Source {
    fn origin(&self) -> &KeyOrigin {
        &self.origin
    }

    fn key(&self) -> Result<Option<Secret>, KeyError> {
        match &self.place {
            Place::Manifest(secret) => Ok(Some(secret.clone())),
            Place::Host(host) => {
                let found = lookup(&host.credentials, &host.environment, &host.name)?;
                Ok(found.map(|found| found.value))
            }
        }
    }
}
