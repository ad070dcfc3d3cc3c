//! What `mur run` prints, and that it needs nobody to read it.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mur_verify::Console;
use serde_json::json;

use crate::support::{Project, eventually};

/// A text in which the verifier has its bare name, whether or not one was built beside `mur`.
fn with_bare_verifier(text: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_mur")).parent().unwrap();
    text.replace(&format!("{}/mur-verify ", programs.display()), "mur-verify ")
}

#[test]
fn at_the_end_a_person_sees_the_session_the_result_the_record_the_status_and_how_to_verify_it() {
    let project = Project::new();
    let ended = project.run_task("result done").expect(0);
    insta::assert_snapshot!(with_bare_verifier(&project.redacted(&ended.stdout)), @r"
    session: ses_…
    result:  PROJECT/workdir/ses_…/out/result.txt
    record:  PROJECT/workdir/ses_…
    status:  ok
    verify:  mur-verify PROJECT/workdir/ses_… --key ROOT/home/keys/record-seal.pub
    ");
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_session_without_a_result_says_so() {
    let project = Project::new();
    assert_eq!(project.run_task("ok").expect(0).says("result"), "none");
}

#[test]
fn verbose_adds_where_the_capsule_works_and_which_it_is() {
    let project = Project::new();
    let ended = project.run(["run", "--task", "ok", "-v"]).expect(0);
    insta::assert_snapshot!(with_bare_verifier(&project.redacted(&ended.stdout)), @r"
    session: ses_…
    workdir: PROJECT/workdir/ses_…
    manifest: tester v1.2.3
    result:  none
    record:  PROJECT/workdir/ses_…
    status:  ok
    verify:  mur-verify PROJECT/workdir/ses_… --key ROOT/home/keys/record-seal.pub
    ");
}

/// Lets a shell split the printed command, and runs what it names as the auditor's command would be run.
fn run_printed_command(project: &Project, command: &str) -> (u8, String) {
    let split = Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
    let words = String::from_utf8(split.stdout).unwrap();
    let mut printed = Vec::new();
    let code = {
        let mut console = Console::new(&mut printed, std::io::sink());
        mur_verify::run(words.lines().map(Into::into), &mut console)
    };
    (code, project.redacted(&String::from_utf8(printed).unwrap()))
}

#[test]
fn the_printed_command_verifies_the_record() {
    for name in ["project", "it's a project & more", "$HOME `date` \"x\""] {
        let project = Project::named(name);
        let ended = project.run_task("ok").expect(0);
        let command = ended.says("verify");
        assert!(with_bare_verifier(command).starts_with("mur-verify "), "{command}");
        let (code, printed) = run_printed_command(&project, command);
        assert_eq!(code, 0, "{command}");
        assert!(printed.contains("\nverified: checked with key "), "{printed}");
    }
}

#[test]
fn json_is_one_line_as_soon_as_the_session_has_begun() {
    let project = Project::new();
    let mut running = project.start(project.mur(["run", "--json", "-v", "--task", "sleep 600"]));
    let mut begun = running.first_line();
    let record = project.record();
    assert_eq!(record.event_types()[0], "session_start");
    assert_eq!(begun["pid"].take(), running.id());

    let directory = project.path("workdir").join(record.session());
    let expected = json!({
        "url": null,
        "pid": null,
        "session_id": record.session(),
        "name": "tester",
        "version": "1.2.3",
        "workdir": directory,
        "records_dir": directory,
    });
    assert_eq!(begun.to_string(), expected.to_string());

    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.wait().expect(1).stdout.lines().count(), 1);
}

#[test]
fn what_guests_print_is_shown_on_stderr_under_their_names_and_escaped() {
    let project = Project::new();
    let ended = project.run_task("print").expect(0);
    assert_eq!(ended.stderr, "[tester] to stdout\n[tester] to stderr\n");

    let ended = project.run_task("call tool print \u{1b}[2J").expect(0);
    assert_eq!(ended.stderr, "[tool] \\u{1b}[2J\n");
}

#[test]
fn what_guests_tell_of_their_work_is_shown_like_what_they_print() {
    let project = Project::new();
    let ended = project.run_task("call tool say half way\u{1b}[2J").expect(0);
    assert_eq!(ended.stderr, "[tool] half way\\u{1b}[2J\n");
    assert_eq!(project.run_task("call tool started call-1 hammer").expect(0).stderr, "");
}

#[test]
fn closed_streams_do_not_end_a_session() {
    let project = Project::new();
    for redirections in [">&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let mut mur = project.mur(["run", "--task", "print"]);
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("\"$0\" \"$@\" {redirections}")).arg(mur.get_program()).args(mur.get_args());
        shell.current_dir(mur.get_current_dir().unwrap()).env_clear().env("MURMUR_HOME", project.home());
        mur = shell;
        project.start(mur).wait().expect(0);
    }
    for record in project.records() {
        project.assert_verified(&record);
        assert_eq!(record.event("session_end")["exit_status"], "ok");
    }
    assert_eq!(project.records().len(), 3);
}

#[test]
fn readers_that_have_gone_do_not_end_a_session() {
    let project = Project::new();
    for args in [["run", "--task", "print"].as_slice(), &["run", "--json", "--task", "print"]] {
        let mut child = project.mur(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let status = eventually("the end of the process", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
    }
    for record in project.records() {
        project.assert_verified(&record);
    }
}

#[test]
fn a_capsule_that_prints_much_does_not_wait_for_a_reader() {
    let project = Project::new();
    let mut child =
        project.mur(["run", "--task", "flood 3000000"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nobody reads before it has ended.
    let status = eventually("the end of the process", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    let mut shown = String::new();
    child.stderr.take().unwrap().read_to_string(&mut shown).unwrap();
    assert!(shown.ends_with("[tester] [what the guests print from here on is not shown]\n"));
    project.assert_verified(&project.record());
}

#[test]
fn a_capsule_that_prints_nothing_but_line_ends_does_not_wait_for_a_reader() {
    let project = Project::new();
    let mut child =
        project.mur(["run", "--task", "lines 65536"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Each is shown as a line under the guest's name, so what is shown is many times what is printed.
    let status = eventually("the end of the process", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    project.assert_verified(&project.record());
}
