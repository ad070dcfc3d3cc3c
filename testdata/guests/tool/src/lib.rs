//! A tool for the runtime's tests. Of the interfaces for telling of work it uses the newer one.
//!
//! The first word of its data chooses what it does, the rest of the data are arguments.
//!
//! | data | |
//! |---|---|
//! | `echo TEXT` | `passed`, with the text as data |
//! | `summary TEXT` | `passed`, with the text as summary and no data |
//! | `fail TEXT`, `error TEXT` | that status |
//! | `metadata` | `passed`, with metadata of every reserved name |
//! | `big BYTES` | `passed`, with so many bytes of data |
//! | `env` | `passed`, with the environment as data |
//! | `read PATH`, `write PATH TEXT`, `remove PATH`, `list PATH` | one file or directory |
//! | `print TEXT` | writes to stdout |
//! | `say TEXT`, `think TEXT`, `started ID NAME`, `input ID BYTES` | tells of its work |
//! | `chatter BYTES` | tells text of so many bytes at once |
//! | `ask PROMPT` | `passed`, with the answer as data |
//! | `spin`, `sleep SECONDS`, `balloon`, `trap`, `exit CODE` | no result |
//!
//! Without data it reads the file that `log-path` names.
//!
//! It is a component for wasm32-wasip2; for other targets this crate is empty.
#![cfg(target_arch = "wasm32")]

mod bindings;

use bindings::exports::murmur::tool::run::{Status, ToolInput, ToolResult};
use bindings::murmur::stream::events;
use bindings::murmur::task::task;
use std::fs;
use std::hint::black_box;
use std::io;
use std::process;
use std::thread;
use std::time::Duration;

/// Does what the input says.
///
/// # Panics
/// When the input asks for it or is unknown.
fn run(input: &ToolInput) -> ToolResult {
    let Some(data) = &input.data else {
        return match &input.log_path {
            Some(path) => from_io(fs::read_to_string(path)),
            None => result(Status::Error, "neither data nor a file"),
        };
    };
    let (command, rest) = data.split_once(' ').unwrap_or((data, ""));
    match command {
        "echo" => result(Status::Passed, rest),
        "summary" => ToolResult { summary: Some(rest.to_owned()), data: None, ..result(Status::Passed, "") },
        "fail" => result(Status::Failed, rest),
        "error" => result(Status::Error, rest),
        "metadata" => with_metadata(),
        "big" => result(Status::Passed, &"x".repeat(number(rest) as usize)),
        "env" => result(Status::Passed, &environment()),
        "read" => from_io(fs::read_to_string(rest)),
        "write" => {
            let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
            from_io(fs::write(path, text).map(|()| String::new()))
        }
        "remove" => from_io(fs::remove_file(rest).map(|()| String::new())),
        "list" => from_io(list(rest)),
        "print" => {
            println!("{rest}");
            result(Status::Passed, "")
        }
        "say" | "think" | "chatter" | "started" | "input" => {
            tell(command, rest);
            result(Status::Passed, "")
        }
        "ask" => result(Status::Passed, &task::request_input(rest)),
        "spin" => spin(),
        "sleep" => {
            thread::sleep(Duration::from_secs(number(rest)));
            result(Status::Passed, "")
        }
        "balloon" => balloon(),
        "trap" => panic!("the input says trap"),
        "exit" => process::exit(number(rest).try_into().unwrap_or(i32::MAX)),
        other => panic!("the input {other:?} is not known"),
    }
}

fn result(status: Status, data: &str) -> ToolResult {
    ToolResult {
        status,
        summary: None,
        data: Some(data.to_owned()),
        data_path: None,
        truncated: false,
        metadata: Vec::new(),
    }
}

/// Tells of work.
fn tell(what: &str, rest: &str) {
    let (id, more) = rest.split_once(' ').unwrap_or((rest, ""));
    match what {
        "think" => events::emit_thinking_chunk(rest),
        "chatter" => events::emit_chunk(&"ä".repeat(number(rest) as usize / 2)),
        "started" => events::tool_call_started(id, more),
        "input" => events::tool_call_input_bytes(id, number(more)),
        _ => events::emit_chunk(rest),
    }
}

fn from_io(outcome: io::Result<String>) -> ToolResult {
    match outcome {
        Ok(text) => result(Status::Passed, &text),
        Err(error) => result(Status::Error, &error.to_string()),
    }
}

/// A name that stands twice, since the first is to count.
fn with_metadata() -> ToolResult {
    let pairs = [
        ("continuation_id", "c-1"),
        ("state_effect", "mutate"),
        ("resource_id", "r-1"),
        ("state_effect", "read"),
        ("resource_id", "r-2"),
    ];
    ToolResult {
        metadata: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..result(Status::Passed, "done")
    }
}

fn environment() -> String {
    std::env::vars().map(|(name, value)| format!("{name}={value}\n")).collect()
}

fn list(path: &str) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join("\n"))
}

fn spin() -> ! {
    let mut turn = 0_u64;
    loop {
        turn = black_box(turn.wrapping_add(1));
    }
}

fn balloon() -> ! {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// The number that an input names.
///
/// # Panics
/// When it is none.
fn number(text: &str) -> u64 {
    match text.trim().parse() {
        Ok(number) => number,
        Err(_) => panic!("{text:?} is not a number"),
    }
}
