//! The tamper matrix through the library: every row, on every stream, at every position, for every auditor.

use mur_seal::{RecordReport, Verdict};
use mur_testdata::matrix::{Holding, Row, Subject, rows, untouched};

#[test]
fn the_untouched_record_is_verified_with_the_key_and_unverifiable_without() {
    for holding in Holding::ALL {
        let report = holding.check(untouched());
        let expected = if holding == Holding::Nothing { Verdict::Unverifiable } else { Verdict::Verified };
        assert_eq!(report.verdict, expected, "{holding:?}: {report:?}");
        assert_eq!(report.streams.len(), 4, "{holding:?}");
    }
}

#[test]
fn every_tampered_record_of_the_record_as_a_whole_reads_as_the_matrix_says() {
    holds_on(Subject::Record);
}

#[test]
fn every_tampered_trace_reads_as_the_matrix_says() {
    holds_on(Subject::Trace);
}

#[test]
fn every_tampered_score_reads_as_the_matrix_says() {
    holds_on(Subject::Eval);
}

#[test]
fn every_tampered_completion_reads_as_the_matrix_says() {
    holds_on(Subject::Completion);
}

#[test]
fn every_tampered_conversation_reads_as_the_matrix_says() {
    holds_on(Subject::Conversation);
}

fn holds_on(subject: Subject) {
    let untouched = Holding::ALL.map(|holding| holding.check(untouched()));
    let wrong: Vec<String> = rows().iter().flat_map(|row| differences(row, subject, &untouched)).collect();
    assert!(wrong.is_empty(), "{} variants read otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

/// How the variants of a row read otherwise than its cells say.
fn differences(row: &Row, subject: Subject, untouched: &[RecordReport; 5]) -> Vec<String> {
    let Some(cells) = row.cells(subject) else { return Vec::new() };
    let mut wrong = Vec::new();
    for variant in row.variants(subject) {
        for ((holding, cell), untouched) in Holding::ALL.into_iter().zip(cells).zip(untouched) {
            if let Err(how) = cell.compare(&holding.check(&variant.tree), untouched) {
                let Row { about, .. } = row;
                wrong.push(format!("{} {about} ({}), holding {holding:?}: {how}", subject.as_str(), variant.at));
            }
        }
    }
    wrong
}
