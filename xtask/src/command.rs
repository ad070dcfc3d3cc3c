//! Running other programs, and showing them as lines that can be pasted into a shell.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::process::Output;

use crate::Failure;

/// A program with its arguments and the environment variables set for it.
pub(crate) struct Command {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Command {
    pub(crate) fn new(program: &Path) -> Self {
        Self { program: program.display().to_string(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// `cargo` with these arguments.
    pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Path::new("cargo")).args(arguments)
    }

    pub(crate) fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    pub(crate) fn path(mut self, path: &Path) -> Self {
        self.arguments.push(path.display().to_string());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Prints the command, then runs it with this process's own streams.
    ///
    /// # Errors
    /// When the program cannot be started or does not end with 0; the advice is the command itself.
    pub(crate) fn announce_and_run(&self) -> Result<(), Failure> {
        println!("  $ {self}");
        let status = self.prepare().status().map_err(|error| self.not_started(&error))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("`{}` ended with {status}", self.name())).mended_by(format!("run it again: {self}")))
    }

    /// Runs the command without input and keeps what it prints; how it ended is for the caller to judge.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(crate) fn capture(&self) -> Result<Output, Failure> {
        self.prepare().stdin(std::process::Stdio::null()).output().map_err(|error| self.not_started(&error))
    }

    /// The command for whoever starts it otherwise.
    pub(crate) fn prepare(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The program and, for programs with commands of their own, the command: enough to know which one.
    fn name(&self) -> String {
        match self.arguments.first() {
            Some(first) => format!("{} {first}", self.program),
            None => self.program.clone(),
        }
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("cannot start `{}`: {error}", self.program))
    }
}

/// The command as a POSIX shell reads it, the environment in front.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// A word as a POSIX shell reads it: as it is where nothing in it is special, else in single quotes.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_line_that_a_shell_reads_back() {
        let command = Command::new(Path::new("target/debug/mur"))
            .args(["run", "--task", r#"{"it's": 1}"#, ""])
            .env("MURMUR_HOME", "target/demo/home");
        assert_eq!(
            command.to_string(),
            r#"MURMUR_HOME=target/demo/home target/debug/mur run --task '{"it'\''s": 1}' ''"#
        );
    }
}
