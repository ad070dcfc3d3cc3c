//! One verdict, one exit code; of several records the worst.

use mur_seal::{EXIT_ABSENT, EXIT_CHANGED, EXIT_ERROR, EXIT_UNSEALED, EXIT_UNVERIFIABLE, EXIT_VERIFIED};

use crate::support::{Scene, changed, unsealed, unverifiable, verified};

/// One record of each verdict and one that cannot be checked, from the best to the worst, with its exit code.
const FROM_BEST_TO_WORST: [(&str, u8); 6] = [
    ("verified/record", EXIT_VERIFIED),
    ("absent", EXIT_ABSENT),
    ("unverifiable/record", EXIT_UNVERIFIABLE),
    ("unsealed/record", EXIT_UNSEALED),
    ("changed/record", EXIT_CHANGED),
    ("missing", EXIT_ERROR),
];

fn scene() -> Scene {
    Scene::new()
        .and("verified", verified())
        .and("changed", changed())
        .and("unsealed", unsealed())
        .and("unverifiable", unverifiable())
        .and_directory("absent")
}

#[test]
fn each_verdict_has_its_exit_code() {
    let scene = scene();
    for (records, code) in FROM_BEST_TO_WORST {
        let outcome = scene.check([records]);
        assert_eq!(outcome.code, code, "{outcome}");
    }
    assert_eq!(FROM_BEST_TO_WORST.map(|(_, code)| code), [0, 5, 4, 3, 1, 2]);
}

#[test]
fn the_exit_code_does_not_depend_on_how_the_verdict_is_printed() {
    let scene = scene();
    for (records, code) in FROM_BEST_TO_WORST {
        for option in ["--json", "--quiet", "--color=always"] {
            let outcome = scene.check([option, records]);
            assert_eq!(outcome.code, code, "{outcome}");
        }
    }
}

#[test]
fn of_several_records_the_worst_counts_in_any_order() {
    let scene = scene();
    for (index, (worse, code)) in FROM_BEST_TO_WORST.iter().enumerate() {
        for (better, _) in &FROM_BEST_TO_WORST[..index] {
            for records in [[*better, worse], [worse, better]] {
                let outcome = scene.check(records);
                assert_eq!(outcome.code, *code, "{outcome}");
            }
        }
    }
}

#[test]
fn an_empty_directory_among_verified_records_is_no_success() {
    let outcome = scene().check(["verified/record", "absent", "verified/record"]);
    assert_eq!(outcome.code, EXIT_ABSENT, "{outcome}");
    assert!(outcome.err.contains("absent: nothing to verify"), "{outcome}");
}

#[test]
fn an_error_on_one_record_leaves_none_of_the_others_out() {
    let outcome = scene().check(["verified/record", "missing", "changed/record"]);
    assert_eq!(outcome.code, EXIT_ERROR, "{outcome}");
    assert!(outcome.out.contains("(verified/record)") && outcome.out.contains("(changed/record)"), "{outcome}");
    assert!(outcome.err.contains("missing: there is no such directory"), "{outcome}");
}

#[test]
fn a_record_of_another_session_than_the_one_asked_for_is_changed() {
    let scene = scene();
    let asked = scene.check(["--session", mur_testdata::SESSION, "verified/record"]);
    assert_eq!(asked.code, EXIT_VERIFIED, "{asked}");
    let other = scene.check(["--session", mur_testdata::OTHER_SESSION, "verified/record"]);
    assert_eq!(other.code, EXIT_CHANGED, "{other}");
}
