//! What a guest sees of the host, and what it can reach.

use std::env;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

/// Reports arguments, environment and the current directory's entries.
pub(crate) fn environment() {
    let mut report = String::new();
    for (name, value) in env::vars() {
        report.push_str(&format!("{name}={value}\n"));
    }
    for argument in env::args() {
        report.push_str(&format!("argument {argument}\n"));
    }
    let mut names: Vec<_> = fs::read_dir(".")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        report.push_str(&format!("entry {name}\n"));
    }
    super::report(&report);
}

/// Tries the network in every direction.
pub(crate) fn network() {
    let attempts = [
        ("tcp connect", TcpStream::connect("127.0.0.1:9").map(drop)),
        ("tcp listen", TcpListener::bind("127.0.0.1:0").map(drop)),
        ("udp", UdpSocket::bind("127.0.0.1:0").map(drop)),
        ("lookup", ("localhost", 9).to_socket_addrs().map(drop)),
    ];
    super::report(&summary(&attempts));
}

/// Tries to reach files above the preopened directory. The host has put `secret.txt` there.
pub(crate) fn escape() {
    let attempts = [
        ("parent", fs::read("../secret.txt").map(drop)),
        ("inner parent", fs::read("out/../../secret.txt").map(drop)),
        ("absolute", fs::read("/etc/passwd").map(drop)),
        ("write above", fs::write("../planted.txt", "planted")),
        ("link up", through_a_link("link-up", "../secret.txt")),
        ("link to root", through_a_link("link-root", "/etc/passwd")),
        ("link of the host's", fs::read("host-link").map(drop)),
    ];
    super::report(&summary(&attempts));
}

/// Tries to get out of a directory in every way that a path allows. The host has put `secret.txt` beside it, a file
/// `inside.txt` and a directory `inner` into it.
pub(crate) fn reach(directory: &str) {
    let here = |path: &str| format!("{directory}/{path}");
    let moved = |from: &str, to: &str| fs::rename(here(from), here(to));
    let linked = |from: &str, to: &str| fs::hard_link(here(from), here(to));
    let attempts = [
        ("read above", fs::read(here("../secret.txt")).map(drop)),
        ("read above, by the way", fs::read(here("inner/../../secret.txt")).map(drop)),
        ("write above", fs::write(here("../planted.txt"), "planted")),
        ("list above", fs::read_dir(here("..")).map(drop)),
        ("absolute", fs::read("/etc/passwd").map(drop)),
        ("own descriptor", fs::read("/proc/self/fd/0").map(drop)),
        ("root of the process", fs::read("/proc/self/root/etc/passwd").map(drop)),
        ("link up", through_a_link(&here("link-up"), "../secret.txt")),
        ("link down and up", through_a_link(&here("link-way"), "inner/../../secret.txt")),
        ("link to root", through_a_link(&here("link-root"), "/etc/passwd")),
        ("link to a process", through_a_link(&here("link-proc"), "/proc/self/environ")),
        ("link of the host's", fs::read(here("host-link")).map(drop)),
        ("directory link of the host's", fs::read(here("host-directory/secret.txt")).map(drop)),
        ("write through the host's", fs::write(here("host-directory/planted.txt"), "planted")),
        ("rename out", moved("inside.txt", "../planted.txt")),
        ("rename out, with a slash", moved("inner", "../planted.txt/")),
        ("rename in", moved("../secret.txt", "stolen.txt")),
        ("hard link out", linked("inside.txt", "../planted.txt")),
        ("hard link in", linked("../secret.txt", "stolen.txt")),
        ("hard link through the host's", linked("host-directory/secret.txt", "stolen.txt")),
    ];
    super::report(&summary(&attempts));
}

/// Puts a link in an empty directory's place, and prints what came of it: the host may have to write there.
pub(crate) fn link(arguments: &str) {
    let (path, target) = super::first_word(arguments);
    let linked = fs::remove_dir(path).and_then(|()| make_link(path, target));
    println!("{}", super::describe(linked.map(|()| path)));
}

fn through_a_link(link: &str, target: &str) -> io::Result<()> {
    make_link(link, target)?;
    fs::read(link).map(drop)
}

#[allow(deprecated, reason = "the only stable name of this call in WASI")]
fn make_link(link: &str, target: &str) -> io::Result<()> {
    fs::soft_link(target, link)
}

/// One line an attempt: `refused` or `DONE`, and which.
fn summary(attempts: &[(&str, io::Result<()>)]) -> String {
    attempts
        .iter()
        .map(|(name, outcome)| match outcome {
            Ok(()) => format!("DONE {name}\n"),
            Err(_) => format!("refused {name}\n"),
        })
        .collect()
}
