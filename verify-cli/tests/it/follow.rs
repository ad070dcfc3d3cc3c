//! A record that is verified while it is written.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;

use mur_seal::{Appenders, ChainOptions, HostKey, InlineChain, RecordReport, TRACE_STREAM};
use mur_testdata::{SESSION, eval_lines, host_key, other_key, script_events};

use crate::support::{KEY, Scene, script, unsealed, verified, wait};

/// The program, following `record`, and what it says line by line.
struct Following {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    err: ChildStderr,
}

impl Following {
    fn start(scene: &Scene, options: &[&str]) -> Self {
        let mut command = scene.command(["--follow", "record", "--key", KEY].iter().chain(options));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let err = child.stderr.take().unwrap();
        Following { child, said, err }
    }

    /// Waits until it says this.
    #[track_caller]
    fn says(&mut self, wanted: &str) {
        let mut before = Vec::new();
        for line in self.said.by_ref() {
            let line = line.unwrap();
            if line.contains(wanted) {
                return;
            }
            before.push(line);
        }
        panic!("it ended without `{wanted}`: {before:?}");
    }

    /// Waits for its end: the exit code, the rest of what it says, and stderr.
    fn end(mut self) -> (i32, Vec<String>, String) {
        let rest = self.said.map(Result::unwrap).collect();
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        (wait(&mut self.child).code().unwrap(), rest, err)
    }
}

/// A session that is being recorded.
struct Session {
    chain: Arc<InlineChain>,
    records: PathBuf,
}

impl Session {
    fn begin(scene: &Scene) -> Self {
        let records = scene.path("record");
        let chain = InlineChain::open(&records.join(TRACE_STREAM), ChainOptions::new(Appenders::Sole)).unwrap();
        Session { chain, records }
    }

    fn append(&self, events: &[String]) {
        for event in events {
            self.chain.append(event).unwrap();
        }
    }

    fn seal_with(&self, key: &HostKey) {
        self.chain.seal(&self.records, TRACE_STREAM, SESSION, key, 0, None).unwrap();
    }

    fn seal(&self) {
        self.seal_with(&host_key());
    }
}

#[test]
fn a_session_is_followed_from_before_its_trace_to_its_end() {
    let scene = Scene::new().and_directory("record/hooks");
    let mut following = Following::start(&scene, &[]);
    following.says("waiting for trace.jsonl");
    let session = Session::begin(&scene);
    let events = script_events();
    session.append(&events[..2]);
    following.says("2 lines linked, not sealed yet");
    session.seal();
    following.says("2 lines linked, all of them sealed with key 21fe31dfa154a261");
    session.append(&events[2..4]);
    following.says("4 lines linked, 2 of them sealed with key 21fe31dfa154a261");
    session.append(&events[4..]);
    session.seal();
    following.says("5 lines linked, all of them sealed with key 21fe31dfa154a261");
    following.says("the session has ended, after 5 lines");
    let (code, rest, err) = following.end();
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(rest.iter().any(|line| line.starts_with("  trace.jsonl       verified")), "{rest:?}");
    assert!(rest.iter().any(|line| line.starts_with("verified: checked with key")), "{rest:?}");
}

#[test]
fn a_contradiction_is_said_at_once_and_ends_it() {
    let scene = Scene::new().and_directory("record");
    let session = Session::begin(&scene);
    let events = script_events();
    session.append(&events[..2]);
    session.seal();
    let mut following = Following::start(&scene, &[]);
    following.says("2 lines linked, all of them sealed");
    // A line that follows nothing.
    let mut trace = fs::read(scene.path("record/trace.jsonl")).unwrap();
    let line = mur_seal::link(&events[2], &mur_seal::line_hash(b"another line"), None).unwrap();
    trace.extend_from_slice(line.as_bytes());
    trace.push(b'\n');
    fs::write(scene.path("record/trace.jsonl"), trace).unwrap();
    following.says("changed: trace.jsonl: line 2 is not the line that line 3 follows");
    let (code, rest, err) = following.end();
    assert_eq!((code, rest.len(), err.as_str()), (1, 0, ""));
}

