//! Which paths are closed to guests, because they are the runtime's own or were given to read only, and which
//! operations would disturb them.
//!
//! The rules are over paths of the host, real ones without links, and are asked about an *entry*: a
//! directory that is held open, and a name in it. However a guest came to that directory, by `..` or over
//! links, the directory has one real path, so there is nothing here to outwit by spelling.
//!
//! Names are not the whole truth: a file may have several. An operation that alters an existing file is
//! therefore also judged by the file itself, wherever it has more than one name.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The paths that guests may read but not change.
///
/// The guest may not write, create, empty, rename, remove, link or date what is protected, nor rename, remove
/// or replace a directory that leads there. It may make such a directory where there is none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    rules: Vec<Rule>,
}

/// One rule over one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) reason: Reason,
    /// A real path.
    directory: PathBuf,
    entry: Entry,
}

/// Why a path is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It belongs to the session's record.
    Record,
    /// The manifest gives it to read only.
    ReadOnly,
}

impl Reason {
    /// The reason in a record, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "the path belongs to the session's record",
            Self::ReadOnly => "the path is read-only (capabilities.filesystem.read_only)",
        }
    }
}

/// What a rule protects in its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(OsString),
    Tree(OsString),
    Prefix(OsString),
}

impl ProtectedPaths {
    /// Nothing is protected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Protects one file, which need not exist yet. `rule` names the rule in what is reported.
    ///
    /// # Errors
    /// When the path cannot be made absolute, or ends in no name.
    pub fn with_file(self, rule: impl Into<String>, path: impl AsRef<Path>) -> io::Result<Self> {
        self.with_named(rule.into(), Reason::Record, path.as_ref(), Entry::File)
    }

    /// Protects a directory, which need not exist yet, and everything in it.
    ///
    /// # Errors
    /// As for [`with_file`](Self::with_file).
    pub fn with_tree(self, rule: impl Into<String>, path: impl AsRef<Path>) -> io::Result<Self> {
        self.with_named(rule.into(), Reason::Record, path.as_ref(), Entry::Tree)
    }

    /// Protects every file in a directory whose name begins so.
    ///
    /// # Errors
    /// When the directory's path cannot be made absolute.
    pub fn with_prefix(
        self,
        rule: impl Into<String>,
        directory: impl AsRef<Path>,
        prefix: impl Into<OsString>,
    ) -> io::Result<Self> {
        let directory = real_path(directory.as_ref())?;
        Ok(self.with(rule.into(), Reason::Record, directory, Entry::Prefix(prefix.into())))
    }

    /// Protects a file or a directory and everything in it, for the reason that it was given to read only.
    ///
    /// # Errors
    /// As for [`with_file`](Self::with_file).
    pub fn with_read_only(self, rule: impl Into<String>, path: impl AsRef<Path>) -> io::Result<Self> {
        self.with_named(rule.into(), Reason::ReadOnly, path.as_ref(), Entry::Tree)
    }

