//! What may stand where a records directory, a stream or a seal is expected. Nothing is followed or waited for, what
//! cannot be read is an error, and each kind of thing is told by its name.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use mur_testdata::{Tree, completion, conversation_lines, eval_lines};

use crate::support::{KEY, Outcome, PROGRAM, Scene, run, script, verified};

/// Every stream there is, sealed.
fn whole() -> Tree {
    let lines = conversation_lines();
    script().conversation(&lines).seal_trace_pointing_at(4).eval(&eval_lines()).completion(&completion()).build()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A device that answers reads without end, where this user may make one.
fn device(path: &Path) -> bool {
    Command::new("mknod").arg(path).args(["c", "1", "5"]).output().is_ok_and(|made| made.status.success())
}

/// Everything that is no regular file, each put at `path` in turn, with what it is called.
fn for_each_unfit_thing(path: &Path, mut check: impl FnMut(&str)) {
    let clear = || match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    };
    // A link to the very file that stood there, so that following it would find nothing wrong.
    let moved = path.with_extension("moved");
    fs::rename(path, &moved).unwrap();
    for target in [&moved, Path::new("nowhere"), path, Path::new("/dev/zero")] {
        symlink(target, path).unwrap();
        check("a symbolic link");
        clear();
    }
    fs::create_dir(path).unwrap();
    check("a directory");
    clear();
    fifo(path);
    check("a FIFO");
    clear();
    let listening = UnixListener::bind(path).unwrap();
    check("a socket");
    drop(listening);
    clear();
    if device(path) {
        check("a device");
        clear();
    } else {
        eprintln!("no device was made at {}: this user may not", path.display());
    }
    fs::rename(&moved, path).unwrap();
}

/// A verified record, and beside it `fifo`, `socket`, `dangling` and `loop`.
fn scene_of_what_is_no_directory() -> (Scene, UnixListener) {
    let scene = Scene::with(verified());
    fifo(&scene.path("fifo"));
    let listening = UnixListener::bind(scene.path("socket")).unwrap();
    symlink("nowhere", scene.path("dangling")).unwrap();
    symlink("loop", scene.path("loop")).unwrap();
    (scene, listening)
}

#[test]
fn a_records_directory_that_is_none_is_an_error_that_says_so() {
    let (scene, _listening) = scene_of_what_is_no_directory();
    let long = "x".repeat(300);
    for (records, reason) in [
        ("missing", "there is no such directory"),
        ("missing/below", "there is no such directory"),
        ("records/*", "there is no such directory"), // a pattern that matched nothing
        ("dangling", "there is no such directory"),
        ("record/trace.jsonl", "not a directory; give the directory that holds the record's trace.jsonl"),
        ("record/trace.jsonl/below", "not a directory"),
        ("fifo", "not a directory"),
        ("socket", "not a directory"),
        ("/dev/null", "not a directory"),
        ("loop", "oo many levels of symbolic links"),
        (&long, "ile name too long"),
    ] {
        let outcome = scene.check([records]);
        assert_eq!(outcome.out, "", "{outcome}");
        outcome.complains(2, &[records, reason]);
    }
}

#[test]
fn a_conversations_directory_that_is_none_is_told_once_and_by_its_option() {
    let (scene, _listening) = scene_of_what_is_no_directory();
    let long = "x".repeat(300);
    for (conversations, reason) in [
        ("missing", "there is no such directory"),
        ("dangling", "there is no such directory"),
        ("record/trace.jsonl", "not a directory; give the directory in which the host keeps conversations\n"),
        ("record/trace.jsonl/below", "not a directory"),
        ("fifo", "not a directory"),
        ("socket", "not a directory"),
        ("/dev/null", "not a directory"),
        ("loop", "oo many levels of symbolic links"),
        (&long, "ile name too long"),
    ] {
        for records in [&["record"][..], &["record", "record"], &["--recursive", "."], &["--follow", "record"]] {
            let outcome = scene.run(["--key", KEY, "--conversations", conversations].iter().chain(records));
            outcome.complains(2, &[&format!("error: --conversations: {conversations}: "), reason]);
            assert!(outcome.out.is_empty() && outcome.err.lines().count() == 1, "{outcome}");
            assert!(!outcome.err.contains("trace.jsonl;") && !outcome.err.contains("holds"), "{outcome}");
        }
    }
}

