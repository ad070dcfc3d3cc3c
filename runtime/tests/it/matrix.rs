//! The tamper matrix through the check component under Wasmtime: every row, on every stream, at one position.
//!
//! The component is the command, and `component` shows that the two agree; here it is shown to see what the matrix says
//! that can be seen. It is compiled once, and each check is a fresh instance with one directory to read.

use mur_seal::{EXIT_ERROR, RecordReport};
use mur_testdata::RECORD_DIR;
use mur_testdata::matrix::{Cell, Holding, Subject, Variant, rows, untouched};

use crate::component::{Ran, run};

/// How what the component says of a record is not what the cell says, if it is not.
fn difference(cell: Cell, holding: Holding, ran: &Ran, untouched: &RecordReport) -> Result<(), String> {
    if holding == Holding::Nothing {
        let refused = (ran.code, ran.stdout.as_str()) == (EXIT_ERROR, "");
        return if refused { Ok(()) } else { Err(format!("without a key: {ran:?}")) };
    }
    let mut report: RecordReport = serde_json::from_str(&ran.stdout).map_err(|error| format!("{error}: {ran:?}"))?;
    report.records_dir = RECORD_DIR.into();
    cell.compare(&report, untouched)?;
    let expected = report.verdict.exit_code();
    if ran.code == expected { Ok(()) } else { Err(format!("it reads {}, and ends with {}", report.verdict, ran.code)) }
}

#[tokio::test]
async fn every_cell_of_the_tamper_matrix_is_what_the_component_says() {
    let untouched = Holding::ALL.map(|holding| holding.check(untouched()));
    let mut wrong = Vec::new();
    for row in rows() {
        for subject in Subject::ALL {
            let Some(cells) = row.cells(subject) else { continue };
            let mut variants = row.variants(subject);
            let variant = variants.swap_remove(variants.len() / 2);
            let directory = tempfile::tempdir().unwrap();
            variant.write_to(directory.path()).unwrap();
            for ((holding, cell), untouched) in Holding::ALL.into_iter().zip(cells).zip(&untouched) {
                let ran = run(directory.path(), ".", &holding.command_line(".")).await;
                if let Err(how) = difference(*cell, holding, &ran, untouched) {
                    let Variant { at, .. } = &variant;
                    wrong.push(format!("{}, {} ({at}), holding {holding:?}: {how}", subject.as_str(), row.about));
                }
            }
        }
    }
    let count = wrong.len();
    assert_eq!(count, 0, "if the component is an older build, run `cargo xtask guests`\n{}", wrong.join("\n"));
}
