//! From a manifest to the components that it names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Manifest, ManifestError, Source, SourceProblem, listed};

/// The component that is preferred where a directory holds several.
const PREFERRED: &str = "capsule.wasm";

impl Manifest {
    /// The capsule's own component: `capsule.wasm` beside the manifest, or else the only `*.wasm` there.
    ///
    /// # Errors
    /// There is none, there are several without a `capsule.wasm`, or the directory cannot be listed.
    pub fn component(&self) -> Result<PathBuf, ManifestError> {
        let directory = self.directory();
        let failed = |reason: String| ManifestError::Component { directory: directory.to_owned(), reason };
        match component_in(directory) {
            Ok(Found::One(path)) => Ok(path),
            Ok(Found::None(entries)) => {
                Err(failed(format!("no component was found beside the manifest, only {}", listed(&entries))))
            }
            Ok(Found::Several(names)) => Err(failed(format!(
                "several components were found beside the manifest, and none is {PREFERRED}: {}",
                listed(&names)
            ))),
            Err(cause) => Err(failed(format!("the directory cannot be listed: {cause}"))),
        }
    }

    /// The component of one of this manifest's artifacts: its source, or the component in its source.
    ///
    /// # Errors
    /// The source does not exist or cannot be looked at, is neither a `*.wasm` file nor a directory, or is a directory
    /// without `murmur.yaml` or without a component to choose.
    pub fn payload(&self, named: &Source) -> Result<PathBuf, ManifestError> {
        let source = self.directory().join(&named.path);
        let failed = |problem: SourceProblem, reason: String| ManifestError::Source {
            place: named.place.clone(),
            field: named.field.clone(),
            source_path: source.clone(),
            reason,
            problem,
        };
        let unreadable = |cause: io::Error| {
            if cause.kind() == io::ErrorKind::NotFound {
                failed(SourceProblem::Absent, "which does not exist".to_owned())
            } else {
                failed(SourceProblem::Unreadable(cause.kind()), format!("which cannot be read: {cause}"))
            }
        };

        let metadata = fs::metadata(&source).map_err(unreadable)?;
        if metadata.is_file() && is_wasm(&source) {
            return Ok(source);
        }
        if !metadata.is_dir() {
            let reason = "which is neither a component (*.wasm) nor a directory";
            return Err(failed(SourceProblem::Kind, reason.to_owned()));
        }
        if !source.join("murmur.yaml").is_file() {
            return Err(failed(SourceProblem::Absent, "a directory without murmur.yaml".to_owned()));
        }
        match component_in(&source).map_err(unreadable)? {
            Found::One(path) => Ok(path),
            Found::None(entries) => {
                let reason = format!("a directory without a component, with only {}", listed(&entries));
                Err(failed(SourceProblem::Absent, reason))
            }
            Found::Several(names) => {
                let reason = format!("a directory with several components: {}", listed(&names));
                Err(failed(SourceProblem::Shape, reason))
            }
        }
    }
}

enum Found {
    One(PathBuf),
    /// Everything that is there instead, sorted.
    None(Vec<String>),
    /// The components, sorted.
    Several(Vec<String>),
}

/// The rule for every artifact: the preferred component, or else the only one. Subdirectories do not count.
fn component_in(directory: &Path) -> io::Result<Found> {
    let preferred = directory.join(PREFERRED);
    if preferred.is_file() {
        return Ok(Found::One(preferred));
    }
    let mut components = Vec::new();
    let mut others = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        // Following links here is harmless: what is found is only read.
        let list = if is_wasm(&path) && path.is_file() { &mut components } else { &mut others };
        list.push(path);
    }
    Ok(match components.len() {
        0 => Found::None(names(&others)),
        1 => components.pop().map_or(Found::None(Vec::new()), Found::One),
        _ => Found::Several(names(&components)),
    })
}

