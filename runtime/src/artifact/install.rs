//! From sources into a store, and into the lock.
//!
//! Everything is fetched and verified, against the lock too, before anything of it is written. Several artifacts are
//! installed side by side; each succeeds or fails for itself, and what succeeded is pinned.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::archive::Limit;
use super::error::{ArtifactError, Conflict};
use super::file;
use super::id::ArtifactId;
use super::lock::{Lock, Pinned};
use super::package::package_of;
use super::platform::Platform;
use super::source::{Fetched, Sources, Wanted};
use super::store::{Existing, Store, Written};
use crate::manifest::Execution;

/// How many artifacts are fetched at a time.
const AT_A_TIME: usize = 4;

/// What an installation works with.
#[derive(Debug)]
pub struct Installer {
    /// Where artifacts are installed.
    pub target: Store,
    /// Where they come from.
    pub sources: Sources,
    /// The lock that has to agree.
    pub lock: Option<PathBuf>,
    /// The platform that is installed for.
    pub host: Option<Platform>,
    /// Whether that platform's artifacts are installed, or every one's.
    pub payloads: Payloads,
    /// Whether a good copy is enough.
    pub copies: Copies,
    /// How large an artifact may be.
    pub limit: Limit,
}

/// Which payloads of an artifact are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    /// The one for this host.
    Host,
    /// Every one that the source has. The lock stays as it is: it pins what was chosen for a host.
    Every,
}

/// What a copy counts for that is installed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// One that is whole, and is what the lock pins, stays.
    Keep,
    /// The sources are asked in any case.
    Refetch,
}

/// How one artifact fared.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub id: ArtifactId,
    /// What was done, or why it failed.
    pub result: Result<Done, ArtifactError>,
}

/// What an installation did for one artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was installed.
    Installed,
    /// It was there.
    Kept,
}

/// What of an artifact is to be pinned.
struct Pin {
    id: ArtifactId,
    pinned: Pinned,
    /// Where it was found.
    origin: String,
}

