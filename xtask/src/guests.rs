//! Building the components, and laying them out where examples, tests and people find them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::command::Command;
use crate::workspace::{COMPONENT_TARGET, GUESTS, Workspace, guest_packages};
use crate::{Failure, table, toolchain};

const CHECK_CAPSULE: &str = "check-capsule";

/// A capsule of `examples/`: its directory there, its package, and the tools its manifest names with
/// the package that each is built from.
struct Example {
    directory: &'static str,
    package: &'static str,
    tools: &'static [(&'static str, &'static str)],
}

const EXAMPLES: [Example; 2] = [
    Example { directory: "hello", package: "example-hello", tools: &[("word-count", "example-word-count")] },
    Example {
        directory: "audit-pipeline",
        package: "example-audit-pipeline",
        tools: &[("word-count", "example-word-count"), (CHECK_CAPSULE, CHECK_CAPSULE)],
    },
];

/// Builds every component into `target/guests`, in one run of `cargo`.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failure> {
    build_packages(workspace, &GUESTS, guest_packages())
}

/// `cargo xtask guests`: builds every component and lists them with their sizes.
pub(crate) fn build_and_list(workspace: &Workspace) -> Result<(), Failure> {
    toolchain::ensure_targets(&[COMPONENT_TARGET])?;
    build(workspace)?;
    let mut rows = Vec::new();
    for package in GUESTS {
        let component = workspace.component(package);
        let bytes = fs::metadata(&component).map_err(|error| cannot("read", &component, &error))?.len();
        rows.push(vec![component.display().to_string(), table::size(bytes)]);
    }
    print!("\n{}", table::aligned(&rows));
    Ok(())
}

/// `cargo xtask capsule`: lays the check capsule out as an artifact, and says how to use it.
pub(crate) fn lay_out_check_capsule(workspace: &Workspace) -> Result<(), Failure> {
    toolchain::ensure_targets(&[COMPONENT_TARGET])?;
    build_packages(workspace, &[CHECK_CAPSULE], vec!["--package", CHECK_CAPSULE])?;
    let directory = workspace.target("capsule").join(CHECK_CAPSULE);
    let component = directory.join("check-capsule.wasm");
    create_directory(&directory)?;
    copy(&Path::new(CHECK_CAPSULE).join("murmur.yaml"), &directory.join("murmur.yaml"))?;
    copy(&workspace.component(CHECK_CAPSULE), &component)?;

    println!(
        "\n\
         {directory} holds the component and its manifest.\n\
         \n\
         As a command, on any WASI host that serves wasi:cli 0.2.12, it takes what mur-verify takes. It reads\n\
         the directories it is given, and asks for nothing else:\n\
         \n    wasmtime run --dir RECORDS::records {component} records --key HEX\n\
         \n\
         As a tool of a capsule, from a copy beside the capsule's murmur.yaml (examples/audit-pipeline is\n\
         such a capsule):\n\
         \n    artifacts:\
         \n      - name: check-capsule\
         \n        runtime: tool\
         \n        source: ./check-capsule.wasm",
        directory = directory.display(),
        component = component.display(),
    );
    Ok(())
}

/// Puts runnable copies of the examples into `target/examples`, from components already built, and
/// leaves the directories of `examples/` as they are.
pub(crate) fn assemble_examples(workspace: &Workspace) -> Result<(), Failure> {
    for example in &EXAMPLES {
        let directory = example_directory(workspace, example.directory);
        let tools = directory.join("tools");
        create_directory(&tools)?;
        copy(&Path::new("examples").join(example.directory).join("murmur.yaml"), &directory.join("murmur.yaml"))?;
        copy(&workspace.component(example.package), &directory.join("capsule.wasm"))?;
        for (tool, package) in example.tools {
            copy(&workspace.component(package), &tools.join(format!("{tool}.wasm")))?;
        }
    }
    Ok(())
}

/// Where the runnable copy of an example lies.
pub(crate) fn example_directory(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target("examples").join(name)
}

fn build_packages(workspace: &Workspace, packages: &[&str], selection: Vec<&'static str>) -> Result<(), Failure> {
    let started = Instant::now();
    Command::cargo(["build", "--release", "--target", COMPONENT_TARGET]).args(selection).announce_and_run()?;
    create_directory(&workspace.target("guests"))?;
    for package in packages {
        copy(&built_component(workspace, package), &workspace.component(package))?;
    }
    println!("  components built in {}", table::duration(started.elapsed()));
    Ok(())
}

/// What `cargo` made of a package: a command keeps the package's name, a library becomes an identifier.
fn built_component(workspace: &Workspace, package: &str) -> PathBuf {
    let directory = workspace.target(COMPONENT_TARGET).join("release");
    let command = directory.join(format!("{package}.wasm"));
    if command.exists() { command } else { directory.join(format!("{}.wasm", package.replace('-', "_"))) }
}

fn create_directory(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| cannot("create", directory, &error))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(|error| {
        Failure::new(format!("cannot copy {} to {}: {error}", from.display(), to.display()))
            .mended_by("cargo xtask guests")
    })
}

fn cannot(act: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {act} {}: {error}", path.display()))
}
