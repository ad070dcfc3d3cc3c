//! From an author's directory to an archive: `murmur.yaml` and the files that it requires, and nothing else.

use std::path::{Path, PathBuf};

use super::archive::{ARCHIVE_SUFFIX, Limit, MANIFEST_ENTRY, Packing};
use super::error::ArtifactError;
use super::file;
use super::id::ArtifactId;
use super::package::{PREFERRED_COMPONENT, Package, payload_name};
use super::store::stem;
use crate::content::Content;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::{EntryPath, Execution, MANIFEST_MAX_BYTES, Packed, Place};

/// Names of files that only a build needs.
const BUILD_FILES: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "rust-toolchain.toml",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "go.mod",
    "go.sum",
    "Makefile",
    "CMakeLists.txt",
    "pyproject.toml",
];
/// Directories that only a build needs.
const BUILD_DIRECTORIES: [&str; 4] = ["target", "node_modules", ".git", ".cargo"];
/// Endings of sources that are compiled.
const SOURCES: [&str; 7] = [".rs", ".go", ".c", ".cpp", ".h", ".zig", ".wit"];

/// An archive that was made and not written yet.
#[derive(Debug, Clone)]
pub struct Built {
    /// What it is.
    pub id: ArtifactId,
    /// The archive's bytes.
    pub bytes: Vec<u8>,
    /// What its author should know.
    pub warnings: Vec<Diagnostic>,
}

impl Built {
    /// The name that the archive's file has unless it is given another.
    pub fn file_name(&self) -> String {
        format!("{}{ARCHIVE_SUFFIX}", stem(&self.id, None))
    }

    /// Writes the archive into `output`: a directory, in which it gets its own name, or else the file itself. Where it is.
    ///
    /// # Errors
    /// It cannot be written; nothing of it is there then.
    pub fn write(&self, output: &Path) -> Result<PathBuf, ArtifactError> {
        let path = if output.is_dir() { output.join(self.file_name()) } else { output.to_owned() };
        file::replace(&path, &self.bytes)?;
        Ok(path)
    }
}

/// Packs the artifact in `directory`.
///
/// # Errors
/// Its manifest cannot be used, a required file cannot be packed, or the payload does not have the shape that the
/// manifest promises. Nothing is written in any case.
pub fn build(directory: &Path, limit: Limit) -> Result<Built, ArtifactError> {
    let path = directory.join(MANIFEST_ENTRY);
    let manifest = manifest_at(&path)?;
    let mut sources = Sources { directory, limit, left: limit.bytes() };
    pack(&path, &manifest, &mut sources)
}

/// The archive that [`build`] makes in `directory` unless it is told otherwise.
///
/// # Errors
/// There is no manifest that can be used, or no such archive.
pub fn built_archive(directory: &Path) -> Result<PathBuf, ArtifactError> {
    let path = directory.join(MANIFEST_ENTRY);
    let (packed, _) = Packed::parse(&path, &manifest_at(&path)?)?;
    let id = ArtifactId::of(&packed.name, &packed.version)?;
    let archive = directory.join(format!("{}{ARCHIVE_SUFFIX}", stem(&id, None)));
    if archive.is_file() { Ok(archive) } else { Err(ArtifactError::NotBuilt { id, archive }) }
}

fn manifest_at(path: &Path) -> Result<Vec<u8>, ArtifactError> {
    let there = file::read_if_there(path, MANIFEST_MAX_BYTES)?;
    there.ok_or_else(|| ArtifactError::NoManifest { path: path.to_owned() })
}

/// Where the files come from that a manifest requires.
pub(super) trait Files {
    /// What messages call it.
    fn shown(&self) -> String;
    /// The file at a path.
    fn read(&mut self, path: &EntryPath) -> Result<(Vec<u8>, file::Executable), ArtifactError>;
    /// The components that could have been meant where none is packed.
    fn components(&self) -> Vec<String>;
}

