//! Every way that WASI knows to change what stands at a path, or to bring something else to its place.
//!
//! The calls are WASI's own, below the standard library, so that each flag and each directory handle can be
//! chosen. After each one that succeeded everything is put back, so that every way meets the same state.

use std::fs;
use std::io;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;
const NO_FOLLOW: PathFlags = PathFlags::empty();

/// Tries everything on `path`, which may be a file, an empty directory or nothing, and reports one line a
/// way: `refused`, `DONE`, or `failed` with the code where the call was not refused but cannot succeed
/// either.
pub(crate) fn rewrite(path: &str) {
    let mut attack = Attack::on(path);
    attack.opening(&root(), "", path);
    attack.names(&root(), "", path);
    attack.times();
    attack.other_spellings();
    attack.file_links();
    attack.directory_links();
    attack.inner_directory();
    attack.ancestors();
    super::report(&attack.report);
}

/// Tries to change the bytes of an existing file and to give it further names. For a file whose name is
/// harmless and whose content is not: another hard link to a record.
pub(crate) fn overwrite(path: &str) {
    let mut attack = Attack::on(path);
    attack.opening(&root(), "", path);
    attack.times();
    attack.note("link", root().link_at(NO_FOLLOW, path, &root(), "scratch/alias"));
    super::report(&attack.report);
}

/// The preopened directory.
///
/// # Panics
/// When there is none.
fn root() -> Descriptor {
    match get_directories().into_iter().find(|(_, name)| name == ".") {
        Some((directory, _)) => directory,
        None => panic!("nothing is preopened as `.`"),
    }
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Nothing,
    /// A link, which only an attack leaves behind.
    Other,
}

impl Kind {
    fn of(path: &str) -> Self {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::File,
            Ok(metadata) if metadata.is_dir() => Self::Directory,
            Ok(_) => Self::Other,
            Err(_) => Self::Nothing,
        }
    }
}

/// One series of attempts.
struct Attack<'a> {
    path: &'a str,
    /// The directory of the path, `.` for none, and the name in it.
    parent: &'a str,
    name: &'a str,
    /// What stood at the path and at each path that leads to it, from the outermost.
    before: Vec<(&'a str, Kind)>,
    report: String,
}

impl<'a> Attack<'a> {
    fn on(path: &'a str) -> Self {
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
        let leading = path.match_indices('/').map(|(at, _)| &path[..at]);
        let attack = Self {
            path,
            parent,
            name,
            before: leading.chain([path]).map(|path| (path, Kind::of(path))).collect(),
            report: String::new(),
        };
        attack.restore();
        attack
    }

    /// Reports one attempt and undoes it.
    fn note(&mut self, name: impl AsRef<str>, outcome: Result<(), ErrorCode>) {
        let name = name.as_ref();
        self.report += &match outcome {
            Ok(()) => format!("DONE {name}\n"),
            Err(ErrorCode::NotPermitted) => format!("refused {name}\n"),
            Err(error) => format!("failed {name}: {}\n", error.name()),
        };
        self.restore();
    }

    /// Puts back what an attempt changed, and the attempts' own things in `scratch/`: a file, a directory, and
    /// nothing at the names that they use.
    ///
    /// # Panics
    /// When that is not possible. Where nothing was changed nothing is touched but the guest's own.
    fn restore(&self) {
        let own = [
            ("scratch", Kind::Directory),
            ("scratch/other", Kind::File),
            ("scratch/directory", Kind::Directory),
            ("scratch/taken", Kind::Nothing),
            ("scratch/alias", Kind::Nothing),
        ];
        for &(path, kind) in own.iter().chain(&self.before) {
            if Kind::of(path) != kind
                && let Err(error) = replace(path, kind)
            {
                panic!("{path} cannot be put back: {error}");
            }
        }
    }

