//! `mur config set`, as it is typed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::support::{Project, tree};

#[test]
fn a_credential_is_written_for_its_owner_alone_and_never_shown() {
    let project = Project::new();
    let ended = project.run(["config", "set", "-g", "credentials.PROVIDER_API_KEY", "hunter2"]).expect(0);
    assert_eq!(project.redacted(&ended.stdout), "credentials.PROVIDER_API_KEY is set in ROOT/home/config.yaml\n");
    assert_eq!(ended.stderr, "");
    let file = project.home().join("config.yaml");
    assert_eq!(fs::read_to_string(&file).unwrap(), "credentials:\n  PROVIDER_API_KEY: \"hunter2\"\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_value_can_come_from_stdin_where_no_other_process_sees_it() {
    let project = Project::new();
    let mut command = project.mur(["config", "set", "--global", "credentials.A_KEY", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hunter2\r\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(!String::from_utf8(output.stdout).unwrap().contains("hunter"));
    assert_eq!(fs::read_to_string(project.home().join("config.yaml")).unwrap(), "credentials:\n  A_KEY: \"hunter2\"\n");
}

#[test]
fn a_projects_value_is_written_beside_its_manifest_and_keeps_what_was_there() {
    let project = Project::new().with_file(".murmur/config.yaml", "# ours\nregistry:\n  default: old # so far\n");
    let ended = project.run(["config", "set", "registry.default", "-mirror"]).expect(0);
    assert_eq!(project.redacted(&ended.stdout), "registry.default is set in PROJECT/.murmur/config.yaml\n");
    let text = fs::read_to_string(project.path(".murmur/config.yaml")).unwrap();
    assert_eq!(text, "# ours\nregistry:\n  default: \"-mirror\" # so far\n");
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_is_written() {
    let project = Project::new();
    let before = tree(&project.path(""));
    let mut said = String::new();
    for args in [
        &["config", "set", "credentials.A_KEY", "hunter2"][..],
        &["config", "set", "inference.api_key", "hunter2"],
        &["config", "set", "-g", "spend.machine_tokens_per_day", "5"],
        &["config", "set", "-g", "credentials.A_KEY", "hunter 2"],
    ] {
        let ended = project.run(args).expect(1);
        assert_eq!(ended.stdout, "");
        said += &project.redacted(&ended.stderr);
    }
    assert!(!said.contains("hunter"), "{said}");
    assert_eq!(tree(&project.path("")), before);
    assert!(!project.home().join("config.yaml").exists());
    insta::assert_snapshot!(said, @"
    error[E-CFG-002]: `credentials.A_KEY` belongs into the global configuration alone
      hint: add -g; a project's configuration is read by everybody who has the project
    error[E-CFG-002]: `inference.api_key` belongs into the global configuration alone
      hint: add -g; a project's configuration is read by everybody who has the project
    error[E-CFG-002]: `spend.machine_tokens_per_day` is not a key that can be set
      hint: known are registry.default, registry.index_url, inference.provider, inference.model, inference.api_key, inference.endpoint and credentials.NAME
    error[E-CFG-003]: the value of `credentials.A_KEY` holds characters that a request's header cannot
    ");
    for args in [&["config", "set", "registry.default"][..], &["config"], &["config", "get", "x"]] {
        project.run(args).expect(2);
    }
}

#[test]
fn a_projects_value_is_not_written_through_a_link() {
    for link in [".murmur", ".murmur/config.yaml"] {
        let project = Project::new();
        let elsewhere = project.beside("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("config.yaml"), "mine: 1\n").unwrap();
        fs::create_dir_all(project.path(link).parent().unwrap()).unwrap();
        let to = if link == ".murmur" { elsewhere.clone() } else { elsewhere.join("config.yaml") };
        std::os::unix::fs::symlink(to, project.path(link)).unwrap();
        let said = project.run(["config", "set", "registry.default", "local"]).expect(1);
        let stderr = project.redacted(&said.stderr).replace(link, "LINK");
        assert_eq!(
            stderr,
            "error[E-CFG-003]: PROJECT/LINK is not changed: it is a symbolic link, and a project's configuration is not \
             written through one\n  hint: write it by hand: `default:` below `registry:`\n"
        );
        assert_eq!(fs::read_to_string(elsewhere.join("config.yaml")).unwrap(), "mine: 1\n");
    }
}

#[test]
fn whoever_sets_what_nothing_reads_is_told() {
    let project = Project::new();
    let said = ["registry.index_url", "inference.model", "registry.default"].map(|key| {
        let said = project.run(["config", "set", key, "x"]).expect(0);
        said.stderr
    });
    insta::assert_snapshot!(said.concat(), @r"
    warning[W-SEC-019]: `registry.index_url` has no effect in this version of mur (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
      hint: what is searched are the stores and `registry.sources`
    warning[W-SEC-019]: `inference.model` has no effect in this version of mur (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
      hint: an agent's model is the one in its murmur.yaml
    ");
}
