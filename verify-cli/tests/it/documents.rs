//! What the documents say can be run is run, and what they name is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mur_seal::Verdict;
use mur_testdata::{RecordBuilder, Tree, other_key};

use crate::explain::codes_of_knowledge;
use crate::support::{KEY, Outcome, PROGRAM, Scene, changed, run, script, verified};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into()
}

fn document(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// The documents for people: those at the top and those in `docs`.
fn documents() -> Vec<String> {
    let in_directory = |directory: &str| {
        let entries = fs::read_dir(repository().join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{directory}{name}")).collect::<Vec<_>>()
    };
    let mut documents = [in_directory("./"), in_directory("docs/")].concat();
    documents.sort();
    assert!(documents.contains(&"./README.md".into()), "{documents:?}");
    documents
}

/// The first fenced block of a language below a heading.
fn block(document: &str, heading: &str, language: &str) -> String {
    let below = document.split_once(&format!("\n## {heading}\n")).expect("the heading is there").1;
    let section = below.split("\n## ").next().unwrap();
    let fenced = section.split_once(&format!("```{language}\n")).expect("the block is there").1;
    fenced.split_once("```").expect("the block ends").0.into()
}

/// Runs what the README says on a record with the host's key beside it. `None`, and a word on stderr, where this machine
/// lacks the tools that it needs.
fn check_by_hand(record: &Tree) -> Option<Outcome> {
    let has =
        |command: &str| Command::new("bash").args(["-c", command]).output().is_ok_and(|output| output.status.success());
    for tool in ["openssl version | grep -q '^OpenSSL 3'", "echo 00 | basenc -d --base16", "echo | sha256sum"] {
        if !has(tool) {
            eprintln!("the check by hand was not tried, for want of a tool: {tool}");
            return None;
        }
    }
    let scene = Scene::with(record.clone());
    fs::copy(scene.path(KEY), scene.path("record/record-seal.pub")).unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", &block(&document("README.md"), "Check a seal by hand", "bash")]);
    command.current_dir(scene.path("record")).stdin(Stdio::null());
    Some(run(command))
}

#[test]
fn a_seal_can_be_checked_by_hand_as_the_readme_says() {
    let one_line = RecordBuilder::new().event("{}").seal_trace().build();
    for record in [verified(), one_line] {
        let Some(outcome) = check_by_hand(&record) else { return };
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "Signature Verified Successfully\n"), "{outcome}");
    }
}

#[test]
fn a_check_by_hand_fails_for_every_record_that_is_not_verified() {
    let edited = |file: &str, old: &str, new: &str| {
        let mut record = verified();
        record.edit(&format!("record/{file}"), |bytes| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(old), "{old}");
            *bytes = text.replacen(old, new, 1).into_bytes();
        });
        record
    };
    let without = |number: usize| {
        let mut record = verified();
        record.edit("record/trace.jsonl", |bytes| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let kept = text.split_inclusive('\n').enumerate().filter(|(index, _)| index + 1 != number);
            *bytes = kept.map(|(_, line)| line).collect::<String>().into_bytes();
        });
        record
    };
    for (what, record) in [
        ("the first line edited", edited("trace.jsonl", "session_start", "session_stare")),
        ("a middle line edited", edited("trace.jsonl", "\"tool_name\":\"word", "\"tool_name\":\"ward")),
        ("the last line edited", edited("trace.jsonl", "session_end", "session_and")),
        ("the first line gone", without(1)),
        ("a middle line gone", without(3)),
        ("the last line gone", without(5)),
        ("a NUL byte in a line", edited("trace.jsonl", "\"tool_name\"", "\0\"tool_name\"")),
        ("bytes behind the last line", script().seal_trace().torn_bytes("{").build()),
        ("another number of lines in the seal", edited("trace.jsonl.seal", "\"lines\":5", "\"lines\":6")),
        ("a line more than was sealed", script().seal_trace().event("{}").build()),
        ("another session in the seal", edited("trace.jsonl.seal", "\"ses_0", "\"ses_1")),
        ("another signature", edited("trace.jsonl.seal", "\"signature\":\"", "\"signature\":\"0")),
        ("another key", script().sealing_with(other_key()).seal_trace().build()),
    ] {
        let Some(outcome) = check_by_hand(&record) else { return };
        assert_ne!(outcome.code, 0, "{what}: {outcome}");
        assert!(!outcome.out.contains("Verified Successfully"), "{what}: {outcome}");
        let checked = Scene::with(record).check(["record"]);
        assert_ne!(checked.code, 0, "{what}: {checked}");
    }
}