    /// Every pair of flags that lets a file be written, made or emptied.
    fn opening(&mut self, directory: &Descriptor, prefix: &str, path: &str) {
        let read = DescriptorFlags::READ;
        let write = DescriptorFlags::WRITE;
        let both = read | write;
        let plain = OpenFlags::empty();
        let create = OpenFlags::CREATE;
        let truncate = OpenFlags::TRUNCATE;
        let exclusive = OpenFlags::EXCLUSIVE;
        for (name, open_flags, flags) in [
            ("open to write", plain, write),
            ("open to read and write", plain, both),
            ("open to truncate and write", truncate, write),
            ("open to truncate", truncate, read),
            ("open to truncate, no flag else", truncate, DescriptorFlags::empty()),
            ("open to create and write", create, write),
            ("open to create", create, read),
            ("open to create and truncate", create | truncate, both),
            ("open to create anew", create | exclusive, write),
            ("open to create anew and read", create | exclusive, read),
        ] {
            for (path_flags, following) in [(FOLLOW, "following"), (NO_FOLLOW, "not following")] {
                let outcome = open_and_write(directory, path_flags, path, open_flags, flags);
                self.note(format!("{prefix}{name}, {following}"), outcome);
            }
        }
        let resized = directory.open_at(FOLLOW, path, plain, read).and_then(|file| file.set_size(0));
        self.note(format!("{prefix}resize what is open to read"), resized);
    }

    /// Everything that takes a name away or gives it to something else.
    fn names(&mut self, directory: &Descriptor, prefix: &str, path: &str) {
        let root = root();
        let mut note = |name: &str, outcome| self.note(format!("{prefix}{name}"), outcome);
        note("unlink", directory.unlink_file_at(path));
        note("remove as a directory", directory.remove_directory_at(path));
        note("rename away", directory.rename_at(path, &root, "scratch/taken"));
        note("rename onto", root.rename_at("scratch/other", directory, path));
        note("rename a directory onto", root.rename_at("scratch/directory", directory, path));
        note("link from", directory.link_at(NO_FOLLOW, path, &root, "scratch/alias"));
        note("link onto", root.link_at(NO_FOLLOW, "task.md", directory, path));
        note("link symbolically at", directory.symlink_at("scratch/other", path));
        note("make a directory at", directory.create_directory_at(path));
        note("make a directory at, with a slash", directory.create_directory_at(&format!("{path}/")));
    }

    /// Times, by name and by a handle that was opened for reading.
    fn times(&mut self) {
        let now = NewTimestamp::Now;
        let by_handle = root()
            .open_at(FOLLOW, self.path, OpenFlags::empty(), DescriptorFlags::READ)
            .and_then(|file| file.set_times(now, now));
        self.note("set times by handle", by_handle);
        for (flags, following) in [(FOLLOW, "following"), (NO_FOLLOW, "not following")] {
            let outcome = root().set_times_at(flags, self.path, now, now);
            self.note(format!("set times, {following}"), outcome);
        }
        let as_directory = root().set_times_at(FOLLOW, &format!("{}/.", self.path), now, now);
        self.note("set times as a directory", as_directory);
    }

    /// The same place, written otherwise.
    fn other_spellings(&mut self) {
        let Self { path, parent, name, .. } = *self;
        let there_and_back = match parent.rsplit('/').next() {
            Some(last) if parent != "." => format!("{parent}/./../{last}/{name}"),
            _ => format!("./././{name}"),
        };
        for spelling in [
            format!("./{path}"),
            format!(".//{parent}/.//{name}"),
            format!("scratch/../{path}"),
            format!("scratch/directory/../../{path}"),
            there_and_back,
            format!("{path}/"),
            format!("{path}/."),
            format!("scratch/missing/../../{path}"),
        ] {
            let (create, write) = (OpenFlags::CREATE, DescriptorFlags::WRITE);
            let written = open_and_write(&root(), FOLLOW, &spelling, create, write);
            self.note(format!("write {spelling}"), written);
            self.note(format!("unlink {spelling}"), root().unlink_file_at(&spelling));
            let renamed = root().rename_at(&spelling, &root(), "scratch/taken");
            self.note(format!("rename {spelling}"), renamed);
        }
    }

