//! Session addresses: how people name a recorded session on the command line.
//!
//! An address is one of
//! - a full id, or a suffix of one of at least four characters, in either letter case, that fits one session;
//! - `@N`, the Nth newest (`@1` is the newest, and what is meant when no address is given);
//! - a literal path: anything that holds a `/`, or something that exists here and fits no session.
//!
//! The recorded sessions are the directories called `ses_…` under some roots: see [`project_roots`] and
//! [`workdir_roots`].

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::ids::SessionId;
use super::paths::{RUNTIME_DIR, WORKDIRS};
use crate::diagnostic::{Code, Diagnostic};

/// The shortest suffix of an id that may stand for it, in characters.
pub const SUFFIX_MIN: usize = 4;
/// How many sessions a message names before it counts the rest.
const NAMED: usize = 5;

/// The roots of a project's sessions: those of sessions with a workdir of their own, and of those run in the project's
/// directory itself.
pub fn project_roots(project: &Path) -> Vec<PathBuf> {
    vec![project.join(WORKDIRS), project.join(RUNTIME_DIR)]
}

/// The root of the sessions that were run with `--workdir workdir`.
pub fn workdir_roots(workdir: &Path) -> Vec<PathBuf> {
    vec![workdir.join(RUNTIME_DIR)]
}

/// An address, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The Nth newest session.
    Newest(NonZeroUsize),
    /// A literal path.
    Path(PathBuf),
    /// The end of an id, or all of it; or the name of something that exists.
    Suffix(String),
}

/// A session that an address led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The directory of its records. A literal path is taken as it is: it may not exist.
    pub directory: PathBuf,
    /// Its id, where the directory is called so.
    pub id: Option<SessionId>,
}

/// Why an address leads to no session. The messages quote the address as it is.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It has none of the forms.
    #[error("`{address}` is no session address")]
    Malformed {
        /// The address.
        address: String,
    },
    /// Nothing is recorded.
    #[error("no session is recorded under {}", paths(.roots))]
    NothingRecorded {
        /// Where sessions were looked for.
        roots: Vec<PathBuf>,
    },
    /// There are not so many sessions.
    #[error("`@{nth}` is out of range: {} recorded under {}", sessions(*.recorded), paths(.roots))]
    OutOfRange {
        /// The N of `@N`.
        nth: NonZeroUsize,
        /// How many there are.
        recorded: usize,
        /// Where sessions were looked for.
        roots: Vec<PathBuf>,
    },
    /// No session has this id or suffix.
    #[error("no session fits `{address}`: {} recorded under {}", sessions(*.recorded), paths(.roots))]
    NoMatch {
        /// The address.
        address: String,
        /// How many there are.
        recorded: usize,
        /// Where sessions were looked for.
        roots: Vec<PathBuf>,
    },
    /// Several sessions have this suffix.
    #[error("`{address}` fits {} sessions: {}", .matches.len(), several(.matches))]
    Ambiguous {
        /// The address.
        address: String,
        /// The directories of the sessions, newest first.
        matches: Vec<PathBuf>,
    },
    /// A root is there and cannot be listed.
    #[error("{} cannot be listed: {cause}", .root.display())]
    Unreadable {
        /// The root.
        root: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
}

impl Address {
    /// Reads an address; `None` is what is meant when there is none.
    ///
    /// # Errors
    /// [`AddressError::Malformed`] for an empty text, and for an `@` without a number from 1.
    pub fn parse(text: Option<&str>) -> Result<Self, AddressError> {
        let Some(text) = text else { return Ok(Self::Newest(NonZeroUsize::MIN)) };
        if text.contains('/') {
            return Ok(Self::Path(text.into()));
        }
        let malformed = || AddressError::Malformed { address: text.to_owned() };
        match text.strip_prefix('@') {
            // Digits only: a sign would be read, too.
            Some(nth) if nth.bytes().all(|byte| byte.is_ascii_digit()) => {
                nth.parse().map(Self::Newest).map_err(|_| malformed())
            }
            Some(_) => Err(malformed()),
            None if text.is_empty() => Err(malformed()),
            None => Ok(Self::Suffix(text.to_owned())),
        }
    }

