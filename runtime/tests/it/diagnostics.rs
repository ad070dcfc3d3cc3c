//! Every code has been seen as people see it.

use std::fs;
use std::path::Path;

use mur_runtime::diagnostic::{Code, Severity};

use crate::support::walk;

/// Needs a file that may not be read, which there is none of for the user that many tests run as.
const UNSEEN: [Code; 1] = [Code::PermissionDenied];

#[test]
fn every_code_is_in_a_snapshot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = String::new();
    for path in ["src", "tests/it"].iter().flat_map(|part| walk(&root.join(part))) {
        if path.extension().is_some_and(|extension| extension == "snap" || extension == "rs") {
            texts += &fs::read_to_string(&path).unwrap();
        }
    }
    let unseen = Code::ALL.iter().filter(|code| {
        let word = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        !UNSEEN.contains(code) && !texts.contains(&format!("{word}[{code}]: "))
    });
    let unseen: Vec<String> = unseen.map(ToString::to_string).collect();
    assert!(unseen.is_empty(), "no snapshot shows {}", unseen.join(", "));
}
