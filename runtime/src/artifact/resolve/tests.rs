#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;

use tempfile::TempDir;

use super::super::archive::Packing;
use super::super::file::Executable;
use super::super::store::Existing;
use super::*;
use crate::content::ContentHash;

const LIMIT: Limit = Limit::of(10_000_000);

fn package(manifest: &str, files: &[(&str, &[u8])]) -> Package {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let manifest = format!("version: 1.0.0\nrequires_files: [{}]\n{manifest}", names.join(", "));
    let mut packing = Packing::new(manifest.into_bytes());
    for (name, bytes) in files {
        packing.add(name.parse().unwrap(), bytes.to_vec(), Executable::No);
    }
    Package::open("made", Content::new(packing.write().unwrap()), LIMIT).unwrap()
}

/// A project and a home with a component, a skill, a native tool and a capsule, each in one of the stores.
fn scene() -> (TempDir, ProjectArtifacts) {
    let directory = tempfile::tempdir().unwrap();
    let (project, home) = (directory.path().join("project"), directory.path().join("home"));
    let put = |store: Store, manifest: &str, files: &[(&str, &[u8])], platform| {
        store.write(&package(manifest, files), platform, Existing::Replace).unwrap();
    };
    put(Store::project(&project), "name: tool\nruntime: tool\n", &[("tool.wasm", b"\0asm")], None);
    put(Store::global(&home), "name: tool\nruntime: tool\n", &[("tool.wasm", b"another")], None);
    put(Store::global(&home), "name: skill\nruntime: skill\n", &[("skill.md", b"# Notes\n")], None);
    let native = "name: native\nruntime: tool\nimplementation: native\n";
    put(Store::global(&home), native, &[("bin/native", b"#!/bin/sh\n")], Some(Platform::LinuxX86_64));
    let untagged = "name: untagged\nruntime: tool\nimplementation: native\n";
    put(Store::global(&home), untagged, &[("bin/untagged", b"#!/bin/sh\n")], None);
    let agent = "name: agent\nruntime: capsule\nexecution: static\n";
    put(Store::global(&home), agent, &[("prompt.md", b"Be brief.\n")], None);
    let artifacts = ProjectArtifacts::new(&project, &home, LIMIT).on(Some(Platform::LinuxX86_64));
    (directory, artifacts)
}

fn ids(names: &[&str]) -> Vec<ArtifactId> {
    names.iter().map(|name| format!("{name}@1.0.0").parse().unwrap()).collect()
}

