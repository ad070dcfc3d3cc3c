//! Records in trees of directories: what is found, in which order, and what a plant in a tree can and cannot do.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use mur_seal::{Code, RecordReport, Verdict};
use mur_testdata::{Tree, completion};

use crate::support::{KEY, PROGRAM, Scene, changed, run, script, unsealed, verified, wait};

/// The directories of the records that are found, in order.
#[track_caller]
fn found(scene: &Scene, roots: &[&str]) -> Vec<String> {
    let outcome = scene.check(["-r", "--format=jsonl"].iter().chain(roots).copied());
    let reports = outcome.out.lines().map(|line| serde_json::from_str::<RecordReport>(line).unwrap());
    reports.map(|report| report.records_dir).collect()
}

#[test]
fn records_are_found_at_any_depth_in_the_order_of_their_paths() {
    let scene = Scene::new()
        .and("sessions/b", verified())
        .and("sessions/a/deep/down", verified())
        .and("sessions/c", changed())
        .and("other", unsealed());
    let expected = ["other/record", "sessions/a/deep/down/record", "sessions/b/record", "sessions/c/record"];
    assert_eq!(found(&scene, &["other", "sessions"]), expected);
    assert_eq!(found(&scene, &["."]), expected.map(|path| format!("./{path}")));
    insta::assert_snapshot!(scene.check(["--recursive", "sessions"]));
}

#[test]
fn anything_in_the_place_of_a_stream_or_a_seal_makes_a_record() {
    let scene = Scene::new();
    let names = ["trace.jsonl", "hooks/eval.jsonl", "completion.json"];
    let files: Vec<String> = names.iter().flat_map(|name| [name.to_string(), format!("{name}.seal")]).collect();
    for (number, file) in files.iter().enumerate() {
        let path = scene.path(format!("tree/{number}")).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match number % 3 {
            0 => fs::write(path, "").unwrap(),
            1 => symlink("nowhere", path).unwrap(),
            _ => fs::create_dir(path).unwrap(),
        }
    }
    fs::create_dir_all(scene.path("tree/none/hooks")).unwrap();
    fs::write(scene.path("tree/none/trace.json"), "").unwrap();
    assert_eq!(found(&scene, &["tree"]), (0..files.len()).map(|number| format!("tree/{number}")).collect::<Vec<_>>());
}

#[test]
fn links_are_not_followed_but_the_tree_itself_may_be_one() {
    let scene = Scene::new().and("elsewhere", verified()).and("tree/a", verified());
    symlink("../elsewhere", scene.path("tree/link")).unwrap();
    symlink("..", scene.path("tree/loop")).unwrap();
    symlink("tree", scene.path("latest")).unwrap();
    assert_eq!(found(&scene, &["tree"]), ["tree/a/record"]);
    assert_eq!(found(&scene, &["latest"]), ["latest/a/record"]);
    assert_eq!(found(&scene, &["tree/a/record"]), ["tree/a/record"]);
}

