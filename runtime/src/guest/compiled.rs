//! Compiled components on disk, so that none is compiled twice.
//!
//! What lies here is machine code that is mapped into this process and run. It is therefore believed only where nobody
//! else can have made it: the directory and its files belong to this user, no one else may write them, none is a link, and
//! the code has the digest that was noted when it was compiled. Whatever is amiss, the component is compiled again, and
//! the entry replaced.
//!
//! | file | what it holds |
//! |---|---|
//! | `<component>-<engine>` | the digest of the compiled form, 64 hexadecimal digits and a newline |
//! | `<digest>.cwasm` | a compiled form, named by its own digest |
//!
//! `<component>` is the SHA-256 of the component's bytes; `<engine>` stands for everything that a compiled form depends on:
//! Wasmtime's version, its settings, and the processor's features. Files are written under another name and renamed, the
//! code before its note, so that any number of launches may read and write at once.
#![allow(unsafe_code, reason = "mapping compiled code takes its word for being compiled code; see `map`")]

use super::code::Code;
use super::error::GuestError;
use crate::content::ContentHash;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// The directory is the user's alone.
const DIRECTORY_MODE: u32 = 0o700;
/// So is what lies in it.
const FILE_MODE: u32 = 0o600;
/// Bits of a mode by which others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// How much compiled code is kept, in bytes; what was not used for longest goes first.
const KEPT_BYTES: u64 = 1 << 30;
/// What the names of compiled forms end in.
const EXTENSION: &str = "cwasm";

/// The directory of compiled components, for one engine.
pub(crate) struct CompiledCache {
    directory: PathBuf,
    engine: u64,
    keeping: Keeping,
}

/// Whether what is compiled now is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Everything,
    Nothing,
}

impl CompiledCache {
    /// Opens the directory; it is made, and closed to others, if need be.
    ///
    /// # Errors
    /// [`GuestError::Cache`] when it cannot be made, belongs to someone else, or is no directory.
    pub(crate) fn open(directory: &Path, engine: &Engine) -> Result<Self, GuestError> {
        let fail = |source| GuestError::Cache { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory).map_err(fail)?;
        let metadata = fs::symlink_metadata(directory).map_err(fail)?;
        if !metadata.is_dir() {
            return Err(fail(io::ErrorKind::NotADirectory.into()));
        }
        if !is_own(&metadata) {
            return Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")));
        }
        if metadata.mode() & 0o777 != DIRECTORY_MODE {
            fs::set_permissions(directory, Permissions::from_mode(DIRECTORY_MODE)).map_err(fail)?;
        }
        Ok(Self { directory: directory.to_owned(), engine: key(engine), keeping: Keeping::Everything })
    }

    /// The directory as it is, for looking only: nothing is made, changed or kept. `None` where it cannot be believed.
    pub(crate) fn look(directory: &Path, engine: &Engine) -> Option<Self> {
        let metadata = fs::symlink_metadata(directory).ok()?;
        let closed = metadata.is_dir() && is_own(&metadata) && metadata.mode() & WRITABLE_BY_OTHERS == 0;
        closed.then(|| Self { directory: directory.to_owned(), engine: key(engine), keeping: Keeping::Nothing })
    }

    /// The compiled form of a component, if there is one that can be believed.
    pub(crate) fn load(&self, engine: &Engine, code: &Code) -> Option<Component> {
        let mut note = String::new();
        open_own(&self.note(code)).ok()?.take(65).read_to_string(&mut note).ok()?;
        let path = self.compiled(note.strip_suffix('\n')?)?;
        let file = open_own(&path).ok()?;
        let digest = ContentHash::of_reader(&file).ok()?;
        if Some(digest.to_string().as_str()) != note.strip_suffix('\n') {
            return None;
        }
        map(engine, &file, &path)
    }

    /// Keeps the compiled form of a component. That it could not be kept costs the next launch some time and nothing else.
    pub(crate) fn keep(&self, code: &Code, component: &Component) {
        if self.keeping == Keeping::Nothing {
            return;
        }
        let Ok(compiled) = component.serialize() else { return };
        let digest = ContentHash::of(&compiled).to_string();
        let Some(path) = self.compiled(&digest) else { return };
        let kept =
            self.write(&path, &compiled).and_then(|()| self.write(&self.note(code), format!("{digest}\n").as_bytes()));
        if kept.is_ok() {
            // That old code stays costs room and nothing else.
            let _ = self.prune(KEPT_BYTES, &path);
        }
    }

