//! `mur install` from this machine: stores, directories, files.

use std::fs;
use std::path::PathBuf;

use crate::support::{Project, tree};

/// A flat directory beside the project with these archives.
fn flat(project: &Project, archives: &[PathBuf]) -> PathBuf {
    let directory = project.beside("flat");
    fs::create_dir_all(&directory).unwrap();
    for archive in archives {
        fs::copy(archive, directory.join(archive.file_name().unwrap())).unwrap();
    }
    directory
}

#[test]
fn an_artifact_comes_from_the_users_store_and_is_pinned() {
    let project = Project::new().declaring(&["counter@1.0.0"]);
    let archive = project.built_tool("counter", "1.0.0", "payload");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    let said = project.run(["install"]).expect(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("Installed counter@1.0.0\n", ""));
    insta::assert_snapshot!(project.plain(&project.lock()), @r#"
    lock_version: 2
    artifacts:
      - name: counter
        resolved_version: "1.0.0"
        sha256:
          any: "HASH"
    "#);
    assert_eq!(project.installed(), ["counter/1.0.0/counter-1.0.0.mur.zip"]);

    // Once more from a directory below: nothing changes, not a byte.
    let lock = format!("# mine\n{}", project.lock());
    fs::write(project.path("murmur.lock"), &lock).unwrap();
    let again = project.run_in(&project.path("tools"), &["install"]).expect(0);
    assert_eq!(again.stdout, "Unchanged counter@1.0.0\n");
    assert_eq!(project.lock(), lock);
}

#[test]
fn the_lock_is_added_to_and_other_entries_stay() {
    let project = Project::new();
    let archives = [
        project.built_tool("counter", "1.0.0", "a"),
        project.built_tool("counter", "2.0.0", "b"),
        project.built_tool("other", "1.0.0", "c"),
    ];
    flat(&project, &archives);
    for id in ["counter@1.0.0", "other@1.0.0", "counter@2.0.0"] {
        project.run(["install", id, "--registry", "../flat"]).expect(0);
    }
    insta::assert_snapshot!(project.plain(&project.lock()), @r#"
    lock_version: 2
    artifacts:
      - name: counter
        resolved_version: "2.0.0"
        sha256:
          any: "HASH"
      - name: other
        resolved_version: "1.0.0"
        sha256:
          any: "HASH"
    "#);
    assert_eq!(project.installed().len(), 3);
}

#[test]
fn a_native_artifact_is_pinned_for_this_platform() {
    let project = Project::new();
    let archive = project.built_script("1.0.0");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    project.run(["install", "probe@1.0.0"]).expect(0);
    let host = mur_runtime::artifact::Platform::host().unwrap().tag();
    assert!(
        project.lock().contains(&format!("    sha256:\n      platforms:\n        {host}: \"")),
        "{}",
        project.lock()
    );
    assert_eq!(project.installed(), [format!("probe/1.0.0/probe-1.0.0-{host}.mur.zip")]);
    // Another host's hash stays beside it.
    let other = if host == "linux-aarch64" { "darwin-x86_64" } else { "linux-aarch64" };
    let with_other = project.lock().replace(host, other);
    fs::write(project.path("murmur.lock"), with_other).unwrap();
    project.run(["install", "probe@1.0.0"]).expect(0);
    assert!(project.lock().contains(host) && project.lock().contains(other), "{}", project.lock());
}

#[test]
fn some_failures_are_told_with_their_codes_and_the_rest_is_pinned() {
    let project = Project::new().declaring(&["gone@1.0.0", "counter@1.0.0", "word@latest"]);
    let archive = project.built_tool("counter", "1.0.0", "payload");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    let said = project.run(["install"]).expect(1);
    insta::assert_snapshot!(project.plain(&format!("{}\n{}", said.stdout, said.stderr)), @r"
    Failed gone@1.0.0 E-REG-001
    Installed counter@1.0.0
    Failed word@latest E-REG-004
    2 of 3 failed

    error[E-REG-001]: gone@1.0.0 was not found in ROOT/home/artifacts
      hint: see what there is with `mur search`, or name another source with --registry
    error[E-REG-004]: word@latest: `latest` is a reserved word, not a version
      hint: name the version itself, for example 1.0.0
    ");
    assert!(project.lock().contains("counter") && !project.lock().contains("gone"));
}

#[test]
fn when_everything_fails_no_lock_is_written() {
    let project = Project::new().declaring(&["gone@1.0.0"]);
    let before = tree(&project.path(""));
    let said = project.run(["install"]).expect(1);
    assert!(said.stdout.ends_with("1 of 1 failed\n"), "{said:?}");
    assert_eq!(tree(&project.path("")), before);
}

#[test]
fn what_contradicts_the_lock_is_refused_with_nothing_written() {
    let project = Project::new();
    flat(&project, &[project.built_tool("counter", "1.0.0", "first")]);
    project.run(["install", "counter@1.0.0", "--registry", "../flat"]).expect(0);
    let before =
        (project.lock(), fs::read(project.path(".murmur/artifacts/counter/1.0.0/counter-1.0.0.mur.zip")).unwrap());
    let changed = project.built_tool("counter", "1.0.0", "second");
    flat(&project, std::slice::from_ref(&changed));
    let fetched = project.run(["install", "counter@1.0.0", "--registry", "../flat"]).expect(1);
    let file = project.run(["install", changed.to_str().unwrap()]).expect(1);
    insta::assert_snapshot!(project.plain(&(fetched.stderr + &file.stderr)), @r"
    error[E-REG-005]: counter@1.0.0 from PROJECT/../flat/counter-1.0.0.mur.zip has the SHA-256 HASH, and PROJECT/murmur.lock pins HASH
      hint: the artifact has changed without its version changing: ask its author, or remove the entry from the lock
    error[E-REG-005]: counter@1.0.0 from ROOT/src/counter-1.0.0/counter-1.0.0.mur.zip has the SHA-256 HASH, and PROJECT/murmur.lock pins HASH
      hint: the artifact has changed without its version changing: ask its author, or remove the entry from the lock
    ");
    let after =
        (project.lock(), fs::read(project.path(".murmur/artifacts/counter/1.0.0/counter-1.0.0.mur.zip")).unwrap());
    assert_eq!(after, before);
}

#[test]
fn a_damaged_copy_is_repaired_from_a_good_source() {
    let project = Project::new();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    project.run(["install", "counter@1.0.0"]).expect(0);
    let copy = project.path(".murmur/artifacts/counter/1.0.0/counter-1.0.0.mur.zip");
    fs::write(&copy, "damaged").unwrap();
    let said = project.run(["install", "counter@1.0.0"]).expect(0);
    assert_eq!(said.stdout, "Installed counter@1.0.0\n");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(&archive).unwrap());
}

#[test]
fn a_damaged_copy_that_nobody_has_whole_is_told_as_that() {
    let project = Project::new();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    fs::write(project.home().join("artifacts/counter/1.0.0/counter-1.0.0.mur.zip"), "damaged").unwrap();
    let said = project.run(["install", "counter@1.0.0"]).expect(1);
    assert_eq!(said.stdout, "Failed counter@1.0.0 E-REG-002\n1 of 1 failed\n");
    assert!(project.installed().is_empty());
}

#[test]
fn a_file_is_installed_and_not_pinned() {
    let project = Project::new();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    let said = project.run(["install", archive.to_str().unwrap()]).expect(0);
    assert_eq!(said.stdout, "Installed counter@1.0.0\n");
    assert!(!project.path("murmur.lock").exists());
    assert_eq!(project.installed().len(), 1);
}

#[test]
fn a_global_installation_leaves_the_project_alone() {
    let project = Project::new();
    flat(&project, &[project.built_tool("counter", "1.0.0", "payload")]);
    let before = tree(&project.path(""));
    project.run(["install", "-g", "counter@1.0.0", "--registry", "../flat"]).expect(0);
    assert_eq!(tree(&project.path("")), before);
    assert!(project.home().join("artifacts/counter/1.0.0/counter-1.0.0.mur.zip").is_file());
}

#[test]
fn the_payloads_of_all_platforms_are_installed_without_being_pinned() {
    let project = Project::new();
    let archive = project.built_script("1.0.0");
    let archive = archive.to_str().unwrap();
    for platform in ["linux-x86_64", "darwin-aarch64"] {
        project.run(["publish", archive, "--platform", platform]).expect(0);
    }
    project.run(["install", "probe@1.0.0", "--all-platforms"]).expect(0);
    assert_eq!(
        project.installed(),
        ["probe/1.0.0/probe-1.0.0-darwin-aarch64.mur.zip", "probe/1.0.0/probe-1.0.0-linux-x86_64.mur.zip"]
    );
    assert!(!project.path("murmur.lock").exists());
}

#[test]
fn a_directory_may_say_the_hashes_of_its_archives() {
    let project = Project::new();
    let directory = flat(&project, &[project.built_tool("counter", "1.0.0", "payload")]);
    fs::write(directory.join("counter-1.0.0.sha256"), format!("{}  counter-1.0.0.mur.zip\n", "0".repeat(64))).unwrap();
    let damaged = project.run(["install", "counter@1.0.0", "--registry", "../flat"]).expect(1);
    fs::write(directory.join("counter-1.0.0.sha256"), "none").unwrap();
    let none = project.run(["install", "counter@1.0.0", "--registry", "../flat"]).expect(1);
    fs::write(directory.join("artifacts-index.json"), "{\"schema_version\": \"2\"}").unwrap();
    let index = project.run(["install", "counter@1.0.0", "--registry", "../flat"]).expect(1);
    insta::assert_snapshot!(project.plain(&[damaged.stderr, none.stderr, index.stderr].concat()), @r#"
    error[E-REG-002]: PROJECT/../flat/counter-1.0.0.mur.zip is damaged: its SHA-256 is HASH, and should be HASH
      hint: install it again from a good source
    error[E-REG-002]: PROJECT/../flat/counter-1.0.0.sha256: the hash is not 64 hexadecimal digits in lower case
      hint: correct or remove the file
    error[E-REG-006]: PROJECT/../flat did not answer: artifacts-index.json: `schema_version` is "2", and "1" is read
      hint: try again later, or name another with --registry
    "#);
    assert!(project.installed().is_empty());
}

#[test]
fn what_does_not_say_what_to_install_is_refused() {
    let project = Project::new();
    let outside = project.author("outside", &[("readme", "")]);
    let refused = |args: &[&str]| project.plain(&project.run_in(&outside, args).expect(1).stderr);
    let said = [
        refused(&["install"]),
        refused(&["install", "counter"]),
        refused(&["install", "Counter@1.0.0"]),
        refused(&["install", "nowhere.mur.zip"]),
        refused(&["install", "counter@1.0.0", "--registry", "nowhere"]),
        refused(&["install", "counter@1.0.0", "--registry", "ftp://a"]),
        refused(&["install", "github:owner/repo@v1"]),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-IO-001]: there is no murmur.yaml in ROOT/outside or above it
      hint: run it in a project, or name an artifact as name@version
    error[E-MAN-003]: `counter` is not of the form name@version
      hint: name one as name@version, for example word-count@1.0.0
    error[E-MAN-003]: `Counter@1.0.0` has a name that holds `C`, and only a-z, 0-9 and `-` are allowed
      hint: name one as name@version, for example word-count@1.0.0
    error[E-IO-001]: ROOT/outside/nowhere.mur.zip does not exist
    error[E-IO-001]: ROOT/outside/nowhere does not exist
    error[E-IO-003]: `ftp://a` is no registry: its scheme is neither http nor https
      hint: give `local`, a directory, or a URL such as https://registry.example/artifacts
    error[E-IO-003]: installing `github:owner/repo@v1` is not supported by this version of mur
      hint: download the archive and install its file, or name a registry with --registry
    ");
    assert_eq!(tree(&outside), ["readme"]);
}

#[test]
fn a_lock_that_cannot_be_used_stops_everything() {
    let project = Project::new().declaring(&["counter@1.0.0"]).with_file("murmur.lock", "lock_version: 1\n");
    let archive = project.built_tool("counter", "1.0.0", "payload");
    project.run(["publish", archive.to_str().unwrap()]).expect(0);
    let said = project.run(["install"]).expect(1);
    insta::assert_snapshot!(project.plain(&said.stderr), @r"
    error[E-RUN-003]: PROJECT/murmur.lock:1:15: `lock_version` is 1, and this version of mur reads 2
      hint: delete it and run `mur install`
    ");
    assert!(project.installed().is_empty());
}

#[test]
fn two_installations_at_once_both_succeed() {
    let project = Project::new();
    let archives: Vec<PathBuf> = (0..4).map(|n| project.built_tool(&format!("tool-{n}"), "1.0.0", "payload")).collect();
    for archive in &archives {
        project.run(["publish", archive.to_str().unwrap()]).expect(0);
    }
    let running: Vec<_> =
        (0..8).map(|n| project.start(project.mur(["install", &format!("tool-{}@1.0.0", n % 4)]))).collect();
    for one in running {
        one.wait().expect(0);
    }
    assert_eq!(project.lock().matches("resolved_version").count(), 4, "{}", project.lock());
    assert_eq!(project.installed().len(), 4);
}

/// What a cloned project can bring along must not decide where an installation writes.
#[test]
fn a_link_in_a_projects_store_is_not_written_through() {
    for link in [".murmur", ".murmur/artifacts", ".murmur/artifacts/counter", ".murmur/artifacts/counter/1.0.0"] {
        let project = Project::new().declaring(&["counter@1.0.0"]);
        let archive = project.built_tool("counter", "1.0.0", "payload");
        flat(&project, std::slice::from_ref(&archive));
        let elsewhere = project.beside("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(project.path(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, project.path(link)).unwrap();

        let link = project.path(link);
        let said = project.run(["install", "--registry", "../flat"]).expect(1);
        let refused = format!("{} is a symbolic link, and nothing is installed through one\n", link.display());
        assert!(said.stderr.contains(&refused), "{}", said.stderr);
        let said = project.run(["install", archive.to_str().unwrap()]).expect(1);
        assert!(said.stderr.contains(&refused), "{}", said.stderr);
        assert_eq!(tree(&elsewhere), Vec::<String>::new());
        assert!(!project.path("murmur.lock").exists());
    }
}

#[test]
fn a_manifest_that_cannot_be_read_is_not_passed_over_for_the_one_above() {
    let project = Project::new().declaring(&["counter@1.0.0"]);
    let below = project.path("below");
    fs::create_dir_all(&below).unwrap();
    std::os::unix::fs::symlink("nowhere", below.join("murmur.yaml")).unwrap();
    let said = project.run_in(&below, &["install"]).expect(1);
    assert!(said.stderr.contains("below/murmur.yaml"), "{}", said.stderr);
    assert!(!project.path(".murmur").exists() && !project.path("murmur.lock").exists());
}