/// Packs `manifest`, which stands at `path`, with its files.
pub(super) fn pack(path: &Path, manifest: &[u8], files: &mut impl Files) -> Result<Built, ArtifactError> {
    let (packed, unknown) = Packed::parse(path, manifest)?;
    let id = ArtifactId::new(packed.name.clone(), packed.version.clone())
        .map_err(|reason| ArtifactError::Id { text: format!("{}@{}", packed.name, packed.version.as_str()), reason })?;
    if let Some(Err(problem)) = &packed.upstream_auth {
        return Err(problem.clone().into());
    }
    let required: Vec<&EntryPath> =
        packed.requires_files.iter().filter(|path| path.as_str() != MANIFEST_ENTRY).collect();
    let names: Vec<&str> = required.iter().map(|path| path.as_str()).collect();
    payload_name(&files.shown(), &packed, &names).map_err(|error| with_candidates(error, &packed, &names, files))?;

    let mut packing = Packing::new(manifest.to_owned());
    for path in required {
        let (bytes, executable) = files.read(path)?;
        packing.add(path.clone(), bytes, executable);
    }
    let bytes = packing.write()?;
    // What was made is read as everybody will read it.
    let content = Content::new(bytes.clone());
    Package::open(files.shown(), content, Limit::of(u64::MAX)).map_err(|error| {
        if let ArtifactError::Archive { origin, reason } = error {
            let hint = "rename one of the files, or leave it out of `requires_files`".to_owned();
            ArtifactError::Payload { origin, reason, hint }
        } else {
            error
        }
    })?;

    let mut warnings: Vec<Diagnostic> = unknown.iter().map(|key| key.diagnostic()).collect();
    warnings.extend(Packed::literal_credentials(path, manifest).into_iter().map(|(place, field)| {
        let text = format!(
            "{place}: `{field}` looks like a credential written down as it is; it is packed, and whoever gets the \
             archive gets it"
        );
        Diagnostic::new(Code::LiteralCredential, text)
    }));
    warnings.extend(lints(&packed));
    Ok(Built { id, bytes, warnings })
}

/// Where no component is packed, those that stand there are what an author looks for.
fn with_candidates(error: ArtifactError, packed: &Packed, names: &[&str], files: &impl Files) -> ArtifactError {
    if packed.execution != Execution::Wasm || names.iter().any(|name| name.ends_with(".wasm")) {
        return error;
    }
    if let ArtifactError::Payload { origin, reason, hint } = error {
        let hint = match files.components()[..] {
            [] => hint,
            [ref one] => format!("add it to the manifest: `requires_files: [{one}]`"),
            ref several => format!("add one of them to `requires_files`: {}", several.join(", ")),
        };
        ArtifactError::Payload { origin, reason, hint }
    } else {
        error
    }
}

fn lints(packed: &Packed) -> Vec<Diagnostic> {
    let names: Vec<&str> = packed.requires_files.iter().map(|path| path.as_str()).collect();
    let has_preferred = packed.execution == Execution::Wasm && names.contains(&PREFERRED_COMPONENT);
    let mut warnings = Vec::new();
    for (path, place) in packed.requires_files.iter().zip(&packed.file_places) {
        warnings.extend(lint(path, place, has_preferred.then_some(PREFERRED_COMPONENT)));
    }
    warnings
}

/// What is odd about packing a file, where `run` is the component that is run.
fn lint(path: &EntryPath, place: &Place, run: Option<&str>) -> Option<Diagnostic> {
    let warning = |code, text: String| Some(Diagnostic::new(code, format!("{place}: {text}")));
    let name = path.parts().last().unwrap_or_default();
    if path.as_str() == MANIFEST_ENTRY {
        return warning(Code::RedundantFile, format!("`{path}` is packed anyway and need not be required"));
    }
    match run {
        Some(run) if path.is_root_component() && path.as_str() != run => {
            return warning(
                Code::ExtraComponent,
                format!("`{path}` is packed beside `{run}`, which is the one that is run"),
            );
        }
        Some(_) | None => {}
    }
    let first = path.parts().next().filter(|_| path.is_nested()).unwrap_or_default();
    let is_input = BUILD_FILES.contains(&name)
        || BUILD_DIRECTORIES.contains(&first)
        || SOURCES.iter().any(|ending| name.ends_with(ending));
    if is_input {
        return warning(Code::BuildInput, format!("`{path}` is only needed to build, and is packed"));
    }
    None
}

/// An author's directory.
struct Sources<'d> {
    directory: &'d Path,
    limit: Limit,
    /// Bytes that may still be packed.
    left: u64,
}

impl Files for Sources<'_> {
    fn shown(&self) -> String {
        self.directory.display().to_string()
    }

    fn read(&mut self, path: &EntryPath) -> Result<(Vec<u8>, file::Executable), ArtifactError> {
        let parts: Vec<&str> = path.parts().collect();
        let (bytes, executable) = file::read_below(self.directory, &parts, self.left).map_err(|error| {
            if error.is_absence() {
                let file = self.directory.join(path.as_str());
                ArtifactError::RequiredFile { path: path.to_string(), file }
            } else if let ArtifactError::TooLarge { .. } = error {
                let what = format!("{}, with `{path}`,", self.directory.display());
                ArtifactError::TooLarge { what, most: self.limit.bytes() }
            } else {
                error
            }
        })?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok((bytes, executable))
    }

    fn components(&self) -> Vec<String> {
        let names = file::names(self.directory).unwrap_or_default();
        names.into_iter().filter(|name| name.ends_with(".wasm")).collect()
    }
}
