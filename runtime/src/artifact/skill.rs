//! From a folder or a zip with a `SKILL.md` to an archive: the text becomes `skill.md`, beside a manifest that is
//! generated unless its author wrote one.

use std::path::{Path, PathBuf};

use super::archive::{Archive, Limit, MANIFEST_ENTRY};
use super::build::{Built, Files, pack};
use super::error::ArtifactError;
use super::file::{self, Executable};
use crate::manifest::{ArtifactName, EntryPath, Kind, MANIFEST_MAX_BYTES, Packed, SKILL_FILE, Version};

/// The version of a skill that has none.
const FIRST_VERSION: &str = "0.1.0";

/// A skill that is to be packed.
#[derive(Debug, Clone)]
pub struct SkillRequest {
    /// The folder or zip.
    pub path: PathBuf,
    /// Its name; without one it is that of the folder or zip.
    pub name: Option<String>,
    /// Its version; without one it is `0.1.0`.
    pub version: Option<Version>,
    /// What a model is told of it; without one it is the text's first line.
    pub summary: Option<String>,
}

/// Packs a skill.
///
/// # Errors
/// There is no `SKILL.md`, or several; the name or the author's manifest cannot be used.
pub fn build_skill(request: &SkillRequest, limit: Limit) -> Result<Built, ArtifactError> {
    let mut skill =
        if request.path.is_dir() { Skill::of_folder(&request.path)? } else { Skill::of_zip(&request.path, limit)? };
    skill.left = limit.bytes();
    let manifest = match skill.authored(limit)? {
        Some(authored) => {
            skill.accept(&authored, request)?;
            authored
        }
        None => generated(request)?.into_bytes(),
    };
    pack(&request.path.join(MANIFEST_ENTRY), &manifest, &mut skill)
}

/// The manifest of a skill whose author wrote none.
fn generated(request: &SkillRequest) -> Result<String, ArtifactError> {
    let text = match &request.name {
        Some(name) => name.clone(),
        None => derived(&request.path),
    };
    let name: ArtifactName = text.parse().map_err(|reason| ArtifactError::SkillName { text, reason })?;
    // A JSON text is a YAML text in double quotes.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let version = quoted(request.version.as_ref().map_or(FIRST_VERSION, |version| version.as_str()));
    let mut manifest = format!("name: \"{name}\"\nversion: {version}\nruntime: skill\n");
    if let Some(summary) = &request.summary {
        manifest += &format!("description: {}\n", quoted(summary));
    }
    Ok(manifest)
}

