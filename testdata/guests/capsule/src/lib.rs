//! A capsule for the runtime's tests.
//!
//! The first word of `task.md` chooses what it does, the rest of the first line are arguments. What it
//! has to say goes to `out/result.txt`. Where a test expects it to fail, it fails by a panic.
//!
//! | task | |
//! |---|---|
//! | `ok` | returns |
//! | `print` | writes to stdout and stderr |
//! | `flood BYTES`, `lines N` | writes so many bytes, or empty lines, to stdout |
//! | `trap` | panics |
//! | `exit CODE` | leaves through `wasi:cli/exit` |
//! | `result TEXT` | writes the text as its result |
//! | `read PATH`, `write PATH TEXT` | one file |
//! | `linger PATH TEXT` | writes a file and never ends |
//! | `spin`, `sleep SECONDS`, `balloon`, `recurse`, `files N` | [`limits`] |
//! | `env`, `net`, `escape`, `link PATH TARGET` | [`surroundings`] |
//! | `call TOOL [DATA]`, `log TOOL PATH`, `call-many N TOOL`, `call-long LENGTH` | [`tools`] |
//! | `manage WHAT [ARGUMENTS]`, `shell BINARY`, `message PEER` | [`host`] |
//! | `reach DIRECTORY` | [`surroundings`] |
//! | `rewrite PATH`, `overwrite PATH` | [`rewrite`] |
//! | `forge PATH` | [`forge`] |
//!
//! It is a component for wasm32-wasip2; for other targets this crate is empty.
#![cfg(target_arch = "wasm32")]

mod bindings;
mod forge;
mod host;
mod limits;
mod rewrite;
mod surroundings;
mod tools;

use std::fs;
use std::io::Write as _;
use std::process;

/// Does what the task says.
///
/// # Panics
/// When the task is unknown or cannot be done, and for the task `trap`.
fn run() {
    let task = fs::read_to_string("task.md").unwrap_or_default();
    let line = task.lines().next().unwrap_or_default();
    let (command, rest) = first_word(line);
    match command {
        "ok" => {}
        "print" => print(),
        "flood" => flood(b'x', number(rest)),
        "lines" => flood(b'\n', number(rest)),
        "call-long" => tools::call_long(number(rest)),
        "trap" => panic!("the task says trap"),
        "exit" => process::exit(number(rest).try_into().unwrap_or(i32::MAX)),
        "result" => report(rest),
        "read" => report(&describe(fs::read_to_string(rest))),
        "write" => write(rest),
        "linger" => {
            write(rest);
            limits::spin();
        }
        "spin" => limits::spin(),
        "sleep" => limits::sleep(number(rest)),
        "balloon" => limits::balloon(),
        "recurse" => limits::recurse(),
        "files" => limits::files(number(rest)),
        "env" => surroundings::environment(),
        "net" => surroundings::network(),
        "escape" => surroundings::escape(),
        "link" => surroundings::link(rest),
        "call" => tools::call(rest),
        "log" => tools::call_on_a_file(rest),
        "call-many" => tools::call_many(rest),
        "manage" => host::manage(rest),
        "shell" => host::shell(rest),
        "message" => host::message(rest),
        "reach" => surroundings::reach(rest),
        "rewrite" => rewrite::rewrite(rest),
        "overwrite" => rewrite::overwrite(rest),
        "forge" => forge::forge(rest),
        other => panic!("the task {other:?} is not known"),
    }
}

/// Writes the capsule's result.
///
/// # Panics
/// When it cannot be written: a test that lets a capsule report must let it write.
fn report(text: &str) {
    let written = fs::create_dir_all("out").and_then(|()| fs::write("out/result.txt", text));
    if let Err(error) = written {
        panic!("out/result.txt: {error}");
    }
}

/// Splits the first word from the rest, both without the white space around them.
fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()))
}

/// The number that a task names.
///
/// # Panics
/// When it is none.
fn number(text: &str) -> u64 {
    match text.trim().parse() {
        Ok(number) => number,
        Err(_) => panic!("{text:?} is not a number"),
    }
}

/// A result or an error, as one text.
fn describe(outcome: Result<impl AsRef<str>, impl std::fmt::Display>) -> String {
    match outcome {
        Ok(value) => format!("ok: {}", value.as_ref()),
        Err(error) => format!("error: {error}"),
    }
}

fn print() {
    println!("to stdout");
    eprintln!("to stderr");
}

fn flood(byte: u8, bytes: u64) {
    let chunk = [byte; 4096];
    let mut left = bytes;
    let mut out = std::io::stdout().lock();
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        if out.write_all(&chunk[..some]).is_err() {
            return;
        }
        left -= some as u64;
    }
}

/// Prints the outcome, since a directory that cannot be written cannot hold a report either.
fn write(arguments: &str) {
    let (path, text) = first_word(arguments);
    println!("{}", describe(fs::write(path, text).map(|()| path)));
}
