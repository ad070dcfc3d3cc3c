//! One verdict, one exit code; of several records the worst.

use mur_seal::{EXIT_ABSENT, EXIT_CHANGED, EXIT_ERROR, EXIT_NOTED, EXIT_UNSEALED, EXIT_UNVERIFIABLE, EXIT_VERIFIED};

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

/// A record with a note: nobody was asked for the conversation that its seal names.
fn noted() -> mur_testdata::Tree {
    let lines = mur_testdata::conversation_lines();
    crate::support::script().conversation(&lines).seal_trace_pointing_at(4).build()
}

#[test]
fn notes_count_when_they_are_told_to_and_rank_between_verified_and_absent() {
    let scene = scene().and("noted", noted());
    assert_eq!(scene.check(["noted/record"]).code, EXIT_VERIFIED);
    let strict = scene.check(["--strict", "noted/record"]);
    assert_eq!(strict.code, EXIT_NOTED, "{strict}");
    assert!(strict.out.contains("\nverified, but with notes, which --strict counts against it: "), "{strict}");
    assert_eq!(scene.check(["--strict", "verified/record"]).code, EXIT_VERIFIED);
    for (records, code) in &FROM_BEST_TO_WORST[1..] {
        assert_eq!(scene.check(["--strict", "noted/record", records]).code, *code, "{records}");
    }
    let several = scene.check(["--strict", "verified/record", "noted/record"]);
    assert_eq!(several.code, EXIT_NOTED, "{several}");
    assert!(several.out.contains("\n2 records: 2 verified; 1 of the verified with notes\n"), "{several}");
    assert_eq!(scene.check(["--strict", "-q", "noted/record"]).said(), "");
}

#[test]
fn a_head_that_was_noted_elsewhere_must_be_the_sealed_one() {
    let scene = scene();
    let head = crate::support::script().head().to_string();
    assert_eq!(scene.check(["--head", &head, "verified/record"]).code, EXIT_VERIFIED);
    // An older pair: four of the five lines, and the seal of them.
    let older = mur_testdata::RecordBuilder::new().events(&mur_testdata::script_events()[..4]).seal_trace().build();
    let scene = scene.and("older", older);
    assert_eq!(scene.check(["older/record"]).code, EXIT_VERIFIED);
    let told = scene.check(["--head", &head, "older/record"]);
    assert_eq!(told.code, EXIT_CHANGED, "{told}");
    assert!(told.out.contains("[head-not-as-told]"), "{told}");
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
