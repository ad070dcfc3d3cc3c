//! What words mean, the manual page, and completions: everything that needs no record and no key.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mur_seal::{Code, RecordReport, Verdict};
use mur_testdata::cases;

use crate::support::{KEY, Scene, verified};

#[test]
fn a_finding_is_explained() {
    insta::assert_snapshot!(Scene::new().run(["explain", "line-changed"]));
}

#[test]
fn without_a_word_everything_is_listed() {
    let outcome = Scene::new().run(["explain"]);
    for word in Code::ALL.iter().map(|code| code.as_str()).chain([Verdict::Unsealed.as_str(), "older-pair", "6"]) {
        assert!(outcome.out.contains(&format!("\n  {word} ")), "{word}: {outcome}");
    }
    assert_eq!(outcome.out.lines().find(|line| line.chars().count() > 88), None);
}

#[test]
fn verdicts_codes_and_exit_codes_are_words() {
    let scene = Scene::new();
    for word in ["changed", "verified", "tail-torn", "record-missing", "0", "6"] {
        let outcome = scene.run(["explain", word]);
        assert_eq!(outcome.code, 0, "{outcome}");
        assert!(outcome.out.starts_with(&format!("{word}: ")), "{outcome}");
    }
}

#[test]
fn an_unknown_word_is_an_error_with_the_nearest_known_one() {
    let outcome = Scene::new().run(["explain", "lines-misssing"]);
    assert_eq!(outcome.out, "");
    outcome.complains(2, &["'lines-misssing'", "a similar value exists: 'lines-missing'", "`mur-verify explain`"]);
    let outcome = Scene::new().run(["explain", "\u{1b}[2Jno"]);
    outcome.complains(2, &["\\u{1b}[2Jno"]);
    assert!(!outcome.err.contains('\u{1b}'), "{outcome}");
}

#[test]
fn everything_that_a_report_established_or_left_open_is_explained() {
    let scene = Scene::new();
    let mut codes = BTreeSet::new();
    for case in cases() {
        let Ok(report) = serde_json::from_str::<RecordReport>(&case.stdout) else { continue };
        codes.extend(report.not_checked.into_iter().chain(report.cannot_be_known).map(|question| question.code));
        codes.extend(report.checked.into_iter().map(|statement| statement.code));
    }
    let report: RecordReport = serde_json::from_str(&Scene::with(verified()).check(["--json", "record"]).out).unwrap();
    codes.extend(report.not_checked.into_iter().chain(report.cannot_be_known).map(|question| question.code));
    assert!(!codes.is_empty());
    for code in codes {
        let outcome = scene.run(["explain", &code]);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
}

/// The codes that the library's knowledge of a record is made of, as its source names them.
pub(crate) fn codes_of_knowledge() -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seal/src/knowledge.rs");
    let source = fs::read_to_string(source).unwrap();
    let made = ["statement(", "question(", "code: "].iter().flat_map(|call| source.split(call).skip(1));
    let literals = made.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    literals.map(String::from).collect()
}

#[test]
fn every_code_that_a_report_can_have_beside_its_findings_is_explained() {
    let scene = Scene::new();
    let codes = codes_of_knowledge();
    for known in ["lines-linked", "seal-signed", "lines-sealed", "session-fits", "head-as-noted", "truth", "signature"]
    {
        assert!(codes.contains(known), "{known}: {codes:?}");
    }
    for code in codes {
        let outcome = scene.run(["explain", &code]);
        assert!(outcome.code == 0 && outcome.out.starts_with(&format!("{code}: ")), "{outcome}");
    }
}

/// What is said of a word, in one line.
fn explained(word: &str) -> String {
    Scene::new().run(["explain", word]).out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_explained_claims_no_more_than_is_proven() {
    let verified = explained("verified");
    assert!(verified.contains("lines-unbound are bound by nothing, and of them it proves nothing"), "{verified}");
    assert!(!verified.contains("Every line is the line that was sealed"), "{verified}");
    let unsigned = explained("members-unsigned");
    for part in [
        "which anybody can do without a key",
        "This project's host never leaves it out",
        "Neither the time nor a pointer to a conversation is authenticated",
    ] {
        assert!(unsigned.contains(part), "{part}: {unsigned}");
    }
}

#[test]
fn a_records_directory_may_be_called_like_a_command() {
    let scene = Scene::with(verified());
    fs::rename(scene.path("record"), scene.path("explain")).unwrap();
    for arguments in [["--key", KEY, "explain"], ["./explain", "--key", KEY]] {
        let outcome = scene.run(arguments);
        assert!(outcome.code == 0 && outcome.out.contains("trace.jsonl       verified"), "{outcome}");
    }
    scene.run(["explain", "--key", KEY]).complains(2, &["unexpected argument '--key'"]);
}

#[test]
fn the_manual_page_has_every_option() {
    let scene = Scene::new();
    let manual = scene.run(["man"]);
    assert!(manual.code == 0 && manual.out.contains(".TH mur-verify 1"), "{manual}");
    for option in ["recursive", "follow", "key", "keys", "strict", "head", "jobs", "format"] {
        assert!(manual.out.contains(&format!("\\-\\-{option}")), "{option}");
    }
    assert!(
        manual.out.contains("\\fBmur\\-verify\\fR explain [WORD]") && !manual.out.contains("SUBCOMMANDS"),
        "{manual}"
    );
}

#[test]
fn every_shell_has_completions() {
    let scene = Scene::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = scene.run(["completions", shell]);
        assert!(outcome.code == 0 && outcome.out.contains("recursive"), "{shell}");
    }
    // Also of the words that can be explained, where the shell's generator knows values.
    for shell in ["bash", "zsh"] {
        assert!(scene.run(["completions", shell]).out.contains("no-seal"), "{shell}");
    }
}
