//! What becomes of results when stdout is closed or full, and of colours when it is a pipe.

use std::io;
use std::process::{Command, Stdio};

use crate::support::{KEY, PROGRAM, Scene, changed, run, unsealed, verified, wait};

fn scene() -> Scene {
    Scene::new().and("verified", verified()).and("changed", changed()).and("unsealed", unsealed())
}

/// The program, started by a shell that does something to its streams first.
fn in_shell(scene: &Scene, redirection: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}"), PROGRAM, "--key", KEY]);
    command.args(arguments).current_dir(scene.path("")).stdin(Stdio::null());
    command
}

#[test]
fn a_closed_stdout_is_quiet_and_changes_no_exit_code() {
    let scene = scene();
    for (records, code) in [("verified/record", 0), ("changed/record", 1), ("unsealed/record", 3)] {
        for option in ["--color=auto", "--json"] {
            let outcome = run(in_shell(&scene, ">&-", &[option, records]));
            assert_eq!((outcome.code, outcome.err.as_str()), (code, ""), "{outcome}");
        }
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error_and_changes_no_exit_code() {
    let scene = scene();
    let records = ["unsealed/record", "verified/record", "changed/record"];
    for option in ["--color=auto", "--json"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = scene.command(["--key", KEY, option].into_iter().chain(records));
        let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let status = wait(&mut child);
        let err = io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(1), ""));
    }
}

#[test]
fn a_record_is_not_followed_for_a_reader_that_has_gone() {
    // Its session never ends, so nothing else would end it.
    let scene = scene();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = scene.command(["--key", KEY, "--follow", "unsealed/record"]);
    let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let status = wait(&mut child);
    let err = io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(3), ""));
}

#[test]
fn help_for_a_reader_that_has_gone_is_no_error() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut child = scene().command(["--help"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(wait(&mut child).code(), Some(0));
}

#[test]
fn a_closed_stderr_changes_no_exit_code() {
    let scene = scene();
    for (records, code) in [("verified/record", 0), ("missing", 2)] {
        assert_eq!(run(in_shell(&scene, "2>&-", &[records])).code, code);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_an_error() {
    let scene = scene();
    for arguments in [&["verified/record"][..], &["--json", "changed/record"], &["--help"]] {
        let outcome = run(in_shell(&scene, ">/dev/full", arguments));
        outcome.complains(2, &["the results could not be written: No space left on device"]);
        assert_eq!(outcome.err.lines().count(), 1, "{outcome}");
    }
    // Without results there is nothing to lose.
    assert_eq!(run(in_shell(&scene, ">/dev/full", &["--quiet", "changed/record"])).code, 1);
}

#[test]
fn colours_are_those_that_were_asked_for() {
    let scene = scene();
    let colored = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = scene.command(["--key", KEY, "changed/record"].iter().chain(arguments));
        command.envs(environment.iter().copied());
        run(command).out.contains("\u{1b}[1m\u{1b}[31mchanged")
    };
    assert!(!colored(&[], &[]), "a pipe is no terminal");
    assert!(!colored(&["--color", "auto"], &[]));
    assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(colored(&["--color", "always"], &[]));
    assert!(colored(&["--color", "always"], &[("NO_COLOR", "1")]), "what is asked for goes before the environment");
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[], &[("CLICOLOR_FORCE", "0")]));
    assert!(!colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]), "an empty NO_COLOR is none");
}

#[test]
fn colour_is_on_verdicts_alone_and_never_in_json() {
    let scene = scene();
    let arguments = ["--color=always", "changed/record", "verified/record", "unsealed/record"];
    let outcome = scene.check(arguments);
    insta::assert_snapshot!(outcome.out.escape_debug().to_string().replace("\\n", "\n"));
    let plain = without_colours(&outcome.out);
    assert_eq!(plain, scene.check(["changed/record", "verified/record", "unsealed/record"]).out);
    assert!(!scene.check(["--json"].iter().chain(&arguments).copied()).out.contains('\u{1b}'));
}

/// `text` without the escape sequences of colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').expect("a colour").1)
}
