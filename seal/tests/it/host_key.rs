//! The host's key pair: made once, kept to the host, never replaced, never shown.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use mur_seal::{
    HostKey, HostKeyError, KEYS_DIR_MODE, PRIVATE_KEY_MODE, PUBLIC_KEY_MODE, PublicKey, keys_dir, private_key_path,
    public_key_path,
};
use tempfile::{TempDir, tempdir};

use crate::child;
use crate::support::{make_fifo, mode, set_mode};

const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

/// A murmur home whose private key file holds `text`.
fn home_with_seed(text: &str) -> TempDir {
    let home = tempdir().unwrap();
    fs::create_dir(keys_dir(home.path())).unwrap();
    set_mode(&keys_dir(home.path()), 0o700);
    fs::write(private_key_path(home.path()), text).unwrap();
    set_mode(&private_key_path(home.path()), 0o600);
    home
}

fn refusal(home: &Path) -> String {
    let start = Instant::now();
    let error = HostKey::load_or_create(home).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5), "it waited for something: {error}");
    assert!(matches!(error, HostKeyError::Refused { .. } | HostKeyError::Io { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_first_launch_makes_a_key_pair_that_only_the_host_can_read() {
    let home = tempdir().unwrap();
    let murmur = home.path().join("new/home");
    let key = HostKey::load_or_create(&murmur).unwrap();
    assert_eq!(mode(&keys_dir(&murmur)), KEYS_DIR_MODE);
    assert_eq!(mode(&private_key_path(&murmur)), PRIVATE_KEY_MODE);
    assert_eq!(mode(&public_key_path(&murmur)), PUBLIC_KEY_MODE);
    assert_eq!(fs::read_to_string(public_key_path(&murmur)).unwrap(), key.public_key().to_hex() + "\n");
    let seed = fs::read_to_string(private_key_path(&murmur)).unwrap();
    assert_eq!(seed.len(), 65);
    assert!(seed.trim_end().bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
    assert_eq!(fs::read_dir(keys_dir(&murmur)).unwrap().count(), 2, "nothing else is left behind");

    let again = HostKey::load_or_create(&murmur).unwrap();
    assert_eq!(again.public_key(), key.public_key());
    assert_eq!(again.public_key().path(), public_key_path(&murmur).to_str());
    assert_eq!(fs::read_to_string(private_key_path(&murmur)).unwrap(), seed);
}

#[test]
fn two_hosts_have_two_keys() {
    let ids: BTreeSet<_> =
        (0..4).map(|_| HostKey::load_or_create(tempdir().unwrap().path()).unwrap().key_id()).collect();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_stored_seed_is_the_key() {
    let home = home_with_seed(&format!("{SEED}\n"));
    let key = HostKey::load_or_create(home.path()).unwrap();
    assert_eq!(key.key_id().to_string(), "21fe31dfa154a261");
    assert_eq!(PublicKey::load(&public_key_path(home.path())).unwrap(), *key.public_key());
}

#[test]
fn the_keys_directory_is_narrowed() {
    let home = home_with_seed(&format!("{SEED}\n"));
    set_mode(&keys_dir(home.path()), 0o755);
    HostKey::load_or_create(home.path()).unwrap();
    assert_eq!(mode(&keys_dir(home.path())), 0o700);
}

#[test]
fn a_private_key_that_others_could_read_is_refused_with_the_mend() {
    for others in [0o640, 0o604, 0o620, 0o601, 0o610, 0o602, 0o677, 0o660] {
        let home = home_with_seed(&format!("{SEED}\n"));
        let path = private_key_path(home.path());
        set_mode(&path, others);
        let error = refusal(home.path());
        assert!(error.contains("chmod 600") && error.contains(path.to_str().unwrap()), "{error}");
        set_mode(&path, 0o600);
        HostKey::load_or_create(home.path()).unwrap();
    }
}

#[test]
fn a_file_that_is_no_seed_is_refused_and_never_replaced() {
    let public_half = mur_testdata::host_key().public_key().to_hex();
    for text in [
        String::new(),
        "\n".into(),
        SEED.to_owned(),
        format!("{SEED}\r\n"),
        format!("{SEED}\n\n"),
        format!(" {SEED}\n"),
        format!("{}\n", SEED.to_uppercase()),
        format!("{}\n", &SEED[1..]),
        format!("{SEED}0\n"),
        format!("{}g\n", &SEED[1..]),
        format!("{SEED}\n{public_half}\n"),
        "-----BEGIN PRIVATE KEY-----\n".into(),
        "x".repeat(100_000),
    ] {
        let home = home_with_seed(&text);
        let error = refusal(home.path());
        assert!(error.contains("not a seed"), "{error}");
        assert!(!error.contains(&SEED[1..9]) && !error.contains(&SEED.to_uppercase()[1..9]), "{error}");
        assert_eq!(fs::read_to_string(private_key_path(home.path())).unwrap(), text);
        assert!(!public_key_path(home.path()).exists(), "nothing is published of {text:?}");
    }
}

#[test]
fn a_public_key_in_the_private_keys_place_is_refused_and_nothing_is_replaced() {
    let public = mur_testdata::host_key().public_key().to_hex();
    for published in [format!("{public}\n"), public.clone(), format!(" {}\r\n", public.to_uppercase())] {
        let home = home_with_seed(&format!("{public}\n"));
        fs::write(public_key_path(home.path()), &published).unwrap();
        let error = refusal(home.path());
        assert!(error.contains("record-seal.key: it holds the public key, the same as record-seal.pub"), "{error}");
        assert_eq!(fs::read_to_string(private_key_path(home.path())).unwrap(), format!("{public}\n"));
        assert_eq!(fs::read_to_string(public_key_path(home.path())).unwrap(), published);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
    let outside = home_with_seed(&format!("{SEED}\n"));
    let place = |make: &dyn Fn(&Path)| {
        let home = home_with_seed("");
        let path = private_key_path(home.path());
        fs::remove_file(&path).unwrap();
        make(&path);
        let error = refusal(home.path());
        assert!(fs::symlink_metadata(&path).is_ok(), "it is still there");
        error
    };
    assert!(place(&|path| symlink(private_key_path(outside.path()), path).unwrap()).contains("symbolic link"));
    assert!(place(&|path| symlink("nowhere", path).unwrap()).contains("symbolic link"));
    assert!(place(&|path| make_fifo(path)).contains("not a regular file"));
    assert!(place(&|path| fs::create_dir(path).unwrap()).contains("not a regular file"));
    place(&|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()));
}

#[test]
fn a_keys_directory_that_is_none_is_refused() {
    let outside = tempdir().unwrap();
    set_mode(outside.path(), 0o755);
    let place = |make: &dyn Fn(&Path)| {
        let home = tempdir().unwrap();
        make(&keys_dir(home.path()));
        refusal(home.path())
    };
    assert!(place(&|path| symlink(outside.path(), path).unwrap()).contains("no link"));
    assert!(place(&|path| fs::write(path, "").unwrap()).contains("must be a directory"));
    assert!(place(&|path| make_fifo(path)).contains("must be a directory"));
    assert_eq!(mode(outside.path()), 0o755, "what a link leads to is left alone");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_home_that_is_a_file_is_an_error() {
    let directory = tempdir().unwrap();
    let home = directory.path().join("home");
    fs::write(&home, "").unwrap();
    refusal(&home);
    refusal(&home.join("below"));
}

#[test]
fn the_public_file_is_written_anew_when_it_is_missing_or_does_not_match() {
    let home = home_with_seed(&format!("{SEED}\n"));
    let public = public_key_path(home.path());
    let wanted = HostKey::load_or_create(home.path()).unwrap().public_key().to_hex() + "\n";
    let other = mur_testdata::other_key().public_key().to_hex();
    for text in [other.as_str(), "", wanted.trim_end(), &(wanted.clone() + "more")] {
        fs::write(&public, text).unwrap();
        HostKey::load_or_create(home.path()).unwrap();
        assert_eq!(fs::read_to_string(&public).unwrap(), wanted);
    }
    fs::remove_file(&public).unwrap();
    HostKey::load_or_create(home.path()).unwrap();
    assert_eq!(fs::read_to_string(&public).unwrap(), wanted);
    set_mode(&public, 0o600);
    HostKey::load_or_create(home.path()).unwrap();
    assert_eq!(mode(&public), PUBLIC_KEY_MODE);
}

#[test]
fn a_link_in_the_public_files_place_is_not_written_through() {
    let home = home_with_seed(&format!("{SEED}\n"));
    let outside = home.path().join("outside");
    fs::write(&outside, "kept").unwrap();
    symlink(&outside, public_key_path(home.path())).unwrap();
    refusal(home.path());
    assert_eq!(fs::read_to_string(outside).unwrap(), "kept");
}

#[test]
fn nothing_that_is_shown_of_a_key_is_secret() {
    let key = mur_testdata::host_key();
    assert_eq!(format!("{key:?}"), "HostKey(21fe31dfa154a261)");
    assert_eq!(format!("{:?}", key.public_key()), "PublicKey(21fe31dfa154a261)");
}

#[test]
fn first_launches_at_once_in_one_process_end_with_one_key() {
    for _ in 0..10 {
        let home = tempdir().unwrap();
        let ids: BTreeSet<_> = std::thread::scope(|scope| {
            let launches: Vec<_> =
                (0..8).map(|_| scope.spawn(|| HostKey::load_or_create(home.path()).unwrap().key_id())).collect();
            launches.into_iter().map(|launch| launch.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1);
        assert_eq!(fs::read_dir(keys_dir(home.path())).unwrap().count(), 2, "nothing else is left behind");
    }
}

pub(crate) fn load_the_key(home: &Path) {
    child::say_ready();
    child::wait_for_parent();
    let key = HostKey::load_or_create(home).unwrap();
    fs::write(home.join(format!("seen-by-{}", std::process::id())), key.public_key().to_hex()).unwrap();
}

#[test]
fn first_launches_at_once_in_several_processes_end_with_one_key() {
    let home = tempdir().unwrap();
    let mut children: Vec<_> =
        (0..6).map(|_| child::command("load the key", home.path().as_os_str(), "").spawn().unwrap()).collect();
    children.iter_mut().for_each(child::wait_until_ready);
    for child in &mut children {
        drop(child.stdin.take());
    }
    children.into_iter().for_each(child::wait_for_success);
    let seen: Vec<String> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(seen.len(), 6);
    let published = fs::read_to_string(public_key_path(home.path())).unwrap();
    assert!(seen.iter().all(|key| *key == published.trim_end()), "{seen:?}");
}
