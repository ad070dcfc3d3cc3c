//! `capabilities.shell`.

use std::path::{Component, PathBuf};

use super::super::ManifestError;
use super::super::capabilities::{Containment, InterpreterRuntime, RuntimeDirectory, Shell, StagedRuntime};
use super::super::fields::{Fields, Reader, Text};
use super::super::names::BinaryName;
use super::super::schema::{self, Mapping};
use super::super::yaml::Position;
use crate::diagnostic::Code;

impl Reader<'_> {
    pub(super) fn shell(&mut self, shell: &Fields<'_>, containment: Containment) -> Result<Shell, ManifestError> {
        const ALLOW: &str = "add `allow:` with the bare names of programs, at least one";
        let allow: Option<Vec<BinaryName>> = self.parsed_list(shell, "allow")?;
        let allow = allow.ok_or_else(|| self.missing(shell, "allow", ALLOW))?;
        if allow.is_empty() {
            let at = shell.value("allow").map_or(shell.at, |node| node.at);
            let hint = "name a program, or remove `shell`".to_owned();
            return Err(self.value(at, format!("`{}` is empty", shell.field("allow")), Some(hint)));
        }
        let interpreter_runtime = self.interpreter_runtime(shell, &allow)?;
        let staged_runtime = self.staged_runtime(shell, &allow, &interpreter_runtime, containment)?;
        Ok(Shell {
            strip_env: self.parsed_list(shell, "strip_env")?.unwrap_or_default(),
            baseline_env: self.parsed_list(shell, "baseline_env")?,
            allow,
            interpreter_runtime,
            staged_runtime,
        })
    }

    fn interpreter_runtime(
        &mut self,
        shell: &Fields<'_>,
        allow: &[BinaryName],
    ) -> Result<Vec<InterpreterRuntime>, ManifestError> {
        const KEY: &str = "interpreter_runtime";
        let mut runtimes = Vec::new();
        for (item, fields) in self.each(shell, KEY)? {
            let binary = self.allowed_binary(&fields, allow)?;
            let mut dirs = Vec::new();
            for (_, dir) in self.each_of(&fields, "dirs", schema::SHELL.inside(KEY).inside("dirs"))? {
                let path = self.absolute_path(&dir, "path")?;
                dirs.push(RuntimeDirectory { path, list: self.required_flag(&dir, "list_dir")? });
            }
            if dirs.is_empty() {
                return Err(self.missing(&fields, "dirs", "add `dirs:` with at least one `path` and its `list_dir`"));
            }
            let text = format!(
                "`{}` lets `{binary}` read directories of this host; the session depends on what they hold",
                fields.path
            );
            self.warn(Code::InterpreterRuntime, item, text, "");
            runtimes.push(InterpreterRuntime { binary, dirs });
        }
        Ok(runtimes)
    }

    fn staged_runtime(
        &self,
        shell: &Fields<'_>,
        allow: &[BinaryName],
        interpreters: &[InterpreterRuntime],
        containment: Containment,
    ) -> Result<Vec<StagedRuntime>, ManifestError> {
        let mut runtimes = Vec::new();
        for (item, fields) in self.each(shell, "staged_runtime")? {
            let binary = self.allowed_binary(&fields, allow)?;
            if interpreters.iter().any(|interpreter| interpreter.binary == binary) {
                let reason = format!("`{}` stages `{binary}`, which has an `interpreter_runtime`", fields.path);
                return Err(self.value(item, reason, Some("remove one of the two".to_owned())));
            }
            let source_path = self.absolute_path(&fields, "source_path")?;
            let pin = self.visible(&fields, "pin")?;
            let pin = pin.ok_or_else(|| self.missing(&fields, "pin", "add `pin:`, what the interpreter must be"))?;
            if containment != Containment::Sealed {
                let reason =
                    format!("`{}` needs the containment `sealed`, and `{containment}` is declared", fields.path);
                return Err(self.rule(
                    Code::StagedRuntime,
                    item,
                    reason,
                    "declare `containment: sealed`, or remove it",
                ));
            }
            runtimes.push(StagedRuntime { binary, source_path, pin });
        }
        Ok(runtimes)
    }

    fn allowed_binary(&self, fields: &Fields<'_>, allow: &[BinaryName]) -> Result<BinaryName, ManifestError> {
        let text = self.required(fields, "binary", "add `binary:`, one of `shell.allow`")?;
        let binary: BinaryName = self.parsed(&text)?;
        if allow.contains(&binary) {
            return Ok(binary);
        }
        let reason = format!("`{}`, `{binary}`, is not one of `capabilities.shell.allow`", text.field);
        Err(self.value(text.at, reason, Some("add it there, or remove it here".to_owned())))
    }

    fn absolute_path(&self, fields: &Fields<'_>, key: &str) -> Result<PathBuf, ManifestError> {
        let Text { text, at, field, .. } = self.required(fields, key, "add the absolute path")?;
        let path = PathBuf::from(text);
        let upwards = path.components().any(|component| component == Component::ParentDir);
        if path.is_absolute() && !upwards && !text.contains('\0') {
            return Ok(path);
        }
        let hint = "write a path that begins with `/` and holds no `..`".to_owned();
        Err(self.value(at, format!("`{field}` is not an absolute path without `..`"), Some(hint)))
    }

    /// The mappings of a list of `capabilities.shell`, each with its place.
    fn each<'n>(&self, shell: &Fields<'n>, key: &str) -> Result<Vec<(Position, Fields<'n>)>, ManifestError> {
        self.each_of(shell, key, schema::SHELL.inside(key))
    }

    pub(super) fn each_of<'n>(
        &self,
        fields: &Fields<'n>,
        key: &str,
        known: &Mapping,
    ) -> Result<Vec<(Position, Fields<'n>)>, ManifestError> {
        let items = self.list(fields, key)?.unwrap_or_default();
        items.into_iter().map(|(item, field)| Ok((item.at, self.mapping(item, field, known)?))).collect()
    }
}
