//! The chapters of the page, in reading order: which run each part shows, how, and what it leaves open.

mod compared;
mod costs;
pub(crate) mod durability;
mod finding;
mod freshness;
pub(crate) mod growth;
mod guarding;
mod service;
pub(crate) mod speed;

use anyhow::Result;
use serde::Deserialize;

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
        freshness::chapter(),
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

/// A bar that a run judged itself.
#[derive(Deserialize)]
struct Verdict {
    is_met: bool,
    bar: String,
}

/// Of a run that is shown as it was printed.
#[derive(Deserialize)]
struct Judged {
    verdicts: Vec<Verdict>,
}

fn told(verdicts: &[Verdict]) -> String {
    let item = |verdict: &Verdict| {
        let judged = if verdict.is_met { "Met" } else { "**Missed**" };
        format!("- {judged}: {}\n", verdict.bar)
    };
    verdicts.iter().map(item).collect()
}
