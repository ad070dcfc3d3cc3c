//! `artifacts[].gateway`: the provider that an artifact reaches, and the key that only the runtime holds.

use std::fmt;
use std::str::FromStr;

use super::Place;
use crate::hosts::Endpoint;
use crate::secret::Secret;

/// Where an artifact's requests go, and with which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// The provider.
    pub endpoint: Endpoint,
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
