//! The corpus as files: computing it, comparing it with what is committed, reading its cases.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use mur_seal::{CONVERSATIONS_DIR, PublicKey, RecordExpectation, RecordReport, verify_record};
use serde::{Deserialize, Serialize};

use crate::cases::{self, CaseSpec};
use crate::fixed::{HOST_PUBLIC_KEY, OTHER_PUBLIC_KEY, host_key, other_key};
use crate::record::RECORD_DIR;
use crate::tree::Tree;
use crate::vectors::Vectors;

/// The directories that the generator owns: whatever else stands in them is stale.
const GENERATED: [&str; 4] = ["cases", "golden", "keys", "vectors"];

/// The directory that holds the corpus. Every path of a case is relative to it.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Why the corpus could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The operating system refused something.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The library does not say what the rules say. Nothing was written.
    #[error("the library disagrees with the rules in {} cases:{}", .0.len(), .0.iter().map(|text| format!("\n{text}")).collect::<String>())]
    Disagreement(Vec<String>),
}

/// How a check is called: what stands in a case's `case.json`. Paths are relative to [`root`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// The records directory.
    pub records: String,
    /// The keys, each a file or 64 hexadecimal digits. With none, a command that requires a key ends with a usage error.
    pub keys: Vec<String>,
    /// The session that the caller names.
    pub session: Option<String>,
    /// The conversations directory that the caller names.
    pub conversations: Option<String>,
}

impl Arguments {
    /// The keys themselves, as a check is given them: those of files remember the path they are given by.
    ///
    /// # Panics
    /// When one is no public key.
    pub fn public_keys(&self) -> Vec<PublicKey> {
        let key = |name: &String| {
            PublicKey::from_hex(name).or_else(|_| Ok(PublicKey::load(&root().join(name))?.at_path(name.as_str())))
        };
        let keys = self.keys.iter().map(key).collect::<Result<_, mur_seal::KeyError>>();
        keys.unwrap_or_else(|error| panic!("{:?}: {error}", self.keys))
    }

    /// The arguments of `mur-verify` that ask for the expected output.
    pub fn command_line(&self) -> Vec<String> {
        let mut line = vec!["--json".into()];
        line.extend(self.keys.iter().flat_map(|key| ["--key".into(), key.clone()]));
        line.extend(self.session.iter().flat_map(|session| ["--session".into(), session.clone()]));
        line.extend(self.conversations.iter().flat_map(|path| ["--conversations".into(), path.clone()]));
        line.extend(["--".into(), self.records.clone()]);
        line
    }
}

/// One case of the corpus, as it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its directory, relative to [`root`]: `cases/front-cut`.
    pub name: String,
    /// What it shows.
    pub row: String,
    /// How the check is called.
    pub arguments: Arguments,
    /// The exit code of a command that checks this record and no other.
    pub exit: u8,
    /// What the command prints on stdout with `--json`, byte for byte: the library's report and a newline.
    pub stdout: String,
}

impl Case {
    /// The committed files of this case: its record in [`RECORD_DIR`], its conversations beside it.
    ///
    /// # Panics
    /// When they cannot be read.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let root = root().join(&self.name);
        for directory in [RECORD_DIR, CONVERSATIONS_DIR] {
            read_into(&mut tree, &root, directory).unwrap_or_else(|error| panic!("{error}"));
        }
        tree
    }
}

/// A case's `case.json`.
#[derive(Debug, Serialize, Deserialize)]
struct CaseFile {
    row: String,
    #[serde(flatten)]
    arguments: Arguments,
    exit: u8,
}

/// Every committed case, by name: those of `golden/` after those of `cases/`.
///
/// # Panics
/// When the corpus is not as the generator leaves it; it has to be written anew then.
pub fn cases() -> Vec<Case> {
    read_cases(&root()).unwrap_or_else(|error| panic!("{error}"))
}

/// The committed case of this name, for example `golden/every-stream`.
///
/// # Panics
/// When there is none.
pub fn case(name: &str) -> Case {
    read_case(&root(), name).unwrap_or_else(|error| panic!("{error}"))
}

