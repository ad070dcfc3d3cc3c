//! Running the program, and records to run it on.

use std::ffi::OsStr;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mur_testdata::{RecordBuilder, Tree, host_key, other_key, script_events};
use tempfile::TempDir;

/// Far more than any check here takes, on a machine that has much else to do: a program that is still running by then hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mur-verify");

/// The host's public key file in every [`Scene`].
pub(crate) const KEY: &str = "record-seal.pub";
/// Another host's.
pub(crate) const OTHER_KEY: &str = "last-year.pub";

/// A directory in which the program runs, with the two public keys and the records of one test.
pub(crate) struct Scene(TempDir);

impl Scene {
    /// With no record yet.
    pub(crate) fn new() -> Self {
        let scene = Scene(tempfile::tempdir().unwrap());
        scene.write(KEY, host_key().public_key().to_hex() + "\n");
        scene.write(OTHER_KEY, other_key().public_key().to_hex() + "\n");
        scene
    }

    /// With one record in `record`, and its conversation in `conversations`.
    pub(crate) fn with(record: Tree) -> Self {
        let scene = Scene::new();
        record.write_to(&scene.path("")).unwrap();
        scene
    }

    /// With one record more, in `<name>/record`.
    pub(crate) fn and(self, name: &str, record: Tree) -> Self {
        record.write_to(&self.path(name)).unwrap();
        self
    }

    /// With one directory more, and nothing in it.
    pub(crate) fn and_directory(self, name: &str) -> Self {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(path), bytes).unwrap();
    }

    /// The program with these arguments, not yet started.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.path("")).stdin(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// Runs the program with these arguments.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Outcome {
        run(self.command(arguments))
    }

    /// Checks these records with the host's key.
    pub(crate) fn check<'a>(&self, records: impl IntoIterator<Item = &'a str>) -> Outcome {
        self.run(["--key", KEY].into_iter().chain(records))
    }
}

/// How a run of the program ended, and what it printed. Shown, it is what a person saw.
pub(crate) struct Outcome {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
    arguments: String,
}

impl Outcome {
    /// Everything that was printed.
    pub(crate) fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// That it ended with this code, and that stderr says each of `parts`.
    #[track_caller]
    pub(crate) fn complains(&self, code: u8, parts: &[&str]) {
        assert_eq!(self.code, code, "{self}");
        assert!(self.err.starts_with("error: "), "{self}");
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not said:\n{self}");
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ mur-verify{}", self.arguments)?;
        f.write_str(&self.out)?;
        if !self.err.is_empty() {
            write!(f, "--- stderr\n{}", self.err)?;
        }
        write!(f, "--- exit code {}", self.code)
    }
}

/// Runs a command to its end.
///
/// # Panics
/// When it takes too long, or ends otherwise than with an exit code: by a signal, as after a panic.
pub(crate) fn run(mut command: Command) -> Outcome {
    let arguments = command.get_args().map(|argument| format!(" {}", argument.to_string_lossy())).collect();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = reader(child.stdout.take().unwrap());
    let err = reader(child.stderr.take().unwrap());
    let status = wait(&mut child);
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    assert!(!err.contains("panicked"), "{err}");
    let code = status.code().unwrap_or_else(|| panic!("ended with {status}:\n{out}{err}"));
    Outcome { code: code.try_into().unwrap(), out, err, arguments }
}

fn reader(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("output is UTF-8")
    })
}

/// Waits for the program to end, and not for ever.
///
/// # Panics
/// When it does not end in time.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the program hangs");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The five lines of a short session, not sealed.
pub(crate) fn script() -> RecordBuilder {
    RecordBuilder::new().events(&script_events())
}

/// A record that is verified with the host's key.
pub(crate) fn verified() -> Tree {
    script().seal_trace().build()
}

/// A record whose third line was edited after it was sealed.
pub(crate) fn changed() -> Tree {
    let mut record = verified();
    record.edit("record/trace.jsonl", |bytes| {
        let edited =
            String::from_utf8_lossy(bytes).replace(r#""tool_name":"word-count""#, r#""tool_name":"word_count""#);
        *bytes = edited.into_bytes();
    });
    record
}

/// A record of a session that was killed before it could seal anything.
pub(crate) fn unsealed() -> Tree {
    script().build()
}

/// A record that another host sealed.
pub(crate) fn unverifiable() -> Tree {
    script().sealing_with(other_key()).seal_trace().build()
}
