//! Records directories in trees of directories.
//!
//! Everything below a tree's root is searched, without following links, also what lies below a record: `mur` puts the
//! sessions of a working directory, and those of delegated children, in a directory `.murmur` there, and a planted
//! `trace.jsonl` must not hide what lies below it. The rest of what lies below a record is where its capsule may write. A
//! record found there is found all the same, and is said to be *inside* the other one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mur_seal::{COMPLETION_STREAM, DirectoryError, EVAL_STREAM, SEAL_SUFFIX, TRACE_STREAM};
use walkdir::{DirEntry, WalkDir};

/// Below a record, what the runtime keeps: the sessions of this directory and of delegated children.
const RUNTIME_DIR: &str = ".murmur";

/// What a search comes upon.
#[derive(Debug)]
pub(crate) enum Find {
    /// A records directory.
    Record(Located),
    /// A part of a tree that could not be searched.
    Unsearched(FindError),
    /// The end of a tree in which no record was.
    Nothing(PathBuf),
}

/// A records directory, and the one that it lies inside of, in the part that a capsule may write.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub(crate) path: PathBuf,
    pub(crate) inside: Option<PathBuf>,
}

impl Located {
    /// A directory that the caller named.
    pub(crate) fn named(path: &Path) -> Self {
        Located { path: path.into(), inside: None }
    }
}

/// Why a part of a tree could not be searched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    /// The tree itself.
    #[error(transparent)]
    Root(#[from] DirectoryError),
    /// A directory in it.
    #[error("{}: {cause}; what lies below it was not searched", path.display())]
    Below { path: PathBuf, cause: io::Error },
}

/// The records directories of each tree in turn, those of one in the order of their paths, a record before what lies below
/// it.
pub(crate) fn records_in(roots: &[PathBuf]) -> impl Iterator<Item = Find> + Send + '_ {
    roots.iter().flat_map(|root| Tree::open(root))
}

struct Tree {
    root: PathBuf,
    state: State,
}

enum State {
    Failed(DirectoryError),
    Walking { walk: Box<walkdir::IntoIter>, around: Vec<Around>, outcome: Outcome },
    Over,
}

/// What a walk has come upon so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Nothing,
    Something,
}

/// A record that the walk is below of.
struct Around {
    depth: usize,
    path: PathBuf,
    inside: Option<PathBuf>,
}

impl Tree {
    fn open(root: &Path) -> Self {
        let state = match fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => State::Walking {
                walk: Box::new(WalkDir::new(root).follow_links(false).sort_by_file_name().into_iter()),
                around: Vec::new(),
                outcome: Outcome::Nothing,
            },
            Ok(_) => State::Failed(DirectoryError::NotADirectory(root.into())),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                State::Failed(DirectoryError::Missing(root.into()))
            }
            Err(cause) => State::Failed(DirectoryError::Unreadable { path: root.into(), cause }),
        };
        Tree { root: root.into(), state }
    }
}

impl Iterator for Tree {
    type Item = Find;

    fn next(&mut self) -> Option<Find> {
        match &mut self.state {
            State::Over => None,
            State::Failed(_) => match std::mem::replace(&mut self.state, State::Over) {
                State::Failed(error) => Some(Find::Unsearched(error.into())),
                State::Walking { .. } | State::Over => None,
            },
            State::Walking { walk, around, outcome } => {
                for entry in walk.by_ref() {
                    let found = match entry {
                        Ok(entry) => record_at(&entry, around).map(Find::Record),
                        Err(error) => Some(Find::Unsearched(unsearched(error, &self.root))),
                    };
                    if found.is_some() {
                        *outcome = Outcome::Something;
                        return found;
                    }
                }
                let outcome = *outcome;
                self.state = State::Over;
                (outcome == Outcome::Nothing).then(|| Find::Nothing(self.root.clone()))
            }
        }
    }
}

/// The record that `entry` is, if it is one. `around` is brought up to where the walk is.
fn record_at(entry: &DirEntry, around: &mut Vec<Around>) -> Option<Located> {
    // Only the root may be a link, and it leads to a directory.
    if !entry.file_type().is_dir() && entry.depth() > 0 {
        return None;
    }
    while around.last().is_some_and(|record| record.depth >= entry.depth()) {
        around.pop();
    }
    let path = entry.path();
    if !holds_record(path) {
        return None;
    }
    let inside = around.last().and_then(|record| match &record.inside {
        Some(outer) => Some(outer.clone()),
        None => (!is_in_runtime_dir(path, &record.path)).then(|| record.path.clone()),
    });
    around.push(Around { depth: entry.depth(), path: path.into(), inside: inside.clone() });
    Some(Located { path: path.into(), inside })
}

fn is_in_runtime_dir(path: &Path, record: &Path) -> bool {
    let below = path.strip_prefix(record).unwrap_or(path);
    below.components().next().is_some_and(|first| first.as_os_str() == RUNTIME_DIR)
}

/// Whether anything stands where a stream or a seal would: a record whose files were replaced by links is one still.
fn holds_record(directory: &Path) -> bool {
    let stands = |name: &str, suffix: &str| match fs::symlink_metadata(directory.join(format!("{name}{suffix}"))) {
        Ok(_) => true,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => false,
        // What may not be looked at may be there, and the check says what is in the way. Where not even the names may be
        // read, the walk says it.
        Err(_) => fs::read_dir(directory).is_ok(),
    };
    [TRACE_STREAM, COMPLETION_STREAM, EVAL_STREAM].iter().any(|name| stands(name, "") || stands(name, SEAL_SUFFIX))
}

fn unsearched(error: walkdir::Error, root: &Path) -> FindError {
    let path = error.path().unwrap_or(root).to_path_buf();
    // Only a loop of links is no I/O error, and no link is followed.
    let cause = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of links"));
    FindError::Below { path, cause }
}
