//! What is accepted as a public key file, and what each other file is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mur_seal::{HostKey, KeyError, PRIVATE_KEY_FILE, PUBLIC_KEY_FILE, PublicKey, private_key_path, public_key_path};
use mur_testdata::{HOST_PUBLIC_KEY, HOST_SEED, host_key, root};
use tempfile::tempdir;

use crate::support::make_fifo;

const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn load(text: impl AsRef<[u8]>) -> Result<PublicKey, KeyError> {
    let directory = tempdir().unwrap();
    let path = directory.path().join("key");
    fs::write(&path, text).unwrap();
    PublicKey::load(&path)
}

#[test]
fn a_public_key_file_is_read_and_remembered_by_its_path() {
    let path = root().join(HOST_PUBLIC_KEY);
    let key = PublicKey::load(&path).unwrap();
    assert_eq!(key, *host_key().public_key());
    assert_eq!(key.path(), path.to_str());
    assert_eq!(key.key_id().to_string(), "21fe31dfa154a261");
}

#[test]
fn either_case_and_white_space_around_are_accepted() {
    for text in [
        PUBLIC.to_owned(),
        format!("{PUBLIC}\n"),
        format!("{PUBLIC}\r\n"),
        format!("  \t{PUBLIC} \r\n\r\n"),
        PUBLIC.to_uppercase(),
        format!("\n{}\n", PUBLIC.to_uppercase()),
    ] {
        assert_eq!(load(&text).unwrap().to_hex(), PUBLIC, "{text:?}");
    }
}

#[test]
fn what_is_no_public_key_is_told_what_it_is() {
    let spaced: String = PUBLIC.chars().flat_map(|digit| [digit, ' ']).collect();
    for (text, error) in [
        ("", KeyError::Empty),
        (" \r\n", KeyError::Empty),
        (&PUBLIC[1..], KeyError::Length { found: 63 }),
        (&format!("{PUBLIC}0"), KeyError::Length { found: 65 }),
        (&format!("{PUBLIC}{PUBLIC}"), KeyError::Length { found: 128 }),
        (&spaced, KeyError::NotHex { position: 2 }),
        (&format!("{}\n{}", &PUBLIC[..32], &PUBLIC[32..]), KeyError::NotHex { position: 33 }),
        (&format!("0x{PUBLIC}"), KeyError::NotHex { position: 2 }),
        ("-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", KeyError::Pem),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n", KeyError::Pem),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA someone@somewhere\n", KeyError::Ssh),
        (&"0".repeat(64), KeyError::Weak),
        (&format!("01{}", "0".repeat(62)), KeyError::Weak),
        (&format!("ec{}7f", "ff".repeat(30)), KeyError::Weak),
    ] {
        assert_eq!(load(text).unwrap_err(), error, "{text:?}");
    }
    for binary in [&b"\xff\xfe\0\0"[..], &[0; 32], &HOST_SEED] {
        assert!(matches!(load(binary).unwrap_err(), KeyError::NotHex { .. }), "{binary:?}");
    }
}

#[test]
fn a_large_file_is_not_read_to_its_end() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("key");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(PublicKey::load(&path), Err(KeyError::NotHex { position: 1 })));
}

#[test]
fn every_refusal_says_what_to_give_instead_and_shows_no_byte_of_the_file() {
    let seed: String = HOST_SEED.iter().map(|byte| format!("{byte:02x}")).collect();
    for text in [String::new(), format!("{seed}0"), "zz".repeat(32), seed.clone(), "-----BEGIN".into()] {
        let Err(error) = load(&text) else { continue };
        let shown = format!("{error} {error:?}");
        assert!(error.to_string().contains("record-seal.pub"), "{shown}");
        assert!(!shown.contains(&seed[..8]), "{shown}");
    }
}

#[test]
fn the_hosts_private_key_is_refused_by_its_name_and_by_the_public_key_beside_it() {
    let home = tempdir().unwrap();
    HostKey::load_or_create(home.path()).unwrap();
    assert_eq!(PublicKey::load(&private_key_path(home.path())), Err(KeyError::Private));
    PublicKey::load(&public_key_path(home.path())).unwrap();

    let elsewhere = tempdir().unwrap();
    let named = elsewhere.path().join(PRIVATE_KEY_FILE);
    fs::write(&named, "anything").unwrap();
    assert_eq!(PublicKey::load(&named), Err(KeyError::Private));

    let renamed = elsewhere.path().join("host.txt");
    fs::copy(private_key_path(home.path()), &renamed).unwrap();
    fs::copy(public_key_path(home.path()), elsewhere.path().join(PUBLIC_KEY_FILE)).unwrap();
    assert_eq!(PublicKey::load(&renamed), Err(KeyError::Private));
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
    let directory = tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    make_fifo(&fifo);
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let start = Instant::now();
    for (path, kind) in [
        (fifo, "a FIFO"),
        (socket, "a socket"),
        (directory.path().to_owned(), "a directory"),
        (PathBuf::from("/dev/zero"), "a device"),
    ] {
        assert_eq!(PublicKey::load(&path), Err(KeyError::NotAFile(kind)), "{}", path.display());
    }
    assert!(start.elapsed() < Duration::from_secs(5), "it waited for something");
    assert!(matches!(PublicKey::load(Path::new("/nowhere/key")), Err(KeyError::Unreadable(_))));
}

#[test]
fn a_link_to_a_public_key_file_is_followed() {
    let directory = tempdir().unwrap();
    let link = directory.path().join("host.pub");
    std::os::unix::fs::symlink(root().join(HOST_PUBLIC_KEY), &link).unwrap();
    assert_eq!(PublicKey::load(&link).unwrap().path(), link.to_str());
}
