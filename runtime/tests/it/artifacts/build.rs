//! `mur build`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Project, tree};

const TOOL: &str = "name: tool\nversion: 1.0.0\nruntime: tool\nrequires_files: [tool.wasm, data/words.txt]\n";

#[test]
fn an_archive_holds_the_manifest_and_what_it_requires_and_nothing_else() {
    let project = Project::new();
    let files =
        [("murmur.yaml", TOOL), ("tool.wasm", "payload"), ("data/words.txt", "one\n"), ("notes.md", "not packed")];
    let directory = project.author("author", &files);
    let said = project.run_in(&directory, &["build"]).expect(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(project.plain(&said.stdout), @"Built artifact: ROOT/author/tool-1.0.0.mur.zip");
    let archive = fs::read(directory.join("tool-1.0.0.mur.zip")).unwrap();
    let open =
        mur_runtime::artifact::Archive::open("a", archive.clone().into(), mur_runtime::artifact::Limit::default())
            .unwrap();
    let names: Vec<&str> = open.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(names, ["murmur.yaml", "tool.wasm", "data/words.txt"]);
    assert_eq!(open.read(open.entry("murmur.yaml").unwrap()).unwrap(), TOOL.as_bytes());

    // The same input gives the same bytes, wherever it lies and whatever the output is called.
    let other = project.author("elsewhere/author", &files);
    project.run(["build", other.to_str().unwrap(), "-o", "named.mur.zip"]).expect(0);
    assert_eq!(fs::read(project.path("named.mur.zip")).unwrap(), archive);
    fs::create_dir(project.path("out")).unwrap();
    let said = project.run(["build", other.to_str().unwrap(), "--output", "out"]).expect(0);
    assert!(said.stdout.ends_with("out/tool-1.0.0.mur.zip\n"), "{said:?}");
    assert_eq!(tree(&project.path("out")), ["tool-1.0.0.mur.zip"]);
}

#[test]
fn what_cannot_be_packed_is_refused_and_nothing_is_written() {
    let project = Project::new();
    let tool = |more: &str| format!("name: tool\nversion: 1.0.0\nruntime: tool\n{more}");
    let refused = |name: &str, files: &[(&str, &str)]| {
        let directory = project.author(name, files);
        let _ = symlink("/etc/passwd", directory.join("linked.wasm"));
        let before = tree(&directory);
        let said = project.run(["build", directory.to_str().unwrap()]).expect(1);
        assert_eq!((said.stdout.as_str(), tree(&directory)), ("", before));
        project.plain(&said.stderr)
    };
    let said = [
        refused("none", &[("readme", "")]),
        refused("name", &[("murmur.yaml", "name: a_b\nversion: 1.0.0\nruntime: tool\n")]),
        refused("up", &[("murmur.yaml", &tool("requires_files: [../up.wasm]\n"))]),
        refused("link", &[("murmur.yaml", &tool("requires_files: [linked.wasm]\n"))]),
        refused("absent", &[("murmur.yaml", &tool("requires_files: [tool.wasm]\n"))]),
        refused("dir", &[("murmur.yaml", &tool("requires_files: [tool.wasm]\n")), ("tool.wasm/x", "")]),
        refused("unlisted", &[("murmur.yaml", &tool("")), ("mine.wasm", "")]),
        refused("empty", &[("murmur.yaml", &tool("requires_files: [a.txt]\n")), ("a.txt", "")]),
        refused("two", &[("murmur.yaml", &tool("requires_files: [a.wasm, b.wasm]\n")), ("a.wasm", ""), ("b.wasm", "")]),
        refused("native", &[("murmur.yaml", &tool("implementation: native\n"))]),
        refused("retired", &[("murmur.yaml", &tool("inference_auth: {}\n"))]),
        refused("auth", &[("murmur.yaml", &tool("upstream_auth: {header: host, value: \"{key}\"}\n"))]),
        refused("version", &[("murmur.yaml", "name: tool\nversion: ../1\nruntime: tool\n")]),
        refused(
            "case",
            &[
                ("murmur.yaml", &tool("requires_files: [capsule.wasm, A.txt, a.txt]\n")),
                ("capsule.wasm", ""),
                ("a.txt", ""),
                ("A.txt", ""),
            ],
        ),
    ];
    insta::assert_snapshot!(said.concat(), @r#"
    error[E-IO-001]: ROOT/none/murmur.yaml does not exist
      hint: name the directory of the artifact's murmur.yaml
    error[E-BLD-001]: ROOT/name/murmur.yaml:1:7: the name holds `_`, and only a-z, 0-9 and `-` are allowed
      hint: a name has 1 to 100 characters of a-z, 0-9 and inner `-`
    error[E-BLD-002]: ROOT/up/murmur.yaml:4:18: `requires_files` names `../up.wasm`: the path holds `.` or `..`
      hint: name files below the directory of murmur.yaml, with `/` between the parts
    error[E-BLD-002]: ROOT/link/linked.wasm is a symbolic link, and no link is packed
      hint: name the file itself
    error[E-IO-003]: `requires_files` names `tool.wasm`, and ROOT/absent/tool.wasm does not exist
      hint: make the file, or leave it out of `requires_files`
    error[E-IO-003]: ROOT/dir/tool.wasm is a directory
    error[E-BLD-003]: ROOT/unlisted: the artifact is a component, and no *.wasm is packed at its root
      hint: add one of them to `requires_files`: linked.wasm, mine.wasm
    error[E-BLD-003]: ROOT/empty: the artifact is a component, and no *.wasm is packed at its root
      hint: add it to the manifest: `requires_files: [linked.wasm]`
    error[E-BLD-003]: ROOT/two: several components are packed, and none is capsule.wasm: a.wasm, b.wasm
      hint: leave one of them in `requires_files`, or name one capsule.wasm
    error[E-BLD-003]: ROOT/native: the artifact is native, and its executable, `bin/tool`, is not packed
      hint: name the executable in `requires_files`
    error[E-BLD-004]: ROOT/retired/murmur.yaml:4:1: `inference_auth` is no longer read
      hint: rename the block to `upstream_auth`
    error[E-MAN-003]: ROOT/auth/murmur.yaml:4:25: `upstream_auth.header` says where a request goes or how it is read, and carries no key: `host`
      hint: for example `upstream_auth: {header: authorization, value: "Bearer {key}"}`
    error[E-MAN-003]: `tool@../1` has a version that cannot be part of a file's name
      hint: write a version without slashes and spaces, and no `.` in front, for example 1.0.0
    error[E-BLD-003]: ROOT/case: entry `a.txt` (number 3, at byte 402): only its case tells it from another: `A.txt`
      hint: rename one of the files, or leave it out of `requires_files`
    "#);
}

#[test]
fn what_an_author_should_know_is_told_and_no_credential_is_repeated() {
    let project = Project::new();
    let manifest = "\
name: tool
version: 1.0.0
runtime: capsule
requires_files: [murmur.yaml, capsule.wasm, other.wasm, Cargo.toml, src/main.rs, target/x]
inference: {model: tiny, api_key: very-secret-thing}
descripton: x
";
    let files = [
        ("murmur.yaml", manifest),
        ("capsule.wasm", ""),
        ("other.wasm", ""),
        ("Cargo.toml", ""),
        ("src/main.rs", ""),
        ("target/x", ""),
    ];
    let directory = project.author("author", &files);
    let said = project.run_in(&directory, &["build"]).expect(0);
    insta::assert_snapshot!(project.plain(&said.stderr), @r"
    warning[W-SEC-019]: ROOT/author/murmur.yaml:6:1: `descripton` is not a known key and has no effect; did you mean `description`? (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
    warning[W-SEC-004]: ROOT/author/murmur.yaml:5:35: `inference.api_key` looks like a credential written down as it is; it is packed, and whoever gets the archive gets it (https://docs.murmur.nexus/reference/diagnostics/#w-sec-004)
    warning[W-BLD-001]: ROOT/author/murmur.yaml:4:18: `murmur.yaml` is packed anyway and need not be required (https://docs.murmur.nexus/reference/diagnostics/#w-bld-001)
    warning[W-BLD-002]: ROOT/author/murmur.yaml:4:45: `other.wasm` is packed beside `capsule.wasm`, which is the one that is run (https://docs.murmur.nexus/reference/diagnostics/#w-bld-002)
    warning[W-BLD-003]: ROOT/author/murmur.yaml:4:57: `Cargo.toml` is only needed to build, and is packed (https://docs.murmur.nexus/reference/diagnostics/#w-bld-003)
    warning[W-BLD-003]: ROOT/author/murmur.yaml:4:69: `src/main.rs` is only needed to build, and is packed (https://docs.murmur.nexus/reference/diagnostics/#w-bld-003)
    warning[W-BLD-003]: ROOT/author/murmur.yaml:4:82: `target/x` is only needed to build, and is packed (https://docs.murmur.nexus/reference/diagnostics/#w-bld-003)
    ");
    assert!(!said.stderr.contains("very-secret"));
}

#[test]
fn an_artifact_larger_than_the_limit_is_refused() {
    let project = Project::new();
    let directory = project.author("author", &[("murmur.yaml", TOOL), ("tool.wasm", "payload")]);
    let limited = |value: &str| {
        let mut command = project.mur(["build"]);
        command.current_dir(&directory).env("MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES", value);
        project.plain(&project.start(command).wait().expect(1).stderr)
    };
    insta::assert_snapshot!(limited("3") + &limited("many"), @r"
    error[E-IO-003]: ROOT/author, with `tool.wasm`, is larger than 3 bytes
      hint: MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES raises the limit, in bytes
    error[E-IO-003]: MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES is `many`, which is no number of bytes greater than zero
      hint: set it to a number of bytes, or unset it
    ");
}

#[test]
fn a_second_path_takes_a_skill() {
    let project = Project::new();
    insta::assert_snapshot!(project.run(["build", "a", "b"]).expect(1).stderr, @r"
    error[E-IO-003]: a second path, `b`, is not supported by this version of mur
      hint: name one directory, or pack a skill with --skill
    ");
}
