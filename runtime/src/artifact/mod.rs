//! Artifacts: tools, drivers, hooks, skills and capsules as files that are built, kept, fetched and pinned.
//!
//! An artifact is one `.mur.zip`: its own `murmur.yaml` and the files that it names. Whatever its bytes come from, they are
//! read once, hashed, and used as they were read: nothing is opened a second time. The room knows of `manifest` and of
//! `diagnostic`, and of no session.
//!
//! | file | what lives there |
//! |---|---|
//! | `id` | `name@version`, fit to be a path |
//! | `file` | reading and replacing files, bounded and whole |
//! | `archive` | the `.mur.zip`, read with suspicion and written the same for the same input |
//! | `package` | an archive that holds together: manifest, payload, contracts |
//! | `platform` | platforms, and for which of them a binary is |
//! | `contracts` | what a component imports and exports |
//! | `metadata` | the `.meta.json` beside a stored archive |
//! | `store` | one directory of artifacts; a project's, or the user's |
//! | `source` | where artifacts come from: a directory, or a registry over HTTP |
//! | `lock` | `murmur.lock` |
//! | `resolve` | from names and versions to what a launch runs |
//! | `install` | from sources into a store, and into the lock |
//! | `build` | from an author's directory to an archive |
//! | `skill` | from a folder with a `SKILL.md` to an archive |
//! | `error` | why one of these fails |

mod archive;
mod build;
mod contracts;
mod error;
mod file;
mod id;
pub mod install;
mod lock;
mod metadata;
mod package;
mod platform;
mod resolve;
mod skill;
pub mod source;
mod store;

pub use archive::{ARCHIVE_SUFFIX, Archive, Entry, Limit, Packing};
pub use build::{Built, build, built_archive};
pub use contracts::Contracts;
pub use error::{ArtifactError, Conflict};
pub use id::{ArtifactId, IdError};
pub use lock::{LOCK_FILE, Lock, LockError, Pin, Pinned};
pub use metadata::Metadata;
pub use package::{Package, package_of};
pub use platform::{Platform, UnknownPlatform};
pub use resolve::{Payload, ProjectArtifacts, Resolved};
pub use skill::{SkillRequest, build_skill};
pub use source::Sources;
pub use store::{Existing, Listed, Scope, Store, Stored, Written};