/// A name from that of a folder or zip: what no name has becomes `-`, once, and not at the ends.
fn derived(path: &Path) -> String {
    // `.` and `..` have no name of their own.
    let path = if path.file_name().is_some() { path.to_owned() } else { path.canonicalize().unwrap_or_default() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = |c: char| if matches!(c, 'a'..='z' | '0'..='9') { c } else { '-' };
    let spelled: String = name.strip_suffix(".zip").unwrap_or(&name).chars().map(plain).collect();
    spelled.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// The files of a skill.
struct Skill<'p> {
    path: &'p Path,
    files: Place,
    /// The name of its text as it is there.
    text: String,
    /// Bytes that may still be packed.
    left: u64,
}

enum Place {
    Folder,
    /// An archive, and what stands before the skill's own paths in it.
    Zip(Archive, String),
}

impl<'p> Skill<'p> {
    fn of_folder(path: &'p Path) -> Result<Self, ArtifactError> {
        let text = the_text(path, file::names(path)?)?;
        Ok(Self { path, files: Place::Folder, text, left: 0 })
    }

    fn of_zip(path: &'p Path, limit: Limit) -> Result<Self, ArtifactError> {
        let bytes = file::read(path, limit.bytes())?;
        let archive = Archive::open(path.display().to_string(), bytes.into(), limit)?;
        let names = |prefix: &str| -> Vec<String> {
            let below = archive.entries().iter().filter_map(|entry| entry.path().as_str().strip_prefix(prefix));
            below.map(str::to_owned).collect()
        };
        // A zip of a folder holds that folder, and everything in it.
        let first = archive.entries().first().and_then(|entry| entry.path().as_str().split_once('/'));
        let prefix = match first.map(|(folder, _)| format!("{folder}/")) {
            Some(folder) if names(&folder).len() == archive.entries().len() => folder,
            Some(_) | None => String::new(),
        };
        let text = the_text(path, names(&prefix))?;
        Ok(Self { path, files: Place::Zip(archive, prefix), text, left: 0 })
    }

    /// The author's manifest.
    fn authored(&self, limit: Limit) -> Result<Option<Vec<u8>>, ArtifactError> {
        match &self.files {
            Place::Folder => {
                file::read_if_there(&self.path.join(MANIFEST_ENTRY), MANIFEST_MAX_BYTES.min(limit.bytes()))
            }
            Place::Zip(archive, prefix) => {
                let entry = archive.entry(&format!("{prefix}{MANIFEST_ENTRY}"));
                entry.map(|entry| archive.read(entry)).transpose()
            }
        }
    }

    /// What an author wrote is kept as it is: it has to be a skill's, and nothing can be said besides.
    fn accept(&self, manifest: &[u8], request: &SkillRequest) -> Result<(), ArtifactError> {
        let path = self.path.join(MANIFEST_ENTRY);
        let (packed, _) = Packed::parse(&path, manifest)?;
        let refused = |reason: String, hint| Err(ArtifactError::Skill { path: path.clone(), reason, hint });
        match &packed.kind {
            Kind::Skill => {}
            kind @ (Kind::Tool | Kind::Driver | Kind::Hook | Kind::Capsule | Kind::Other(_)) => {
                return refused(format!("it is the manifest of a {kind}"), "build it without --skill");
            }
        }
        if request.name.is_some() || request.version.is_some() || request.summary.is_some() {
            let reason = "there is a manifest already, so name, version and summary are those in it".to_owned();
            return refused(reason, "leave NAME, --version and --summary out, or remove the manifest");
        }
        Ok(())
    }
}

/// The one name that is `SKILL.md` in whatever case.
fn the_text(path: &Path, names: Vec<String>) -> Result<String, ArtifactError> {
    let mut texts = names.into_iter().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE));
    match (texts.next(), texts.next()) {
        (Some(text), None) => Ok(text),
        (None, _) => Err(ArtifactError::NoSkill { path: path.to_owned() }),
        (Some(one), Some(other)) => Err(ArtifactError::Payload {
            origin: path.display().to_string(),
            reason: format!("there are both {one} and {other}"),
            hint: "leave one of them".to_owned(),
        }),
    }
}

impl Files for Skill<'_> {
    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&mut self, path: &EntryPath) -> Result<(Vec<u8>, Executable), ArtifactError> {
        let name = if path.as_str() == SKILL_FILE { self.text.as_str() } else { path.as_str() };
        let absent = || ArtifactError::RequiredFile { path: path.to_string(), file: self.path.join(name) };
        let (bytes, executable) = match &self.files {
            Place::Folder => {
                let parts: Vec<&str> = name.split('/').collect();
                let read = file::read_below(self.path, &parts, self.left);
                read.map_err(|error| if error.is_absence() { absent() } else { error })?
            }
            Place::Zip(archive, prefix) => {
                let entry = archive.entry(&format!("{prefix}{name}")).ok_or_else(absent)?;
                (archive.read(entry)?, Executable::No)
            }
        };
        if path.as_str() == SKILL_FILE && std::str::from_utf8(&bytes).is_err() {
            return Err(ArtifactError::Payload {
                origin: self.path.display().to_string(),
                reason: format!("{} is not UTF-8", self.text),
                hint: "save it as UTF-8".to_owned(),
            });
        }
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok((bytes, executable))
    }

    fn components(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_derived_from_that_of_the_folder() {
        let names =
            ["/a/My Skill/", "notes.zip", "/a/--x__y--.ZIP", "Größe 2", "..."].map(|path| derived(Path::new(path)));
        assert_eq!(names, ["my-skill", "notes", "x-y", "gr-e-2", ""]);
    }
}