    /// The session that it names, of those recorded under `roots`. `here` is what a literal path is relative to.
    ///
    /// # Errors
    /// Every one of [`AddressError`]. A root that does not exist holds no sessions and is no error.
    pub fn resolve(&self, here: &Path, roots: &[PathBuf]) -> Result<Recorded, AddressError> {
        match self {
            Self::Path(path) => Ok(literal(here.join(path))),
            Self::Newest(nth) => {
                let sessions = recorded(roots)?;
                let count = sessions.len();
                let roots = roots.to_owned();
                sessions.into_iter().nth(nth.get() - 1).ok_or(match count {
                    0 => AddressError::NothingRecorded { roots },
                    recorded => AddressError::OutOfRange { nth: *nth, recorded, roots },
                })
            }
            Self::Suffix(text) => match fitting(text, roots) {
                Err(
                    AddressError::Malformed { .. }
                    | AddressError::NoMatch { .. }
                    | AddressError::NothingRecorded { .. },
                ) if here.join(text).exists() => Ok(literal(here.join(text))),
                outcome => outcome,
            },
        }
    }
}

/// The sessions recorded under `roots`, newest first.
///
/// # Errors
/// [`AddressError::Unreadable`] if a root exists and cannot be listed.
pub fn recorded(roots: &[PathBuf]) -> Result<Vec<Recorded>, AddressError> {
    let mut sessions = Vec::new();
    for root in roots {
        let unreadable = |cause| AddressError::Unreadable { root: root.clone(), cause };
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(unreadable(cause)),
        };
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let Some(id) = id_of(&entry.path()) else { continue };
            // A link called like a session is none: its target may be anybody's.
            if entry.file_type().map_err(unreadable)?.is_dir() {
                sessions.push(Recorded { directory: entry.path(), id: Some(id) });
            }
        }
    }
    sessions.sort_by(|a, b| b.id.cmp(&a.id).then_with(|| a.directory.cmp(&b.directory)));
    Ok(sessions)
}

/// The one session whose id ends with `text`.
fn fitting(text: &str, roots: &[PathBuf]) -> Result<Recorded, AddressError> {
    let address = text.to_owned();
    if text.chars().count() < SUFFIX_MIN {
        return Err(AddressError::Malformed { address });
    }
    let sessions = recorded(roots)?;
    let count = sessions.len();
    let suffix = text.to_ascii_lowercase();
    let fits = |session: &Recorded| session.id.is_some_and(|id| id.to_string().ends_with(&suffix));
    let mut matches: Vec<Recorded> = sessions.into_iter().filter(fits).collect();
    match (matches.pop(), count) {
        (Some(only), _) if matches.is_empty() => Ok(only),
        (Some(last), _) => {
            matches.push(last);
            let matches = matches.into_iter().map(|session| session.directory).collect();
            Err(AddressError::Ambiguous { address, matches })
        }
        (None, 0) => Err(AddressError::NothingRecorded { roots: roots.to_owned() }),
        (None, recorded) => Err(AddressError::NoMatch { address, recorded, roots: roots.to_owned() }),
    }
}

fn literal(directory: PathBuf) -> Recorded {
    Recorded { id: id_of(&directory), directory }
}

fn id_of(directory: &Path) -> Option<SessionId> {
    directory.file_name()?.to_str()?.parse().ok()
}

impl AddressError {
    /// The form for people: code, text and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let code = match self {
            Self::Unreadable { cause, .. } => Code::for_io(cause),
            Self::Malformed { .. }
            | Self::NothingRecorded { .. }
            | Self::OutOfRange { .. }
            | Self::NoMatch { .. }
            | Self::Ambiguous { .. } => Code::SessionAddress,
        };
        let diagnostic = Diagnostic::new(code, self.to_string());
        match self {
            Self::Malformed { .. } | Self::NoMatch { .. } | Self::OutOfRange { .. } => diagnostic.with_hint(
                "write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory",
            ),
            Self::NothingRecorded { .. } => {
                diagnostic.with_hint("run a capsule first, pass its --workdir, or write the path of a records directory")
            }
            Self::Ambiguous { .. } => diagnostic.with_hint("write more of its end, or its path"),
            Self::Unreadable { .. } => diagnostic,
        }
    }
}

