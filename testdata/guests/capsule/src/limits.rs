//! Using up what a guest is given.

use std::fs::File;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// Computes without end and without a call to the host.
pub(crate) fn spin() {
    let mut turn = 0_u64;
    loop {
        turn = black_box(turn.wrapping_add(1));
    }
}

/// Waits in the host.
pub(crate) fn sleep(seconds: u64) {
    thread::sleep(Duration::from_secs(seconds));
}

/// Asks for memory without end.
pub(crate) fn balloon() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Calls itself without an end that it would ever reach.
pub(crate) fn recurse() {
    fn deeper(depth: u64) -> u64 {
        if black_box(depth) == u64::MAX {
            return 0;
        }
        black_box(deeper(depth + 1)) + 1
    }
    black_box(deeper(0));
}

/// Holds so many open files at once.
///
/// # Panics
/// When one cannot be opened.
pub(crate) fn files(count: u64) {
    let mut open = Vec::new();
    for number in 0..count {
        match File::open("task.md") {
            Ok(file) => open.push(file),
            Err(error) => panic!("file {number}: {error}"),
        }
    }
    drop(open);
    super::report(&format!("{count} open at once"));
}
