//! What `cargo xtask bench` needs besides the programs that it compares: the records that they check, and two
//! measurements that no program of its own makes.
//!
//! | command | what it does |
//! |---|---|
//! | `inline DIR BYTES LINE` | writes a sealed record whose trace is at least `BYTES` long, in lines of `LINE` bytes |
//! | `listed DIR LINES` | writes a sealed record with a short trace and `LINES` lines of scores |
//! | `many DIR RECORDS` | writes so many sealed records of three streams each |
//! | `hash FILE` | reads the file into memory, and prints what SHA-256 of its lines takes then: `hash SECONDS` |
//! | `append DIR APPENDS` | prints what so many appends take, in every way: `NAME THREADS SECONDS` |
//!
//! All keys are the published test keys: what is written here proves nothing about anybody. The public key is written
//! beside the records, as `DIR/record-seal.pub`.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot do its work must stop")]

mod append;
mod hash;
mod records;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str =
    "usage: workload inline DIR BYTES LINE | listed DIR LINES | many DIR RECORDS | hash FILE | append DIR APPENDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &str| text.parse::<u64>().unwrap();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["inline", directory, bytes, line] => records::inline(Path::new(directory), number(bytes), number(line)),
        ["listed", directory, lines] => records::listed(Path::new(directory), number(lines)),
        ["many", directory, records] => records::many(Path::new(directory), number(records)),
        ["hash", file] => println!("hash {}", hash::lines_in_memory(Path::new(file)).as_secs_f64()),
        ["append", directory, appends] => append::every_way(Path::new(directory), number(appends)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
