//! The `.meta.json` beside a stored archive: what lists and searches need, without opening the archive.
//!
//! It is derived from the archive's bytes each time they are written, and only ever repeats them: where the two differ,
//! the archive is right.

use serde::{Deserialize, Serialize};

use super::contracts::Contracts;
use super::platform::Platform;

/// An artifact in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What its payload is: `wasm`, `native` or `static`.
    pub runtime: String,
    /// What it is for: `tool`, `driver`, `hook`, `skill`, `capsule`.
    #[serde(default)]
    pub artifact_runtime: String,
    /// Operating system and processor of a native payload.
    #[serde(default)]
    pub platforms: Vec<[String; 2]>,
    /// What a model is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What a component imports and exports; absent for every other payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wit_contracts: Option<Contracts>,
}

#[derive(Serialize, Deserialize)]
struct File<M> {
    meta: M,
}

impl Metadata {
    /// The platforms that are known, as their tags.
    pub fn tags_of_platforms(&self) -> Vec<Platform> {
        self.platforms.iter().filter_map(|parts| parts.join("-").parse().ok()).collect()
    }

    /// The file's text.
    pub(super) fn to_text(&self) -> String {
        // A struct of texts and lists always has a JSON form.
        let mut text = serde_json::to_string_pretty(&File { meta: self }).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The text of a file; `None` where it is none.
    pub(super) fn of_text(text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<File<Self>>(text).ok().map(|file| file.meta)
    }
}
