//! Which files are refused as guests, and how that is said.

use super::scene::engine;
use crate::support;
use mur_runtime::guest::{Engine, FileKind, GuestError};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file with these bytes.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guest.wasm");
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

/// The test capsule with every occurrence of some bytes replaced by as many others.
fn patched(from: &[u8], to: &[u8]) -> (TempDir, PathBuf) {
    patched_guest("test_capsule", from, to)
}

fn patched_guest(guest: &str, from: &[u8], to: &[u8]) -> (TempDir, PathBuf) {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(support::guest(guest)).unwrap();
    let mut found = false;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found = true;
        }
    }
    assert!(found, "{guest} does not hold {from:?}");
    file(&bytes)
}

fn capsule_error(path: &Path) -> GuestError {
    match engine().load_capsule(path) {
        Ok(_) => panic!("{} was loaded", path.display()),
        Err(error) => error,
    }
}

#[test]
fn a_component_is_compiled_once() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("compiled");
    let load = || {
        let engine = Engine::new(Some(&cache)).unwrap();
        engine.load_tool(&support::guest("test_tool")).unwrap();
    };
    // The compiled component is by far the largest file there.
    let compiled = || {
        let files = walk(&cache).into_iter();
        let metadata = files.map(|path| path.metadata().unwrap());
        let largest = metadata.max_by_key(Metadata::len).unwrap();
        (largest.ino(), largest.modified().unwrap(), largest.len())
    };
    load();
    let first = compiled();
    load();
    assert_eq!(compiled(), first);
}

/// All files below a directory.
fn walk(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}

#[test]
fn a_missing_file_is_named() {
    let error = capsule_error("/nowhere/capsule.wasm".as_ref());
    assert!(matches!(error, GuestError::NotFound { .. }));
    assert_eq!(error.to_string(), "there is no file /nowhere/capsule.wasm");
}

#[test]
fn a_directory_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let error = capsule_error(directory.path());
    assert!(matches!(error, GuestError::Unreadable { .. }), "{error}");
}

#[test]
fn other_files_are_told_from_components() {
    for (bytes, expected) in [
        (&b"\0asm\x01\0\0\0"[..], FileKind::CoreModule),
        (b"(component)\n", FileKind::Text),
        (b"", FileKind::Empty),
        (b"\x7fELF\x02\0", FileKind::Unknown),
    ] {
        let (_directory, path) = file(bytes);
        match capsule_error(&path) {
            GuestError::NotAComponent { kind, .. } => assert_eq!(kind, expected),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn half_a_component_is_not_valid() {
    let bytes = fs::read(support::guest("test_capsule")).unwrap();
    let (_directory, path) = file(&bytes[..bytes.len() / 2]);
    let error = capsule_error(&path);
    assert!(matches!(error, GuestError::Invalid { .. }), "{error}");
}

#[test]
fn another_version_of_a_served_package_is_refused_by_name() {
    let (_directory, path) = patched(b"murmur:tool-registry/invoke@0.1.0", b"murmur:tool-registry/invoke@0.2.0");
    match capsule_error(&path) {
        GuestError::ImportNotServed { import, served, .. } => {
            assert_eq!(import, "murmur:tool-registry/invoke@0.2.0");
            assert_eq!(served, Some("murmur:tool-registry/invoke@0.1.0"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_version_that_claims_to_be_compatible_is_refused_too() {
    let (_directory, path) = patched(b"murmur:tool-registry/invoke@0.1.0", b"murmur:tool-registry/invoke@0.1.1");
    let error = capsule_error(&path);
    assert!(matches!(error, GuestError::ImportNotServed { .. }), "{error}");
}

#[test]
fn an_interface_that_is_not_served_at_all_is_refused_by_name() {
    let (_directory, path) = patched(b"wasi:clocks/", b"wasi:nonsen/");
    match capsule_error(&path) {
        GuestError::ImportNotServed { import, served, .. } => {
            assert!(import.starts_with("wasi:nonsen/"), "{import}");
            assert_eq!(served, None);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_interface_with_other_functions_is_refused_by_name() {
    let (_directory, path) = patched(b"\x06invoke", b"\x06revoke");
    match capsule_error(&path) {
        GuestError::Mismatch { reason, .. } => {
            assert!(reason.contains("murmur:tool-registry/invoke@0.1.0"), "{reason}");
            assert!(reason.contains("revoke"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_tool_is_not_a_capsule() {
    let error = capsule_error(&support::guest("test_tool"));
    match error {
        GuestError::ExportMissing { export, .. } => assert_eq!(export, "murmur:capsule/run@0.1.0"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_package_in_another_version_is_refused_with_the_version_that_is_served() {
    let mut told = String::new();
    for (guest, package) in [
        ("test_capsule", "tool-registry/invoke"),
        ("test_capsule", "artifact-manager/manage"),
        ("test_capsule", "shell/execute"),
        ("test_capsule", "message/send"),
        ("test_courier", "text/chunks"),
        ("test_tool", "stream/events"),
        ("test_tool", "task/task"),
    ] {
        let (served, other) = (format!("murmur:{package}@0.1.0"), format!("murmur:{package}@0.3.0"));
        let (_directory, path) = patched_guest(guest, served.as_bytes(), other.as_bytes());
        let error = match guest {
            "test_capsule" => capsule_error(&path),
            _ => engine().load_tool(&path).err().unwrap(),
        };
        match error {
            GuestError::ImportNotServed { import, served, .. } => {
                told += &format!("{import}: {}\n", served.unwrap_or_default());
            }
            other => panic!("{other}"),
        }
    }
    insta::assert_snapshot!(told, @"
    murmur:tool-registry/invoke@0.3.0: murmur:tool-registry/invoke@0.1.0
    murmur:artifact-manager/manage@0.3.0: murmur:artifact-manager/manage@0.1.0
    murmur:shell/execute@0.3.0: murmur:shell/execute@0.1.0
    murmur:message/send@0.3.0: murmur:message/send@0.1.0
    murmur:text/chunks@0.3.0: murmur:text/chunks@0.1.0
    murmur:stream/events@0.3.0: murmur:stream/events@0.1.0
    murmur:task/task@0.3.0: murmur:task/task@0.1.0
    ");
}

#[test]
fn a_capsule_is_not_a_tool() {
    match engine().load_tool(&support::guest("test_capsule")) {
        Err(GuestError::ExportMissing { export, .. }) => assert_eq!(export, "murmur:tool/run@0.1.0"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a capsule was loaded as a tool"),
    }
}
