//! Help, version, and arguments that make no sense.

use std::os::unix::ffi::OsStrExt;

use crate::support::{KEY, Scene, verified};

#[test]
fn help_is_a_result() {
    let scene = Scene::new();
    let long = scene.run(["--help"]);
    insta::assert_snapshot!(long);
    assert_eq!(scene.run(["-h"]).out, long.out);
}

#[test]
fn help_fits_a_terminal_of_a_hundred_columns() {
    let help = Scene::new().run(["--help"]).out;
    assert_eq!(help.lines().find(|line| line.chars().count() > 100), None);
}

#[test]
fn the_version_is_a_result() {
    let scene = Scene::new();
    for flag in ["--version", "-V"] {
        let outcome = scene.run([flag]);
        let expected = concat!("mur-verify ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, expected, ""));
    }
}

#[test]
fn wrong_arguments_are_told_on_stderr_alone() {
    let scene = Scene::with(verified());
    let wrong: [&[&str]; 23] = [
        &[],
        &["--key", KEY],
        &["record"],
        &["--key", KEY, ""],
        &["--json", "--quiet", "--key", KEY, "record"],
        &["--color", "blue", "--key", KEY, "record"],
        &["--sesion", "ses_1", "--key", KEY, "record"],
        &["record", "--key"],
        &["--session", "a", "--session", "b", "--key", KEY, "record"],
        &["--json", "--format", "jsonl", "--key", KEY, "record"],
        &["--format", "xml", "--key", KEY, "record"],
        &["--jobs", "0", "--key", KEY, "record"],
        &["--jobs", "257", "--key", KEY, "record"],
        &["--jobs", "20000", "-r", "--key", KEY, "."],
        &["--jobs", "99999999999999999999999", "--key", KEY, "record"],
        &["--head", "sha256:00", "--key", KEY, "record"],
        &["--head", mur_seal::GENESIS, "--key", KEY, "record", "record"],
        &["--head", mur_seal::GENESIS, "-r", "--key", KEY, "record"],
        &["--follow", "-r", "--key", KEY, "record"],
        &["--follow", "--key", KEY, "record", "record"],
        &["--follow", "--json", "--key", KEY, "record"],
        &["completions", "tcsh"],
        &["--unknown\u{1b}[31m\nverified\u{202e}", "--key", KEY, "record"],
    ];
    let mut told = String::new();
    for arguments in wrong {
        let outcome = scene.run(arguments);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
        told.push_str(&format!("$ mur-verify {}\n{}\n", arguments.join(" ").escape_debug(), outcome.err));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn as_many_threads_as_may_be_asked_for_are_started() {
    let scene = Scene::with(verified());
    for jobs in ["1", "256"] {
        for records in [&["record"][..], &["record", "record"], &["-r", "."]] {
            let outcome = scene.run(["--key", KEY, "--jobs", jobs].iter().chain(records));
            assert_eq!(outcome.code, 0, "{outcome}");
        }
    }
}

#[test]
fn a_key_that_lies_beside_the_record_is_not_taken_for_the_missing_option() {
    let scene = Scene::with(verified());
    scene.write("record/record-seal.pub", std::fs::read(scene.path(KEY)).unwrap());
    scene.run(["record"]).complains(2, &["no key to check with", "--key record-seal.pub"]);
}

#[test]
fn arguments_that_are_no_utf8_are_no_panic() {
    let scene = Scene::with(verified());
    let bytes = std::ffi::OsStr::from_bytes(b"no\xffutf8");
    let key = |option: &str| [option.into(), bytes.to_owned(), "--key".into(), KEY.into(), "record".into()];
    for option in ["--session", "--key", "--color", "--unknown"] {
        let outcome = scene.run(key(option));
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome}");
    }
    scene.run([bytes, "--key".as_ref(), KEY.as_ref()]).complains(2, &["there is no such directory"]);
    std::fs::rename(scene.path("record"), scene.path(bytes)).unwrap();
    assert_eq!(scene.run([bytes, "--key".as_ref(), KEY.as_ref()]).code, 0);
}