impl Installer {
    /// Installs the artifacts, and pins those that succeeded. `done` is called as each of them ends, from several
    /// threads. The outcomes are in the order of `wanted`.
    ///
    /// # Errors
    /// The lock cannot be used; nothing is installed then. Or it cannot be written afterwards.
    pub fn install(
        &self,
        wanted: &[ArtifactId],
        done: &(dyn Fn(&ArtifactId) + Sync),
    ) -> Result<Vec<Outcome>, ArtifactError> {
        let lock = self.load_lock()?;
        let next = AtomicUsize::new(0);
        let ended = Mutex::new(Vec::with_capacity(wanted.len()));
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(wanted.len()) {
                scope.spawn(|| {
                    while let Some((index, id)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        wanted.get(index).map(|id| (index, id))
                    } {
                        let outcome = self.one(id, &lock);
                        done(id);
                        // A thread that panicked ends the program anyway.
                        ended.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, outcome));
                    }
                });
            }
        });
        let mut ended = ended.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        ended.sort_by_key(|(index, _)| *index);
        let mut pins = Vec::new();
        let mut outcomes = Vec::with_capacity(wanted.len());
        for ((_, result), id) in ended.into_iter().zip(wanted) {
            let result = result.map(|(done, mut more)| {
                pins.append(&mut more);
                done
            });
            outcomes.push(Outcome { id: id.clone(), result });
        }
        self.pin(&pins)?;
        Ok(outcomes)
    }

    /// Installs an archive that lies at `path`. It is not pinned, and must not contradict what is.
    ///
    /// # Errors
    /// The archive cannot be used, contradicts the lock, or cannot be written.
    pub fn install_file(&self, path: &Path, platform: Option<Platform>) -> Result<ArtifactId, ArtifactError> {
        let lock = self.load_lock()?;
        let package = package_of(path, self.limit)?;
        refuse_reserved(package.id())?;
        let platform = package.platform(platform)?;
        let fetched = Fetched { package, platform };
        self.agrees(&lock, &self.pin_of(&fetched))?;
        self.target.write(&fetched.package, fetched.platform, Existing::Replace)?;
        Ok(fetched.package.id().clone())
    }

    fn load_lock(&self) -> Result<Lock, ArtifactError> {
        let lock = self.lock.as_deref().map(Lock::load).transpose()?;
        Ok(lock.flatten().unwrap_or_default())
    }

    fn one(&self, id: &ArtifactId, lock: &Lock) -> Result<(Done, Vec<Pin>), ArtifactError> {
        refuse_reserved(id)?;
        if let Some(kept) = self.good_copy(id, lock) {
            return Ok((Done::Kept, vec![self.pin_of(&kept)]));
        }
        let wanted = match self.payloads {
            Payloads::Host => Wanted::Host(self.host),
            Payloads::Every => Wanted::Every,
        };
        let fetched = self.sources.fetch(id, wanted, self.limit)?;
        for fetched in &fetched {
            self.agrees(lock, &self.pin_of(fetched))?;
        }
        let mut done = Done::Kept;
        for Fetched { package, platform } in &fetched {
            if self.target.write(package, *platform, Existing::Replace)? == Written::Anew {
                done = Done::Installed;
            }
        }
        Ok((done, fetched.iter().map(|fetched| self.pin_of(fetched)).collect()))
    }

    /// The copy that is installed, where it is enough. One that is damaged, or not what is pinned, is none.
    fn good_copy(&self, id: &ArtifactId, lock: &Lock) -> Option<Fetched> {
        match (self.copies, self.payloads) {
            (Copies::Keep, Payloads::Host) => {}
            (Copies::Refetch, _) | (_, Payloads::Every) => return None,
        }
        let stored = self.target.find(id, self.host, self.limit).ok().flatten()?;
        let copy = Fetched { package: stored.package, platform: stored.platform };
        lock.conflict(id, self.pinned(&copy)).is_none().then_some(copy)
    }

    /// The pin of an artifact: that of a native one is for the platform that it is for, or will be run on.
    fn pinned(&self, fetched: &Fetched) -> Pinned {
        let platform = match fetched.package.packed().execution {
            Execution::Native => fetched.platform.or(self.host),
            Execution::Wasm | Execution::Static => None,
        };
        Pinned::of(platform, fetched.package.sha256())
    }

    fn pin_of(&self, fetched: &Fetched) -> Pin {
        let package = &fetched.package;
        let origin = package.archive().origin().to_owned();
        Pin { id: package.id().clone(), pinned: self.pinned(fetched), origin }
    }

    /// Refuses what the lock pins with another hash.
    fn agrees(&self, lock: &Lock, pin: &Pin) -> Result<(), ArtifactError> {
        match (lock.conflict(&pin.id, pin.pinned), &self.lock) {
            (Some(pinned), Some(lock)) => Err(ArtifactError::Conflict(Box::new(Conflict {
                id: pin.id.clone(),
                origin: pin.origin.clone(),
                lock: lock.clone(),
                pinned,
                found: pin.pinned.sha256(),
            }))),
            (None, _) | (_, None) => Ok(()),
        }
    }

    /// Adds what was installed to the lock as it is now: another installation may have changed it meanwhile.
    fn pin(&self, pins: &[Pin]) -> Result<(), ArtifactError> {
        let (Some(path), Payloads::Host, [_, ..]) = (&self.lock, self.payloads, pins) else { return Ok(()) };
        self.target.refuse_links(None)?;
        file::make_directory(self.target.root(), 0o755)?;
        let _held = file::lock(&self.target.root().join(".lock"))?;
        let mut lock = self.load_lock()?;
        for pin in pins {
            self.agrees(&lock, pin)?;
            lock.upsert(&pin.id, pin.pinned);
        }
        lock.save(path)
    }
}

/// # Errors
/// [`ArtifactError::Reserved`]: the version is a word.
pub fn refuse_reserved(id: &ArtifactId) -> Result<(), ArtifactError> {
    if id.is_reserved() { Err(ArtifactError::Reserved { id: id.clone() }) } else { Ok(()) }
}

/// The directory of the project that `here` is in: the nearest one with a `murmur.yaml`, going up. One that cannot be read
/// is a project's all the same: to go on to the project above would be to work on another one.
pub fn project_directory(here: &Path) -> Option<PathBuf> {
    let holds = |directory: &&Path| directory.join("murmur.yaml").symlink_metadata().is_ok();
    here.ancestors().find(holds).map(Path::to_owned)
}
