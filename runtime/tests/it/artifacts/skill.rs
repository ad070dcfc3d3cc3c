//! `mur build --skill`.

use std::fs;
use std::io::Write as _;

use mur_runtime::artifact::{Limit, Package};
use mur_runtime::content::Content;

use crate::support::{Project, tree};

fn packed(project: &Project, name: &str) -> Package {
    let bytes = fs::read(project.path(name)).unwrap();
    Package::open(name, Content::new(bytes), Limit::default()).unwrap()
}

#[test]
fn a_folder_becomes_an_artifact_with_a_name_of_its_own() {
    let project = Project::new();
    let folder = project.author("My Notes", &[("Skill.MD", "# Notes\nKeep them.\n"), ("extra.txt", "not packed")]);
    let said = project.run(["build", "--skill", folder.to_str().unwrap()]).expect(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(project.plain(&said.stdout), @"Built artifact: PROJECT/my-notes-0.1.0.mur.zip");
    let package = packed(&project, "my-notes-0.1.0.mur.zip");
    assert_eq!(package.manifest(), b"name: \"my-notes\"\nversion: \"0.1.0\"\nruntime: skill\n");
    assert_eq!(package.payload().unwrap().unwrap(), b"# Notes\nKeep them.\n");
    assert_eq!(package.archive().entries().len(), 2);

    let args =
        ["build", "--skill", "notes", folder.to_str().unwrap(), "--version", "2.0", "--summary", "Keeps \"notes\""];
    project.run(args).expect(0);
    let package = packed(&project, "notes-2.0.mur.zip");
    assert_eq!(package.packed().description.as_deref(), Some("Keeps \"notes\""));
}

#[test]
fn a_zip_of_a_folder_is_the_same_skill() {
    let project = Project::new();
    let path = project.beside("notes.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, text) in [("inner/SKILL.md", "# Notes\n"), ("inner/more.txt", "x")] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    project.run(["build", "--skill", path.to_str().unwrap()]).expect(0);
    assert_eq!(packed(&project, "notes-0.1.0.mur.zip").payload().unwrap().unwrap(), b"# Notes\n");
}

#[test]
fn what_an_author_wrote_is_kept() {
    let project = Project::new();
    let manifest = "# mine\nname: kept\nversion: 3.0.0\nruntime: skill\nrequires_files: [skill.md, ref.md]\n";
    let files = [("murmur.yaml", manifest), ("SKILL.md", "text"), ("ref.md", "more")];
    let folder = project.author("kept", &files);
    project.run(["build", "--skill", folder.to_str().unwrap()]).expect(0);
    let package = packed(&project, "kept-3.0.0.mur.zip");
    assert_eq!(package.manifest(), manifest.as_bytes());
    assert_eq!(package.archive().entries().len(), 3);
}

#[test]
fn what_is_no_skill_is_refused_and_nothing_is_written() {
    let project = Project::new();
    let tool = "name: kept\nversion: 3.0.0\nruntime: tool\n";
    let skill = "name: kept\nversion: 3.0.0\nruntime: skill\n";
    let before = tree(&project.path(""));
    let refused = |args: &[&str]| {
        let said = project.run([&["build", "--skill"], args].concat()).expect(1);
        assert_eq!(tree(&project.path("")), before);
        project.plain(&said.stderr)
    };
    let at = |name: &str, files: &[(&str, &str)]| project.author(name, files).to_str().unwrap().to_owned();
    let said = [
        refused(&[&at("none", &[("readme", "")])]),
        refused(&["nowhere"]),
        refused(&[&at("two", &[("SKILL.md", ""), ("skill.md", "")])]),
        refused(&["Not a name", &at("name", &[("SKILL.md", "x")])]),
        refused(&[&at("...", &[("SKILL.md", "x")])]),
        refused(&[&at("tool", &[("SKILL.md", "x"), ("murmur.yaml", tool)])]),
        refused(&["named", &at("authored", &[("SKILL.md", "x"), ("murmur.yaml", skill)])]),
    ];
    insta::assert_snapshot!(said.concat(), @r"
    error[E-IO-001]: ROOT/none holds no SKILL.md
      hint: a skill is a folder or a zip with a SKILL.md
    error[E-IO-001]: PROJECT/nowhere does not exist
    error[E-BLD-003]: ROOT/two: there are both SKILL.md and skill.md
      hint: leave one of them
    error[E-BLD-001]: `Not a name` is no name for a skill: it holds `N`, and only a-z, 0-9 and `-` are allowed
      hint: give it one: mur build --skill NAME PATH
    error[E-BLD-001]: `` is no name for a skill: it is empty
      hint: give it one: mur build --skill NAME PATH
    error[E-MAN-003]: ROOT/tool/murmur.yaml: it is the manifest of a tool
      hint: build it without --skill
    error[E-MAN-003]: ROOT/authored/murmur.yaml: there is a manifest already, so name, version and summary are those in it
      hint: leave NAME, --version and --summary out, or remove the manifest
    ");
    let usage = project.run(["build", "--summary", "x"]).expect(2);
    assert!(usage.stderr.contains("--skill"), "{usage:?}");
}
