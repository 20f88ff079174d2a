//! The chapters of the page, in reading order: which run each part shows, how, and what it leaves open.

mod costs;
mod durability;
mod finding;
mod growth;
mod guarding;
mod service;
mod speed;

use anyhow::Result;

use crate::run::Run;

/// What a run is shown as.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// A short name, what the picture shows in words, and the picture.
    pub(crate) plots: Vec<(&'static str, &'static str, String)>,
}

impl Shown {
    pub(crate) fn text(text: String) -> Shown {
        Shown { text, plots: Vec::new() }
    }
}

pub(crate) struct Part {
    pub(crate) title: &'static str,
    /// The name of the run. If it is not recorded, the page says so.
    pub(crate) run: &'static str,
    pub(crate) show: fn(&Run) -> Result<Shown>,
    pub(crate) not_shown: &'static str,
}

pub(crate) struct Chapter {
    pub(crate) title: &'static str,
    pub(crate) parts: Vec<Part>,
}

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

pub(crate) fn as_printed(run: &Run) -> String {
    format!("```text\n{}\n```\n", run.body)
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
