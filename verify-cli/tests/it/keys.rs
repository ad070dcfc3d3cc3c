//! What is a public key and what is not: each refusal says what was given, and where the right thing is.

use std::process::Command;

use mur_seal::{HostKey, PublicKey};
use mur_testdata::{HOST_SEED, other_key};

use crate::support::{KEY, OTHER_KEY, Outcome, Scene, script, unverifiable, verified};

const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const INNER_SPACE: &str = "d75a980182b10ab7d54bfed3c964073a 0ee172f3daa62325af021a68f707511a";
/// y = 1: the identity of the curve, under which anyone can sign.
const SMALL_ORDER: &str = "0100000000000000000000000000000000000000000000000000000000000000";
const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
const SSH: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea host\n";

fn private_hex() -> String {
    HOST_SEED.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A host whose private key passes for a public one: its seed happens to be a point of the curve. One in two is.
fn host_with_a_seed_on_the_curve() -> (HostKey, String) {
    let seed = (1..=255).map(|byte| [byte; 32]).find(|seed| PublicKey::from_raw(*seed).is_ok()).unwrap();
    (HostKey::from_seed(&seed).unwrap(), seed.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn check_with_file(scene: &Scene, name: &str, bytes: impl AsRef<[u8]>) -> Outcome {
    scene.write(name, bytes);
    scene.run(["record", "--key", name])
}

#[test]
fn a_public_key_is_64_digits_of_either_case_with_white_space_around() {
    let scene = Scene::with(verified());
    for (name, text) in [
        ("plain", PUBLIC.to_owned()),
        ("with-newline", format!("{PUBLIC}\n")),
        ("with-crlf", format!("{PUBLIC}\r\n")),
        ("with-spaces", format!("  \t{PUBLIC}  \n\n")),
        ("in-upper-case", PUBLIC.to_uppercase()),
    ] {
        for outcome in [check_with_file(&scene, name, &text), scene.run(["record", "--key", &text])] {
            assert_eq!(outcome.code, 0, "{name}: {outcome}");
            assert!(outcome.out.contains("checked with key 21fe31dfa154a261"), "{name}: {outcome}");
        }
    }
}

#[test]
fn what_is_no_public_key_is_refused_with_what_it_is_and_where_the_right_one_is() {
    let scene = Scene::with(verified());
    std::fs::create_dir(scene.path("directory")).unwrap();
    std::os::unix::fs::symlink("nowhere", scene.path("dangling")).unwrap();
    assert!(Command::new("mkfifo").arg(scene.path("fifo")).status().unwrap().success());
    let _listening = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    let files: [(&str, &[u8]); 13] = [
        ("empty", b""),
        ("only-white-space", b" \r\n\n"),
        ("digits-63", &PUBLIC.as_bytes()[1..]),
        ("digits-65", &[PUBLIC.as_bytes(), b"0"].concat()),
        ("two-lines", &[PUBLIC.as_bytes(), b"\n", PUBLIC.as_bytes()].concat()),
        ("inner-space", INNER_SPACE.as_bytes()),
        ("pem", PEM.as_bytes()),
        ("ssh", SSH.as_bytes()),
        ("raw-bytes", &HOST_SEED),
        ("small-order", SMALL_ORDER.as_bytes()),
        ("no-point", &[b'0', b'2'].repeat(32)),
        ("seal", &std::fs::read(scene.path("record/trace.jsonl.seal")).unwrap()),
        ("nul", b"\0"),
    ];
    let mut told = String::new();
    for (name, bytes) in files {
        scene.write(name, bytes);
    }
    let names = files.iter().map(|(name, _)| *name);
    for name in names.chain(["directory", "dangling", "fifo", "socket", "/dev/null", "missing.pub"]) {
        let outcome = scene.run(["record", "--key", name]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
        told.push_str(&outcome.err);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_text_that_is_no_public_key_is_refused_without_repeating_it() {
    let scene = Scene::with(verified());
    let mut told = String::new();
    for text in [&PUBLIC[1..], &format!("{PUBLIC}0"), INNER_SPACE, SMALL_ORDER, "", SSH, PEM] {
        let outcome = scene.run(["record", &format!("--key={text}")]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
        assert!(text.is_empty() || !outcome.err.contains(text.trim()), "{outcome}");
        told.push_str(&outcome.err);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_key_id_in_the_place_of_a_key_is_told_by_its_length() {
    let scene = Scene::with(verified());
    scene.run(["record", "--key", "21fe31dfa154a261"]).complains(2, &["it has 16 hexadecimal digits", "has 64"]);
}

#[test]
fn the_private_key_file_is_refused_by_its_name() {
    let scene = Scene::with(verified());
    for content in [private_hex() + "\n", String::new(), "whatever".into()] {
        let outcome = check_with_file(&scene, "record-seal.key", content);
        assert_eq!(outcome.out, "");
        outcome.complains(2, &["record-seal.key: it is the host's private key", "record-seal.pub"]);
    }
}

#[test]
fn a_private_key_under_another_name_is_known_by_the_public_key_beside_it() {
    let (host, private) = host_with_a_seed_on_the_curve();
    let scene = Scene::with(verified());
    for (public, private) in [(PUBLIC.to_owned(), private_hex()), (host.public_key().to_hex(), private)] {
        scene.write(KEY, public);
        let outcome = check_with_file(&scene, "backup.txt", &private);
        assert_eq!(outcome.out, "");
        outcome.complains(2, &["backup.txt: it is the host's private key", "record-seal.pub"]);
    }
}

#[test]
fn a_private_key_that_passes_for_a_public_one_is_known_by_the_seal_it_made() {
    let (host, private) = host_with_a_seed_on_the_curve();
    let sealer = host.key_id().to_string();
    let scene = Scene::with(script().sealing_with(host).seal_trace().build());
    scene.write("copy.pub", &private);
    let parts = ["is the private half of key", &sealer, "record-seal.pub"];
    for key in ["copy.pub", &private] {
        for option in ["--color=auto", "--json"] {
            let outcome = scene.run(["record", option, "--key", key]);
            outcome.complains(2, &parts);
            assert!(!outcome.said().contains(&private) && outcome.out.is_empty(), "{outcome}");
        }
    }
    scene.run(["record", "--key", "copy.pub"]).complains(2, &["record: the key given (copy.pub)"]);
}

#[test]
fn both_halves_given_together_are_refused() {
    let (host, private) = host_with_a_seed_on_the_curve();
    let public = host.public_key().to_hex();
    let scene = Scene::with(script().sealing_with(host).seal_trace().build());
    for keys in [[&public, &private], [&private, &public]] {
        let outcome = scene.run(["record", "--key", keys[0], "--key", keys[1]]);
        outcome.complains(2, &["(given as text): it is the host's private key"]);
        assert!(!outcome.said().contains(&private), "{outcome}");
    }
}

#[test]
fn nothing_of_a_private_key_is_printed_wherever_it_was_put() {
    let private = private_hex();
    let scene = Scene::with(verified());
    scene.write("copy", &private);
    scene.write("record-seal.key", &private);
    let mistyped = [&private[1..], &format!("{private}0"), &format!("0x{private}"), &format!("{private}\\n")];
    let texts = mistyped.into_iter().chain([private.as_str(), "copy", "record-seal.key"]);
    for key in texts {
        for arguments in [&["record", "--key", key][..], &["record", "--key", KEY, "--key", key]] {
            let outcome = scene.run(arguments);
            assert_eq!(outcome.code, 2, "{outcome}");
            // Not a run of eight digits of it, in either case.
            let said = outcome.said().to_lowercase();
            let shown = private.as_bytes().windows(8).find(|part| said.contains(std::str::from_utf8(part).unwrap()));
            assert_eq!(shown, None, "{outcome}");
        }
    }
}

#[test]
fn a_key_that_lies_in_the_record_is_never_used() {
    // Resealed by somebody else, who left the public key right there.
    let scene = Scene::with(script().sealing_with(other_key()).seal_trace().build());
    let forged = other_key().public_key().to_hex();
    for place in ["record/record-seal.pub", "record/keys/record-seal.pub", "record/trace.jsonl.pub"] {
        std::fs::create_dir_all(scene.path(place).parent().unwrap()).unwrap();
        scene.write(place, &forged);
    }
    let outcome = scene.check(["record"]);
    assert_eq!(outcome.code, 4, "{outcome}");
    let other_id = other_key().key_id().to_string();
    assert!(outcome.out.contains(&format!("sealed by key {other_id}, not by the key given")), "{outcome}");
    scene.run(["record"]).complains(2, &["no key to check with", "never taken from the record"]);
}

#[test]
fn one_bad_key_among_good_ones_is_an_error() {
    let scene = Scene::with(verified());
    for keys in [[KEY, "missing.pub"], ["missing.pub", KEY]] {
        let outcome = scene.run(["record", "--key", keys[0], "--key", keys[1]]);
        assert_eq!(outcome.out, "");
        outcome.complains(2, &["--key missing.pub: there is no such file"]);
    }
    assert_eq!(scene.run(["record", "--key", KEY, "--key", KEY, "--key", OTHER_KEY]).code, 0);
}

#[test]
fn every_pub_file_of_a_directory_is_a_key() {
    let scene = Scene::new().and_directory("keys").and("this", verified()).and("last", unverifiable());
    std::fs::rename(scene.path(KEY), scene.path("keys/b.pub")).unwrap();
    std::fs::rename(scene.path(OTHER_KEY), scene.path("keys/a.pub")).unwrap();
    scene.write("keys/README", "not a key, and not called like one");
    let outcome = scene.run(["--keys", "keys", "this/record", "last/record"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    for from in ["(from keys/a.pub)", "(from keys/b.pub)"] {
        assert!(outcome.out.contains(from), "{outcome}");
    }
    assert_eq!(scene.run(["--keys", "keys", "--key", PUBLIC, "this/record"]).code, 0);
}

#[test]
fn thousands_of_keys_are_read_and_looked_up() {
    let scene = Scene::new().and_directory("keys").and("known", verified()).and("unknown", unverifiable());
    scene.write("keys/this-year.pub", PUBLIC);
    for number in 1..2000_u16 {
        let mut seed = [0; 32];
        seed[..2].copy_from_slice(&number.to_be_bytes());
        let key = HostKey::from_seed(&seed).unwrap().public_key().to_hex();
        scene.write(format!("keys/{number}.pub"), key);
    }
    let outcome = scene.run(["--keys", "keys", "-r", "known", "unknown"]);
    assert!(outcome.code == 4 && outcome.out.contains("2 records: 1 verified, 1 unverifiable\n"), "{outcome}");
}

#[test]
fn a_directory_of_keys_is_taken_whole_or_not_at_all() {
    let scene = Scene::with(verified()).and_directory("empty").and_directory("mixed");
    scene.write("empty/record-seal.key", private_hex());
    scene.write("mixed/a.pub", PUBLIC);
    let mut told = String::new();
    let mut refuse = |directory: &str| {
        let outcome = scene.run(["--keys", directory, "--key", KEY, "record"]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
        told.push_str(&outcome.err);
    };
    for directory in ["missing", KEY, "empty"] {
        refuse(directory);
    }
    let path = scene.path("mixed/b.pub");
    std::fs::write(&path, PEM).unwrap();
    refuse("mixed");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("a.pub", &path).unwrap();
    refuse("mixed");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refuse("mixed");
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, private_hex()).unwrap();
    scene.write("mixed/record-seal.pub", PUBLIC);
    refuse("mixed");
    insta::assert_snapshot!(told);
}

#[test]
fn a_seal_by_an_unknown_key_names_that_key() {
    let scene = Scene::with(unverifiable()).and_directory("keys");
    scene.write("keys/this-year.pub", PUBLIC);
    let outcome = scene.run(["--keys", "keys", "record"]);
    assert_eq!(outcome.code, 4, "{outcome}");
    assert!(outcome.out.contains(&format!("sealed by key {}", other_key().key_id())), "{outcome}");
}

#[test]
fn a_file_whose_name_is_a_mistyped_key_is_still_a_file() {
    let scene = Scene::with(verified());
    assert_eq!(check_with_file(&scene, &PUBLIC[1..], PUBLIC).code, 0);
}
