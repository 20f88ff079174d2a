//! The chapters of the page, in reading order: which run each part shows, how, and what it leaves open.

mod costs;
mod durability;
mod finding;
mod growth;
mod guarding;
mod service;
mod speed;

use anyhow::Result;

use crate::page::{Chapter, Shown, as_printed};
use crate::run::Run;

pub(crate) fn all() -> Vec<Chapter> {
    vec![
        finding::recall(),
        finding::freshness(),
        speed::chapter(),
        growth::chapter(),
        growth::memory(),
        durability::chapter(),
        durability::isolation(),
        guarding::chapter(),
        costs::chapter(),
    ]
}

/// For a run whose print is already made for people.
fn whole(run: &Run) -> Result<Shown> {
    Ok(Shown::text(as_printed(run)))
}

/// `PASS x` and `FAIL x` as items of a list.
fn verdict(line: &str) -> Option<String> {
    let met = line.strip_prefix("PASS ").map(|rest| format!("- Met: {rest}\n"));
    met.or_else(|| line.strip_prefix("FAIL ").map(|rest| format!("- **Missed**: {rest}\n")))
}

/// What the run judged itself.
fn verdicts(run: &Run) -> String {
    run.lines().filter_map(verdict).collect()
}
