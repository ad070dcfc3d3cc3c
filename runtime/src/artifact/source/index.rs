//! `artifacts-index.json`: what a directory or a registry has.
//!
//! ```json
//! {
//!   "schema_version": "1",
//!   "updated_at": "2026-11-30T15:00:00Z",
//!   "artifacts": [
//!     {
//!       "name": "word-count", "version": "1.0.0", "runtime": "tool",
//!       "description": "Counts words.", "tags": ["text"], "platforms": [],
//!       "assets": [{"file": "word-count-1.0.0.mur.zip", "sha256": "<hex>"}]
//!     }
//!   ]
//! }
//! ```
//!
//! `platforms` holds `[os, arch]` pairs or tags. `assets` is ours and may be left out: then the files are called
//! `<name>-<version>[-<platform>].mur.zip`, and have no hash. An asset's file is a path below the index's own place. What
//! else an index holds is for somebody else.

use serde::Deserialize;

use super::super::id::ArtifactId;
use super::super::platform::Platform;
use super::super::store::stem;
use crate::content::ContentHash;
use crate::manifest::EntryPath;

/// The index's name.
pub(super) const INDEX_FILE: &str = "artifacts-index.json";
/// The largest index that is read, in bytes.
pub(super) const INDEX_MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The schema that is read.
const SCHEMA: &str = "1";

/// An index that was read.
#[derive(Debug, Clone, Default)]
pub struct Index {
    entries: Vec<IndexEntry>,
}

/// One version of one artifact in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Which.
    pub id: ArtifactId,
    /// What it is for, or what its payload is.
    pub runtime: String,
    /// What is said of it.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Its files, one for each payload.
    pub assets: Vec<Asset>,
}

/// A file of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Where, below the index's place.
    pub file: EntryPath,
    /// For which platform.
    pub platform: Option<Platform>,
    /// Its hash, where the index says it.
    pub sha256: Option<ContentHash>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Raw {
    artifacts: Vec<RawEntry>,
}

