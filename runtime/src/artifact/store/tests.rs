#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use tempfile::TempDir;

use super::super::archive::Packing;
use super::super::file::Executable;
use super::*;
use crate::diagnostic::Code;

const LIMIT: Limit = Limit::of(10_000_000);

/// An artifact whose payload is `payload`.
pub(crate) fn package(name: &str, version: &str, more: &str, files: &[(&str, &[u8])]) -> Package {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let manifest = format!("name: {name}\nversion: {version}\nrequires_files: [{}]\n{more}", names.join(", "));
    let mut packing = Packing::new(manifest.into_bytes());
    for (name, bytes) in files {
        packing.add(name.parse().unwrap(), bytes.to_vec(), Executable::No);
    }
    Package::open("made", Content::new(packing.write().unwrap()), LIMIT).unwrap()
}

fn skill(version: &str, text: &str) -> Package {
    package("notes", version, "runtime: skill\n", &[("skill.md", text.as_bytes())])
}

fn native(text: &[u8]) -> Package {
    package("probe", "1.0.0", "runtime: tool\nimplementation: native\n", &[("bin/probe", text)])
}

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::global(&directory.path().join("home"));
    (directory, store)
}

fn id(text: &str) -> ArtifactId {
    text.parse().unwrap()
}

fn files(store: &Store, id: &str) -> Vec<String> {
    file::names(&store.directory_of(&self::id(id))).unwrap()
}

