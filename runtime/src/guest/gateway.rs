//! A gateway: an endpoint that a guest reaches with a key that it never sees.
//!
//! The guest sends its requests to a stand-in, `http://127.0.0.1:9`, where nothing listens. They are sent on to the
//! endpoint, with the key in a header, if they stay below the endpoint's path.

use crate::hosts::{AuthHeader, Endpoint};
use crate::secret::Secret;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
    last: Arc<Mutex<Option<Secret>>>,
}

impl Gateway {
    /// A gateway to that endpoint.
    pub fn new(endpoint: Endpoint, credential: Credential) -> Self {
        Self { endpoint, credential, last: Arc::default() }
    }

    /// What the guest is told of the endpoint: the stand-in and the endpoint's path.
    pub fn stand_in(&self) -> String {
        format!("{STAND_IN}{}", self.endpoint.path())
    }

    /// Remembers a key as the one that is used, and says whether there was another one before.
    pub(crate) fn used(&self, key: &Secret) -> Novelty {
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
    fn key(&self) -> Result<Option<Secret>, KeyError>;
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
