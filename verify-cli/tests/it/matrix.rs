//! The tamper matrix through the command: every row, on every stream, for every auditor, at the first and the last position.
//!
//! The command is run as the library that it is, in this process: the matrix would start thousands of programs.

use std::path::Path;

use mur_seal::{EXIT_ERROR, EXIT_NOTED, EXIT_VERIFIED, RecordReport};
use mur_testdata::RECORD_DIR;
use mur_testdata::matrix::{Cell, Holding, Row, Subject, Variant, rows, untouched};
use mur_verify::Console;

/// The command's exit code and what it printed on stdout.
fn run(holding: Holding, directory: &Path, options: &[&str]) -> (u8, String) {
    let mut line = vec!["mur-verify".to_owned()];
    line.extend(options.iter().map(|option| option.to_string()));
    line.extend(holding.command_line(directory.to_str().unwrap()));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = {
        let mut console = Console::new(&mut out, &mut err);
        mur_verify::run(line.into_iter().map(Into::into), &mut console)
    };
    (code, String::from_utf8(out).unwrap())
}

/// How what the command says of a variant is not what the cell says, if it is not.
fn difference(cell: Cell, holding: Holding, directory: &Path, untouched: &RecordReport) -> Result<(), String> {
    let (code, out) = run(holding, directory, &[]);
    if holding == Holding::Nothing {
        return if (code, out.as_str()) == (EXIT_ERROR, "") {
            Ok(())
        } else {
            Err(format!("without a key it ends with {code} and prints {out}"))
        };
    }
    let mut report: RecordReport = serde_json::from_str(&out).map_err(|error| format!("{code}, {error}: {out}"))?;
    report.records_dir = RECORD_DIR.into();
    cell.compare(&report, untouched)?;
    if code != report.verdict.exit_code() {
        return Err(format!("it reads {}, and the exit code is {code}", report.verdict));
    }
    // Who holds the conversations too sees no note on the untouched record.
    let strict = match cell {
        Cell::Reads(verdict) => verdict.exit_code(),
        Cell::Told(_) => EXIT_NOTED,
        Cell::AsBefore | Cell::NotDetectable(_) => EXIT_VERIFIED,
    };
    if holding == Holding::Conversations {
        let (code, _) = run(holding, directory, &["--strict"]);
        if code != strict {
            return Err(format!("with --strict it ends with {code}"));
        }
    }
    Ok(())
}

/// The first and the last variant of a row.
fn ends(row: &Row, subject: Subject) -> Vec<Variant> {
    let mut variants = row.variants(subject);
    let last = variants.pop();
    variants.truncate(1);
    variants.into_iter().chain(last).collect()
}

#[test]
fn every_cell_of_the_tamper_matrix_is_what_the_command_says() {
    let untouched = Holding::ALL.map(|holding| holding.check(untouched()));
    let mut wrong = Vec::new();
    for row in rows() {
        for subject in Subject::ALL {
            let Some(cells) = row.cells(subject) else { continue };
            for variant in ends(&row, subject) {
                let directory = tempfile::tempdir().unwrap();
                variant.write_to(directory.path()).unwrap();
                for ((holding, cell), untouched) in Holding::ALL.into_iter().zip(cells).zip(&untouched) {
                    if let Err(how) = difference(*cell, holding, directory.path(), untouched) {
                        let Variant { at, .. } = &variant;
                        wrong.push(format!("{}, {} ({at}), holding {holding:?}: {how}", subject.as_str(), row.about));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells read otherwise:\n{}", wrong.len(), wrong.join("\n"));
}