fn paths(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(" or ")
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") }
}

fn several(matches: &[PathBuf]) -> String {
    let named = matches.iter().take(NAMED).map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    match matches.len().checked_sub(NAMED) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// An id whose time is `time` and that ends with `end`.
    fn id(time: u16, end: &str) -> String {
        format!("ses_{time:016x}{end:0>16}")
    }

    /// A project with the given directories.
    fn project(directories: &[String]) -> TempDir {
        let project = tempfile::tempdir().unwrap();
        for directory in directories {
            fs::create_dir_all(project.path().join(directory)).unwrap();
        }
        project
    }

    fn three_sessions() -> TempDir {
        project(&[
            format!("workdir/{}", id(1, "aa11")),
            format!(".murmur/{}", id(3, "bb11")),
            format!("workdir/{}", id(2, "cc22")),
        ])
    }

    /// Where an address leads in a project, or what is said about it; the project's own path left out.
    fn lead(project: &TempDir, address: impl Into<Option<&'static str>>) -> String {
        let here = project.path();
        let outcome = Address::parse(address.into()).and_then(|address| address.resolve(here, &project_roots(here)));
        let text = match outcome {
            Ok(recorded) => recorded.directory.display().to_string(),
            Err(error) => error.diagnostic().to_string(),
        };
        text.replace(&here.display().to_string(), "DIR")
    }

    #[test]
    fn no_address_means_the_newest_session_and_ids_tell_which_that_is() {
        let project = three_sessions();
        assert_eq!(lead(&project, None), format!("DIR/.murmur/{}", id(3, "bb11")));
        assert_eq!(lead(&project, "@1"), lead(&project, None));
        assert_eq!(lead(&project, "@2"), format!("DIR/workdir/{}", id(2, "cc22")));
        assert_eq!(lead(&project, "@3"), format!("DIR/workdir/{}", id(1, "aa11")));
    }

    #[test]
    fn an_id_or_a_unique_suffix_of_it_names_a_session_in_either_case() {
        let project = three_sessions();
        let expected = format!("DIR/workdir/{}", id(2, "cc22"));
        assert_eq!(lead(&project, "cc22"), expected);
        assert_eq!(lead(&project, "0CC22"), expected);
        let outcome = |address: &str| {
            let address = Address::parse(Some(address)).unwrap();
            address.resolve(project.path(), &project_roots(project.path())).unwrap()
        };
        for address in [id(2, "cc22"), id(2, "cc22").to_uppercase()] {
            let recorded = outcome(&address);
            assert_eq!(recorded.id.unwrap().to_string(), id(2, "cc22"));
            assert_eq!(recorded.directory, project.path().join("workdir").join(id(2, "cc22")));
        }
    }

    #[test]
    fn an_address_that_names_none_or_several_is_refused_with_what_there_is() {
        let project = three_sessions();
        for number in 0..6 {
            fs::create_dir_all(project.path().join("workdir").join(id(10 + number, "dd11"))).unwrap();
        }
        let unfit = ["0011", "dd11", "ee33", "c22", "ses_0000"];
        let malformed = ["@0", "@10", "@", "@x", "@+1", "@-1", "@99999999999999999999", ""];
        let shown: Vec<String> = unfit.iter().chain(&malformed).map(|address| lead(&project, *address)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        error[E-TRC-002]: no session fits `0011`: 9 sessions recorded under DIR/workdir or DIR/.murmur
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `dd11` fits 6 sessions: DIR/workdir/ses_000000000000000f000000000000dd11, DIR/workdir/ses_000000000000000e000000000000dd11, DIR/workdir/ses_000000000000000d000000000000dd11, DIR/workdir/ses_000000000000000c000000000000dd11, DIR/workdir/ses_000000000000000b000000000000dd11 and 1 more
          hint: write more of its end, or its path
        error[E-TRC-002]: no session fits `ee33`: 9 sessions recorded under DIR/workdir or DIR/.murmur
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `c22` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: no session fits `ses_0000`: 9 sessions recorded under DIR/workdir or DIR/.murmur
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@0` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@10` is out of range: 9 sessions recorded under DIR/workdir or DIR/.murmur
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@x` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@+1` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@-1` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `@99999999999999999999` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        error[E-TRC-002]: `` is no session address
          hint: write an id, the last four or more characters of one, @N (@1 is the newest), or the path of a records directory
        "#);
    }

    #[test]
    fn where_nothing_is_recorded_that_is_said() {
        insta::assert_snapshot!(["@1", "cc22"].map(|address| lead(&project(&[]), address)).join("\n"), @r#"
        error[E-TRC-002]: no session is recorded under DIR/workdir or DIR/.murmur
          hint: run a capsule first, pass its --workdir, or write the path of a records directory
        error[E-TRC-002]: no session is recorded under DIR/workdir or DIR/.murmur
          hint: run a capsule first, pass its --workdir, or write the path of a records directory
        "#);
        let workdir = workdir_roots(Path::new("/nowhere"));
        let error = Address::parse(None).unwrap().resolve(Path::new("."), &workdir).unwrap_err();
        insta::assert_snapshot!(error, @"no session is recorded under /nowhere/.murmur");
    }

    #[test]
    fn whatever_holds_a_slash_is_a_path_and_nothing_is_looked_for() {
        let project = project(&[]);
        fs::write(project.path().join("workdir"), "not a directory").unwrap();
        assert_eq!(lead(&project, "./elsewhere"), "DIR/./elsewhere");
        assert_eq!(lead(&project, "/absolute/ses_x"), "/absolute/ses_x");
        assert_eq!(lead(&project, "@1/"), "DIR/@1/");
        let path = format!("some/{}", id(1, "aa11"));
        let recorded = Address::parse(Some(&path)).unwrap().resolve(project.path(), &[]).unwrap();
        assert_eq!(recorded.id.unwrap().to_string(), id(1, "aa11"));
    }

    #[test]
    fn a_name_that_exists_is_a_path_where_it_fits_no_session() {
        let project = three_sessions();
        for name in ["record", "a", "cc22"] {
            fs::create_dir(project.path().join(name)).unwrap();
        }
        assert_eq!(lead(&project, "record"), "DIR/record");
        assert_eq!(lead(&project, "a"), "DIR/a");
        assert_eq!(lead(&project, "."), "DIR/.");
        assert_eq!(lead(&project, "cc22"), format!("DIR/workdir/{}", id(2, "cc22")));
    }

    #[test]
    fn only_directories_called_like_sessions_are_sessions() {
        let project =
            project(&[format!("workdir/{}", id(1, "aa11")), "workdir/ses_short".to_owned(), "workdir/x".to_owned()]);
        let workdir = project.path().join("workdir");
        fs::write(workdir.join(id(2, "bb22")), "a file").unwrap();
        std::os::unix::fs::symlink(workdir.join(id(1, "aa11")), workdir.join(id(3, "cc33"))).unwrap();
        let names: Vec<_> = recorded(&project_roots(project.path())).unwrap();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(lead(&project, "@1"), format!("DIR/workdir/{}", id(1, "aa11")));
    }

    #[test]
    fn one_id_under_two_roots_is_ambiguous() {
        let project = project(&[format!("workdir/{}", id(1, "aa11")), format!(".murmur/{}", id(1, "aa11"))]);
        assert!(lead(&project, "aa11").starts_with("error[E-TRC-002]: `aa11` fits 2 sessions: DIR/.murmur/"));
    }

    #[test]
    fn a_root_that_cannot_be_listed_is_an_error_not_an_absence() {
        let project = project(&[]);
        fs::write(project.path().join("workdir"), "").unwrap();
        insta::assert_snapshot!(lead(&project, "@1"), @"error[E-IO-003]: DIR/workdir cannot be listed: Not a directory (os error 20)");
    }
}