fn is_wasm(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> =
        paths.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use tempfile::TempDir;

    use super::super::Reference;
    use super::*;

    /// A directory with the given files (those ending in `/` are directories) and a manifest with one artifact.
    fn project(files: &[&str], source: &str) -> (TempDir, Manifest) {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if file.ends_with('/') { fs::create_dir_all(path).unwrap() } else { fs::write(path, "").unwrap() }
        }
        let manifest = directory.path().join("murmur.yaml");
        let text = format!("name: demo\nversion: 1.0.0\nartifacts:\n  - {{name: tool, source: {source:?}}}\n");
        fs::write(&manifest, text).unwrap();
        let crate::manifest::Reading { warnings, outcome } = Manifest::load(&manifest);
        let manifest = outcome.unwrap();
        assert_eq!(warnings, []);
        (directory, manifest)
    }

    /// The outcome with the directory's own path left out.
    fn shown(directory: &TempDir, outcome: Result<PathBuf, ManifestError>) -> String {
        let text = match outcome {
            Ok(path) => path.display().to_string(),
            Err(error) => error.diagnostic().to_string(),
        };
        text.replace(&directory.path().display().to_string(), "DIR")
    }

    fn component(files: &[&str]) -> String {
        let (directory, manifest) = project(files, "unused");
        shown(&directory, manifest.component())
    }

    fn local(manifest: &Manifest) -> &Source {
        match &manifest.artifacts[0].reference {
            Reference::Local(source) => source,
            Reference::Installed(version) => panic!("installed: {}", version.as_str()),
        }
    }

    fn payload(files: &[&str], source: &str) -> String {
        let (directory, manifest) = project(files, source);
        shown(&directory, manifest.payload(local(&manifest)))
    }

    #[test]
    fn capsule_wasm_is_preferred_and_otherwise_the_only_component_is_taken() {
        assert_eq!(component(&["capsule.wasm", "other.wasm"]), "DIR/capsule.wasm");
        assert_eq!(component(&["mine.wasm", "notes.txt", "deeper/other.wasm"]), "DIR/mine.wasm");
        assert_eq!(component(&["mine.wasm", "capsule.wasm/"]), "DIR/mine.wasm");
    }

    #[test]
    fn without_one_component_the_refusal_names_what_was_found() {
        let many: Vec<String> = (0..9).map(|n| format!("c{n}.wasm")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let cases = [
            component(&[]),
            component(&["src/lib.rs", "Cargo.toml", "d.wasm/"]),
            component(&["b.wasm", "a.wasm"]),
            component(&many),
        ];
        insta::assert_snapshot!(cases.join("\n"), @r#"
        error[E-RUN-004]: DIR: no component was found beside the manifest, only murmur.yaml
          hint: a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm
        error[E-RUN-004]: DIR: no component was found beside the manifest, only Cargo.toml, d.wasm, murmur.yaml, src
          hint: a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm
        error[E-RUN-004]: DIR: several components were found beside the manifest, and none is capsule.wasm: a.wasm, b.wasm
          hint: a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm
        error[E-RUN-004]: DIR: several components were found beside the manifest, and none is capsule.wasm: c0.wasm, c1.wasm, c2.wasm, c3.wasm, c4.wasm, c5.wasm and 3 more
          hint: a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm
        "#);
    }

    #[test]
    fn a_source_is_a_component_or_a_directory_with_one() {
        assert_eq!(payload(&["tools/t.wasm"], "tools/t.wasm"), "DIR/tools/t.wasm");
        assert_eq!(payload(&["t/murmur.yaml", "t/x.wasm"], "t"), "DIR/t/x.wasm");
        assert_eq!(payload(&["t/murmur.yaml", "t/x.wasm", "t/capsule.wasm"], "./t/"), "DIR/./t/capsule.wasm");
    }

    #[test]
    fn an_absolute_source_is_taken_as_it_is() {
        let (elsewhere, _) = project(&["t.wasm"], "unused");
        let path = elsewhere.path().join("t.wasm");
        let (_directory, manifest) = project(&[], path.to_str().unwrap());
        assert_eq!(manifest.payload(local(&manifest)).unwrap(), path);
    }

    #[test]
    fn every_other_source_is_refused_with_its_place_in_the_manifest() {
        let cases = [
            payload(&[], "t.wasm"),
            payload(&["t.txt"], "t.txt"),
            payload(&["t/x.wasm"], "t"),
            payload(&["t/murmur.yaml"], "t"),
            payload(&["t/murmur.yaml", "t/x.wasm", "t/y.wasm"], "t"),
            payload(&["t.wasm"], "t.wasm/deeper"),
        ];
        insta::assert_snapshot!(cases.join("\n"), @r#"
        error[E-IO-001]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t.wasm, which does not exist
          hint: a source is a component (*.wasm), or a directory with murmur.yaml and one component
        error[E-MAN-003]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t.txt, which is neither a component (*.wasm) nor a directory
          hint: a source is a component (*.wasm), or a directory with murmur.yaml and one component
        error[E-IO-001]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t, a directory without murmur.yaml
          hint: a source is a component (*.wasm), or a directory with murmur.yaml and one component
        error[E-IO-001]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t, a directory without a component, with only murmur.yaml
          hint: a source is a component (*.wasm), or a directory with murmur.yaml and one component
        error[E-BLD-003]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t, a directory with several components: x.wasm, y.wasm
          hint: leave one component there, or name it capsule.wasm
        error[E-IO-003]: DIR/murmur.yaml:4:26: `artifacts[0].source` names DIR/t.wasm/deeper, which cannot be read: Not a directory (os error 20)
        "#);
    }
}
