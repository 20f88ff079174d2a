//! The faults of the bench: each is described, and a run of it is recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Each fault that the page describes, with the recorded runs that its row names.
fn described(page: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut found = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let runs = cells.last().copied().unwrap_or_default().split("](").skip(1);
        let runs: Vec<&str> = runs.filter_map(|rest| rest.split(')').next()).collect();
        for name in cells[0].split('`').skip(1).step_by(2) {
            found.insert(name, runs.clone());
        }
    }
    found
}

#[test]
fn every_fault_of_the_bench_is_described_and_a_run_of_it_is_recorded() {
    let (source, page) = (read("bench/src/faults.rs"), read("bench/README.md"));
    let names = source.lines().filter_map(|line| line.split_once(" => \"")?.1.strip_suffix("\","));
    let names: BTreeSet<&str> = names.filter(|name| *name != "all").collect();
    assert!(names.len() > 30, "the bench names its faults, found only {names:?}");
    let described = described(&page);
    assert_eq!(described.keys().copied().collect::<BTreeSet<_>>(), names);
    for (name, runs) in described {
        assert!(!runs.is_empty(), "bench/README.md names no run of {name}");
        let beginning = format!("{name}: ");
        for run in runs {
            let text = read(&format!("bench/{run}"));
            let is_recorded = text.lines().any(|line| line.starts_with(&beginning) && line.contains(" rounds, "));
            assert!(is_recorded, "bench/{run} has no line of {name}");
        }
    }
}