#[test]
fn directories_without_a_record_are_nothing_to_verify() {
    let scene = Scene::new()
        .and_directory("empty")
        .and_directory("nested/one/two")
        .and_directory("emptied/hooks")
        .and_directory("emptied/blobs")
        .and("sessions/.murmur", verified());
    for records in ["empty", "nested", "emptied", ".", "sessions"] {
        let outcome = scene.check([records]);
        outcome.complains(5, &[&format!("{records}: nothing to verify"), "trace.jsonl"]);
        assert!(!outcome.said().contains("verified"), "{outcome}");
    }
    scene.check(["sessions"]).complains(5, &["there is a record in sessions/.murmur/record\n"]);
}

#[test]
fn a_hidden_directory_is_not_named_as_the_place_of_a_record() {
    let scene = Scene::new().and("hidden", verified());
    fs::rename(scene.path("hidden/record"), scene.path("hidden/.cache")).unwrap();
    let outcome = scene.check(["hidden"]);
    assert_eq!(outcome.code, 5);
    assert!(!outcome.said().contains("there is a record"), "{outcome}");
}

#[test]
fn no_link_is_followed_to_name_the_place_of_a_record() {
    let scene = Scene::with(verified()).and_directory("sessions/linked").and_directory("sessions/below");
    symlink("..", scene.path("sessions/.murmur")).unwrap();
    symlink("..", scene.path("sessions/workdir")).unwrap();
    symlink("../record", scene.path("sessions/ses_1")).unwrap();
    symlink("../../record/trace.jsonl", scene.path("sessions/linked/trace.jsonl")).unwrap();
    let outcome = scene.check(["sessions"]);
    outcome.complains(5, &["sessions: nothing to verify"]);
    assert!(!outcome.said().contains("there is a record"), "{outcome}");
    // The directory itself may be a link: it is the one that was named.
    verified().write_to(&scene.path("sessions/below")).unwrap();
    symlink("sessions/below", scene.path("latest")).unwrap();
    scene.check(["latest"]).complains(5, &["there is a record in latest/record\n"]);
}

#[test]
fn a_records_directory_may_be_reached_through_a_link() {
    let scene = Scene::with(verified());
    symlink("record", scene.path("latest")).unwrap();
    for records in ["latest", "latest/", "./record/../record"] {
        assert_eq!(scene.check([records]).code, 0);
    }
}

#[test]
fn a_stream_that_is_no_regular_file_is_changed_and_named() {
    let scene = Scene::with(whole());
    for stream in [
        "record/trace.jsonl",
        "record/hooks/eval.jsonl",
        "record/completion.json",
        "conversations/reviewer/ctx_019ad735840070008000000000000001/conversation.jsonl",
    ] {
        for_each_unfit_thing(&scene.path(stream), |kind| {
            let outcome = scene.check(["record", "--conversations", "conversations"]);
            is_changed(&outcome, &format!("changed       the stream is {kind}"));
        });
    }
    assert_eq!(scene.check(["record", "--conversations", "conversations"]).code, 0);
}

#[test]
fn a_seal_that_is_no_regular_file_is_changed_and_named() {
    let scene = Scene::with(whole());
    for seal in ["record/trace.jsonl.seal", "record/hooks/eval.jsonl.seal", "record/completion.json.seal"] {
        for_each_unfit_thing(&scene.path(seal), |kind| {
            is_changed(&scene.check(["record"]), &format!("changed       the seal is {kind}"));
        });
    }
}

#[test]
fn a_link_on_the_way_to_a_stream_is_not_followed() {
    let scene = Scene::with(whole());
    fs::rename(scene.path("record/hooks"), scene.path("moved")).unwrap();
    for target in ["../moved", "nowhere", "hooks", "/dev"] {
        symlink(target, scene.path("record/hooks")).unwrap();
        is_changed(&scene.check(["record"]), "hooks/eval.jsonl  changed       the stream is a symbolic link");
        fs::remove_file(scene.path("record/hooks")).unwrap();
    }
    fs::rename(scene.path("moved"), scene.path("record/hooks")).unwrap();

    let context = scene.path("conversations/reviewer");
    fs::rename(&context, scene.path("moved")).unwrap();
    symlink("../moved", &context).unwrap();
    let outcome = scene.check(["record", "--conversations", "conversations"]);
    is_changed(&outcome, "changed       the stream is a symbolic link");
}