#[test]
fn a_tree_without_a_record_is_nothing_to_verify() {
    let scene = Scene::new().and("tree", verified()).and_directory("empty/below");
    let outcome = scene.check(["-r", "empty"]);
    assert_eq!(outcome.out, "");
    outcome.complains(
        5,
        &["empty: nothing to verify: no record is in this tree", "a records directory holds trace.jsonl"],
    );
    // Beside a tree that holds some, too: its name may be mistyped.
    let outcome = scene.check(["-r", "tree", "empty"]);
    assert!(outcome.code == 5 && outcome.out.contains("1 record: 1 verified"), "{outcome}");
    for (root, reason) in [("missing", "there is no such directory"), (KEY, "not a directory")] {
        scene.check(["-r", root, "tree"]).complains(2, &[root, reason]);
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_an_error_and_the_rest_goes_on() {
    let scene = Scene::new().and("tree/a", verified()).and_directory("tree/b").and("tree/c", changed());
    fs::set_permissions(scene.path("tree/b"), Permissions::from_mode(0o000)).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["-r", "tree", "--key", KEY]).current_dir(scene.path(""));
    if fs::read_dir(scene.path("tree/b")).is_ok() {
        // The superuser reads everything: check as nobody, who must get at the records.
        fs::set_permissions(scene.path(""), Permissions::from_mode(0o755)).unwrap();
        command.uid(65534).gid(65534);
        if !Command::new(PROGRAM).arg("--version").uid(65534).gid(65534).output().is_ok_and(|ran| ran.status.success())
        {
            eprintln!(
                "nothing that cannot be read was made: this user reads everything, and nobody may not run the program"
            );
            return;
        }
    }
    let outcome = run(command);
    outcome.complains(2, &["tree/b: Permission denied", "was not searched"]);
    assert!(outcome.out.contains("2 records: 1 verified, 1 changed; 1 error\n"), "{outcome}");
    fs::set_permissions(scene.path("tree/b"), Permissions::from_mode(0o755)).unwrap();
}

/// One session with what its capsule may plant below: a forged record, and a genuine copy of another session's.
fn planted() -> Scene {
    let mut forged = Tree::new();
    forged.file("record/trace.jsonl", "{\"event_type\":\"session_start\"}\n");
    Scene::with(verified()).and("record/out/forged", forged).and("record/out/copied", verified())
}

#[test]
fn a_record_planted_inside_another_is_found_and_is_no_session_of_its_own() {
    let scene = planted();
    assert_eq!(found(&scene, &["."]), ["./record", "./record/out/copied/record", "./record/out/forged/record"]);
    insta::assert_snapshot!(scene.check(["-r", "record"]));
    fs::remove_dir_all(scene.path("record/out/forged")).unwrap();
    assert_eq!(scene.check(["-r", "record"]).code, 0);
    assert_eq!(scene.check(["-r", "--strict", "record"]).code, 6, "a copy inside another record is worth a look");
    assert_eq!(scene.check(["-r", "-q", "record"]).said(), "");
}

#[test]
fn that_a_record_lies_inside_another_is_a_note_of_its_report() {
    let scene = Scene::with(verified()).and("record/out", verified());
    let outcome = scene.check(["-r", "--strict", "--json", "record"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (6, ""), "{outcome}");
    let reports: Vec<RecordReport> = serde_json::from_str(&outcome.out).unwrap();
    let [outer, inner] = reports.as_slice() else { panic!("{outcome}") };
    assert!(outer.streams.iter().all(|stream| stream.notes.is_empty()), "{outcome}");
    let [found] = inner.streams[0].findings.as_slice() else { panic!("{outcome}") };
    assert_eq!(found.code, Code::RecordInside);
    assert!(found.text.contains("inside the record record, where a capsule may write"), "{outcome}");
    assert_eq!(inner.streams[0].notes.join(""), found.text);
    assert_eq!(inner.verdict, Verdict::Verified);
}

#[test]
fn a_record_planted_above_others_does_not_hide_them() {
    let scene = Scene::new().and("work/workdir", verified()).and("work/.murmur", changed());
    scene.write("work/trace.jsonl", "planted\n");
    assert_eq!(found(&scene, &["work"]), ["work", "work/.murmur/record", "work/workdir/record"]);
    let outcome = scene.check(["-r", "work"]);
    assert!(
        outcome.code == 1 && outcome.out.contains("note: it lies inside the record work, where a capsule may write"),
        "{outcome}"
    );
    assert!(outcome.out.contains("; 1 inside another record\n"), "the runtime's own sessions are no plants: {outcome}");
}

#[test]
fn the_records_of_delegated_children_are_sessions_of_their_own() {
    let scene = Scene::with(verified()).and("record/.murmur/children/reviewer-1/.murmur", verified());
    let child = script().completion(&completion()).build();
    fs::write(scene.path("record/.murmur/children/reviewer-1/completion.json"), child.bytes("record/completion.json"))
        .unwrap();
    let outcome = scene.check(["-r", "record"]);
    assert!(!outcome.said().contains("inside"), "{outcome}");
    assert!(outcome.out.contains("\n3 records: 2 verified, "), "{outcome}");
}

#[test]
fn the_results_do_not_depend_on_the_number_of_threads() {
    let scene = Scene::new();
    for number in 0..120 {
        let record = match number % 5 {
            0 => changed(),
            1 => unsealed(),
            _ => verified(),
        };
        record.write_to(&scene.path(format!("tree/{number:03}"))).unwrap();
    }
    large(&scene.path("tree/060/record/trace.jsonl"));
    let one = scene.check(["-r", "--jobs", "1", "tree"]);
    assert!(one.out.contains("120 records: 72 verified, "), "{one}");
    for jobs in ["2", "3", "16"] {
        let several = scene.check(["-r", "--jobs", jobs, "tree"]);
        assert_eq!((several.code, several.out), (one.code, one.out.clone()), "{jobs}");
    }
}

/// Makes a trace so large that it is worth threads of its own.
fn large(trace: &Path) {
    let mut bytes = fs::read(trace).unwrap();
    while bytes.len() < 6 << 20 {
        bytes.extend_from_slice(&[b'x'; 4000]);
        bytes.push(b'\n');
    }
    fs::write(trace, bytes).unwrap();
}

#[test]
fn the_first_results_are_there_before_the_last_record_can_be_read() {
    // A pipe holds no more than some of the results, so the program waits for its reader in the middle of the tree.
    let scene = Scene::new();
    for number in 0..600 {
        verified().write_to(&scene.path(format!("tree/{number:03}"))).unwrap();
    }
    let mut command = scene.command(["--key", KEY, "-r", "tree"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut results = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(results.next().unwrap().unwrap().contains("tree/000/record"));
    // It is changed only now, and read after that: no more than what may wait for its turn was read before.
    large(&scene.path("tree/599/record/trace.jsonl"));
    let last = results.map(Result::unwrap).filter(|line| line.starts_with("600 records")).last();
    assert_eq!(wait(&mut child).code(), Some(3));
    assert_eq!(last.as_deref(), Some("600 records: 599 verified, 1 unsealed"));
}