    fn note(&self, code: &Code) -> PathBuf {
        self.directory.join(format!("{}-{:016x}", code.digest(), self.engine))
    }

    /// The path of a compiled form, given its digest; `None` for what is no digest.
    fn compiled(&self, digest: &str) -> Option<PathBuf> {
        let digits = |digest: &str| digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digest.len() == 64 && digits(digest)).then(|| self.directory.join(digest).with_extension(EXTENSION))
    }

    /// Writes a file that is there whole or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.directory.join(format!("{}.tmp", uuid::Uuid::new_v4().simple()));
        let written = File::options()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes files, the longest unused first, until the rest takes no more than `most` bytes. `keep` stays.
    fn prune(&self, most: u64, keep: &Path) -> io::Result<()> {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if !metadata.is_file() {
                continue;
            }
            // A file system that notes no reading leaves the time of writing.
            let used = metadata.accessed().or_else(|_| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((used, metadata.len(), entry.path()));
        }
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        files.sort();
        for (_, length, path) in files {
            if total <= most {
                break;
            }
            // A note without its code, or code without its note, is no more than a miss.
            if path != keep && fs::remove_file(&path).is_ok() {
                total -= length;
            }
        }
        Ok(())
    }
}

/// What stands for everything that a compiled form depends on besides its component.
fn key(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Maps a compiled form whose digest was found right on this very file.
fn map(engine: &Engine, file: &File, path: &Path) -> Option<Component> {
    let path = path_of_handle(file, path);
    // SAFETY: Wasmtime checks that the file is of its own version and of these settings, and trusts it otherwise to be what
    // it wrote. It is: the digest is that of code that `keep` got from Wasmtime, noted in a directory that no other user
    // can write, and the file that was digested is the one that is mapped. Nothing here writes into a file in place, and
    // the mapping is private.
    unsafe { Component::deserialize_file(engine, path) }.ok()
}

/// A path that leads to the open file, whatever its name means by now.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn path_of_handle(file: &File, _: &Path) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The file's path: in a directory that only this user can write, its name means the same for a moment.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn path_of_handle(_: &File, path: &Path) -> PathBuf {
    path.to_owned()
}