#[test]
fn each_kind_of_artifact_comes_with_what_is_run_of_it() {
    let (_directory, artifacts) = scene();
    let resolved = artifacts.resolve(&ids(&["tool", "skill", "native"]), None).unwrap();
    let [tool, skill, native] = &resolved[..] else { panic!("{resolved:?}") };
    assert!(matches!(&tool.payload, Payload::Component(content)
        if **content.bytes() == *b"\0asm" && content.sha256() == ContentHash::of(b"\0asm")));
    assert_eq!((tool.scope, skill.scope), (Scope::Project, Scope::Global));
    assert!(matches!(&skill.payload, Payload::Skill { text } if text == "# Notes\n"));
    assert!(matches!(&native.payload, Payload::Native { platform: Platform::LinuxX86_64, .. }));
    assert!(matches!(native.pinned, Pinned::For(Platform::LinuxX86_64, _)));
    assert!(resolved.iter().all(|artifact| artifact.warnings().is_empty()));
    assert_eq!(tool.path(), Path::new(tool.archive.origin()));
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let (_directory, artifacts) = scene();
    let error = artifacts.resolve(&ids(&["gone", "tool", "lost"]), None).unwrap_err();
    let one = artifacts.resolve(&ids(&["gone"]), None).unwrap_err();
    insta::assert_snapshot!(format!("{}\n{}", error.diagnostic(), one.diagnostic()), @r"
    error[E-RUN-008]: gone@1.0.0, lost@1.0.0 are not installed
      hint: run `mur install`
    error[E-RUN-008]: gone@1.0.0 is not installed
      hint: run `mur install`
    ");
}

#[test]
fn a_launch_is_held_to_its_lock() {
    let (_directory, artifacts) = scene();
    let wanted = ids(&["tool", "native"]);
    let lock = ProjectArtifacts::lock_of(&artifacts.resolve(&wanted, None).unwrap());
    assert!(artifacts.resolve(&wanted, Some(&lock)).is_ok());
    let said = |wanted: &[ArtifactId], lock: &Lock| artifacts.resolve(wanted, Some(lock)).unwrap_err().code();
    assert_eq!(said(&ids(&["skill"]), &lock), Code::LockMismatch);
    let mut other = lock.clone();
    other.upsert(&wanted[0], Pinned::Any(ContentHash::of(b"other")));
    assert_eq!(said(&wanted, &other), Code::LockMismatch);
}

#[test]
fn a_native_artifact_that_names_no_platform_is_used_and_told() {
    let (_directory, artifacts) = scene();
    let resolved = artifacts.resolve(&ids(&["untagged"]), None).unwrap();
    let [warning] = &resolved[0].warnings()[..] else { panic!("{:?}", resolved[0].warnings()) };
    insta::assert_snapshot!(warning, @"warning[W-REG-001]: untagged@1.0.0 is native and filed for no platform: it is used for linux-x86_64, and nobody promises that it fits (https://docs.murmur.nexus/reference/diagnostics/#w-reg-001)");
}

#[test]
fn a_binary_for_another_platform_is_refused() {
    let (directory, artifacts) = scene();
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec();
    elf.extend(183_u16.to_le_bytes());
    let foreign = package("name: foreign\nruntime: tool\nimplementation: native\n", &[("bin/foreign", &elf)]);
    let store = Store::global(&directory.path().join("home"));
    store.write(&foreign, None, Existing::Replace).unwrap();
    let error = artifacts.resolve(&ids(&["foreign"]), None).unwrap_err();
    let shown = error.diagnostic().to_string().replace(&directory.path().display().to_string(), "ROOT");
    let nowhere = artifacts.on(None).resolve(&ids(&["native", "foreign"]), None).unwrap_err().code();
    assert_eq!(nowhere, Code::ArtifactNotInstalled);
    insta::assert_snapshot!(shown, @r"
    error[E-RUN-021]: ROOT/home/artifacts/foreign/1.0.0/foreign-1.0.0.mur.zip: `bin/foreign` is for linux-aarch64, and linux-x86_64 is needed
      hint: use the one that was built for that platform
    ");
}

#[test]
fn an_installed_capsule_is_its_manifest_and_its_files() {
    let (directory, artifacts) = scene();
    let agent = artifacts.resolve_capsule(&ids(&["agent"])[0]).unwrap();
    assert!(matches!(agent.payload, Payload::Manifest));
    let prompt = agent.archive.entry("prompt.md").unwrap();
    assert_eq!(agent.archive.read(prompt).unwrap(), b"Be brief.\n");
    assert!(String::from_utf8(agent.manifest).unwrap().contains("runtime: capsule"));
    let refused = |name: &str| {
        let error = artifacts.resolve_capsule(&ids(&[name])[0]).unwrap_err();
        error.diagnostic().to_string().replace(&directory.path().display().to_string(), "ROOT")
    };
    insta::assert_snapshot!([refused("skill"), refused("gone")].join("\n"), @r"
    error[E-BLD-003]: ROOT/home/artifacts/skill/1.0.0/skill-1.0.0.mur.zip: it is a skill, and a capsule is to be run
      hint: name an artifact with `runtime: capsule`
    error[E-RUN-008]: gone@1.0.0 is not installed
      hint: run `mur install`
    ");
    let of_user = ProjectArtifacts::of_user(&directory.path().join("home"), LIMIT);
    assert_eq!(of_user.resolve(&ids(&["tool"]), None).unwrap()[0].scope, Scope::Global);
}

#[test]
fn a_damaged_copy_is_refused_and_not_passed_over() {
    let (directory, artifacts) = scene();
    let path = directory.path().join("project/.murmur/artifacts/tool/1.0.0/tool-1.0.0.mur.zip");
    let mut bytes = fs::read(&path).unwrap();
    bytes[50] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(artifacts.resolve(&ids(&["tool"]), None).unwrap_err().code(), Code::ArtifactHash);
}