#[test]
fn an_artifact_is_three_files_and_comes_back_verified() {
    let (_directory, store) = store();
    let made = skill("1.0.0", "\n  Keep notes.\nMore.\n");
    assert_eq!(store.write(&made, None, Existing::Refuse).unwrap(), Written::Anew);
    assert_eq!(files(&store, "notes@1.0.0"), ["notes-1.0.0.meta.json", "notes-1.0.0.mur.zip", "notes-1.0.0.sha256"]);
    let found = store.find(&id("notes@1.0.0"), Platform::host(), LIMIT).unwrap().unwrap();
    assert_eq!(found.package.sha256(), made.sha256());
    assert_eq!((found.platform, found.scope), (None, Scope::Global));
    assert!(store.find(&id("notes@1.0.1"), None, LIMIT).unwrap().is_none());
    let meta = store.files(&id("notes@1.0.0"), None).metadata;
    insta::assert_snapshot!(fs::read_to_string(meta).unwrap(), @r#"
    {
      "meta": {
        "name": "notes",
        "version": "1.0.0",
        "runtime": "static",
        "artifact_runtime": "skill",
        "platforms": [],
        "description": "Keep notes.",
        "tags": []
      }
    }
    "#);
    let mode = fs::metadata(store.root().parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn metadata_tells_what_a_component_imports_and_exports() {
    let bytes = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests/test_tool.wasm")).unwrap();
    let tool = package("word-count", "1.0.0", "runtime: tool\n", &[("tool.wasm", &bytes)]);
    let contracts = tool.metadata(None).unwrap().wit_contracts.unwrap();
    assert_eq!(contracts.exports, ["murmur:tool/run@0.1.0"]);
    let text = package("word-count", "1.0.0", "runtime: tool\n", &[("tool.wasm", b"no component")]);
    assert_eq!(text.metadata(None).unwrap().wit_contracts, None);
}

#[test]
fn what_is_published_stays_and_an_installation_replaces_it() {
    let (_directory, store) = store();
    store.write(&skill("1.0.0", "old"), None, Existing::Refuse).unwrap();
    let error = store.write(&skill("1.0.0", "new"), None, Existing::Refuse).unwrap_err();
    let shown = error.diagnostic().to_string().replace(&store.root().display().to_string(), "STORE");
    insta::assert_snapshot!(shown, @r"
    error[E-REG-003]: notes@1.0.0 is already published in STORE
      hint: raise `version` in murmur.yaml: what is published stays
    ");
    assert_eq!(store.write(&skill("1.0.0", "new"), None, Existing::Replace).unwrap(), Written::Anew);
    assert_eq!(store.write(&skill("1.0.0", "new"), None, Existing::Replace).unwrap(), Written::Same);
    let found = store.find(&id("notes@1.0.0"), None, LIMIT).unwrap().unwrap();
    assert_eq!(found.package.payload().unwrap().unwrap(), b"new");
}

#[test]
fn the_payload_of_the_platform_is_preferred_to_the_one_that_names_none() {
    let (_directory, store) = store();
    store.write(&native(b"#!/bin/sh\n# any"), None, Existing::Replace).unwrap();
    store.write(&native(b"#!/bin/sh\n# linux"), Some(Platform::LinuxX86_64), Existing::Replace).unwrap();
    let found = |platform| store.find(&id("probe@1.0.0"), platform, LIMIT).unwrap().unwrap().platform;
    assert_eq!(found(Some(Platform::LinuxX86_64)), Some(Platform::LinuxX86_64));
    assert_eq!(found(Some(Platform::DarwinAarch64)), None);
    assert_eq!(store.find_all(&id("probe@1.0.0"), LIMIT).unwrap().len(), 2);
    // Another platform of a published version is new; the version in another shape is not.
    let (_directory, store) = self::store();
    store.write(&native(b"x"), Some(Platform::LinuxX86_64), Existing::Refuse).unwrap();
    store.write(&native(b"y"), Some(Platform::DarwinAarch64), Existing::Refuse).unwrap();
    assert!(matches!(store.write(&native(b"z"), None, Existing::Refuse), Err(ArtifactError::Exists { .. })));
}

#[test]
fn damaged_copies_are_told_and_never_used() {
    let (_directory, store) = store();
    store.write(&skill("1.0.0", "text"), None, Existing::Refuse).unwrap();
    let files = store.files(&id("notes@1.0.0"), None);
    let whole = fs::read(&files.archive).unwrap();
    let said = || {
        let error = store.find(&id("notes@1.0.0"), None, LIMIT).unwrap_err();
        assert_eq!(error.code(), Code::ArtifactHash);
        error.diagnostic().to_string().replace(&store.root().display().to_string(), "STORE")
    };
    let mut changed = whole.clone();
    changed[40] ^= 1;
    fs::write(&files.archive, &changed).unwrap();
    let changed = said();
    fs::write(&files.archive, &whole).unwrap();
    fs::write(&files.hash, "\n").unwrap();
    let empty = said();
    fs::remove_file(&files.hash).unwrap();
    let absent = said();
    // A good archive of something else.
    let other = skill("1.0.1", "text");
    fs::write(&files.archive, other.bytes()).unwrap();
    fs::write(&files.hash, format!("  {}  \n", other.sha256())).unwrap();
    let misfiled = said();
    let all = [changed, empty, absent, misfiled].join("\n");
    let hash =
        |text: &str| text.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 64).map(str::to_owned);
    let mut shown = all;
    while let Some(found) = hash(&shown) {
        shown = shown.replace(&found, "HASH");
    }
    insta::assert_snapshot!(shown, @r"
    error[E-REG-002]: STORE/notes/1.0.0/notes-1.0.0.mur.zip is damaged: its SHA-256 is HASH, and should be HASH
      hint: install it again from a good source
    error[E-REG-002]: STORE/notes/1.0.0/notes-1.0.0.mur.zip is damaged: its SHA-256 is HASH, and should be the one in the .sha256 file beside it, which is missing or empty
      hint: install it again from a good source
    error[E-REG-002]: STORE/notes/1.0.0/notes-1.0.0.mur.zip is damaged: its SHA-256 is HASH, and should be the one in the .sha256 file beside it, which is missing or empty
      hint: install it again from a good source
    error[E-REG-002]: STORE/notes/1.0.0/notes-1.0.0.mur.zip is filed as notes@1.0.0, and is notes@1.0.1
      hint: install it again from a good source
    ");
    // Installing again mends it.
    store.write(&skill("1.0.0", "text"), None, Existing::Replace).unwrap();
    assert!(store.find(&id("notes@1.0.0"), None, LIMIT).unwrap().is_some());
}

#[test]
fn a_writer_that_was_cut_off_leaves_nothing_that_counts_and_blocks_nobody() {
    let (_directory, store) = store();
    let files = store.files(&id("notes@1.0.0"), None);
    fs::create_dir_all(&files.directory).unwrap();
    fs::write(&files.metadata, "{}").unwrap();
    fs::write(&files.hash, "00").unwrap();
    fs::write(files.directory.join(".notes-1.0.0.mur.zip.partial"), "PK").unwrap();
    fs::write(store.lock_of(&id("notes@1.0.0")), "").unwrap();
    assert!(store.find(&id("notes@1.0.0"), None, LIMIT).unwrap().is_none());
    assert!(store.list(LIMIT).unwrap().0.is_empty());
    store.write(&skill("1.0.0", "text"), None, Existing::Refuse).unwrap();
    assert!(store.find(&id("notes@1.0.0"), None, LIMIT).unwrap().is_some());
    assert_eq!(self::files(&store, "notes@1.0.0").len(), 3);
}

#[test]
fn writers_and_readers_of_one_artifact_at_once_see_whole_artifacts_only() {
    let (_directory, store) = store();
    let packages: Vec<Package> = (0..4).map(|number| skill("1.0.0", &format!("text {number}"))).collect();
    store.write(&packages[0], None, Existing::Replace).unwrap();
    thread::scope(|scope| {
        for package in &packages {
            scope.spawn(|| {
                for _ in 0..10 {
                    store.write(package, None, Existing::Replace).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..100 {
                // Between two archives there may be none; there is never a wrong one.
                if let Some(found) = store.find(&id("notes@1.0.0"), None, LIMIT).unwrap() {
                    assert!(packages.iter().any(|package| package.sha256() == found.package.sha256()));
                }
            }
        });
    });
    assert!(store.find(&id("notes@1.0.0"), None, LIMIT).unwrap().is_some());
}

#[test]
fn a_list_is_by_name_and_version_and_goes_on_without_metadata() {
    let (_directory, store) = store();
    for version in ["1.10.0", "1.9.0", "draft"] {
        store.write(&skill(version, "text"), None, Existing::Replace).unwrap();
    }
    store.write(&native(b"x"), Some(Platform::LinuxX86_64), Existing::Replace).unwrap();
    store.write(&native(b"y"), Some(Platform::DarwinAarch64), Existing::Replace).unwrap();
    fs::create_dir_all(store.root().join("Not a name/1")).unwrap();
    fs::remove_file(store.files(&id("notes@1.9.0"), None).metadata).unwrap();
    fs::write(store.files(&id("notes@1.10.0"), None).metadata, "{").unwrap();
    let (listed, problems) = store.list(LIMIT).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let shown: Vec<String> =
        listed.iter().map(|one| format!("{} {} {:?}", one.id, one.metadata.runtime, one.platforms)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    notes@draft static []
    notes@1.9.0 static []
    notes@1.10.0 static []
    probe@1.0.0 native [DarwinAarch64, LinuxX86_64]
    ");
}

#[test]
fn an_artifact_is_listed_by_its_archive_where_its_metadata_cannot_be_read() {
    let (_directory, store) = store();
    store.write(&skill("1.0.0", "Notes."), None, Existing::Refuse).unwrap();
    let whole = store.list(LIMIT).unwrap().0;
    let metadata = store.files(&id("notes@1.0.0"), None).metadata;
    for put in [|path: &Path| fs::create_dir(path).unwrap(), |path: &Path| fs::write(path, "{").unwrap()] {
        let _ = fs::remove_file(&metadata);
        put(&metadata);
        let (listed, problems) = store.list(LIMIT).unwrap();
        assert_eq!((&listed, problems.len()), (&whole, 0));
        let _ = fs::remove_dir(&metadata);
    }
}
