//! What a command takes from its surroundings, in one value, so that a test can give it others.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::session::ids::{Clock, IdSource, SystemClock, SystemIds};

/// Overrides where the murmur home is: for tests and services.
pub const HOME_VARIABLE: &str = "MURMUR_HOME";

/// Time, ids, and the two directories that a command starts from.
#[derive(Clone, Debug)]
pub struct Context {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where new ids come from.
    pub ids: Arc<dyn IdSource>,
    /// The murmur home; `None` where the environment names none.
    home: Option<PathBuf>,
    /// The working directory: what relative paths of the command line are relative to.
    pub here: PathBuf,
    variables: Variables,
}

/// Where environment variables are looked up.
#[derive(Clone)]
enum Variables {
    Process,
    Fixed(Arc<BTreeMap<String, OsString>>),
}

/// Names alone: values may be secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("Process"),
            Self::Fixed(variables) => f.debug_set().entries(variables.keys()).finish(),
        }
    }
}

/// Neither `MURMUR_HOME` nor `HOME` says where the murmur home is.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("neither MURMUR_HOME nor HOME is set, so there is no place for the host's key")]
pub struct NoHome;

impl Context {
    /// The process's own surroundings.
    pub fn of_process() -> Self {
        let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let set = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let home = match (set(HOME_VARIABLE), set("HOME")) {
            (Some(home), _) => Some(here.join(home)),
            (None, Some(home)) => Some(here.join(home).join(".murmur")),
            (None, None) => None,
        };
        Self { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), home, here, variables: Variables::Process }
    }

    /// The murmur home, which may not exist yet.
    ///
    /// # Errors
    /// [`NoHome`] where the environment names none.
    pub fn home(&self) -> Result<PathBuf, NoHome> {
        self.home.clone().ok_or(NoHome)
    }

    /// The value of an environment variable; one that is empty counts as unset.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let value = match &self.variables {
            Variables::Process => env::var_os(name),
            Variables::Fixed(variables) => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The same surroundings with these variables and no others.
    #[must_use]
    pub fn with_variables<K: Into<String>, V: Into<OsString>>(
        self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables: Variables::Fixed(Arc::new(variables)), ..self }
    }

    /// The same surroundings with another murmur home.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> Self {
        Self { home: Some(home), ..self }
    }
}
