//! The host's key pair: made once, read from then on, never replaced.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signer, SigningKey};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, linkat, mkdirat, openat};
use rustix::io::Errno;
use zeroize::Zeroizing;

use super::open::Directory;
use super::public_key::{PRIVATE_NAME, PUBLIC_NAME};
use crate::hash::{KeyId, decode_lower_hex};
use crate::key::{KeyError, PublicKey};
use crate::record::Found;
use crate::seal::{Seal, SealDraft, SealError, members_message};

/// Where the host's keys live, relative to the murmur home.
pub const KEYS_DIR: &str = "keys";
/// Mode of the keys directory.
pub const KEYS_DIR_MODE: u32 = 0o700;
/// The Ed25519 seed: 64 lowercase hexadecimal digits and a newline.
pub const PRIVATE_KEY_FILE: &str = PRIVATE_NAME;
/// Mode of the private file; one with any group or other bit is refused.
pub const PRIVATE_KEY_MODE: u32 = 0o600;
/// The Ed25519 public key: 64 lowercase hexadecimal digits and a newline.
pub const PUBLIC_KEY_FILE: &str = PUBLIC_NAME;
/// Mode of the public file.
pub const PUBLIC_KEY_MODE: u32 = 0o644;

/// `<murmur home>/keys`.
pub fn keys_dir(murmur_home: &Path) -> PathBuf {
    murmur_home.join(KEYS_DIR)
}

/// `<murmur home>/keys/record-seal.key`.
pub fn private_key_path(murmur_home: &Path) -> PathBuf {
    keys_dir(murmur_home).join(PRIVATE_KEY_FILE)
}

/// `<murmur home>/keys/record-seal.pub`.
pub fn public_key_path(murmur_home: &Path) -> PathBuf {
    keys_dir(murmur_home).join(PUBLIC_KEY_FILE)
}

/// Why there is no host key to seal with. No text holds a byte of a key.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    /// The operating system refused something.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file is not one that a private key may be read from.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// Why, and how to mend it.
        reason: String,
    },
    /// The seed belongs to no usable key.
    #[error("{}: {cause}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with the public half.
        cause: KeyError,
    },
}

/// The host's record-seal key pair. Only a process that writes records holds one.
pub struct HostKey {
    signing: SigningKey,
    public: PublicKey,
}

impl HostKey {
    /// The key pair under `murmur_home`; made when there is none.
    ///
    /// An existing file that is no seed, or that others could read, is refused and never replaced: what it sealed could
    /// not be verified any more. Of two first launches at once, both end with the same key.
    pub fn load_or_create(murmur_home: &Path) -> Result<Self, HostKeyError> {
        let keys = KeysDirectory::ensure(murmur_home)?;
        let seed = match keys.read_seed()? {
            Some(seed) => seed,
            None => {
                keys.create_seed()?;
                keys.read_seed()?
                    .ok_or_else(|| keys.refused(PRIVATE_KEY_FILE, "it vanished while it was made; try again"))?
            }
        };
        keys.refuse_a_public_key(&seed)?;
        let key = Self::from_seed(&seed)
            .map_err(|cause| HostKeyError::Key { path: keys.path.join(PRIVATE_KEY_FILE), cause })?;
        keys.publish(&key.public)?;
        let path = keys.path.join(PUBLIC_KEY_FILE);
        Ok(HostKey { public: key.public.clone().at_path(path.to_string_lossy()), ..key })
    }

    /// The key pair of a seed that is stored nowhere.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        let signing = SigningKey::from_bytes(seed);
        let public = PublicKey::from_raw(signing.verifying_key().to_bytes())?;
        Ok(HostKey { signing, public })
    }

    /// The half that may be given away.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The id that seals name this key by.
    pub fn key_id(&self) -> KeyId {
        self.public.key_id()
    }

    /// Whether this key made `seal`, and for `stream`. Any other seal is somebody else's: to write another one in its place
    /// would vouch for what it covers.
    pub(crate) fn made(&self, seal: &Seal, stream: &str) -> bool {
        seal.draft.stream == stream && seal.key_id == self.key_id() && seal.is_signed_by(&self.public)
    }

    /// Signs a seal. Refused is what would make the signed text ambiguous, or contradicts itself.
    pub fn seal(&self, draft: SealDraft) -> Result<Seal, SealError> {
        draft.check()?;
        let signature = self.signing.sign(draft.signed_message().as_bytes()).to_bytes();
        let members_signature = self.signing.sign(members_message(&signature, &draft).as_bytes()).to_bytes();
        Ok(Seal { draft, key_id: self.key_id(), signature, members_signature: Some(members_signature) })
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostKey({})", self.key_id())
    }
}

/// The open keys directory.
struct KeysDirectory {
    path: PathBuf,
    directory: Directory,
}

impl KeysDirectory {
    fn ensure(murmur_home: &Path) -> Result<Self, HostKeyError> {
        let failed = |path: &Path, cause: io::Error| HostKeyError::Io { path: path.into(), cause };
        create_private_directories(murmur_home).map_err(|cause| failed(murmur_home, cause))?;
        let home = Directory::open(murmur_home).map_err(|cause| failed(murmur_home, cause))?;
        let path = keys_dir(murmur_home);
        match mkdirat(home.handle(), KEYS_DIR, Mode::from_raw_mode(KEYS_DIR_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(&path, error.into())),
        }
        let directory = home.below(KEYS_DIR).map_err(|cause| HostKeyError::Refused {
            path: path.clone(),
            reason: format!("it must be a directory and no link ({cause}); move it away and run again"),
        })?;
        let keys = KeysDirectory { path, directory };
        let stat = fstat(keys.directory.handle()).map_err(|error| failed(&keys.path, error.into()))?;
        if let Some(reason) = foreign_owner(&stat) {
            return Err(HostKeyError::Refused { path: keys.path, reason });
        }
        if permissions(&stat) != KEYS_DIR_MODE {
            fchmod(keys.directory.handle(), Mode::from_raw_mode(KEYS_DIR_MODE))
                .map_err(|error| failed(&keys.path, error.into()))?;
        }
        Ok(keys)
    }

