//! The host's variables that guests may see: those of the process, and those of the project's `.env`.
//!
//! Which of them a guest does see is `capabilities.env.allow`'s to say.

use std::path::Path;

use crate::context::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::EnvName;

/// The file beside a project's manifest.
const ENV_FILE: &str = ".env";

/// Whether a project's `.env` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvFile {
    /// Where there is one.
    Read,
    /// Not at all.
    Ignored,
}

/// Variables by name. The process's own come before those of the file.
#[derive(Clone)]
pub(crate) struct HostEnvironment {
    context: Context,
    file: Vec<(String, String)>,
}

impl HostEnvironment {
    /// The process's variables, and those of the `.env` in the project's directory.
    ///
    /// # Errors
    /// When there is such a file and it cannot be read. No value is quoted.
    pub(crate) fn of(project: &Path, file: EnvFile, context: &Context) -> Result<Self, Diagnostic> {
        let path = project.join(ENV_FILE);
        let file = match file {
            EnvFile::Read if path.symlink_metadata().is_ok() => variables(&path)?,
            EnvFile::Read | EnvFile::Ignored => Vec::new(),
        };
        Ok(Self { context: context.clone(), file })
    }

    /// A variable's value, where it is set and is text.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let of_process = self.context.variable(name).and_then(|value| value.into_string().ok());
        let of_file = || self.file.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        of_process.or_else(of_file)
    }

    /// Those of `names` that are set, with their values.
    pub(crate) fn allowed(&self, names: &[EnvName]) -> Vec<(String, String)> {
        let set = names.iter().filter_map(|name| Some((name.as_str().to_owned(), self.variable(name.as_str())?)));
        set.collect()
    }
}

fn variables(path: &Path) -> Result<Vec<(String, String)>, Diagnostic> {
    let text = crate::manifest::file::read_as_is(path).map_err(|error| error.diagnostic())?.text;
    dotenvy::from_read_iter(text.as_bytes()).collect::<Result<_, _>>().map_err(|error| {
        // The parser's message quotes the line, and a line may hold a secret.
        let what = if let dotenvy::Error::LineParse(_, column) = error {
            format!("a line cannot be read, from its byte {column} on")
        } else {
            "it cannot be read as lines of NAME=VALUE".to_owned()
        };
        Diagnostic::new(Code::Io, format!("{}: {what}", path.display()))
            .with_hint("write one NAME=VALUE a line, or pass --no-env-file")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(text: &str, file: EnvFile) -> Result<HostEnvironment, Diagnostic> {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join(ENV_FILE), text).unwrap();
        let context = Context::of_process().with_variables([("SET", "by the process")]);
        HostEnvironment::of(project.path(), file, &context)
    }

    #[test]
    fn the_processs_own_value_comes_before_the_files() {
        let environment = environment("SET='by the file'\nOTHER=\"of the file\"\n", EnvFile::Read).unwrap();
        assert_eq!(environment.variable("SET").unwrap(), "by the process");
        assert_eq!(environment.variable("OTHER").unwrap(), "of the file");
        assert_eq!(environment.variable("ABSENT"), None);
        let names = ["ABSENT", "OTHER"].map(|name| name.parse().unwrap());
        assert_eq!(environment.allowed(&names), [("OTHER".to_owned(), "of the file".to_owned())]);
    }

    #[test]
    fn a_file_that_is_to_be_ignored_is_not_looked_at() {
        let environment = environment("not a line\n", EnvFile::Ignored).unwrap();
        assert_eq!(environment.variable("OTHER"), None);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_refused_without_its_text() {
        let refusal = environment("GOOD=1\nSECRET='hunter2\n", EnvFile::Read).err().unwrap().to_string();
        assert!(refusal.contains(".env: ") && !refusal.contains("hunter2"), "{refusal}");
    }
}
