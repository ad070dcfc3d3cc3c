//! The murmur home: what lies in it, and that it is its owner's alone.
//!
//! Keys, credentials, durable state and compiled code are worth reading or replacing, so what holds them is closed to
//! others, again at every use: a directory that somebody widened is narrowed. Installed artifacts are public and checked
//! by their hashes, so theirs may be wider.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Compiled components.
pub const COMPILED_DIR: &str = "compiled";
/// Durable stores of artifacts, by name.
pub const STATE_DIR: &str = "state";
/// What in the home is its owner's alone, besides the home itself.
const PRIVATE: [&str; 7] = ["keys", STATE_DIR, "conversations", "running", "spend", COMPILED_DIR, "config.yaml"];

/// Mode of directories that hold private data.
const DIRECTORY_MODE: u32 = 0o700;
/// Mode of files that do.
const FILE_MODE: u32 = 0o600;

/// Something in the home that others may enter, read or write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooOpen {
    /// What.
    pub path: PathBuf,
    /// Its mode now, the lowest nine bits.
    pub mode: u32,
    /// The mode that it should have.
    pub wanted: u32,
}

/// Makes a directory that only its owner may enter, with those above it that are missing, and narrows one that is wider.
///
/// # Errors
/// When it cannot be made or its mode cannot be set: something else stands there, or it belongs to another user.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o777 != DIRECTORY_MODE {
        fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))?;
    }
    Ok(())
}

/// The directory of a durable store, made where it is not there yet. Home, the directory of all stores, and the store are
/// each closed to others.
///
/// # Errors
/// As for [`private_directory`], and where [`state_store_obstacle`] finds something.
pub fn state_store(home: &Path, store: &str) -> io::Result<PathBuf> {
    if let Some(obstacle) = state_store_obstacle(home, store) {
        let text = format!("{} is a link or a file, and a directory is needed there", obstacle.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
    }
    let (stores, path) = (home.join(STATE_DIR), state_store_path(home, store));
    for directory in [home, &stores, &path] {
        private_directory(directory)?;
    }
    Ok(path)
}

/// What stands in the way of a durable store: a file or a link, which could lead to the host's private key. Changes nothing.
pub fn state_store_obstacle(home: &Path, store: &str) -> Option<PathBuf> {
    [home.join(STATE_DIR), state_store_path(home, store)]
        .into_iter()
        .find(|path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()))
}

/// Where a durable store lies or would lie. Nothing is made.
pub fn state_store_path(home: &Path, store: &str) -> PathBuf {
    home.join(STATE_DIR).join(store)
}

/// What in the home is open to others. What does not exist, or cannot be looked at, is not named.
pub fn too_open(home: &Path) -> Vec<TooOpen> {
    let private = std::iter::once(home.to_owned()).chain(PRIVATE.iter().map(|name| home.join(name)));
    let found = private.filter_map(|path| {
        let metadata = fs::symlink_metadata(&path).ok()?;
        let wanted = if metadata.is_dir() { DIRECTORY_MODE } else { FILE_MODE };
        let mode = metadata.permissions().mode() & 0o777;
        (mode & !wanted != 0 && !metadata.is_symlink()).then_some(TooOpen { path, mode, wanted })
    });
    found.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_store_and_what_leads_to_it_are_closed_to_others_at_every_use() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let store = state_store(&home, "notes").unwrap();
        assert_eq!(store, state_store_path(&home, "notes"));
        for directory in [&home, &home.join(STATE_DIR), &store] {
            assert_eq!(mode(directory), 0o700);
            fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        }
        state_store(&home, "notes").unwrap();
        for directory in [&home, &home.join(STATE_DIR), &store] {
            assert_eq!(mode(directory), 0o700);
        }
    }

    #[test]
    fn what_is_open_to_others_is_named_with_the_mode_that_it_should_have() {
        let home = tempfile::tempdir().unwrap();
        private_directory(home.path()).unwrap();
        fs::create_dir(home.path().join("artifacts")).unwrap();
        private_directory(&home.path().join("keys")).unwrap();
        assert_eq!(too_open(home.path()), []);
        fs::set_permissions(home.path().join("keys"), Permissions::from_mode(0o750)).unwrap();
        fs::write(home.path().join("config.yaml"), "").unwrap();
        fs::set_permissions(home.path().join("config.yaml"), Permissions::from_mode(0o644)).unwrap();
        let found: Vec<_> = too_open(home.path()).into_iter().map(|open| (open.mode, open.wanted)).collect();
        assert_eq!(found, [(0o750, 0o700), (0o644, 0o600)]);
    }
}
