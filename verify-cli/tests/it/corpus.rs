//! The committed records: each reads as the report beside it says, byte for byte.

use std::process::Command;

use mur_seal::EXIT_ERROR;
use mur_testdata::{Case, cases, root};

use crate::support::{Outcome, PROGRAM, run};

fn check(case: &Case) -> Outcome {
    let mut command = Command::new(PROGRAM);
    command.args(case.arguments.command_line()).current_dir(root());
    run(command)
}

#[test]
fn every_record_reads_as_the_report_beside_it_says() {
    let cases = cases();
    assert!(cases.len() > 50, "the corpus is not there: {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| !case.arguments.keys.is_empty()) {
        let outcome = check(case);
        if outcome.out != case.stdout || outcome.code != case.exit {
            let Case { name, row, exit, stdout, .. } = case;
            wrong.push(format!("{name} ({row})\n{outcome}\nexpected exit code {exit} and\n{stdout}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases read otherwise:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_record_that_a_library_may_check_without_a_key_is_a_usage_error_here() {
    let without_keys: Vec<Case> = cases().into_iter().filter(|case| case.arguments.keys.is_empty()).collect();
    assert!(!without_keys.is_empty());
    for case in without_keys {
        let outcome = check(&case);
        assert_eq!(outcome.out, "", "{}: {outcome}", case.name);
        outcome.complains(EXIT_ERROR, &["no key to check with"]);
    }
}

#[test]
fn the_exit_code_is_the_same_for_people_and_for_programs() {
    for case in cases() {
        let mut command = Command::new(PROGRAM);
        command.args(case.arguments.command_line().iter().filter(|argument| *argument != "--json"));
        let outcome = run({
            command.current_dir(root());
            command
        });
        assert_eq!(outcome.code, check(&case).code, "{}: {outcome}", case.name);
        let steering = outcome.said().chars().find(|&c| c.is_control() && c != '\n');
        assert_eq!(steering, None, "{}: {}", case.name, outcome.said().escape_debug());
    }
}
