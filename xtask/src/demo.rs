//! `cargo xtask demo`: a capsule's run leaves a sealed record, three programs find it whole, and all
//! three find the one byte that is then changed in a copy.
//!
//! Everything it makes lies under `target/demo`, the host key too, and is made anew each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::command::Command;
use crate::workspace::{COMPONENT_TARGET, Workspace};
use crate::{Failure, guests, table, toolchain};

/// The first example's task, a file.
const TASK: &str = "examples/hello/task.md";

/// The line of the copy that is changed. Line 3 then no longer continues it, so every check names it.
const CHANGED_LINE: usize = 2;

/// The file in the workdir with which the first capsule's result reaches the second one.
const HANDOVER: &str = "handover.txt";

/// The three programs that check a record, as the closing table names them.
const CHECKERS: [&str; 3] = ["mur-verify", "mur trace verify", "check capsule"];

/// Runs the demonstration, printing each command, what it printed, what was expected and what was seen.
///
/// # Errors
/// When a build fails, a program cannot be started, or a verdict is not the expected one.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    println!("1. Build the programs and the components");
    toolchain::ensure_targets(&[COMPONENT_TARGET])?;
    let started = Instant::now();
    Command::cargo(["build", "--package", "mur-runtime", "--package", "mur-verify"]).announce_and_run()?;
    println!("  programs built in {}", table::duration(started.elapsed()));
    guests::build(workspace)?;
    guests::assemble_examples(workspace)?;

    println!("\n2. Run a capsule; its record is sealed with this host's key");
    let stage = Stage::set(workspace)?;
    let record = stage.run_hello()?;

    println!("\n3. Check the record in three ways");
    let whole = stage.check(&record, &Expected::Verified)?;

    println!("\n4. Change one byte in line {CHANGED_LINE} of a copy, and check again");
    let copy = stage.altered_copy(&record)?;
    let altered = stage.check(&copy, &Expected::Changed { line: CHANGED_LINE })?;

    report(&workspace.target("demo"), &whole, &altered)
}

/// The directories of one demonstration.
struct Stage<'a> {
    workspace: &'a Workspace,
    home: PathBuf,
    work: PathBuf,
}

/// What a check of a record should come to.
enum Expected {
    Verified,
    Changed { line: usize },
}

/// What one program said of one record.
struct Seen {
    /// The verdict in words, or how the program ended where that means none.
    text: String,
    as_expected: bool,
}

impl Expected {
    fn text(&self) -> String {
        match self {
            Self::Verified => "verified".to_owned(),
            Self::Changed { line } => format!("changed, line {line}"),
        }
    }

    fn exit_code(&self) -> i32 {
        match self {
            Self::Verified => 0,
            Self::Changed { .. } => 1,
        }
    }

    /// Compares what a program said with this expectation. The text has to name the verdict and the
    /// line: a program that failed for another reason also ends with 1.
    fn compare(&self, said: &Said) -> Seen {
        let named = match self {
            Self::Verified => contains_words(&said.text, "verified"),
            Self::Changed { line } => {
                contains_words(&said.text, "changed") && contains_words(&said.text, &format!("line {line}"))
            }
        };
        if named && said.exit_code == Some(self.exit_code()) {
            return Seen { text: self.text(), as_expected: true };
        }
        let text = match said.exit_code {
            Some(code) => format!("another text, exit code {code}"),
            None => "ended by a signal".to_owned(),
        };
        Seen { text, as_expected: false }
    }

    /// The same for what the audit said. It also has to pass its work on, if and only if the record is whole.
    fn compare_audit(&self, said: &Said) -> Seen {
        let seen = self.compare(said);
        let passed_on = words_passed_on(&said.text);
        let text = match self {
            Self::Verified if passed_on.is_none_or(|words| words == 0) => format!("{}, without work", seen.text),
            Self::Changed { .. } if passed_on.is_some() => format!("{}, work passed on", seen.text),
            Self::Verified | Self::Changed { .. } => return seen,
        };
        Seen { text, as_expected: false }
    }
}

/// How many words the audit says that it passed on.
fn words_passed_on(result: &str) -> Option<u64> {
    let passed_on = result.lines().find_map(|line| line.strip_prefix("passed on: "))?;
    passed_on.strip_suffix(" words")?.parse().ok()
}

