//! A directory in memory: what the generator makes, what is compared with the disk, and a record source for tests that
//! check a record thousands of times.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;

use mur_seal::{Found, Place, RecordSource, SEAL_SUFFIX, StreamBytes, Unfit};

/// A regular file or a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file's bytes.
    File(Vec<u8>),
    /// A link's target, as it is stored.
    Link(String),
}

/// Files and links by their path, whose segments are joined by `/`. Directories are there where a path leads through
/// them; an empty one cannot be expressed, nor can the version control that holds the corpus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    /// An empty directory.
    pub fn new() -> Self {
        Tree::default()
    }

    /// Puts a file at `path`, in place of what stands there.
    pub fn file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.nodes.insert(path.into(), Node::File(bytes.into()));
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: &str, target: &str) {
        self.nodes.insert(path.into(), Node::Link(target.into()));
    }

    /// Takes away what stands at `path`.
    ///
    /// # Panics
    /// When nothing stands there.
    pub fn remove(&mut self, path: &str) -> Node {
        self.nodes.remove(path).unwrap_or_else(|| panic!("nothing at {path}"))
    }

    /// Gives what stands at `from` the path `to`.
    ///
    /// # Panics
    /// When nothing stands there.
    pub fn rename(&mut self, from: &str, to: &str) {
        let node = self.remove(from);
        self.nodes.insert(to.into(), node);
    }

    /// What stands at `path`; `None` also for a directory.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// The bytes of the file at `path`.
    ///
    /// # Panics
    /// When no file stands there.
    pub fn bytes(&self, path: &str) -> &[u8] {
        match self.get(path) {
            Some(Node::File(bytes)) => bytes,
            Some(Node::Link(_)) | None => panic!("no file at {path}"),
        }
    }

    /// Replaces the bytes of the file at `path` by what `change` makes of them.
    ///
    /// # Panics
    /// When no file stands there.
    pub fn edit(&mut self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.bytes(path).to_vec();
        change(&mut bytes);
        self.file(path, bytes);
    }

    /// Puts all of `other` below `directory`.
    pub fn graft(&mut self, directory: &str, other: Tree) {
        self.nodes.extend(other.nodes.into_iter().map(|(path, node)| (format!("{directory}/{path}"), node)));
    }

    /// Every path and what stands there, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Writes everything below `directory`, which is made when it is missing. Links are made on Unix alone.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        for (path, node) in self.iter() {
            let path = directory.join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            node.write_at(&path)?;
        }
        Ok(())
    }

    /// The record whose records directory is `records`, with conversations looked for in `conversations`.
    pub fn record<'a>(&'a self, records: &'a str, conversations: Option<&'a str>) -> TreeRecord<'a> {
        TreeRecord { tree: self, records, conversations }
    }

    fn find(&self, path: &str) -> Found<&[u8]> {
        let ancestors = path.match_indices('/').map(|(at, _)| &path[..at]);
        for ancestor in ancestors {
            match self.get(ancestor) {
                Some(Node::Link(_)) => return Found::Unfit(Unfit::Link),
                Some(Node::File(_)) => return Found::Absent,
                None => {}
            }
        }
        match self.get(path) {
            Some(Node::File(bytes)) => Found::File(bytes),
            Some(Node::Link(_)) => Found::Unfit(Unfit::Link),
            None if self.is_directory(path) => Found::Unfit(Unfit::Directory),
            None => Found::Absent,
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.nodes.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below))
    }
}

impl Node {
    /// Writes this file or link at `path`, where nothing, or an older form of it, stands.
    pub(crate) fn write_at(&self, path: &Path) -> io::Result<()> {
        match self {
            Node::File(bytes) => std::fs::write(path, bytes),
            #[cfg(unix)]
            Node::Link(target) => std::os::unix::fs::symlink(target, path),
            #[cfg(not(unix))]
            Node::Link(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// One record of a [`Tree`].
#[derive(Debug)]
pub struct TreeRecord<'a> {
    tree: &'a Tree,
    records: &'a str,
    conversations: Option<&'a str>,
}

impl<'a> TreeRecord<'a> {
    fn find(&self, place: Place<'_>, suffix: &str) -> Found<&'a [u8]> {
        match (place, self.conversations) {
            (Place::Record(name), _) => self.tree.find(&format!("{}/{name}{suffix}", self.records)),
            (Place::Conversation { record, context_id }, Some(conversations)) => {
                self.tree.find(&format!("{conversations}/{record}/{context_id}/conversation.jsonl{suffix}"))
            }
            (Place::Conversation { .. }, None) => Found::Absent,
        }
    }
}

impl<'a> RecordSource for TreeRecord<'a> {
    type Error = Infallible;
    type Stream = FileInTree<'a>;

    fn open_stream(&mut self, place: Place<'_>) -> Result<Found<FileInTree<'a>>, Infallible> {
        Ok(match self.find(place, "") {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(bytes) => Found::File(FileInTree { bytes, left: bytes }),
        })
    }

    fn read_seal(&mut self, place: Place<'_>) -> Result<Found<Vec<u8>>, Infallible> {
        Ok(match self.find(place, SEAL_SUFFIX) {
            Found::Absent => Found::Absent,
            Found::Unfit(kind) => Found::Unfit(kind),
            Found::File(bytes) => Found::File(bytes.to_vec()),
        })
    }

    fn has_conversations(&self) -> bool {
        self.conversations.is_some()
    }
}

/// The bytes of a file of a [`Tree`] that are still to be read.
#[derive(Debug)]
pub struct FileInTree<'a> {
    bytes: &'a [u8],
    left: &'a [u8],
}

impl StreamBytes for FileInTree<'_> {
    type Error = Infallible;

    fn read(&mut self, block: &mut [u8]) -> Result<usize, Infallible> {
        let (now, later) = self.left.split_at(block.len().min(self.left.len()));
        block[..now.len()].copy_from_slice(now);
        self.left = later;
        Ok(now.len())
    }

    fn read_again(&mut self, offset: u64, block: &mut [u8]) -> Result<usize, Infallible> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let read = block.len().min(rest.len());
        block[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_directories_are_not_read_as_files() {
        let mut tree = Tree::new();
        tree.file("record/trace.jsonl/inside", "x");
        tree.file("elsewhere/eval.jsonl", "x");
        tree.link("record/hooks", "../elsewhere");
        tree.link("record/completion.json", "../elsewhere/eval.jsonl");
        let record = tree.record("record", None);
        assert_eq!(record.find(Place::Record("trace.jsonl"), ""), Found::Unfit(Unfit::Directory));
        assert_eq!(record.find(Place::Record("hooks/eval.jsonl"), ""), Found::Unfit(Unfit::Link));
        assert_eq!(record.find(Place::Record("completion.json"), ""), Found::Unfit(Unfit::Link));
        assert_eq!(record.find(Place::Record("trace.jsonl/inside/deeper"), ""), Found::Absent);
    }
}
