//! `mnemon selftest isolation`.

use serde_json::json;

use crate::process::Place;

#[test]
fn two_thousand_random_calls_leak_nothing() {
    let place = Place::new();
    let done = place.run(&["selftest", "isolation", "--cases", "2000"]);
    assert_eq!(done.out, "isolation: 2000 cases, 0 leaks, 0 other mismatches (seed 1)\n");
    assert_eq!((done.code, done.err.as_str()), (0, ""));
}

#[test]
fn another_seed_is_another_run_and_a_program_reads_it_too() {
    let place = Place::new();
    let done = place.run(&["selftest", "isolation", "--cases", "300", "--seed", "7", "--json"]);
    let expected = json!({"cases": 300, "seed": 7, "leaks": 0, "mismatches": 0, "first": []});
    assert_eq!((done.code, done.json()), (0, expected));
}