impl<'a> Stage<'a> {
    /// An empty murmur home and an empty workdir.
    fn set(workspace: &'a Workspace) -> Result<Self, Failure> {
        let directory = workspace.target("demo");
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| cannot("clear", &directory, &error))?;
        }
        let stage = Self { workspace, home: directory.join("home"), work: directory.join("work") };
        for directory in [&stage.home, &stage.work] {
            fs::create_dir_all(directory).map_err(|error| cannot("create", directory, &error))?;
        }
        Ok(stage)
    }

    fn public_key(&self) -> PathBuf {
        self.home.join("keys").join("record-seal.pub")
    }

    fn mur<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Command {
        Command::new(&self.workspace.program("mur")).args(arguments).env("MURMUR_HOME", self.home.display().to_string())
    }

    fn run_capsule(&self, example: &str, task: &str) -> Command {
        let manifest = guests::example_directory(self.workspace, example).join("murmur.yaml");
        self.mur(["run", "--manifest"]).path(&manifest).args(["--workdir"]).path(&self.work).args(["--task", task])
    }

    /// Runs the first example and returns the directory of its record.
    fn run_hello(&self) -> Result<PathBuf, Failure> {
        let said = show(&self.run_capsule("hello", TASK))?;
        let session = said.text.lines().find_map(|line| line.trim().strip_prefix("session:")).map(str::trim);
        let Some(session) = session.filter(|_| said.exit_code == Some(0)) else {
            return Err(Failure::new("the capsule's run did not end well, or did not name its session"));
        };
        self.show_result()?;
        self.hand_over()?;
        Ok(self.work.join(".murmur").join(session))
    }

    /// Copies the result to where the next capsule finds it: a session begins without the result of the one before.
    fn hand_over(&self) -> Result<(), Failure> {
        let (result, handover) = (self.result(), self.work.join(HANDOVER));
        fs::copy(&result, &handover).map_err(|error| cannot("copy", &result, &error))?;
        println!("  handed over to the next capsule as {}", handover.display());
        Ok(())
    }

    /// A copy of the record, with another digit in the timestamp of one line of its trace.
    fn altered_copy(&self, record: &Path) -> Result<PathBuf, Failure> {
        let copy = self.work.join("altered-record");
        copy_directory(record, &copy)?;
        let trace = copy.join("trace.jsonl");
        let mut bytes = fs::read(&trace).map_err(|error| cannot("read", &trace, &error))?;
        let offset = last_digit_of_timestamp(&bytes, CHANGED_LINE)
            .ok_or_else(|| Failure::new(format!("line {CHANGED_LINE} of {} has no timestamp", trace.display())))?;
        let before = char::from(bytes[offset]);
        bytes[offset] ^= 1;
        println!("\n  {}", trace.display());
        println!("    byte {offset}, in line {CHANGED_LINE}: `{before}` becomes `{}`", char::from(bytes[offset]));
        fs::write(&trace, bytes).map_err(|error| cannot("write", &trace, &error))?;
        Ok(copy)
    }

    /// Has all three programs check a record. What each one said is in the order of [`CHECKERS`].
    fn check(&self, record: &Path, expected: &Expected) -> Result<[Seen; 3], Failure> {
        let verify =
            Command::new(&self.workspace.program("mur-verify")).path(record).args(["--key"]).path(&self.public_key());
        let trace_verify = self.mur(["trace", "verify"]).path(record);
        let verified = judge(expected.compare(&show(&verify)?), expected);
        let trace_verified = judge(expected.compare(&show(&trace_verify)?), expected);
        if let Expected::Changed { .. } = expected {
            println!("\n  The audit below is to fail, with error[E-RUN-040]: that is how a stage stops its pipeline.");
        }
        let audited = judge(expected.compare_audit(&self.audit(record)?), expected);
        Ok([verified, trace_verified, audited])
    }

    /// Runs the second example on a record. What it says is its result, not the runtime's output.
    fn audit(&self, record: &Path) -> Result<Said, Failure> {
        let result = self.result();
        if result.exists() {
            fs::remove_file(&result).map_err(|error| cannot("remove", &result, &error))?;
        }
        let ended = show(&self.run_capsule("audit-pipeline", &self.audit_task(record)?))?;
        Ok(Said { exit_code: ended.exit_code, text: self.show_result()? })
    }

    /// Where a capsule leaves its result.
    fn result(&self) -> PathBuf {
        self.work.join("out").join("result.txt")
    }

    /// Prints the result that the last capsule left, and returns it.
    fn show_result(&self) -> Result<String, Failure> {
        let result = self.result();
        let text = fs::read_to_string(&result).map_err(|error| cannot("read", &result, &error))?;
        println!("  {}", result.display());
        print_indented(&text);
        Ok(text)
    }

    /// The task of `examples/audit-pipeline`: what to work on and which record, as paths below the workdir, and
    /// which key.
    fn audit_task(&self, record: &Path) -> Result<String, Failure> {
        let file = self.public_key();
        let key = fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
        let records = record.strip_prefix(&self.work).unwrap_or(record).display();
        Ok(format!(r#"{{"work": "{HANDOVER}", "records": "{records}", "public_key": "{}"}}"#, key.trim()))
    }
}

/// How a command ended and everything it printed.
struct Said {
    exit_code: Option<i32>,
    text: String,
}

/// Runs a command, showing it and, indented below it, what it printed.
fn show(command: &Command) -> Result<Said, Failure> {
    println!("\n  $ {command}");
    let output = command.capture()?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print_indented(&text);
    Ok(Said { exit_code: output.status.code(), text })
}

fn print_indented(text: &str) {
    for line in text.lines() {
        println!("{}", format!("    {line}").trim_end());
    }
}

fn judge(seen: Seen, expected: &Expected) -> Seen {
    println!("  expected: {}; seen: {}", expected.text(), seen.text);
    seen
}

fn report(directory: &Path, whole: &[Seen], altered: &[Seen]) -> Result<(), Failure> {
    let header = vec![String::new(), "the record".to_owned(), "one byte changed".to_owned()];
    let verdicts = CHECKERS.iter().zip(whole).zip(altered);
    let rows: Vec<Vec<String>> = std::iter::once(header)
        .chain(
            verdicts.map(|((name, whole), altered)| vec![(*name).to_owned(), whole.text.clone(), altered.text.clone()]),
        )
        .collect();
    print!("\n5. The verdicts\n\n{}", table::aligned(&rows));
    if whole.iter().chain(altered).all(|seen| seen.as_expected) {
        println!("\nEvery verdict is as expected. What was made lies in {}.", directory.display());
        return Ok(());
    }
    Err(Failure::new("a verdict is not as expected; what each program said stands above"))
}

/// Whether the words stand in the text with neither a letter nor a digit next to them, so that
/// `line 2` is not found in `line 27`, nor `verified` in `unverified`.
fn contains_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + words.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// The offset of the last digit of a line's `timestamp`; lines count from 1.
fn last_digit_of_timestamp(trace: &[u8], line: usize) -> Option<usize> {
    const KEY: &[u8] = b"\"timestamp\":";
    let lines: Vec<&[u8]> = trace.split_inclusive(|byte| *byte == b'\n').collect();
    let before: usize = lines.iter().take(line - 1).map(|line| line.len()).sum();
    let line = lines.get(line - 1)?;
    let value = line.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let digits = line[value..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| before + value + digits - 1)
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| cannot("create", to, &error))?;
    let entries = fs::read_dir(from).map_err(|error| cannot("read", from, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| cannot("read", from, &error))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_directory(&from, &to)?;
        } else {
            fs::copy(&from, &to).map_err(|error| cannot("copy", &from, &error))?;
        }
    }
    Ok(())
}

