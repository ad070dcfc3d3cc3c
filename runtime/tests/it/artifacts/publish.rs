//! `mur publish`, and `mur list` and `mur search` over what was published.

use std::fs;

use crate::support::{Project, tree};

#[test]
fn what_is_published_is_filed_in_the_users_store_and_stays() {
    let project = Project::new();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    let said = project.run(["publish", archive.to_str().unwrap()]).expect(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("Published counter@1.0.0\n", ""));
    assert_eq!(
        tree(&project.home().join("artifacts/counter/1.0.0")),
        ["counter-1.0.0.meta.json", "counter-1.0.0.mur.zip", "counter-1.0.0.sha256"]
    );
    let again = project.run(["publish", archive.to_str().unwrap()]).expect(1);
    insta::assert_snapshot!(project.plain(&again.stderr), @r"
    error[E-REG-003]: counter@1.0.0 is already published in ROOT/home/artifacts
      hint: raise `version` in murmur.yaml: what is published stays
    ");
    // Without a path it is what was built here.
    let directory = archive.parent().unwrap();
    fs::remove_dir_all(project.home().join("artifacts")).unwrap();
    project.run_in(directory, &["publish"]).expect(0);
    fs::create_dir(project.beside("shared")).unwrap();
    project.run_in(directory, &["publish", "--registry", "../../shared"]).expect(0);
    assert!(project.beside("shared/counter/1.0.0/counter-1.0.0.mur.zip").is_file());
}

#[test]
fn a_native_artifact_is_filed_for_its_platform() {
    let project = Project::new();
    let archive = project.built_script("1.0.0");
    let archive = archive.to_str().unwrap();
    let detected = project.run(["publish", archive]).expect(0).stdout;
    let host = mur_runtime::artifact::Platform::host().unwrap();
    assert_eq!(detected, format!("Platform: {host} (auto-detected)\nPublished probe@1.0.0\n"));
    let other = if host.tag() == "darwin-aarch64" { "linux-aarch64" } else { "darwin-aarch64" };
    let named = project.run(["publish", archive, "--platform", other]).expect(0);
    assert_eq!(named.stdout, "Published probe@1.0.0\n");
    project.run(["publish", archive, "--platform", other]).expect(1);
    let listed = project.run(["list", "-g", "--json"]).expect(0).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["platforms"].as_array().unwrap().len(), 2);
    project.run(["publish", archive, "--platform", "plan9-mips"]).expect(2);
}

#[test]
fn what_cannot_be_published_is_refused_and_nothing_is_filed() {
    let project = Project::new();
    let built = |version: &str| project.built_tool("counter", version, "payload").to_str().unwrap().to_owned();
    let unbuilt = project.author("unbuilt", &[("murmur.yaml", "name: a\nversion: 1.0.0\nruntime: tool\n")]);
    let text = project.author("text", &[("a.mur.zip", "no zip")]);
    let refused = |args: &[&str]| {
        let said = project.run_in(&unbuilt, &[&["publish"], args].concat()).expect(1);
        assert!(!project.home().join("artifacts").exists());
        project.plain(&said.stderr)
    };
    let said = [
        refused(&[]),
        refused(&["nowhere.mur.zip"]),
        refused(&[text.join("a.mur.zip").to_str().unwrap()]),
        refused(&[&built("latest")]),
        refused(&[&built("1.0.0"), "--registry", "https://registry.example"]),
        refused(&[&built("1.0.1"), "--registry", "nowhere"]),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-IO-001]: a@1.0.0 is not built: ROOT/unbuilt/a-1.0.0.mur.zip does not exist
      hint: run `mur build`, or name the archive
    error[E-IO-001]: ROOT/unbuilt/nowhere.mur.zip does not exist
    error[E-BLD-003]: ROOT/text/a.mur.zip: not a zip that can be read: Could not find EOCD
      hint: make the archive with `mur build`
    error[E-REG-004]: counter@latest: `latest` is a reserved word, not a version
      hint: name the version itself, for example 1.0.0
    error[E-IO-003]: publishing to https://registry.example is not supported by this version of mur
      hint: publish to `local` or to a directory, and copy the files to the registry
    error[E-IO-001]: ROOT/unbuilt/nowhere does not exist
    ");
}