/// Opens a file that only this user can have written.
fn open_own(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_file() && is_own(&metadata) && metadata.mode() & WRITABLE_BY_OTHERS == 0 {
        Ok(file)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::content::Content;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// The smallest component there is.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    struct Scene {
        home: TempDir,
        engine: Engine,
        code: Code,
    }

    impl Scene {
        /// A cache that holds the empty component.
        fn new() -> Self {
            let scene = Self {
                home: tempfile::tempdir().unwrap(),
                engine: Engine::default(),
                code: Code::new("empty", Content::new(EMPTY)).unwrap(),
            };
            scene.cache().keep(&scene.code, &Component::from_binary(&scene.engine, EMPTY).unwrap());
            assert!(scene.is_known());
            scene
        }

        fn cache(&self) -> CompiledCache {
            CompiledCache::open(&self.home.path().join("compiled"), &self.engine).unwrap()
        }

        fn is_known(&self) -> bool {
            self.cache().load(&self.engine, &self.code).is_some()
        }

        fn note(&self) -> PathBuf {
            self.cache().note(&self.code)
        }

        fn compiled(&self) -> PathBuf {
            let digest = fs::read_to_string(self.note()).unwrap();
            self.cache().compiled(digest.trim_end()).unwrap()
        }
    }

    #[test]
    fn what_was_kept_is_there_for_the_same_component_and_engine_only() {
        let scene = Scene::new();
        let other = Code::new("other", Content::new([EMPTY, &[0, 2, 1, b'x']].concat())).unwrap();
        assert!(scene.cache().load(&scene.engine, &other).is_none());
        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config).unwrap();
        let cache = CompiledCache::open(&scene.home.path().join("compiled"), &engine).unwrap();
        assert!(cache.load(&engine, &scene.code).is_none());
    }

    #[test]
    fn altered_or_cut_code_is_not_believed() {
        for alter in [|bytes: &mut Vec<u8>| bytes[100] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(64), Vec::clear] {
            let scene = Scene::new();
            let mut bytes = fs::read(scene.compiled()).unwrap();
            alter(&mut bytes);
            fs::write(scene.compiled(), bytes).unwrap();
            assert!(!scene.is_known());
        }
    }

    #[test]
    fn a_note_that_leads_elsewhere_is_not_believed() {
        for note in ["", "\n", "../../../../etc/passwd\n", &"0".repeat(64), &format!("{}\nmore", "0".repeat(64))] {
            let scene = Scene::new();
            fs::write(scene.note(), note).unwrap();
            assert!(!scene.is_known(), "{note}");
        }
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let scene = Scene::new();
        for path in [scene.note(), scene.compiled()] {
            for mode in [0o620, 0o602, 0o666] {
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                assert!(!scene.is_known(), "{mode:o}");
            }
            fs::set_permissions(&path, Permissions::from_mode(FILE_MODE)).unwrap();
            assert!(scene.is_known());
        }
    }

    #[test]
    fn links_are_not_followed() {
        let scene = Scene::new();
        let (there, compiled) = (scene.home.path().join("there"), scene.compiled());
        fs::rename(&compiled, &there).unwrap();
        symlink(&there, &compiled).unwrap();
        assert!(!scene.is_known());
    }

    #[test]
    fn a_bad_entry_is_replaced_by_a_good_one() {
        let scene = Scene::new();
        fs::write(scene.compiled(), "garbage").unwrap();
        scene.cache().keep(&scene.code, &Component::from_binary(&scene.engine, EMPTY).unwrap());
        assert!(scene.is_known());
    }

    #[test]
    fn code_beyond_what_is_kept_is_removed_and_the_newest_stays() {
        let scene = Scene::new();
        let old = scene.home.path().join("compiled").join("0".repeat(64)).with_extension(EXTENSION);
        fs::write(&old, vec![0; 1000]).unwrap();
        File::options()
            .write(true)
            .open(&old)
            .unwrap()
            .set_times(fs::FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH))
            .unwrap();
        let compiled = scene.compiled();
        let rest = fs::metadata(&compiled).unwrap().len() + 65;
        scene.cache().prune(rest, &compiled).unwrap();
        assert!(!old.exists() && scene.is_known());
        scene.cache().prune(0, &compiled).unwrap();
        assert!(compiled.exists() && !scene.note().exists());
    }

    #[test]
    fn launches_at_the_same_time_do_not_disturb_each_other() {
        let scene = Scene::new();
        let component = Component::from_binary(&scene.engine, EMPTY).unwrap();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..50 {
                        scene.cache().keep(&scene.code, &component);
                        assert!(scene.is_known());
                    }
                });
            }
        });
        let left = fs::read_dir(scene.home.path().join("compiled")).unwrap().count();
        assert_eq!(left, 2);
    }

    #[test]
    fn the_directory_is_made_for_its_owner_alone_and_closed_to_others() {
        let scene = Scene::new();
        let directory = scene.home.path().join("compiled");
        for mode in [0o777, 0o750] {
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            assert!(scene.is_known());
            assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn who_only_looks_finds_what_was_kept_and_keeps_and_makes_nothing() {
        let scene = Scene::new();
        let directory = scene.home.path().join("compiled");
        let looking = CompiledCache::look(&directory, &scene.engine).unwrap();
        assert!(looking.load(&scene.engine, &scene.code).is_some());
        fs::remove_file(scene.note()).unwrap();
        looking.keep(&scene.code, &Component::from_binary(&scene.engine, EMPTY).unwrap());
        assert!(!scene.is_known());
        assert!(CompiledCache::look(&scene.home.path().join("absent"), &scene.engine).is_none());
        assert!(!scene.home.path().join("absent").exists());
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        assert!(CompiledCache::look(&directory, &scene.engine).is_none());
    }

    #[test]
    fn a_link_or_a_file_in_the_directorys_place_is_refused() {
        let scene = Scene::new();
        let (link, file) = (scene.home.path().join("link"), scene.home.path().join("file"));
        symlink(scene.home.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [link, file] {
            assert!(matches!(CompiledCache::open(&path, &scene.engine), Err(GuestError::Cache { .. })));
        }
    }
}