fn read_cases(root: &Path) -> Result<Vec<Case>, CorpusError> {
    let mut cases = Vec::new();
    for group in ["cases", "golden"] {
        for name in names_in(&root.join(group))? {
            cases.push(read_case(root, &format!("{group}/{name}"))?);
        }
    }
    Ok(cases)
}

fn read_case(root: &Path, name: &str) -> Result<Case, CorpusError> {
    let path = root.join(name).join("case.json");
    let CaseFile { row, arguments, exit } = serde_json::from_str(&read_text(&path)?)
        .map_err(|error| CorpusError::Io { path, cause: io::Error::other(error) })?;
    let stdout = read_text(&root.join(name).join("expect.json"))?;
    Ok(Case { name: name.into(), row, arguments, exit, stdout })
}

fn names_in(directory: &Path) -> Result<Vec<String>, CorpusError> {
    let failed = |cause| CorpusError::Io { path: directory.into(), cause };
    let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
    let mut names: Vec<String> = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

fn read_text(path: &Path) -> Result<String, CorpusError> {
    std::fs::read_to_string(path).map_err(|cause| CorpusError::Io { path: path.into(), cause })
}

/// Computes the whole corpus.
///
/// # Errors
/// [`CorpusError::Disagreement`] when the library does not report what the cases expect.
pub fn generate() -> Result<Tree, CorpusError> {
    let mut corpus = Tree::new();
    corpus.file(HOST_PUBLIC_KEY, host_key().public_key().to_hex() + "\n");
    corpus.file(OTHER_PUBLIC_KEY, other_key().public_key().to_hex() + "\n");
    corpus.file("vectors/murmur-seal-1.json", pretty(&Vectors::compute()));
    let mut disagreements = Vec::new();
    let mut names = BTreeSet::new();
    for case in cases::all() {
        assert!(names.insert(case.name.clone()), "two cases are named {}", case.name);
        disagreements.extend(add_case(&mut corpus, case));
    }
    if disagreements.is_empty() { Ok(corpus) } else { Err(CorpusError::Disagreement(disagreements)) }
}

/// Adds a case's files, and returns how the library's report differs from what is expected.
fn add_case(corpus: &mut Tree, case: CaseSpec) -> Option<String> {
    let CaseSpec { name, row, tree, keys, session, conversations, expected } = case;
    let arguments = Arguments {
        records: format!("{name}/{RECORD_DIR}"),
        keys,
        session: session.map(String::from),
        conversations: conversations.map(|directory| format!("{name}/{directory}")),
    };
    let report = check(&tree, conversations, &arguments);
    let differences = expected.differences(&report);
    let file = CaseFile { row: row.into(), exit: report.verdict.exit_code(), arguments };
    corpus.graft(&name, tree);
    corpus.file(&format!("{name}/case.json"), pretty(&file));
    corpus.file(&format!("{name}/expect.json"), json(&report));
    (!differences.is_empty()).then(|| format!("  {name}: {row}\n    {}", differences.join("\n    ")))
}

/// The library's report on a case that is not on disk yet.
fn check(tree: &Tree, conversations: Option<&str>, arguments: &Arguments) -> RecordReport {
    let known = [(HOST_PUBLIC_KEY, host_key()), (OTHER_PUBLIC_KEY, other_key())];
    let key = |name: &String| match known.iter().find(|(path, _)| path == name) {
        Some((path, key)) => key.public_key().clone().at_path(*path),
        None => PublicKey::from_hex(name).unwrap_or_else(|error| panic!("{name}: {error}")),
    };
    let keys: Vec<PublicKey> = arguments.keys.iter().map(key).collect();
    let expectation = RecordExpectation {
        records_dir: &arguments.records,
        session: arguments.session.as_deref(),
        head: None,
        keys: &keys,
    };
    let Ok(report) = verify_record(&mut tree.record(RECORD_DIR, conversations), &expectation);
    report
}

/// What `--json` prints: one line.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| panic!("{error}")) + "\n"
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| panic!("{error}")) + "\n"
}