#[test]
fn a_trace_that_is_cut_replaced_or_removed_is_a_contradiction() {
    for (what, said) in
        [("cut", "it was cut"), ("replaced", "another file was put in its place"), ("removed", "it was removed")]
    {
        let scene = Scene::new().and_directory("record");
        let session = Session::begin(&scene);
        session.append(&script_events()[..3]);
        let mut following = Following::start(&scene, &[]);
        following.says("3 lines linked");
        let path = scene.path("record/trace.jsonl");
        match what {
            "cut" => fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap(),
            "replaced" => {
                fs::copy(&path, scene.path("record/copy")).unwrap();
                fs::rename(scene.path("record/copy"), &path).unwrap();
            }
            _ => fs::remove_file(&path).unwrap(),
        }
        following.says(said);
        assert_eq!(following.end().0, 1, "{what}");
    }
}

#[test]
fn a_seal_that_does_not_fit_is_a_contradiction_once_it_stays() {
    let scene = Scene::new().and_directory("record");
    let session = Session::begin(&scene);
    session.append(&script_events()[..2]);
    session.seal();
    let mut following = Following::start(&scene, &[]);
    following.says("2 lines linked, all of them sealed");
    let path = scene.path("record/trace.jsonl.seal");
    let seal = fs::read_to_string(&path).unwrap().replace("\"lines\":2", "\"lines\":3");
    fs::write(&path, seal).unwrap();
    following.says("3 lines were sealed, and 2 are there");
    assert_eq!(following.end().0, 1);
}

#[test]
fn a_key_that_was_not_given_is_named_and_not_trusted() {
    let scene = Scene::new().and_directory("record");
    let session = Session::begin(&scene);
    session.append(&script_events());
    session.seal_with(&other_key());
    let mut following = Following::start(&scene, &[]);
    following.says(&format!("sealed with key {}, which was not given: not authenticated", other_key().key_id()));
    following.says("the session has ended");
    assert_eq!(following.end().0, 4);
}

#[test]
fn a_directory_that_goes_away_ends_it_with_an_error() {
    let scene = Scene::with(unsealed());
    let mut following = Following::start(&scene, &[]);
    following.says("5 lines linked");
    fs::rename(scene.path("record"), scene.path("gone")).unwrap();
    let (code, _, err) = following.end();
    assert_eq!(code, 2);
    assert!(err.starts_with("error: record: it is gone"), "{err}");
}

#[test]
fn as_lines_every_change_is_an_object_and_the_last_is_the_report() {
    let scene = Scene::with(verified());
    let (code, lines, err) = Following::start(&scene, &["--format", "jsonl"]).end();
    assert_eq!((code, err.as_str()), (0, ""));
    let [changes @ .., report] = lines.as_slice() else { panic!("no lines") };
    insta::assert_snapshot!(changes.join("\n"));
    assert_eq!(serde_json::from_str::<RecordReport>(report).unwrap().records_dir, "record");
}

#[test]
fn quiet_it_waits_for_the_exit_code() {
    let (code, lines, err) = Following::start(&Scene::with(verified()), &["-q"]).end();
    assert_eq!((code, lines.len(), err.as_str()), (0, 0, ""));
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    Scene::new().check(["--follow", "missing"]).complains(2, &["missing: there is no such directory"]);
}

#[test]
fn a_session_whose_scores_are_still_to_be_sealed_is_waited_for() {
    let scene = Scene::with(script().seal_trace().eval(&eval_lines()).build());
    let seal = scene.path("record/hooks/eval.jsonl.seal");
    fs::rename(&seal, scene.path("kept")).unwrap();
    let mut following = Following::start(&scene, &[]);
    following.says("5 lines linked, all of them sealed");
    fs::rename(scene.path("kept"), &seal).unwrap();
    let (code, rest, _) = following.end();
    assert_eq!(code, 0, "{rest:?}");
}
