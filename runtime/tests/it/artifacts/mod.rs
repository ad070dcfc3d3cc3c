//! The commands that build, keep, fetch and pin artifacts.

mod build;
mod install;
mod publish;
mod registry;
mod skill;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ended, Project, guest, tree};

impl Project {
    /// A directory beside the project, with these files.
    pub(crate) fn author(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let directory = self.beside(name);
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    /// Runs `mur` in another directory than the project's.
    pub(crate) fn run_in(&self, directory: &Path, args: &[&str]) -> Ended {
        let mut command: Command = self.mur(args);
        command.current_dir(directory);
        self.start(command).wait()
    }

    /// Builds a tool with this version and a payload of its own, beside the project. The archive's path.
    pub(crate) fn built_tool(&self, name: &str, version: &str, payload: &str) -> PathBuf {
        let manifest = format!(
            "name: {name}\nversion: {version}\nruntime: tool\ndescription: The {name} of the tests.\ntags: [test]\n\
             requires_files: [tool.wasm]\n"
        );
        let directory =
            self.author(&format!("src/{name}-{version}"), &[("murmur.yaml", &manifest), ("tool.wasm", payload)]);
        self.run_in(&directory, &["build"]).expect(0);
        directory.join(format!("{name}-{version}.mur.zip"))
    }

    /// Builds the test tool itself, a component. The archive's path.
    pub(crate) fn built_component(&self) -> PathBuf {
        let manifest = "name: tester\nversion: 1.0.0\nruntime: tool\nrequires_files: [tool.wasm]\n";
        let directory = self.author("src/component", &[("murmur.yaml", manifest)]);
        fs::copy(guest("test_tool"), directory.join("tool.wasm")).unwrap();
        self.run_in(&directory, &["build"]).expect(0);
        directory.join("tester-1.0.0.mur.zip")
    }

    /// Builds a native tool, a script. The archive's path.
    pub(crate) fn built_script(&self, version: &str) -> PathBuf {
        let manifest = format!(
            "name: probe\nversion: {version}\nruntime: tool\nimplementation: native\nrequires_files: [bin/probe]\n"
        );
        let files = [("murmur.yaml", manifest.as_str()), ("bin/probe", "#!/bin/sh\n")];
        let directory = self.author(&format!("src/probe-{version}"), &files);
        self.run_in(&directory, &["build"]).expect(0);
        directory.join(format!("probe-{version}.mur.zip"))
    }

    /// The artifacts that the project's manifest names.
    pub(crate) fn declaring(self, ids: &[&str]) -> Self {
        let entries: String = ids
            .iter()
            .map(|id| id.split_once('@').unwrap())
            .map(|(name, version)| format!("  - {{name: {name}, version: \"{version}\"}}\n"))
            .collect();
        self.with_file("murmur.yaml", &format!("name: demo\nversion: 1.0.0\nartifacts:\n{entries}"))
    }

    pub(crate) fn lock(&self) -> String {
        fs::read_to_string(self.path("murmur.lock")).unwrap()
    }

    /// What the project's own store holds.
    pub(crate) fn installed(&self) -> Vec<String> {
        let files = tree(&self.path(".murmur/artifacts"));
        files.into_iter().filter(|path| path.ends_with(".mur.zip")).collect()
    }

    /// A text without directories and hashes.
    pub(crate) fn plain(&self, text: &str) -> String {
        let text = self.redacted(text);
        let mut plain = String::new();
        for part in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
            let word = part.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
            plain += &if word.len() == 64 { part.replace(word, "HASH") } else { part.to_owned() };
        }
        plain
    }
}
