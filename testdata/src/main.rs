//! Writes the test data and the page of the tamper matrix anew, or checks that they are what would be written.

use std::process::ExitCode;

use mur_testdata::matrix::{document_differences, write_document};
use mur_testdata::{CorpusError, differences, generate, root, write};

const USAGE: &str = "usage: mur-testdata write | check

write  computes the test data and docs/tamper-matrix.md, and writes what differs; removes what is stale
check  compares and writes nothing; exits with 1 when something differs";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write"] => generate()
            .and_then(|corpus| Ok([write(&corpus, &root())?, write_document()?].concat()))
            .map(|changes| report_changes(&changes)),
        ["check"] => generate()
            .and_then(|corpus| Ok([differences(&corpus, &root())?, document_differences()?].concat()))
            .map(|found| report_found(&found)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| failed(&error))
}

fn report_changes(changes: &[String]) -> ExitCode {
    changes.iter().for_each(|change| println!("{change}"));
    if changes.is_empty() {
        println!("the test data was up to date");
    }
    ExitCode::SUCCESS
}

fn report_found(differences: &[String]) -> ExitCode {
    if differences.is_empty() {
        return ExitCode::SUCCESS;
    }
    differences.iter().for_each(|difference| println!("{difference}"));
    eprintln!("error: the test data is not what would be written; run: cargo run -p mur-testdata -- write");
    ExitCode::FAILURE
}

fn failed(error: &CorpusError) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}