    /// These rules and others.
    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.rules.extend_from_slice(&others.rules);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Protects what has this path, and what a link in that place leads to now.
    fn with_named(self, rule: String, reason: Reason, path: &Path, entry: fn(OsString) -> Entry) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a protected path must end in a name"));
        };
        let directory = real_path(directory)?;
        let rules = self.with(rule.clone(), reason, directory, entry(name.to_owned()));
        // Where a link stands there, guests that follow it, or name what it leads to, are in another place.
        let mut rules = match path.canonicalize() {
            Ok(target) => match (target.parent(), target.file_name()) {
                (Some(directory), Some(name)) => rules.with(rule, reason, directory.to_owned(), entry(name.to_owned())),
                (_, _) => rules,
            },
            Err(_) => rules,
        };
        rules.rules.dedup();
        Ok(rules)
    }

    fn with(mut self, name: String, reason: Reason, directory: PathBuf, entry: Entry) -> Self {
        self.rules.push(Rule { name, reason, directory, entry });
        self
    }

    /// The rule that forbids an operation on an entry of a directory. Blocks on the file system.
    ///
    /// # Errors
    /// When that cannot be told; the operation must then not take place.
    pub(crate) fn forbid_at(&self, operation: Operation, directory: &File, name: &str) -> io::Result<Option<&Rule>> {
        let directory = path_of(directory)?;
        if let Some(rule) = self.by_name(operation, &directory, name.as_ref()) {
            return Ok(Some(rule));
        }
        match fs::symlink_metadata(directory.join(name)) {
            Ok(metadata) => self.by_identity(&metadata),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The rule that forbids an operation on a file or directory that is open already. Blocks on the file
    /// system.
    ///
    /// # Errors
    /// As for [`forbid_at`](Self::forbid_at).
    pub(crate) fn forbid_open(&self, operation: Operation, file: &File) -> io::Result<Option<&Rule>> {
        let path = path_of(file)?;
        let by_name = match (path.parent(), path.file_name()) {
            (Some(directory), Some(name)) => self.by_name(operation, directory, name),
            (_, _) => None,
        };
        match by_name {
            Some(rule) => Ok(Some(rule)),
            None => self.by_identity(&file.metadata()?),
        }
    }

    /// The rule that forbids an operation on an entry, by its real path.
    fn by_name(&self, operation: Operation, directory: &Path, name: &OsStr) -> Option<&Rule> {
        self.rules.iter().find(|rule| match rule.relation(directory, name) {
            Some(Relation::Protected) => true,
            Some(Relation::Ancestor) => operation.disturbs_what_lies_below(),
            None => false,
        })
    }

    /// The rule that protects this very file under another name.
    fn by_identity(&self, metadata: &Metadata) -> io::Result<Option<&Rule>> {
        if !may_have_other_names(metadata) {
            return Ok(None);
        }
        for rule in &self.rules {
            if rule.holds(Identity::of(metadata))? {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }
}

/// How an entry stands to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// It is what the rule protects, or lies in it.
    Protected,
    /// It leads to what the rule protects.
    Ancestor,
}

impl Rule {
    fn relation(&self, directory: &Path, name: &OsStr) -> Option<Relation> {
        let here = directory == self.directory;
        let protected = match &self.entry {
            Entry::File(file) => here && name == file,
            Entry::Tree(tree) => here && name == tree || directory.starts_with(self.directory.join(tree)),
            Entry::Prefix(prefix) => here && begins_with(name, prefix),
        };
        if protected {
            Some(Relation::Protected)
        } else if self.directory.starts_with(directory.join(name)) {
            Some(Relation::Ancestor)
        } else {
            None
        }
    }

    /// Whether one of the files that the rule protects now is this one.
    fn holds(&self, identity: Identity) -> io::Result<bool> {
        match &self.entry {
            Entry::File(name) => is(&self.directory.join(name), identity),
            Entry::Tree(name) => tree_holds(self.directory.join(name), identity),
            Entry::Prefix(prefix) => {
                for path in entries(&self.directory)? {
                    let matches = path.file_name().is_some_and(|name| begins_with(name, prefix));
                    if matches && is(&path, identity)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

fn begins_with(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
}

/// A file, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Whether a file may be known under a name that no rule matches, although it is protected: by a hard link,
/// or on a file system that does not tell cases apart.
fn may_have_other_names(metadata: &Metadata) -> bool {
    cfg!(target_vendor = "apple") || (!metadata.is_dir() && metadata.nlink() > 1)
}

/// Whether this path leads to that file, links not followed.
fn is(path: &Path, identity: Identity) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Identity::of(&metadata) == identity),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn tree_holds(root: PathBuf, identity: Identity) -> io::Result<bool> {
    let mut left = vec![root];
    while let Some(path) = left.pop() {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if Identity::of(&metadata) == identity => return Ok(true),
            Ok(metadata) if metadata.is_dir() => left.extend(entries(&path)?),
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// What a directory holds, nothing if there is none.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path without links, as far as it exists.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    // The parent of a bare file name.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let path = std::path::absolute(path)?;
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            // An ancestor is a prefix by definition.
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return Ok(real.join(rest));
        }
    }
    Ok(path)
}

/// The real path of an open file or directory.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The real path of an open file or directory.
#[cfg(target_vendor = "apple")]
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// A change that a guest asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a file to write.
    Write,
    /// Emptying a file.
    Truncate,
    /// Making a file.
    Create,
    /// Making a directory.
    CreateDirectory,
    /// Removing a directory.
    RemoveDirectory,
    /// Removing a file or a link.
    Unlink,
    /// Moving something away, or onto it.
    Rename,
    /// Giving a file another name, or something the name of another file.
    Link,
    /// Making a symbolic link.
    Symlink,
    /// Changing when something was read or changed last.
    SetTimes,
}

impl Operation {
    /// Its name in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Create => "create",
            Self::CreateDirectory => "create_directory",
            Self::RemoveDirectory => "remove_directory",
            Self::Unlink => "unlink",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Symlink => "symlink",
            Self::SetTimes => "set_times",
        }
    }

    /// Whether, done to a directory or in the place of one, it changes what paths through it lead to. Making
    /// a directory does not: where it succeeds there was none, and the runtime would have made the same.
    fn disturbs_what_lies_below(self) -> bool {
        match self {
            Self::Create | Self::RemoveDirectory | Self::Unlink | Self::Rename | Self::Link | Self::Symlink => true,
            Self::Write | Self::Truncate | Self::CreateDirectory | Self::SetTimes => false,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Rules over paths that do not exist.
    fn rules() -> ProtectedPaths {
        ProtectedPaths::new()
            .with_file("trace", "/none/w/ses/trace.jsonl")
            .unwrap()
            .with_prefix("trace parts", "/none/w/ses", ".trace.jsonl.")
            .unwrap()
            .with_tree("blobs", "/none/w/ses/blobs")
            .unwrap()
    }

    fn named(rule: &Rule) -> &str {
        &rule.name
    }

    fn forbidden(operation: Operation, path: &str) -> Option<String> {
        let path = Path::new(path);
        rules().by_name(operation, path.parent().unwrap(), path.file_name().unwrap()).map(named).map(str::to_owned)
    }

    const ALL: [Operation; 10] = [
        Operation::Write,
        Operation::Truncate,
        Operation::Create,
        Operation::CreateDirectory,
        Operation::RemoveDirectory,
        Operation::Unlink,
        Operation::Rename,
        Operation::Link,
        Operation::Symlink,
        Operation::SetTimes,
    ];

    #[test]
    fn every_operation_on_what_is_protected_is_forbidden() {
        for operation in ALL {
            for (path, rule) in [
                ("/none/w/ses/trace.jsonl", "trace"),
                ("/none/w/ses/.trace.jsonl.seal.1.tmp", "trace parts"),
                ("/none/w/ses/blobs", "blobs"),
                ("/none/w/ses/blobs/a", "blobs"),
                ("/none/w/ses/blobs/a/b", "blobs"),
            ] {
                assert_eq!(forbidden(operation, path).as_deref(), Some(rule), "{operation} {path}");
            }
        }
    }

    #[test]
    fn neighbours_are_free() {
        for operation in ALL {
            for path in [
                "/none/w/ses/trace.jsonl.txt",
                "/none/w/ses/trace",
                "/none/w/ses/blobs2",
                "/none/w/ses/.trace.jsonl",
                "/none/w/ses/out/trace.jsonl",
                "/none/w/trace.jsonl",
                "/none/w/out",
            ] {
                assert_eq!(forbidden(operation, path), None, "{operation} {path}");
            }
        }
    }

    #[test]
    fn what_leads_there_may_be_made_and_dated_but_not_moved_or_replaced() {
        for path in ["/none/w/ses", "/none/w", "/none"] {
            for operation in ALL {
                let free = matches!(
                    operation,
                    Operation::Write | Operation::Truncate | Operation::CreateDirectory | Operation::SetTimes
                );
                assert_eq!(forbidden(operation, path).is_none(), free, "{operation} {path}");
            }
        }
    }

    #[test]
    fn a_rule_stands_on_the_real_path() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        symlink(&real, home.path().join("link")).unwrap();
        let rules = ProtectedPaths::new().with_file("trace", home.path().join("link/later/trace.jsonl")).unwrap();
        let by_name = |path: &str| rules.by_name(Operation::Write, &real.join(path), "trace.jsonl".as_ref()).map(named);
        assert_eq!(by_name("later"), Some("trace"));
        assert_eq!(by_name("other"), None);
    }

    #[test]
    fn a_protected_path_must_end_in_a_name() {
        for path in ["/", "..", "a/..", ""] {
            let error = ProtectedPaths::new().with_file("rule", path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }

    #[test]
    fn a_bare_name_is_a_file_in_the_current_directory() {
        let rules = ProtectedPaths::new().with_file("trace", "trace.jsonl").unwrap();
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(rules.by_name(Operation::Write, &here, "trace.jsonl".as_ref()).map(named), Some("trace"));
    }

    /// A directory with a protected file of each kind, each with another, harmless name in `free/`.
    fn aliased() -> (tempfile::TempDir, ProtectedPaths) {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        fs::create_dir_all(at("blobs/inner")).unwrap();
        fs::create_dir(at("free")).unwrap();
        for (path, alias) in [
            ("trace.jsonl", "free/file"),
            (".trace.jsonl.seal.1.tmp", "free/prefix"),
            ("blobs/inner/a", "free/tree"),
            ("unprotected", "free/free"),
        ] {
            fs::write(at(path), path).unwrap();
            fs::hard_link(at(path), at(alias)).unwrap();
        }
        let rules = ProtectedPaths::new()
            .with_file("file", at("trace.jsonl"))
            .unwrap()
            .with_file("missing", at("missing/file"))
            .unwrap()
            .with_prefix("prefix", home.path(), ".trace.jsonl.")
            .unwrap()
            .with_tree("tree", at("blobs"))
            .unwrap()
            .with_tree("missing tree", at("missing-tree"))
            .unwrap();
        (home, rules)
    }

    #[test]
    fn a_hard_link_does_not_hide_a_protected_file() {
        let (home, rules) = aliased();
        let directory = File::open(home.path().join("free")).unwrap();
        for (name, rule) in [
            ("file", Some("file")),
            ("prefix", Some("prefix")),
            ("tree", Some("tree")),
            ("free", None),
            ("missing", None),
        ] {
            assert_eq!(rules.forbid_at(Operation::Write, &directory, name).unwrap().map(named), rule);
            if let Ok(file) = File::open(home.path().join("free").join(name)) {
                assert_eq!(rules.forbid_open(Operation::Write, &file).unwrap().map(named), rule);
            }
        }
    }

    #[test]
    fn an_open_file_is_judged_by_the_path_that_it_has_now() {
        let (home, rules) = aliased();
        let link = home.path().join("link");
        symlink("blobs/inner", &link).unwrap();
        let directory = File::open(&link).unwrap();
        assert_eq!(rules.forbid_at(Operation::Create, &directory, "new").unwrap().map(named), Some("tree"));
        let file = File::open(link.join("a")).unwrap();
        assert_eq!(rules.forbid_open(Operation::SetTimes, &file).unwrap().map(named), Some("tree"));
        let inner = File::open(home.path().join("blobs/inner")).unwrap();
        assert_eq!(rules.forbid_open(Operation::SetTimes, &inner).unwrap().map(named), Some("tree"));
        let root = File::open(home.path()).unwrap();
        assert_eq!(rules.forbid_open(Operation::SetTimes, &root).unwrap().map(named), None);
    }
}