/// Only the schema, so that another one is told as that.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AnySchema {
    schema_version: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawEntry {
    name: String,
    version: String,
    #[serde(default)]
    runtime: String,
    description: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    platforms: Vec<RawPlatform>,
    assets: Option<Vec<RawAsset>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a platform as [os, arch] or as a tag")]
enum RawPlatform {
    Tag(String),
    Parts([String; 2]),
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawAsset {
    file: String,
    platform: Option<String>,
    sha256: String,
}

impl Index {
    /// Reads an index. The reason of a refusal says where in it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let json = |error: serde_json::Error| {
            let said = error.to_string();
            // The place stands before the message already.
            let said = said.split(" at line ").next().unwrap_or(&said);
            format!("{INDEX_FILE}:{}:{}: {said}", error.line(), error.column())
        };
        let schema = serde_json::from_slice::<AnySchema>(text).map_err(json)?.schema_version;
        if schema.as_ref().and_then(serde_json::Value::as_str) != Some(SCHEMA) {
            let found = schema.map_or("missing".to_owned(), |schema| schema.to_string());
            return Err(format!("{INDEX_FILE}: `schema_version` is {found}, and \"{SCHEMA}\" is read"));
        }
        let raw: Raw = serde_json::from_slice(text).map_err(json)?;
        let entries = raw.artifacts.into_iter().enumerate();
        let entries = entries.map(|(index, entry)| {
            entry.checked().map_err(|reason| format!("{INDEX_FILE}: `artifacts[{index}]` {reason}"))
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }

    /// Everything in it.
    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// One version of one artifact.
    pub fn entry(&self, id: &ArtifactId) -> Option<&IndexEntry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }
}

impl RawEntry {
    fn checked(self) -> Result<IndexEntry, String> {
        let text = format!("{}@{}", self.name, self.version);
        let id: ArtifactId = text.parse().map_err(|reason| format!("is `{text}`, which {reason}"))?;
        if id.is_reserved() {
            return Err(format!("is `{text}`, whose version is a reserved word"));
        }
        let assets = match self.assets {
            Some(assets) => assets.into_iter().map(RawAsset::checked).collect::<Result<_, _>>()?,
            None => by_convention(&id, &self.platforms)?,
        };
        Ok(IndexEntry { id, runtime: self.runtime, description: self.description, tags: self.tags, assets })
    }
}

/// The files of an entry that does not list them. Platforms that nothing here runs on are left out.
fn by_convention(id: &ArtifactId, platforms: &[RawPlatform]) -> Result<Vec<Asset>, String> {
    let known = platforms.iter().filter_map(|platform| match platform {
        RawPlatform::Tag(tag) => tag.parse().ok(),
        RawPlatform::Parts(parts) => parts.join("-").parse().ok(),
    });
    let payloads: Vec<Option<Platform>> = if platforms.is_empty() { vec![None] } else { known.map(Some).collect() };
    let asset = |platform| {
        let name = format!("{}{}", stem(id, platform), super::super::archive::ARCHIVE_SUFFIX);
        let file = name.parse().map_err(|reason| format!("would have the file `{name}`, whose path {reason}"))?;
        Ok(Asset { file, platform, sha256: None })
    };
    payloads.into_iter().map(asset).collect()
}

impl RawAsset {
    fn checked(self) -> Result<Asset, String> {
        let Self { file, platform, sha256 } = self;
        let path = file.parse().map_err(|reason| format!("names the file `{file}`, whose path {reason}"))?;
        let platform = platform
            .map(|tag| tag.parse().map_err(|reason| format!("names the platform `{tag}`, which {reason}")))
            .transpose()?;
        let sha256 = sha256.parse().map_err(|reason| format!("has a file `{file}` whose hash {reason}"))?;
        Ok(Asset { file: path, platform, sha256: Some(sha256) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_or_follow_from_name_version_and_platforms() {
        let index = Index::parse(
            br#"{"schema_version": "1", "updated_at": "x", "more": 1, "artifacts": [
                {"name": "a", "version": "1.0.0", "runtime": "tool", "tags": ["t"], "platforms": []},
                {"name": "n", "version": "2", "runtime": "tool", "platforms": [["linux", "x86_64"], "darwin-aarch64", "plan9-mips"]},
                {"name": "l", "version": "3", "runtime": "tool", "assets": [
                    {"file": "deep/l.mur.zip", "platform": "linux-x86_64",
                     "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]}
            ]}"#,
        )
        .unwrap();
        let files: Vec<&str> =
            index.entries().iter().flat_map(|entry| &entry.assets).map(|asset| asset.file.as_str()).collect();
        assert_eq!(
            files,
            ["a-1.0.0.mur.zip", "n-2-linux-x86_64.mur.zip", "n-2-darwin-aarch64.mur.zip", "deep/l.mur.zip"]
        );
    }

    #[test]
    fn what_is_no_index_is_refused_with_its_place() {
        let texts = [
            "",
            "{\"schema_version\": \"1\",\n \"artifacts\": [1]}",
            "{\"artifacts\": []}",
            "{\"schema_version\": 2, \"artifacts\": []}",
            "{\"schema_version\": \"1\"}",
            "{\"schema_version\": \"1\", \"artifacts\": [{\"name\": \"A\", \"version\": \"1\"}]}",
            "{\"schema_version\": \"1\", \"artifacts\": [{\"name\": \"a\", \"version\": \"latest\"}]}",
            "{\"schema_version\": \"1\", \"artifacts\": [{\"name\": \"a\", \"version\": \"../..\"}]}",
            "{\"schema_version\": \"1\", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", \"assets\": [{\"file\": \"../x\", \"sha256\": \"\"}]}]}",
            "{\"schema_version\": \"1\", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", \"assets\": [{\"file\": \"x\", \"sha256\": \"00\"}]}]}",
        ];
        let said = texts.map(|text| Index::parse(text.as_bytes()).unwrap_err());
        insta::assert_snapshot!(said.join("\n"), @r#"
        artifacts-index.json:1:0: EOF while parsing a value
        artifacts-index.json:2:16: invalid type: integer `1`, expected an object
        artifacts-index.json: `schema_version` is missing, and "1" is read
        artifacts-index.json: `schema_version` is 2, and "1" is read
        artifacts-index.json:1:23: missing field `artifacts`
        artifacts-index.json: `artifacts[0]` is `A@1`, which has a name that holds `A`, and only a-z, 0-9 and `-` are allowed
        artifacts-index.json: `artifacts[0]` is `a@latest`, whose version is a reserved word
        artifacts-index.json: `artifacts[0]` is `a@../..`, which has a version that cannot be part of a file's name
        artifacts-index.json: `artifacts[0]` names the file `../x`, whose path holds `.` or `..`
        artifacts-index.json: `artifacts[0]` has a file `x` whose hash is not 64 hexadecimal digits in lower case
        "#);
    }
}
