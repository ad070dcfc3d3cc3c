//! Appending to a chain, beside bare writes of the same bytes and the system calls that no append can do without.
//!
//! Every way appends the same lines of [`LINE`] bytes to a file of its own on the same file system.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mur_seal::{Appenders, ChainOptions, InlineChain};
use rustix::fs::{AtFlags, CWD, FlockOperation, StatxFlags, flock, statx};

use crate::records::event;

/// Bytes of a line, its newline included.
const LINE: u64 = 478;
/// How many threads append at once where it is more than one.
const THREADS: u64 = 8;
/// Each way is taken in turns, so often: what else the machine does falls on all of them alike.
const TURNS: u64 = 10;

/// One way to get a line into a file. It is made anew for each turn, and shared by its threads.
type Way = fn(&Path) -> Box<dyn Fn() + Sync>;

const WAYS: [(&str, Way); 5] = [
    ("write", bare_write),
    ("stat-write", |path| system_calls(path, Lock::Not)),
    ("lock-stat-write-unlock", |path| system_calls(path, Lock::Take)),
    ("sole", |path| chain(path, Appenders::Sole)),
    ("shared", |path| chain(path, Appenders::Shared)),
];

/// Prints, for each way and for one thread and several, the seconds that `appends` appends take.
pub(crate) fn every_way(directory: &Path, appends: u64) {
    std::fs::create_dir_all(directory).unwrap();
    let path = directory.join("trace.jsonl");
    let each = appends.div_ceil(TURNS);
    let mut spent = [[Duration::ZERO; 2]; WAYS.len()];
    for _ in 0..TURNS {
        for ((_, way), spent) in WAYS.iter().zip(&mut spent) {
            for (threads, spent) in [1, THREADS].into_iter().zip(spent) {
                let _ = std::fs::remove_file(&path);
                *spent += one_turn(way(&path), threads, each.div_ceil(threads));
            }
        }
    }
    let _ = std::fs::remove_file(&path);
    for ((name, _), spent) in WAYS.iter().zip(spent) {
        for (threads, spent) in [1, THREADS].into_iter().zip(spent) {
            // Eight threads may do up to seven appends a turn more than were asked for.
            let done = each.div_ceil(threads) * threads * TURNS;
            println!("{name} {threads} {}", spent.as_secs_f64() * appends as f64 / done as f64);
        }
    }
}

fn one_turn(append: Box<dyn Fn() + Sync>, threads: u64, each: u64) -> Duration {
    let append = &append;
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || (0..each).for_each(|_| append()));
        }
    });
    started.elapsed()
}

fn create(path: &Path) -> File {
    File::options().append(true).create(true).open(path).unwrap()
}

fn bare_write(path: &Path) -> Box<dyn Fn() + Sync> {
    let file = create(path);
    let line = "x".repeat(usize::try_from(LINE).unwrap());
    Box::new(move || (&file).write_all(line.as_bytes()).unwrap())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Take,
    Not,
}

/// What the operating system has to do for an append that looks before it writes, and nothing else.
fn system_calls(path: &Path, lock: Lock) -> Box<dyn Fn() + Sync> {
    let file = create(path);
    let path = path.to_owned();
    let line = "x".repeat(usize::try_from(LINE).unwrap());
    let one_at_a_time = std::sync::Mutex::new(());
    Box::new(move || {
        let _turn = one_at_a_time.lock().unwrap();
        if lock == Lock::Take {
            flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        }
        statx(CWD, &path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO | StatxFlags::SIZE).unwrap();
        (&file).write_all(line.as_bytes()).unwrap();
        if lock == Lock::Take {
            flock(&file, FlockOperation::Unlock).unwrap();
        }
    })
}

fn chain(path: &Path, appenders: Appenders) -> Box<dyn Fn() + Sync> {
    let chain: Arc<InlineChain> = InlineChain::open(path, ChainOptions::new(appenders)).unwrap();
    let event = event(LINE);
    Box::new(move || {
        chain.append(&event).unwrap();
    })
}