fn cannot(act: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {act} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_byte_is_the_last_digit_of_the_second_lines_timestamp() {
        let trace = b"{\"timestamp\":123}\n{\"a\":1,\"timestamp\":456,\"b\":2}\n{}\n";
        let offset = last_digit_of_timestamp(trace, 2);
        assert_eq!(offset.and_then(|offset| trace.get(offset)), Some(&b'6'));
    }

    #[test]
    fn a_line_without_a_timestamp_has_no_byte_to_change() {
        assert_eq!(last_digit_of_timestamp(b"{}\n{}\n", 2), None);
        assert_eq!(last_digit_of_timestamp(b"{}\n", 2), None);
    }

    #[test]
    fn a_verdict_counts_only_with_its_exit_code_and_its_words() {
        let said = |exit_code, text: &str| Said { exit_code: Some(exit_code), text: text.to_owned() };
        let changed = Expected::Changed { line: 2 };
        assert!(changed.compare(&said(1, "trace.jsonl  changed  line 2 is not what was sealed")).as_expected);
        assert!(!changed.compare(&said(1, "trace.jsonl  changed  line 27 is not what was sealed")).as_expected);
        assert!(!changed.compare(&said(0, "changed, line 2")).as_expected);
        assert!(!Expected::Verified.compare(&said(0, "unverified")).as_expected);
    }

    #[test]
    fn an_audit_counts_only_when_work_is_passed_on_behind_a_whole_record_and_no_other() {
        let audit = |expected: &Expected, exit_code, text: &str| {
            expected.compare_audit(&Said { exit_code: Some(exit_code), text: text.to_owned() }).as_expected
        };
        assert!(audit(&Expected::Verified, 0, "verified\npassed on: 14 words\n"));
        assert!(!audit(&Expected::Verified, 0, "verified\npassed on: 0 words\n"));
        assert!(!audit(&Expected::Verified, 0, "verified\n"));
        let changed = Expected::Changed { line: 2 };
        assert!(audit(&changed, 1, "changed, line 2\nstopped: nothing is passed on\n"));
        assert!(!audit(&changed, 1, "changed, line 2\npassed on: 14 words\n"));
    }
}