    /// Through symbolic links to the file: one, and three in a row.
    fn file_links(&mut self) {
        for (target, link) in [
            (format!("../{}", self.path), "scratch/link-1"),
            ("link-1".to_owned(), "scratch/link-2"),
            ("../scratch/./link-2".to_owned(), "scratch/link-3"),
        ] {
            symlink(&target, link);
            let write = DescriptorFlags::WRITE;
            for (name, flags) in
                [("write", OpenFlags::empty()), ("create", OpenFlags::CREATE), ("truncate", OpenFlags::TRUNCATE)]
            {
                let outcome = open_and_write(&root(), FOLLOW, link, flags, write);
                self.note(format!("{name} through {link}"), outcome);
            }
            let now = NewTimestamp::Now;
            let outcome = root().set_times_at(FOLLOW, link, now, now);
            self.note(format!("set times through {link}"), outcome);
        }
    }

    /// Through a symbolic link to the directory that holds the file, and a link to that link.
    fn directory_links(&mut self) {
        for (target, link) in [
            (format!("../{}", self.parent), "scratch/inside"),
            ("../scratch/inside/.".to_owned(), "scratch/further-inside"),
        ] {
            symlink(&target, link);
            let prefix = format!("through {link}: ");
            let path = format!("{link}/{}", self.name);
            self.opening(&root(), &prefix, &path);
            self.names(&root(), &prefix, &path);
        }
    }

    /// From a handle of the directory that holds the file, opened with the right to change it.
    fn inner_directory(&mut self) {
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        if let Ok(directory) = root().open_at(FOLLOW, self.parent, OpenFlags::DIRECTORY, flags) {
            let prefix = "from its directory: ";
            self.opening(&directory, prefix, self.name);
            self.names(&directory, prefix, self.name);
        }
    }

    /// Taking away, or replacing, the directories that lead to the file.
    fn ancestors(&mut self) {
        let root = root();
        let path = self.path;
        for ancestor in path.match_indices('/').map(|(at, _)| &path[..at]) {
            let slashed = format!("{ancestor}/");
            let mut note = |name: &str, outcome| self.note(format!("{name} {ancestor}"), outcome);
            note("rename away the ancestor", root.rename_at(ancestor, &root, "scratch/taken"));
            note("rename away, with a slash, the ancestor", root.rename_at(&slashed, &root, "scratch/taken/"));
            note("remove the ancestor", root.remove_directory_at(ancestor));
            note("unlink the ancestor", root.unlink_file_at(ancestor));
            note("rename onto the ancestor", root.rename_at("scratch/directory", &root, ancestor));
            note("link symbolically at the ancestor", root.symlink_at("scratch", ancestor));
            note("link onto the ancestor", root.link_at(NO_FOLLOW, "task.md", &root, ancestor));
            note(
                "create at the ancestor",
                open_and_write(&root, FOLLOW, ancestor, OpenFlags::CREATE, DescriptorFlags::WRITE),
            );
        }
    }
}

/// Opens and, where that is granted, writes.
fn open_and_write(
    directory: &Descriptor,
    path_flags: PathFlags,
    path: &str,
    open_flags: OpenFlags,
    flags: DescriptorFlags,
) -> Result<(), ErrorCode> {
    let file = directory.open_at(path_flags, path, open_flags, flags)?;
    if flags.contains(DescriptorFlags::WRITE) {
        file.write(b"forged\n", 0)?;
    }
    Ok(())
}

/// Makes a link of the guest's own.
///
/// # Panics
/// When that is refused.
fn symlink(target: &str, link: &str) {
    if let Err(error) = root().symlink_at(target, link) {
        panic!("{link}: {error:?}");
    }
}

/// Brings something of a kind to a path, in place of whatever is there.
fn replace(path: &str, kind: Kind) -> io::Result<()> {
    match Kind::of(path) {
        Kind::Directory => fs::remove_dir_all(path)?,
        Kind::File | Kind::Other => fs::remove_file(path)?,
        Kind::Nothing => {}
    }
    match kind {
        Kind::File => fs::write(path, "restored"),
        Kind::Directory => fs::create_dir(path),
        Kind::Nothing | Kind::Other => Ok(()),
    }
}
