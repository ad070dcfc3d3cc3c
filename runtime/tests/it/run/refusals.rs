//! What is refused before a session exists: with its reason, and with nothing left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::support::{Ended, MANIFEST, Project, guest, tree};

/// Refused runs leave nothing in the project's directory, with or without a workdir. What was said.
fn refused(project: &Project) -> String {
    let before = tree(&project.path(""));
    let said = project.run(["run", "--task", "ok"]).expect(1);
    let with_workdir = project.run(["run", "--task", "ok", "--workdir", "work"]).expect(1);
    assert_eq!(said.stderr, with_workdir.stderr);
    assert_eq!(said.stdout, "");
    assert_eq!(tree(&project.path("")), before);
    project.redacted(&said.stderr)
}

fn with_manifest(text: &str) -> String {
    refused(&Project::new().with_file("murmur.yaml", text))
}

#[test]
fn a_manifest_that_cannot_be_used() {
    let said = [
        with_manifest("name: [\n"),
        with_manifest("version: 1.0.0\n"),
        with_manifest("name: tester\nversion: 1.0.0\ncapabilities: {containment: sealed}\n"),
        with_manifest("name: tester\nversion: 1.0.0\ninference: {transport: process, command: answer}\n"),
        with_manifest("name: tester\nversion: 1.0.0\ncapabilities:\n  shell: {alow: [git]}\n"),
        with_manifest(
            "name: tester\nversion: 1.0.0\ncapabilities:\n  network: {unix_sockets: true}\n  spawn: {allow: [other]}\n",
        ),
        with_manifest("name: tester\nversion: 1.0.0\nartifacts:\n  - {name: share-file, source: ./tools/tool.wasm}\n"),
        with_manifest("name: tester\nversion: 1.0.0\ncapabilities:\n  filesystem: {scope: ../up}\n"),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-MAN-002]: PROJECT/murmur.yaml:1:7: unclosed bracket '['
    error[E-MAN-001]: PROJECT/murmur.yaml:1:1: `name` is missing
      hint: add `name:` with a name of a-z, 0-9 and `-`
    error[E-CAP-003]: PROJECT/murmur.yaml:3:29: the containment `sealed` cannot be met: this version of mur enforces no more than `advisory`
      hint: declare `containment: advisory`, or leave it out
    error[E-MAN-003]: PROJECT/murmur.yaml:3:1: `inference` is not supported by this version of mur
      hint: only script capsules are run: remove it, and export `murmur:capsule/run`
    warning[W-SEC-019]: PROJECT/murmur.yaml:4:11: `capabilities.shell.alow` is not a known key and has no effect; did you mean `allow`? (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
    error[E-MAN-001]: PROJECT/murmur.yaml:4:10: `capabilities.shell.allow` is missing
      hint: add `allow:` with the bare names of programs, at least one
    error[E-MAN-003]: PROJECT/murmur.yaml:4:13: `capabilities.network.unix_sockets` is not supported by this version of mur
      hint: remove it; what cannot be honoured is refused, not ignored
    error[E-CAP-013]: PROJECT/murmur.yaml:4:12: `share-file` is the name of a tool that the runtime provides
      hint: give the artifact another name
    error[E-CAP-002]: PROJECT/murmur.yaml:4:23: `capabilities.filesystem.scope` leads upwards with `..`
      hint: name a directory below the workdir, for example `scope: data`
    ");
}

#[test]
fn a_limit_of_zero() {
    let limits = ["memory_bytes", "table_elements", "instances", "deadline_seconds"];
    let said = limits.map(|limit| refused(&Project::new().with_limits(&format!("{limit}: 0"))));
    insta::assert_snapshot!(said.concat(), @r"
    error[E-MAN-003]: PROJECT/murmur.yaml:6:26: `capabilities.limits.memory_bytes` must be a whole number greater than zero, found `0`
    error[E-MAN-003]: PROJECT/murmur.yaml:6:28: `capabilities.limits.table_elements` must be a whole number greater than zero, found `0`
    error[E-MAN-003]: PROJECT/murmur.yaml:6:23: `capabilities.limits.instances` must be a whole number greater than zero, found `0`
    error[E-MAN-003]: PROJECT/murmur.yaml:6:30: `capabilities.limits.deadline_seconds` must be a whole number greater than zero, found `0`
    ");
}

#[test]
fn a_manifest_that_is_not_there() {
    let project = Project::new();
    fs::remove_file(project.path("murmur.yaml")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-IO-001]: PROJECT/murmur.yaml does not exist
      hint: run mur in a capsule's directory, or pass the path of its murmur.yaml with --manifest
    ");
}

#[test]
fn a_component_that_is_not_there_or_is_none() {
    let missing = Project::new();
    fs::remove_file(missing.path("capsule.wasm")).unwrap();
    let text = Project::new();
    fs::remove_file(text.path("capsule.wasm")).unwrap();
    let text = text.with_file("capsule.wasm", "(component)\n");
    insta::assert_snapshot!(refused(&missing) + &refused(&text), @r"
    error[E-RUN-004]: PROJECT: no component was found beside the manifest, only murmur.yaml, tools
      hint: a script capsule has its component beside murmur.yaml, as capsule.wasm or as the only *.wasm
    error[E-RUN-002]: PROJECT/capsule.wasm is a text file, not a component
      hint: build it for the target wasm32-wasip2
    ");
}

#[test]
fn a_tool_that_is_not_there() {
    let project = Project::new();
    fs::remove_file(project.path("tools/tool.wasm")).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-IO-001]: PROJECT/murmur.yaml:4:41: `artifacts[0].source` names PROJECT/./tools/tool.wasm, which does not exist
      hint: a source is a component (*.wasm), or a directory with murmur.yaml and one component
    ");
}

#[test]
fn a_component_that_imports_another_version() {
    let project = Project::new();
    let (served, imported) = (b"murmur:tool-registry/invoke@0.1.0", b"murmur:tool-registry/invoke@0.9.0");
    let mut component = fs::read(guest("test_capsule")).unwrap();
    for at in 0..component.len() - served.len() {
        if component[at..].starts_with(served) {
            component[at..at + served.len()].copy_from_slice(imported);
        }
    }
    fs::remove_file(project.path("capsule.wasm")).unwrap();
    fs::write(project.path("capsule.wasm"), component).unwrap();
    insta::assert_snapshot!(refused(&project), @r"
    error[E-RUN-002]: PROJECT/capsule.wasm imports `murmur:tool-registry/invoke@0.9.0`, which is not served
      hint: build it against `murmur:tool-registry/invoke@0.1.0`
    ");
}

#[test]
fn a_tool_in_the_capsules_place_or_a_capsule_in_the_tools() {
    let with = |path: &str, component: &str| {
        let project = Project::new();
        fs::remove_file(project.path(path)).unwrap();
        fs::copy(guest(component), project.path(path)).unwrap();
        refused(&project)
    };
    let said = with("capsule.wasm", "test_tool") + &with("tools/tool.wasm", "test_capsule");
    insta::assert_snapshot!(said, @r"
    error[E-RUN-002]: PROJECT/capsule.wasm does not export `murmur:capsule/run@0.1.0`
      hint: build it against the interfaces in the project's `wit` directory
    error[E-RUN-002]: PROJECT/./tools/tool.wasm does not export `murmur:tool/run@0.1.0`
      hint: build it against the interfaces in the project's `wit` directory
    ");
}

/// What is said of a key that was changed after its first use. It must not hold any of the key.
fn with_key_changed(change: impl FnOnce(&Path)) -> String {
    let project = Project::new();
    project.run_task("ok").expect(0);
    fs::remove_dir_all(project.path("workdir")).unwrap();
    let path = project.home().join("keys/record-seal.key");
    let key = fs::read_to_string(&path).unwrap();
    change(&path);
    let said = refused(&project);
    assert!(key.as_bytes().windows(8).all(|part| !said.contains(str::from_utf8(part).unwrap())), "{said}");
    said
}

#[test]
fn a_private_key_that_others_could_have_read_or_replaced() {
    let said = [
        with_key_changed(|key| fs::set_permissions(key, fs::Permissions::from_mode(0o640)).unwrap()),
        with_key_changed(|key| fs::set_permissions(key, fs::Permissions::from_mode(0o604)).unwrap()),
        with_key_changed(|key| {
            fs::rename(key, key.with_extension("moved")).unwrap();
            symlink("record-seal.moved", key).unwrap();
        }),
        with_key_changed(|key| fs::write(key, "a seed? no\n").unwrap()),
        with_key_changed(|key| fs::write(key, "").unwrap()),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-IO-004]: records cannot be sealed: ROOT/home/keys/record-seal.key: others may access it (mode 0640), so it may no longer be secret; if you trust it still, run: chmod 600 'ROOT/home/keys/record-seal.key'
    error[E-IO-004]: records cannot be sealed: ROOT/home/keys/record-seal.key: others may access it (mode 0604), so it may no longer be secret; if you trust it still, run: chmod 600 'ROOT/home/keys/record-seal.key'
    error[E-IO-004]: records cannot be sealed: ROOT/home/keys/record-seal.key: it is a symbolic link; put the key file itself in its place
    error[E-IO-004]: records cannot be sealed: ROOT/home/keys/record-seal.key: it is not a seed, which is 64 lowercase hexadecimal digits and a newline; restore it from a backup, or move it away to start with a new key, under which older records cannot be verified
    error[E-IO-004]: records cannot be sealed: ROOT/home/keys/record-seal.key: it is not a seed, which is 64 lowercase hexadecimal digits and a newline; restore it from a backup, or move it away to start with a new key, under which older records cannot be verified
    ");
}

#[test]
fn a_workdir_in_which_the_capsule_could_read_the_key() {
    let project = Project::new();
    fs::create_dir_all(project.home().join("keys")).unwrap();
    let before = tree(&project.path(""));
    let mut said = String::new();
    for workdir in [project.beside(""), project.home(), project.home().join("keys"), project.home().join("new")] {
        let ended = project.run(["run", "--task", "ok", "--workdir", workdir.to_str().unwrap()]).expect(1);
        said += &project.redacted(&ended.stderr);
    }
    assert_eq!(tree(&project.path("")), before);
    assert!(!project.home().join("new").exists());
    insta::assert_snapshot!(said, @r"
    error[E-SEAL-001]: guests working in ROOT could read the host's private key in ROOT/home
      hint: give a --workdir that neither holds the murmur home nor lies in it
    error[E-SEAL-001]: guests working in ROOT/home could read the host's private key in ROOT/home
      hint: give a --workdir that neither holds the murmur home nor lies in it
    error[E-SEAL-001]: guests working in ROOT/home/keys could read the host's private key in ROOT/home
      hint: give a --workdir that neither holds the murmur home nor lies in it
    error[E-SEAL-001]: guests working in ROOT/home/new could read the host's private key in ROOT/home
      hint: give a --workdir that neither holds the murmur home nor lies in it
    ");
}

#[test]
fn a_workdir_that_is_a_file() {
    let project = Project::new().with_file("work", "a file");
    let ended = project.run(["run", "--task", "ok", "--workdir", "work"]).expect(1);
    insta::assert_snapshot!(project.redacted(&ended.stderr), @r"
    error[E-IO-003]: PROJECT/work is a file, and a directory is needed there
      hint: name another directory, or move the file away
    ");
}

#[test]
fn surroundings_without_a_home() {
    let project = Project::new();
    let run = |home: Option<&str>| -> Ended {
        let mut command = project.mur(["run", "--task", "ok"]);
        command.env_remove("MURMUR_HOME");
        if let Some(home) = home {
            command.env("MURMUR_HOME", project.path(home));
        }
        project.start(command).wait().expect(1)
    };
    let said = run(None).stderr + &run(Some("murmur.yaml")).stderr;
    assert!(!project.path("workdir").exists());
    insta::assert_snapshot!(project.redacted(&said), @r"
    error[E-IO-004]: neither MURMUR_HOME nor HOME is set, so there is no place for the host's key
      hint: set MURMUR_HOME to a directory of your own
    error[E-IO-004]: records cannot be sealed: PROJECT/murmur.yaml: File exists (os error 17)
    ");
}

#[test]
fn an_unknown_key_of_the_manifest_is_a_warning_and_the_session_goes_on() {
    let project = Project::new().with_file("murmur.yaml", &format!("{MANIFEST}capabilites: {{}}\n"));
    let ended = project.run_task("ok").expect(0);
    insta::assert_snapshot!(project.redacted(&ended.stderr), @"warning[W-SEC-019]: PROJECT/murmur.yaml:5:1: `capabilites` is not a known key and has no effect; did you mean `capabilities`? (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)");
}

#[test]
fn arguments_that_are_none_are_a_usage_error() {
    let project = Project::new();
    for args in [&["run", "--tsak", "ok"][..], &["run", "--task"], &["rum"], &[]] {
        let ended = project.run(args).expect(2);
        assert_eq!(ended.stdout, "");
        assert_ne!(ended.stderr, "");
    }
    assert!(!project.path("workdir").exists());
}

#[test]
fn a_state_store_that_is_a_link_or_a_file_is_refused_and_told_before_a_launch() {
    for store in ["keyed", "filed"] {
        let project = Project::new().with_file(
            "murmur.yaml",
            &format!(
                "name: tester\nversion: 1.0.0\nartifacts:\n  - {{name: tool, source: ./tools/tool.wasm, \
                 capabilities: {{state: {{store: {store}}}}}}}\n"
            ),
        );
        let stores = project.home().join("state");
        fs::create_dir_all(&stores).unwrap();
        // What would give a guest the host's private key.
        symlink("../keys", stores.join("keyed")).unwrap();
        fs::write(stores.join("filed"), "").unwrap();
        let explained = project.run(["run", "--explain-scope"]);
        assert!(format!("{explained:?}").contains("is a link or a file"), "{explained:?}");
        let said = refused(&project);
        assert!(said.contains(&format!("state/{store} is a link or a file, and a directory is needed")), "{said}");
    }
}

#[test]
fn a_file_where_a_directory_is_needed_is_told_before_a_launch() {
    let project = Project::new()
        .with_file("murmur.yaml", "name: tester\nversion: 1.0.0\ncapabilities: {filesystem: {scope: data}}\n")
        .with_file("given/data", "")
        .with_file("plain", "");
    let before = tree(&project.path(""));
    for (workdir, named) in [("given", "given/data"), ("plain", "plain"), ("plain/below", "plain")] {
        let text = format!("{named} is a file, and a directory is needed there");
        let explained = project.run(["run", "--explain-scope", "--workdir", workdir]);
        assert!(format!("{explained:?}").contains(&text), "{explained:?}");
        let ended = project.run(["run", "--workdir", workdir, "--task", "ok"]).expect(1);
        assert!(ended.stderr.contains(&text), "{ended:?}");
    }
    assert_eq!(tree(&project.path("")), before);
}

#[test]
fn a_link_in_the_compiled_caches_place_is_left_alone_and_everything_runs() {
    let project = Project::new().with_file("elsewhere/kept", "");
    let (compiled, elsewhere) = (project.home().join("compiled"), project.path("elsewhere"));
    let _ = fs::remove_dir_all(&compiled);
    let _ = fs::remove_file(&compiled);
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(&elsewhere, &compiled).unwrap();
    project.run(["run", "--task", "ok"]).expect(0);
    assert_eq!(fs::metadata(&elsewhere).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}