/// A text with its numbers, ids and paths taken out, each word that holds a digit or a slash.
fn without_particulars(text: &str) -> String {
    let general = |word: &str| if word.contains(|c: char| c.is_ascii_digit() || c == '/') { "…" } else { word }.into();
    let line = |line: &str| line.split_inclusive([' ', '(']).map(general).collect::<Vec<String>>().concat();
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn the_readmes_command_prints_what_the_readme_shows() {
    let readme = document("README.md");
    let command = block(&readme, "Check a record", "sh");
    let scene = Scene::with(verified());
    fs::rename(scene.path("record"), scene.path("RECORDS")).unwrap();
    let outcome = scene.run(command.trim().strip_prefix("mur-verify ").unwrap().split(' '));
    let shown = block(&readme, "Check a record", "text");
    let layout = |text: &str| without_particulars(&text.replace("(RECORDS)", "(work/RECORDS)"));
    assert_eq!(layout(&outcome.out), layout(&shown));
}

#[test]
fn the_readmes_table_of_exit_codes_is_the_programs() {
    let readme = document("README.md");
    for verdict in [Verdict::Verified, Verdict::Changed, Verdict::Unsealed, Verdict::Unverifiable, Verdict::Absent] {
        let row = format!("| {} | `{verdict}` |", verdict.exit_code());
        assert!(readme.contains(&row), "{row}");
    }
    assert!(readme.contains(&format!("| {} | | it could not be checked", mur_seal::EXIT_ERROR)));
    assert!(readme.contains(&format!("| {} | `verified` | ", mur_seal::EXIT_NOTED)));
}

#[test]
fn every_option_and_command_is_in_the_guide() {
    let guide = document("docs/verifying.md");
    let help = Scene::new().run(["--help"]).out;
    let words =
        help.split_whitespace().filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches([',', ';']));
    let commands = ["explain", "completions", "man"].map(|command| format!("mur-verify {command}"));
    for word in words.map(String::from).chain(commands) {
        assert!(guide.contains(&word), "{word}");
    }
}

