//! A lock's text to a [`Lock`], with the place of whatever does not fit.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::super::id::ArtifactId;
use super::super::platform::Platform;
use super::{Hashes, LOCK_VERSION, Lock, LockError, Pin};
use crate::content::ContentHash;
use crate::manifest::{ArtifactName, Version};

/// What every lock has, of whatever version.
#[derive(Deserialize)]
struct AnyLock {
    lock_version: Option<Spanned<Number>>,
}

/// The version, whatever is written there.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`lock_version` is no whole number")]
enum Number {
    Whole(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLock {
    #[expect(dead_code, reason = "it was read before the rest")]
    lock_version: u64,
    #[serde(default)]
    artifacts: Vec<Spanned<RawEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    name: Spanned<String>,
    resolved_version: Spanned<String>,
    sha256: Spanned<RawHashes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHashes {
    any: Option<Spanned<String>>,
    platforms: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
}

pub(super) fn lock(path: &Path, bytes: &[u8]) -> Result<Lock, LockError> {
    let shape = |at: Location, reason: String| {
        let (line, column) = place(at);
        LockError::Shape { path: path.to_owned(), line, column, reason }
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| shape(Location::UNKNOWN, "the text is not UTF-8".to_owned()))?;

    match parse::<AnyLock>(text).map_err(|(at, reason)| shape(at, reason))?.lock_version {
        None => return Err(shape(Location::UNKNOWN, "`lock_version` is missing".to_owned())),
        Some(Spanned { value: Number::Whole(LOCK_VERSION), .. }) => {}
        Some(Spanned { value, referenced, .. }) => {
            let (line, column) = place(referenced);
            let found = match value {
                Number::Whole(version) => version.to_string(),
                Number::Text(text) => format!("`{text}`"),
            };
            return Err(LockError::Version { path: path.to_owned(), line, column, found });
        }
    }
    let raw: RawLock = parse(text).map_err(|(at, reason)| shape(at, reason))?;
    let mut lock = Lock::default();
    for Spanned { value: entry, .. } in raw.artifacts {
        let at = entry.name.referenced;
        let name: ArtifactName = entry.name.value.parse().map_err(|reason| shape(at, format!("the name {reason}")))?;
        let version_at = entry.resolved_version.referenced;
        let version: Version = entry
            .resolved_version
            .value
            .parse()
            .map_err(|reason| shape(version_at, format!("the version {reason}")))?;
        ArtifactId::new(name.clone(), version.clone())
            .map_err(|reason| shape(version_at, format!("`{name}` {reason}")))?;
        let hashes = hashes(entry.sha256).map_err(|(at, reason)| shape(at, reason))?;
        if lock.pins.insert(name.clone(), Pin { version, hashes }).is_some() {
            return Err(shape(at, format!("there is another entry for `{name}`")));
        }
    }
    Ok(lock)
}

fn hashes(raw: Spanned<RawHashes>) -> Result<Hashes, (Location, String)> {
    let hash = |text: Spanned<String>| {
        let parsed = text.value.parse::<ContentHash>();
        parsed.map_err(|reason| (text.referenced, format!("the hash {reason}")))
    };
    match (raw.value.any, raw.value.platforms) {
        (Some(any), None) => Ok(Hashes::Any(hash(any)?)),
        (None, Some(platforms)) if !platforms.value.is_empty() => {
            let mut hashes = BTreeMap::new();
            for (tag, text) in platforms.value {
                let platform: Platform =
                    tag.parse().map_err(|reason| (text.referenced, format!("`{tag}` {reason}")))?;
                hashes.insert(platform, hash(text)?);
            }
            Ok(Hashes::Platforms(hashes))
        }
        (None, _) => Err((raw.referenced, "`sha256` holds no hash".to_owned())),
        (Some(_), Some(_)) => Err((raw.referenced, "`sha256` holds both `any` and `platforms`".to_owned())),
    }
}

fn place(at: Location) -> (u64, u64) {
    (at.line().max(1), at.column().max(1))
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, (Location, String)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 16, max_nodes: 200_000, max_aliases: 0, max_anchors: 0, },
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().unwrap_or(Location::UNKNOWN);
        let error = error.without_snippet();
        let text = error.to_string();
        // The place stands before the message already, and what a programmer could do about it is no user's concern.
        let reason = [" at line ", ", set DuplicateKeyPolicy", "; use from_str"]
            .iter()
            .fold(text.as_str(), |reason, behind| reason.split(behind).next().unwrap_or(reason))
            .to_owned();
        (at, reason)
    })
}