#[test]
fn without_a_home_there_is_no_store_of_the_user() {
    let project = Project::new();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    let mut command = project.mur(["publish", archive.to_str().unwrap()]);
    command.env_remove("MURMUR_HOME");
    insta::assert_snapshot!(project.start(command).wait().expect(1).stderr, @r"
    error[E-IO-004]: neither MURMUR_HOME nor HOME is set, so there is no place for your artifacts
      hint: set MURMUR_HOME to a directory of your own
    ");
}

#[test]
fn a_list_shows_what_is_installed_and_may_be_filtered_by_contract() {
    let project = Project::new();
    assert_eq!(project.run(["list"]).expect(0).stdout, "No artifacts installed.\n");
    for archive in [project.built_tool("counter", "1.10.0", "a"), project.built_tool("counter", "1.9.0", "b")] {
        project.run(["publish", archive.to_str().unwrap()]).expect(0);
    }
    let component = project.built_component();
    project.run(["publish", component.to_str().unwrap()]).expect(0);
    project.run(["install", component.to_str().unwrap()]).expect(0);
    let listed = |args: &[&str]| project.run([&["list"], args].concat()).expect(0).stdout;
    let outside = project.run_in(&project.beside("src"), &["list"]).expect(0).stdout;
    assert_eq!(outside, listed(&["-g"]));
    insta::assert_snapshot!([listed(&[]), listed(&["-g"]), listed(&["--all", "--contract", "murmur:tool/"])].join("\n"), @r"
    NAME    VERSION  RUNTIME  PLATFORMS
    tester  1.0.0    wasm     any

    NAME     VERSION  RUNTIME  PLATFORMS
    counter  1.9.0    wasm     any
    counter  1.10.0   wasm     any
    tester   1.0.0    wasm     any

    SCOPE    NAME    VERSION  RUNTIME  PLATFORMS  CONTRACTS
    project  tester  1.0.0    wasm     any        murmur:tool/run@0.1.0
    global   tester  1.0.0    wasm     any        murmur:tool/run@0.1.0
    ");
    assert_eq!(listed(&["--contract", "murmur:nothing/"]), "No artifacts installed.\n");
    let json: serde_json::Value = serde_json::from_str(&listed(&["--json", "-g"])).unwrap();
    insta::assert_snapshot!(json[1], @r#"{"name":"counter","version":"1.10.0","scope":"global","runtime":"wasm","artifact_runtime":"tool","platforms":[],"description":"The counter of the tests.","tags":["test"],"wit_contracts":null}"#);
    assert_eq!(json[2]["wit_contracts"]["exports"][0], "murmur:tool/run@0.1.0");
    project.run(["list", "-g", "--all"]).expect(2);
}

#[test]
fn a_search_shows_what_can_be_installed_newest_first() {
    let project = Project::new();
    assert_eq!(project.run(["search", "counter"]).expect(0).stdout, "No results found.\n");
    for version in ["1.9.0", "1.10.0"] {
        let archive = project.built_tool("counter", version, version);
        project.run(["publish", archive.to_str().unwrap()]).expect(0);
    }
    let other = project.built_tool("other", "1.0.0", "x");
    fs::create_dir(project.beside("flat")).unwrap();
    fs::copy(&other, project.beside("flat/other-1.0.0.mur.zip")).unwrap();
    let found = |args: &[&str]| project.run([&["search"], args].concat()).expect(0).stdout;
    insta::assert_snapshot!(
        [found(&["COUNT"]), found(&["test", "--limit", "1"]), found(&["test", "--registry", "../flat"])].join("\n"),
        @r"
        NAME     VERSION  RUNTIME  DESCRIPTION
        counter  1.10.0   wasm     The counter of the tests.
        counter  1.9.0    wasm     The counter of the tests.

        NAME     VERSION  RUNTIME  DESCRIPTION
        counter  1.10.0   wasm     The counter of the tests.

        NAME   VERSION  RUNTIME  DESCRIPTION
        other  1.0.0    wasm     The other of the tests.
        "
    );
    assert_eq!(found(&["other", "--registry", "local"]), "No results found.\n");
    let json = found(&["counter", "--json", "--limit", "1"]);
    insta::assert_snapshot!(project.plain(&json), @r#"[{"name":"counter","version":"1.10.0","runtime":"wasm","description":"The counter of the tests.","tags":["test"],"source":"ROOT/home/artifacts"}]"#);
    assert_eq!(found(&["nothing", "--json"]), "[]\n");
}