#[test]
fn every_member_of_a_report_is_documented() {
    let guide = document("docs/verifying.md");
    let outcome = Scene::with(changed()).check(["record", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let stream = &report["streams"][0];
    let lists = [&stream["findings"], &report["not_checked"], &report["cannot_be_known"], &report["checked"]];
    for object in [&report, &report["public_key"], stream].into_iter().chain(lists.map(|list| &list[0])) {
        for member in object.as_object().unwrap().keys() {
            assert!(guide.contains(&format!("`{member}`")), "{member}");
        }
    }
}

#[test]
fn every_code_of_what_was_checked_or_left_open_is_in_the_guide() {
    let guide = document("docs/verifying.md");
    for code in codes_of_knowledge() {
        assert!(guide.contains(&format!("`{code}`")), "{code}");
    }
}

#[test]
fn a_planted_record_does_not_stand_for_a_session_that_is_missing() {
    let scripts = block(&document("docs/verifying.md"), "In scripts", "sh");
    let recipe = scripts.split("\n\n").find(|part| part.contains("sessions.txt")).expect("the recipe is there");
    if !Command::new("jq").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        eprintln!("the recipe was not tried, for want of a tool: jq");
        return;
    }
    let scene = Scene::new().and_directory("keys").and("records", verified());
    fs::copy(scene.path(KEY), scene.path("keys/host.pub")).unwrap();
    fs::create_dir(scene.path("records/planted")).unwrap();
    scene.write("records/planted/trace.jsonl", "{\"event_type\":\"session_start\",\"session_id\":\"ses_gone\"}\n");
    let report = scene.check(["--json", "records/record"]).out;
    let present = serde_json::from_str::<serde_json::Value>(&report).unwrap()["session_id"].clone();
    scene.write("sessions.txt", format!("{}\nses_gone\n", present.as_str().unwrap()));
    assert_eq!(in_shell(&scene, recipe).out, "ses_gone\n");
}

#[test]
fn the_nightly_recipe_is_silent_or_prints_the_whole_report() {
    let scripts = block(&document("docs/verifying.md"), "In scripts", "sh");
    let recipe = scripts.split("\n\n").find(|part| part.contains("Every night")).expect("the recipe is there");
    let recipe = recipe.replace("/srv/records/.murmur", "records").replace("/etc/murmur/keys", "keys");
    let scene = Scene::new().and_directory("keys").and("records", verified());
    fs::copy(scene.path(KEY), scene.path("keys/host.pub")).unwrap();
    let good = in_shell(&scene, &recipe);
    assert_eq!((good.code, good.said().as_str()), (0, ""), "{good}");
    changed().write_to(&scene.path("records/other")).unwrap();
    let bad = in_shell(&scene, &recipe);
    assert!(bad.code == 1 && bad.out.contains("[line-changed]") && bad.out.contains("1 changed"), "{bad}");
    // What could not be checked has no report, and is told all the same.
    fs::write(scene.path("keys/bad.pub"), "no key").unwrap();
    let failed = in_shell(&scene, &recipe);
    assert!(failed.code == 2 && failed.said().contains("bad.pub"), "{failed}");
}

/// Runs a recipe of the guide where the program is on the path.
fn in_shell(scene: &Scene, recipe: &str) -> Outcome {
    let mut command = Command::new("bash");
    let directory = Path::new(PROGRAM).parent().unwrap().display();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    command.args(["-c", recipe]).current_dir(scene.path("")).stdin(Stdio::null()).env("PATH", path);
    run(command)
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for path in documents() {
        let text = document(&path);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
            let file = if file.is_empty() { repository().join(&path) } else { sibling(&path, file) };
            let leads_to_heading =
                |anchor| fs::read_to_string(&file).is_ok_and(|text| headings(&text).contains(anchor));
            if !file.exists() || anchor.is_some_and(|anchor| !leads_to_heading(anchor)) {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn sibling(document: &str, target: &str) -> PathBuf {
    repository().join(document).parent().unwrap().join(target)
}

/// The anchors of a document's headings.
fn headings(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| {
        let kept = heading.trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
    };
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let top: BTreeSet<String> = fs::read_dir(repository())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "target")
        .collect();
    let mut missing = Vec::new();
    for path in documents() {
        // Every second part stands between two back quotes, but for the blocks, which are fenced with three.
        let text = document(&path);
        let prose: String = text.split("```").step_by(2).collect();
        for named in prose.split('`').skip(1).step_by(2) {
            let is_path = named.contains('/') && named.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
            let in_repository = named.split('/').next().is_some_and(|first| top.contains(first));
            if is_path && in_repository && !repository().join(named).exists() {
                missing.push(format!("{path}: {named}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_command_and_package_that_a_document_names_exists() {
    let commands = document("xtask/src/main.rs");
    let rooms = ["seal", "verify-cli", "check-capsule", "runtime", "testdata", "xtask"];
    let manifests: String = rooms.iter().map(|room| document(&format!("{room}/Cargo.toml"))).collect();
    for path in documents() {
        let text = document(&path);
        for rest in text.split("cargo xtask ").skip(1) {
            let command: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            assert!(commands.contains(&format!("\n  {command} ")), "{path}: cargo xtask {command}");
        }
        for line in text.lines().filter(|line| line.contains("cargo ")) {
            let words: Vec<&str> = line.split([' ', '`']).collect();
            for named in words.windows(2).filter(|words| ["-p", "--package"].contains(&words[0])) {
                assert!(manifests.contains(&format!("name = \"{}\"", named[1])), "{path}: {line}");
            }
        }
    }
}
