//! Memory that does not grow with a record: one that is ten times as large is checked with as much.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use mur_seal::{ChainKind, ChainState, SealDraft, line_hash, link};
use mur_testdata::{SESSION, host_key};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::support::{KEY, PROGRAM, Scene, run, wait};

/// What two runs of one program may differ by, in KiB.
const TOLERANCE_KIB: u64 = 3 * 1024;

#[test]
fn a_trace_of_any_length_is_checked_in_constant_memory() {
    let text = "x".repeat(4000);
    takes_constant_memory([20_000_000, 200_000_000], |trace, size| {
        for number in 0..size / 4000 {
            trace.event(&format!("{{\"n\":{number},\"text\":\"{text}\"}}"));
        }
    });
}

#[test]
fn a_line_of_any_length_is_checked_in_constant_memory() {
    takes_constant_memory([10_000_000, 100_000_000], |trace, size| {
        trace.event(&format!("{{\"text\":\"{}\"}}", "x".repeat(size)));
    });
}

#[test]
fn any_number_of_empty_lines_is_checked_in_constant_memory() {
    takes_constant_memory([40_000, 400_000], |trace, size| {
        for _ in 0..size {
            trace.unlinked_line("");
        }
    });
}

/// That records of both sizes, whose middle `fill` makes, are verified with about the same memory.
fn takes_constant_memory(sizes: [usize; 2], fill: impl Fn(&mut Trace, usize)) {
    let [small, large] = sizes.map(|size| {
        let scene = Scene::new().and_directory("record");
        let mut trace = Trace::create(&scene);
        trace.event(&format!("{{\"n\":\"first\",\"session_id\":\"{SESSION}\"}}"));
        fill(&mut trace, size);
        trace.event("{\"n\":\"last\"}");
        let (lines, bytes) = trace.seal(&scene);
        assert!(bytes >= size as u64);
        let (peak, code, out) = check(&scene);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("trace.jsonl       verified") && out.contains(&mur_verify::grouped(lines)), "{out}");
        peak
    });
    assert!(
        small > 0 && large < small + TOLERANCE_KIB,
        "{small} KiB for {} and {large} KiB for {}",
        sizes[0],
        sizes[1]
    );
}

#[test]
fn a_file_without_a_line_is_checked_in_constant_memory() {
    let peaks = [20_000_000, 200_000_000].map(|size| {
        let scene = Scene::new().and_directory("record");
        // Sparse: it takes no room on the disk, and reads as zeros.
        File::create(scene.path("record/trace.jsonl")).unwrap().set_len(size).unwrap();
        let (peak, code, out) = check(&scene);
        assert_eq!(code, 3, "{out}");
        assert!(out.contains(&format!("{size} bytes after the last newline are not a whole line")), "{out}");
        peak
    });
    assert!(peaks[0] > 0 && peaks[1] < peaks[0] + TOLERANCE_KIB, "{peaks:?} KiB");
}

#[test]
fn a_seal_without_end_is_not_read_to_its_end() {
    let scene = Scene::new().and_directory("record");
    Trace::create(&scene).seal(&scene);
    File::create(scene.path("record/trace.jsonl.seal")).unwrap().set_len(1 << 40).unwrap();
    let (_, code, out) = check(&scene);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("the seal is larger than any seal"), "{out}");
}

#[test]
fn a_host_that_refuses_threads_gets_its_verdict_from_one() {
    let scene = Scene::new().and_directory("record");
    let mut trace = Trace::create(&scene);
    for number in 0..2000 {
        trace.event(&format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(4000)));
    }
    trace.seal(&scene);
    // The stack of one thread would take more than there is.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 500000 && exec \"$0\" \"$@\"", PROGRAM, "record", "--key", KEY]);
    command.env("RUST_MIN_STACK", "1000000000").current_dir(scene.path(""));
    let outcome = run(command);
    assert_eq!(outcome.code, 0, "{outcome}");
}

