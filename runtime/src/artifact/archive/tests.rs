#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write as _;

use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::file::Executable;
use super::*;

const MANIFEST: &[u8] = b"name: a\nversion: 1.0.0\nruntime: tool\n";

fn path(text: &str) -> EntryPath {
    text.parse().unwrap()
}

fn open(bytes: Vec<u8>) -> Result<Archive, ArtifactError> {
    Archive::open("a.mur.zip", bytes.into(), Limit::of(1_000_000))
}

fn refusal(bytes: Vec<u8>) -> String {
    open(bytes).unwrap_err().diagnostic().to_string()
}

/// A zip with these entries, written by a careless program.
fn zip(entries: &[(&str, SimpleFileOptions, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, options, bytes) in entries {
        zip.start_file(*name, *options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn plain_options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored)
}

fn named(names: &[&str]) -> Vec<u8> {
    zip(&names.iter().map(|name| (*name, plain_options(), &b"x"[..])).collect::<Vec<_>>())
}

/// The bytes with every `from` changed to `to`, of the same length.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
    bytes
}

fn sample() -> Vec<u8> {
    let mut packing = Packing::new(MANIFEST.to_vec());
    packing.add(path("bin/a"), b"#!/bin/sh\n".to_vec(), Executable::Yes);
    packing.add(path("notes.md"), vec![b'n'; 5_000], Executable::No);
    packing.write().unwrap()
}

#[test]
fn the_same_input_gives_the_same_bytes_and_reads_back() {
    let bytes = sample();
    assert_eq!(bytes, sample());
    let archive = open(bytes).unwrap();
    let names: Vec<&str> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(names, ["murmur.yaml", "bin/a", "notes.md"]);
    assert_eq!(archive.read(archive.entry("murmur.yaml").unwrap()).unwrap(), MANIFEST);
    assert_eq!(archive.read(archive.entry("notes.md").unwrap()).unwrap(), vec![b'n'; 5_000]);
    assert!(archive.entry("notes").is_none());
}

#[test]
fn directories_are_no_files_and_no_obstacle() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_directory("bin", plain_options()).unwrap();
    zip.start_file("bin/a", plain_options()).unwrap();
    let archive = open(zip.finish().unwrap().into_inner()).unwrap();
    assert_eq!(archive.entries().len(), 1);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let names = ["/etc/passwd", "../up", "a/../../up", "a\\b", "a\u{1b}[2J", "a//b", "./a"];
    let said: Vec<String> = names.iter().map(|name| refusal(named(&["ok", name]))).collect();
    let nul = refusal(replaced(named(&["a_b"]), b"a_b", b"a\0b"));
    let foreign = refusal(replaced(named(&["a_b"]), b"a_b", b"a\xffb"));
    insta::assert_snapshot!(said.join("\n") + "\n" + &nul + "\n" + &foreign, @r"
    error[E-BLD-003]: a.mur.zip: entry `/etc/passwd` (number 1, at byte 123): its path is absolute
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `../up` (number 1, at byte 117): its path holds `.` or `..`
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a/../../up` (number 1, at byte 122): its path holds `.` or `..`
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a\\b` (number 1, at byte 115): its path holds a backslash
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a\u{1b}[2J` (number 1, at byte 117): its path holds a control character
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a//b` (number 1, at byte 116): its path is empty, or has an empty part
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `./a` (number 1, at byte 115): its path holds `.` or `..`
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a\u{0}b` (number 0, at byte 34): its path holds a control character
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `a�b` (number 0, at byte 34): its name is not UTF-8
      hint: make the archive with `mur build`
    ");
}

#[test]
fn names_that_some_file_system_holds_for_one_are_refused() {
    let twice = refusal(replaced(named(&["file-a", "file-b"]), b"file-b", b"file-a"));
    let case = refusal(named(&["Skill.md", "skill.md"]));
    let above = refusal(named(&["a", "A/b"]));
    insta::assert_snapshot!([twice, case, above].join("\n"), @r"
    error[E-BLD-003]: a.mur.zip: entry `file-a` (at byte 126) has a name that another has
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `skill.md` (number 1, at byte 132): only its case tells it from another: `Skill.md`
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `A/b`: `a` is a file, and would have to be a directory
      hint: make the archive with `mur build`
    ");
}

#[test]
fn what_would_be_no_plain_file_is_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("link", "/etc/passwd", plain_options()).unwrap();
    let link = refusal(zip.finish().unwrap().into_inner());
    // Four bytes of the central header: the mode in the upper half.
    let with_mode = |mode: u32| {
        let mut bytes = named(&["file"]);
        let header = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[header + 38..header + 42].copy_from_slice(&(mode << 16).to_le_bytes());
        refusal(bytes)
    };
    insta::assert_snapshot!([link, with_mode(0o010_644), with_mode(0o104_755), with_mode(0o040_755)].join("\n"), @r"
    error[E-BLD-003]: a.mur.zip: entry `link` (number 0, at byte 45): it is a symbolic link
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): it is neither a file nor a directory, or not what its name says
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): it has a set-user, set-group or sticky bit
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): it is neither a file nor a directory, or not what its name says
      hint: make the archive with `mur build`
    ");
}

#[test]
fn encryption_and_unknown_methods_are_refused() {
    // Flag and method, in the local header and in the list.
    let patched = |local: usize, listed: usize, value: u8| {
        let mut bytes = named(&["file"]);
        let header = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[local] = value;
        bytes[header + listed] = value;
        refusal(bytes)
    };
    insta::assert_snapshot!([patched(6, 8, 1), patched(8, 10, 12), patched(8, 10, 99)].join("\n"), @r"
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): it is encrypted
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): its compression, Bzip2, is not supported
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: entry `file` (number 0, at byte 35): its compression, Aes, is not supported
      hint: make the archive with `mur build`
    ");
}

#[test]
fn no_archive_decompresses_to_more_than_the_limit() {
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let bomb = zip(&[("a", deflated, &vec![0; 600_000]), ("b", deflated, &vec![0; 600_000])]);
    assert!(bomb.len() < 10_000);
    let large = open(bomb.clone()).unwrap_err().to_string();
    // The size that the list says is a lie, in both places.
    let size = 600_000_u32.to_le_bytes();
    let lying = open(replaced(bomb, &size, &100_u32.to_le_bytes())).unwrap();
    let lied = lying.read(&lying.entries()[0]).unwrap_err().to_string();
    let long = Archive::open("a.mur.zip", named(&["a"]).into(), Limit::of(50)).unwrap_err().to_string();
    insta::assert_snapshot!([large, lied, long].join("\n"), @r"
    a.mur.zip: entry `b` (number 1, at byte 1307): with it, the entries decompress to 1200000 bytes, and at most 1000000 are read
    a.mur.zip: entry `a`: it cannot be decompressed: File is larger than its declared uncompressed size
    a.mur.zip is larger than 50 bytes
    ");
}

#[test]
fn a_list_of_absurd_length_is_refused_before_it_is_read() {
    let names: Vec<String> = (0..=ENTRIES_MAX).map(|number| format!("f{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    insta::assert_snapshot!(refusal(named(&names)), @r"
    error[E-BLD-003]: a.mur.zip: it lists 10001 or more entries, and at most 10000 are read
      hint: make the archive with `mur build`
    ");
    assert!(open(named(&names[1..])).is_ok());
}

#[test]
fn what_is_no_zip_or_more_than_one_is_refused() {
    let said = [
        refusal(Vec::new()),
        refusal(b"PK\x03\x04 and so on".to_vec()),
        refusal([b"#!/bin/sh\n".to_vec(), sample()].concat()),
        refusal(sample()[..100].to_vec()),
        // The name in the list is not the one before the bytes.
        refusal({
            let mut bytes = named(&["file-a"]);
            bytes[30 + 5] = b'b';
            bytes
        }),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    error[E-BLD-003]: a.mur.zip: not a zip that can be read: Could not find EOCD
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: not a zip that can be read: Could not find EOCD
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: not a zip that can be read: No CDFH found
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: not a zip that can be read: Could not find EOCD
      hint: make the archive with `mur build`
    error[E-BLD-003]: a.mur.zip: not a zip that can be read: header inconsistency detected: Local file header filename mismatch (does not match central directory)
      hint: make the archive with `mur build`
    ");
}

#[test]
fn bytes_that_are_not_those_of_their_checksum_are_refused() {
    let archive = open(replaced(named(&["file", "more"]), b"filex", b"filey")).unwrap();
    insta::assert_snapshot!(archive.read(&archive.entries()[0]).unwrap_err(), @"a.mur.zip: entry `file`: it cannot be decompressed: Invalid checksum");
}

#[test]
fn nothing_stands_behind_an_archive() {
    assert!(open(sample()).is_ok());
    let twice = [sample(), sample()].concat();
    insta::assert_snapshot!(refusal(twice), @r"
    error[E-BLD-003]: a.mur.zip: something stands between its list of entries and its end
      hint: make the archive with `mur build`
    ");
    let more = [sample(), b"more".to_vec()].concat();
    insta::assert_snapshot!(refusal(more), @r"
    error[E-BLD-003]: a.mur.zip: something stands behind its end
      hint: make the archive with `mur build`
    ");
    // A comment is a part of an archive, as long as it says that it is.
    let mut commented = sample();
    let length = commented.len() - 2;
    commented[length] = 4;
    commented.extend(b"more");
    assert!(open(commented.clone()).is_ok());
    commented.push(b'!');
    assert!(open(commented).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_archive_that_is_written_reads_back(
        files in proptest::collection::btree_map("[a-z]{1,8}", proptest::collection::vec(any::<u8>(), 0..2_000), 0..8),
    ) {
        let mut packing = Packing::new(MANIFEST.to_vec());
        for (name, bytes) in &files {
            packing.add(path(name), bytes.clone(), Executable::No);
        }
        let archive = open(packing.write().unwrap()).unwrap();
        prop_assert_eq!(archive.entries().len(), files.len() + 1);
        for (name, bytes) in &files {
            prop_assert_eq!(&archive.read(archive.entry(name).unwrap()).unwrap(), bytes);
        }
    }

    #[test]
    fn a_changed_archive_is_refused_or_reads_the_same(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let original = sample();
        let mut bytes = original.clone();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        let expected = open(original).unwrap();
        if let Ok(archive) = open(bytes) {
            for entry in archive.entries() {
                // What a name says may change, and with it what a file is called; never the bytes behind a name.
                if let (Some(there), Ok(bytes)) = (expected.entry(entry.path().as_str()), archive.read(entry)) {
                    prop_assert_eq!(bytes, expected.read(there).unwrap());
                }
            }
        }
    }

    #[test]
    fn no_bytes_at_all_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = open(bytes.clone());
        let _ = open([b"PK\x05\x06".to_vec(), bytes].concat());
    }
}