#[test]
fn what_stands_in_the_place_of_the_hooks_directory_holds_no_stream() {
    let scene = Scene::with(verified());
    let hooks = scene.path("record/hooks");
    let expect_absent = || {
        let outcome = scene.check(["record"]);
        assert_eq!(outcome.code, 0, "{outcome}");
        assert!(outcome.out.contains("hooks/eval.jsonl  absent"), "{outcome}");
        fs::remove_file(&hooks).unwrap();
    };
    fs::write(&hooks, "a file").unwrap();
    expect_absent();
    fifo(&hooks);
    expect_absent();
    let _listening = UnixListener::bind(&hooks).unwrap();
    expect_absent();
}

#[test]
fn no_two_broken_seals_are_told_alike_and_none_reads_as_a_missing_one() {
    let scene = Scene::with(verified());
    let path = scene.path("record/trace.jsonl.seal");
    let seal = fs::read(&path).unwrap();
    let oversized = [seal.clone(), vec![b' '; 1 << 20]].concat();
    let mut told = String::new();
    for (broken, bytes) in [
        ("empty", &b""[..]),
        ("half", &seal[..seal.len() / 2]),
        ("no JSON", b"sealed\n"),
        ("an array", b"[]"),
        ("oversized", &oversized),
    ] {
        fs::write(&path, bytes).unwrap();
        let outcome = scene.check(["record"]);
        is_changed(&outcome, "trace.jsonl       changed");
        assert!(!outcome.out.contains("no seal"), "{outcome}");
        told.push_str(&format!("{broken}: {}\n", outcome.out.lines().nth(1).unwrap().trim()));
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(scene.check(["record"]).code, 3);
    insta::assert_snapshot!(told);
}

#[track_caller]
fn is_changed(outcome: &Outcome, part: &str) {
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.out.contains(part), "`{part}` is not said:\n{outcome}");
}

#[test]
fn what_may_not_be_read_is_an_error_and_never_a_verdict() {
    for closed in [
        "record",
        "record/trace.jsonl",
        "record/trace.jsonl.seal",
        "record/hooks",
        "record/hooks/eval.jsonl",
        "record/hooks/eval.jsonl.seal",
        "record/completion.json",
        "conversations",
        "conversations/reviewer",
        "conversations/reviewer/ctx_019ad735840070008000000000000001/conversation.jsonl.seal",
        KEY,
    ] {
        let scene = Scene::with(whole());
        let Some(before) = check_without_privileges(&scene) else { return };
        assert_eq!(before.code, 0, "{before}");
        let path = scene.path(closed);
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let outcome = check_without_privileges(&scene).unwrap();
        assert_eq!(outcome.out, "", "{outcome}");
        outcome.complains(2, &[closed, "Permission denied"]);
        fs::set_permissions(&path, mode).unwrap();
    }
}

/// Checks the record as a user whom permissions bind: nobody, where the tests run as the superuser. `None`, and a word on
/// stderr, where the superuser may not become nobody.
fn check_without_privileges(scene: &Scene) -> Option<Outcome> {
    const NOBODY: u32 = 65534;
    let arguments = ["record", "--conversations", "conversations", "--key", KEY];
    if !rustix::process::geteuid().is_root() {
        return Some(scene.run(arguments));
    }
    // Nobody may not look into the build directory, perhaps, nor into a directory for this test alone. Another process
    // makes the copy: a test that starts a program meanwhile would hand an open copy on to it.
    let program = scene.path("mur-verify");
    if !program.exists() {
        assert!(Command::new("cp").args([Path::new(PROGRAM), &program]).status().unwrap().success());
    }
    fs::set_permissions(scene.path(""), Permissions::from_mode(0o755)).unwrap();
    let command = || {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(scene.path("")).uid(NOBODY).gid(NOBODY);
        command
    };
    if let Err(error) = command().arg("--version").output() {
        eprintln!("not checked without privileges: the superuser cannot become nobody here: {error}");
        return None;
    }
    Some(run(command()))
}