    fn refused(&self, file: &str, reason: impl Into<String>) -> HostKeyError {
        HostKeyError::Refused { path: self.path.join(file), reason: reason.into() }
    }

    fn failed(&self, file: &str, cause: impl Into<io::Error>) -> HostKeyError {
        HostKeyError::Io { path: self.path.join(file), cause: cause.into() }
    }

    /// The seed; `None` when there is no file.
    fn read_seed(&self) -> Result<Option<Zeroizing<[u8; 32]>>, HostKeyError> {
        let name = PRIVATE_KEY_FILE;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(self.directory.handle(), name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(self.refused(name, "it is a symbolic link; put the key file itself in its place"));
            }
            Err(error) => return Err(self.failed(name, error)),
        };
        let stat = fstat(&file).map_err(|error| self.failed(name, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(self.refused(name, "it is not a regular file; move it away and restore the key from a backup"));
        }
        if let Some(reason) = foreign_owner(&stat) {
            return Err(self.refused(name, reason));
        }
        if permissions(&stat) & 0o077 != 0 {
            let path = self.path.join(name);
            return Err(self.refused(
                name,
                format!(
                    "others may access it (mode {:04o}), so it may no longer be secret; if you trust it still, run: chmod 600 '{}'",
                    permissions(&stat),
                    path.display()
                ),
            ));
        }
        let mut text = Zeroizing::new([0; SEED_FILE_LEN + 1]);
        let read = read_up_to(&file, text.as_mut_slice()).map_err(|error| self.failed(name, error))?;
        let seed = (read == SEED_FILE_LEN).then(|| text[..SEED_FILE_LEN].strip_suffix(b"\n")).flatten();
        match seed.and_then(decode_lower_hex::<32>) {
            Some(seed) => Ok(Some(Zeroizing::new(seed))),
            None => Err(self.refused(
                name,
                "it is not a seed, which is 64 lowercase hexadecimal digits and a newline; restore it from a backup, or move it \
                 away to start with a new key, under which older records cannot be verified",
            )),
        }
    }

    /// A public key looks like a seed, and as one would belong to another key: the published one would be replaced, and
    /// whoever has it could sign.
    fn refuse_a_public_key(&self, seed: &[u8; 32]) -> Result<(), HostKeyError> {
        let Ok(Found::File(file)) = self.directory.file(PUBLIC_KEY_FILE) else { return Ok(()) };
        let mut text = String::new();
        let is_public = file.take(MAX_PUBLIC_FILE).read_to_string(&mut text).is_ok()
            && crate::key::decode(&text).is_ok_and(|public| public == *seed);
        if is_public {
            return Err(self.refused(
                PRIVATE_KEY_FILE,
                format!(
                    "it holds the public key, the same as {PUBLIC_KEY_FILE}, and not the private one; restore it from a backup, or \
                     move both files away to start with a new key, under which older records cannot be verified"
                ),
            ));
        }
        Ok(())
    }

    /// Makes a seed, unless another process does so first.
    fn create_seed(&self) -> Result<(), HostKeyError> {
        let name = PRIVATE_KEY_FILE;
        let failed = |cause: io::Error| self.failed(name, cause);
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(|error| {
            self.refused(name, format!("the system gave no random bytes to make a key of: {error}"))
        })?;
        let mut text = Zeroizing::new([0; SEED_FILE_LEN]);
        // The lengths fit by construction.
        let _ = hex::encode_to_slice(seed.as_slice(), &mut text[..SEED_FILE_LEN - 1]);
        text[SEED_FILE_LEN - 1] = b'\n';
        let prepared = self.directory.prepare(name, text.as_slice(), PRIVATE_KEY_MODE).map_err(failed)?;
        let handle = self.directory.handle();
        // A link fails where a rename would replace: the first key stays.
        match linkat(handle, prepared.name.as_str(), handle, name, AtFlags::empty()) {
            Ok(()) => self.directory.sync().map_err(failed),
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Writes the public file where it is missing or does not match.
    fn publish(&self, public: &PublicKey) -> Result<(), HostKeyError> {
        let wanted = format!("{}\n", public.to_hex());
        if let Ok(Found::File(mut file)) = self.directory.file(PUBLIC_KEY_FILE) {
            let mut found = Vec::new();
            let same = file.by_ref().take(wanted.len() as u64 + 1).read_to_end(&mut found).is_ok()
                && found == wanted.as_bytes();
            let mode = file
                .metadata()
                .map(|metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777);
            if same && mode.is_ok_and(|mode| mode == PUBLIC_KEY_MODE) {
                return Ok(());
            }
        }
        self.directory
            .replace(PUBLIC_KEY_FILE, wanted.as_bytes(), PUBLIC_KEY_MODE)
            .map_err(|cause| self.failed(PUBLIC_KEY_FILE, cause))
    }
}

const SEED_FILE_LEN: usize = 65;
/// No public key file is longer, white space around the key included.
const MAX_PUBLIC_FILE: u64 = 1024;

fn create_private_directories(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(KEYS_DIR_MODE).create(path)
}

fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn foreign_owner(stat: &Stat) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    (stat.st_uid != user).then(|| {
        format!(
            "it belongs to user {}, and this process runs as user {user}; a host key must be its host's own",
            stat.st_uid
        )
    })
}

fn read_up_to(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
