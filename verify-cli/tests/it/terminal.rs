//! What only a person at a terminal gets: colours, and progress.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::support::{KEY, Scene, changed, verified, wait};

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
    let counted = thread::spawn(move || results.lines().count());
    let shown = everything(&mut screen);
    assert_eq!(wait(&mut child).code(), Some(2));
    assert_eq!(counted.join().unwrap(), 3000);
    let (progress, error) = shown.rsplit_once("\r\u{1b}[K").expect("progress is shown and then cleared");
    assert!(progress.contains(" of 3,001 records checked"), "{shown}");
    assert_eq!(error, "error: missing: there is no such directory\r\n");
}

/// A terminal: the side that a person watches, and the side that a program writes to.
fn terminal() -> (File, Stdio) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let screen = openpt(flags).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let terminal = ioctl_tiocgptpeer(&screen, flags).unwrap();
    (screen.into(), terminal.into())
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
