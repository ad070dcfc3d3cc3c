//! This very program, started again as another process that plays one part of a test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{append, directory, full_disk, host_key, hostile_host, killed, load, opening};

const PART: &str = "MUR_SEAL_TEST_PART";
const PATH: &str = "MUR_SEAL_TEST_PATH";
const NAME: &str = "MUR_SEAL_TEST_NAME";

/// A command that plays `part` on `path`, under `name`.
pub(crate) fn command(part: &str, path: &OsStr, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    with_part(&mut command, part, path, name);
    command
}

/// Lets a command that starts this program play `part`.
pub(crate) fn with_part(command: &mut Command, part: &str, path: &OsStr, name: &str) {
    command.args(["--exact", "child::plays_the_part_that_it_is_given", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env(PATH, path).env(NAME, name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Waits until the child has said that it is ready.
pub(crate) fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let ready = lines.any(|line| line.unwrap().contains(READY));
    if !ready {
        let mut errors = String::new();
        child.stderr.as_mut().unwrap().read_to_string(&mut errors).unwrap();
        panic!("the child ended before it was ready: {errors}");
    }
}

/// Waits for the child's end, which must be a good one.
pub(crate) fn wait_for_success(child: Child) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}: {}{}", output.status, text(&output.stdout), text(&output.stderr));
}

/// Says that the part has begun.
pub(crate) fn say_ready() {
    println!("{READY}");
}

const READY: &str = "part-is-ready";

/// Waits until the parent lets go of the child.
pub(crate) fn wait_for_parent() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// As a test of its own this does nothing: no part is given.
#[test]
fn plays_the_part_that_it_is_given() {
    let Some(part) = std::env::var_os(PART) else { return };
    let path = PathBuf::from(std::env::var_os(PATH).unwrap());
    let name = std::env::var(NAME).unwrap();
    match part.to_str().unwrap() {
        "append" => append::append_as_another_process(&path, &name),
        "append until killed" => killed::append_until_killed(&path),
        "hold the lock" => opening::hold_the_lock(&path),
        "load the key" => host_key::load_the_key(&path),
        "read without permission" => directory::read_without_permission(&path),
        "append with threads" => load::append_with_threads(&path, &name),
        "seal without permission" => hostile_host::seal_without_permission(&path),
        "fill a small disk" => full_disk::append_until_the_disk_is_full(&path),
        "fill the disk" => full_disk::append_at_every_limit(&path),
        unknown => panic!("no such part: {unknown}"),
    }
}