#[test]
fn a_host_that_refuses_threads_gets_the_verdicts_of_many_records_from_one() {
    let scene = Scene::new().and("tree/a", crate::support::verified()).and("tree/b", crate::support::changed());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 500000 && exec \"$0\" \"$@\"", PROGRAM, "-r", "tree", "--jobs", "4", "--key", KEY]);
    command.env("RUST_MIN_STACK", "1000000000").current_dir(scene.path(""));
    let outcome = run(command);
    assert!(outcome.code == 1 && outcome.out.contains("\n2 records: 1 verified, 1 changed\n"), "{outcome}");
}

/// Writes a trace line by line. Nothing of it is kept.
struct Trace {
    file: BufWriter<File>,
    chain: ChainState,
}

impl Trace {
    fn create(scene: &Scene) -> Self {
        let file = BufWriter::with_capacity(1 << 20, File::create(scene.path("record/trace.jsonl")).unwrap());
        Trace { file, chain: ChainState::new() }
    }

    fn event(&mut self, event: &str) {
        let line = link(event, &self.chain.head(), self.chain.gap_hash().as_ref()).unwrap();
        self.chain.push_chained(line_hash(line.as_bytes()));
        self.write(&line);
    }

    fn unlinked_line(&mut self, line: &str) {
        self.chain.push_unchained(line_hash(line.as_bytes()));
        self.write(line);
    }

    fn write(&mut self, line: &str) {
        self.file.write_all(line.as_bytes()).unwrap();
        self.file.write_all(b"\n").unwrap();
    }

    /// Seals it. How many lines and bytes it has.
    fn seal(self, scene: &Scene) -> (u64, u64) {
        let file = self.file.into_inner().unwrap();
        let lines = self.chain.lines();
        let draft = SealDraft {
            stream: "trace.jsonl".into(),
            chain: ChainKind::Inline,
            session_id: SESSION.into(),
            lines,
            line_hashes: None,
            head: self.chain.head(),
            sealed_at: 0,
            conversation: None,
        };
        scene.write("record/trace.jsonl.seal", host_key().seal(draft).unwrap().to_file());
        (lines, file.metadata().unwrap().len())
    }
}

/// Checks the record: the most memory that the program had, in KiB, its exit code, and what it printed.
///
/// The peak is read while the program waits to print its result, since it has no memory any more once it has ended.
fn check(scene: &Scene) -> (u64, i32, String) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let filler = fill(&writer);
    let mut command = scene.command(["record", "--key", KEY]);
    let mut child = command.stdout(writer).spawn().unwrap();
    drop(command); // and with it this process's end of the pipe
    wait_until_it_waits(&child);
    let peak = peak_memory(&child);
    let mut out = Vec::new();
    reader.read_to_end(&mut out).unwrap();
    let status = wait(&mut child);
    (peak, status.code().unwrap(), String::from_utf8(out.split_off(filler)).unwrap())
}

/// Fills a pipe, so that whoever writes to it next has to wait. Returns how many bytes it took.
fn fill(mut pipe: &std::io::PipeWriter) -> usize {
    let flags = fcntl_getfl(pipe).unwrap();
    fcntl_setfl(pipe, flags | OFlags::NONBLOCK).unwrap();
    let mut filler = 0;
    while let Ok(written) = pipe.write(&[b' '; 4096]) {
        filler += written;
    }
    fcntl_setfl(pipe, flags).unwrap();
    filler
}

/// Returns once all threads of a program have been asleep each time that they were looked at, so that it waits for its pipe,
/// or once it has ended all the same.
fn wait_until_it_waits(child: &Child) {
    let mut asleep = 0;
    while asleep < 5 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let states = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        // The state stands behind the name, which is in parentheses.
        let sleeps = |stat: &String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'Z']));
        asleep = if states.collect::<Vec<_>>().iter().all(sleeps) { asleep + 1 } else { 0 };
        thread::sleep(Duration::from_millis(5));
    }
}

fn peak_memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}
