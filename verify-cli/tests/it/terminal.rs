//! What only a person at a terminal gets: colours, and progress.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::support::{KEY, Scene, changed, verified, wait};

/// A check that is over sooner shows no progress.
const LONGER_THAN_UNWATCHED: Duration = Duration::from_millis(300);

const FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);

#[test]
fn a_terminal_gets_colours() {
    let scene = Scene::with(changed());
    let (mut screen, terminal) = terminal();
    let mut command = scene.command(["--key", KEY, "record"]);
    let mut child = command.stdout(terminal).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let shown = everything(&mut screen);
    assert_eq!(wait(&mut child).code(), Some(1));
    assert!(shown.contains("\u{1b}[31mchanged"), "{shown}");
}

#[test]
fn progress_of_many_records_is_shown_where_a_person_watches_and_taken_away_again() {
    let scene = Scene::with(verified());
    let (mut screen, terminal) = terminal();
    let many = std::iter::repeat_n("record", 3000).chain(["missing"]);
    let mut command = scene.command(["--key", KEY, "--format=jsonl"].into_iter().chain(many));
    let mut child = command.stdout(Stdio::piped()).stderr(terminal).spawn().unwrap();
    drop(command);
    let results = BufReader::new(child.stdout.take().unwrap());
    // More is printed than a pipe holds, so the program waits for its reader until it is time for progress.
    let counted = thread::spawn(move || {
        thread::sleep(LONGER_THAN_UNWATCHED);
        results.lines().count()
    });
    let shown = everything(&mut screen);
    assert_eq!(wait(&mut child).code(), Some(2));
    assert_eq!(counted.join().unwrap(), 3000);
    let (progress, error) = shown.rsplit_once("\r\u{1b}[K").expect("progress is shown and then cleared");
    assert!(progress.contains(" of 3,001 records checked"), "{shown}");
    assert_eq!(error, "error: missing: there is no such directory\r\n");
}

#[test]
fn progress_stands_below_the_results_where_a_person_watches_both() {
    let scene = Scene::with(verified());
    for (format, results) in [("human", "trace.jsonl       \u{1b}[32mverified"), ("jsonl", "\"schema\":1,")] {
        let shown = on_one_terminal(&scene, format);
        let parts: Vec<&str> = shown.split("\r\u{1b}[K").collect();
        let is_progress = |part: &str| part.ends_with(" of 3,000 records checked");
        assert!(parts.iter().any(|part| is_progress(part)), "{format}");
        // Whatever is wiped out is progress, and stands on a line of its own.
        for part in &parts {
            assert!(part.is_empty() || is_progress(part) != part.ends_with("\r\n"), "{part:?}");
            assert!(is_progress(part) || !part.contains("records checked"), "{part:?}");
        }
        assert!(parts.last().unwrap().ends_with("\r\n"), "{format}");
        let printed: usize = parts.iter().map(|part| part.matches(results).count()).sum();
        assert_eq!(printed, 3000, "{format}");
    }
}

#[test]
fn progress_does_not_wipe_out_a_document_that_goes_on() {
    let shown = on_one_terminal(&Scene::with(verified()), "json");
    assert!(!shown.contains("\u{1b}[K") && shown.ends_with("}]\r\n"), "{}", shown.len());
}

/// What a terminal shows to which 3,000 results and everything else go.
fn on_one_terminal(scene: &Scene, format: &str) -> String {
    let (mut screen, terminal) = terminal();
    let other: Stdio = writer_of(&screen);
    let many = std::iter::repeat_n("record", 3000);
    let mut command = scene.command(["--key", KEY, "--jobs=1", "--format", format].into_iter().chain(many));
    let mut child = command.stdout(terminal).stderr(other).spawn().unwrap();
    drop(command);
    // More is printed than a terminal keeps, so the program waits for its reader until it is time for progress.
    thread::sleep(LONGER_THAN_UNWATCHED);
    let shown = everything(&mut screen);
    assert_eq!(wait(&mut child).code(), Some(0));
    shown
}

/// A terminal: the side that a person watches, and the side that a program writes to.
fn terminal() -> (File, Stdio) {
    let screen = openpt(FLAGS).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let screen = screen.into();
    let terminal = writer_of(&screen);
    (screen, terminal)
}

/// One handle more of the side that a program writes to.
fn writer_of(screen: &File) -> Stdio {
    ioctl_tiocgptpeer(screen, FLAGS).unwrap().into()
}

/// What a terminal shows until no program writes to it any more.
fn everything(screen: &mut File) -> String {
    let mut shown = Vec::new();
    let mut block = [0; 4096];
    // Linux ends a terminal that nobody writes to any more with an I/O error.
    while let Ok(read @ 1..) = screen.read(&mut block) {
        shown.extend_from_slice(&block[..read]);
    }
    String::from_utf8(shown).unwrap()
}