/// How the files below `root` differ from `corpus`, one line a file: missing, different or stale.
///
/// # Errors
/// When a file cannot be read.
pub fn differences(corpus: &Tree, root: &Path) -> Result<Vec<String>, CorpusError> {
    let found = read_generated(root)?;
    let mut differences = Vec::new();
    for (path, node) in corpus.iter() {
        match found.get(path) {
            None => differences.push(format!("missing: {path}")),
            Some(other) if other != node => differences.push(format!("different: {path}")),
            Some(_) => {}
        }
    }
    let stale = found.iter().filter(|(path, _)| corpus.get(path).is_none());
    differences.extend(stale.map(|(path, _)| format!("stale: {path}")));
    Ok(differences)
}

/// Makes the files below `root` those of `corpus`, and removes what is stale. Returns what was done, one line a file.
///
/// # Errors
/// When a file cannot be read, written or removed.
pub fn write(corpus: &Tree, root: &Path) -> Result<Vec<String>, CorpusError> {
    let failed = |path: &Path, cause| CorpusError::Io { path: path.into(), cause };
    let found = read_generated(root)?;
    let mut done = Vec::new();
    // First what is in the way, then what is new: a directory may have become a file.
    for (path, node) in found.iter() {
        if corpus.get(path) != Some(node) {
            remove(root, path)?;
            if corpus.get(path).is_none() {
                done.push(format!("removed {path}"));
            }
        }
    }
    for (path, node) in corpus.iter().filter(|(path, node)| found.get(path) != Some(*node)) {
        let target = root.join(path);
        let parent = target.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.and_then(|()| node.write_at(&target)).map_err(|cause| failed(&target, cause))?;
        done.push(format!("wrote {path}"));
    }
    Ok(done)
}

/// Removes a file, and the directories above it that are empty then.
fn remove(root: &Path, path: &str) -> Result<(), CorpusError> {
    let target = root.join(path);
    std::fs::remove_file(&target).map_err(|cause| CorpusError::Io { path: target.clone(), cause })?;
    for directory in target.ancestors().skip(1).take_while(|directory| *directory != root) {
        if std::fs::remove_dir(directory).is_err() {
            break; // not empty
        }
    }
    Ok(())
}

/// What stands in the generated directories.
fn read_generated(root: &Path) -> Result<Tree, CorpusError> {
    let mut tree = Tree::new();
    for directory in GENERATED {
        read_into(&mut tree, root, directory)?;
    }
    Ok(tree)
}

fn read_into(tree: &mut Tree, root: &Path, path: &str) -> Result<(), CorpusError> {
    let target = root.join(path);
    let failed = |cause| CorpusError::Io { path: target.clone(), cause };
    let metadata = match std::fs::symlink_metadata(&target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(failed(cause)),
    };
    if metadata.is_dir() {
        for name in names_in(&target)? {
            read_into(tree, root, &format!("{path}/{name}"))?;
        }
    } else if metadata.is_symlink() {
        tree.link(path, &std::fs::read_link(&target).map_err(failed)?.to_string_lossy());
    } else {
        tree.file(path, std::fs::read(&target).map_err(failed)?);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_corpus_is_what_the_generator_writes() {
        let corpus = generate().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(differences(&corpus, &root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn writing_makes_a_directory_the_corpus_and_removes_what_is_stale() {
        let directory = tempfile::tempdir().unwrap();
        let mut old = Tree::new();
        old.file("cases/old/record/trace.jsonl", "x");
        old.file("cases/kept/record", "a file that becomes a directory");
        old.file("src/not-generated", "x");
        old.write_to(directory.path()).unwrap();
        let mut new = Tree::new();
        new.file("cases/kept/record/trace.jsonl", "y");
        new.link("cases/kept/link", "record");
        assert_eq!(differences(&new, directory.path()).unwrap().len(), 4);
        write(&new, directory.path()).unwrap();
        assert_eq!(differences(&new, directory.path()).unwrap(), Vec::<String>::new());
        assert!(!directory.path().join("cases/old").exists());
        assert!(directory.path().join("src/not-generated").exists());
        assert_eq!(write(&new, directory.path()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_verdict_has_a_case() {
        let mut exits: Vec<u8> = cases().iter().map(|case| case.exit).collect();
        exits.sort_unstable();
        exits.dedup();
        assert_eq!(exits, [0, 1, 3, 4, 5]);
    }
}
