//! `recall`: R@k, MRR@10 and nDCG@10 on labelled sets, for SQLite's FTS5 and for the ranking in its steps.

pub(crate) mod data;
mod keywords;
mod metrics;
mod rankers;
mod score;

use std::path::PathBuf;

use anyhow::Context;

use metrics::Quality;
use rankers::Ranker;

pub(crate) use data::{Project, Set, load};
pub(crate) use rankers::Fts5;

/// How many hits are judged.
const DEPTH: usize = 50;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`
    #[arg(long)]
    data: PathBuf,
    /// Only these sets
    #[arg(long)]
    set: Vec<String>,
    /// Measure what `score` means instead: gold hits against the hits of foreign queries
    #[arg(long)]
    score: bool,
}

/// One line of the table.
pub(crate) struct SetQuality {
    pub(crate) set: String,
    pub(crate) ranker: &'static str,
    pub(crate) quality: Quality,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.score {
        score::run(&data::load(&args.data)?);
        return Ok(());
    }
    let mut rows = Vec::new();
    println!("{:12} {:14} {}", "set", "ranker", Quality::HEADINGS);
    let mut sets = data::load(&args.data)?;
    sets.retain(|set| args.set.is_empty() || args.set.contains(&set.name));
    for set in &sets {
        for ranker in Ranker::ALL {
            let quality = measure(set, ranker).with_context(|| format!("set {}", set.name))?;
            println!("{:12} {:14} {quality}", set.name, ranker.name());
            rows.push(SetQuality { set: set.name.clone(), ranker: ranker.name(), quality });
        }
    }
    print_means(&rows);
    // Beyond 5,000 records words and signs choose whom to compare; no set alone is so large.
    sets.push(data::as_one(sets.iter().filter(|set| is_memory(&set.name))));
    let one = sets.last().context("the sets as one")?;
    for ranker in [Ranker::FULL, Ranker::EXHAUSTIVE] {
        println!("{:12} {:14} {}", one.name, ranker.name(), measure(one, ranker)?);
    }
    println!("\n{:12} keyword queries (2 or 3 words of a record) whose first hit has all of them", "set");
    for set in &sets {
        println!("{:12} {}", set.name, keywords::measure(set)?);
    }
    Ok(())
}

/// Cranfield is no memory: it is there to see that nothing breaks.
fn is_memory(set: &str) -> bool {
    set != "cranfield"
}

/// Per ranker, the mean over the sets of memories.
fn print_means(rows: &[SetQuality]) {
    for ranker in Ranker::ALL {
        let mut total = Quality::default();
        let of_memory = rows.iter().filter(|row| row.ranker == ranker.name() && is_memory(&row.set));
        of_memory.for_each(|row| total.add(&row.quality));
        println!("{:12} {:14} {}", "mean", ranker.name(), total.mean());
    }
}

/// The mean over all queries of all projects of a set; each project is searched apart.
fn measure(set: &data::Set, ranker: Ranker) -> anyhow::Result<Quality> {
    let mut total = Quality::default();
    for project in &set.projects {
        let searcher = ranker.index(project)?;
        for query in &project.queries {
            let found = searcher.search(&query.text, DEPTH)?;
            let records: Vec<usize> = found.iter().map(|&text| project.records[text]).collect();
            total.add(&Quality::of(&records, &query.gold));
        }
    }
    Ok(total.mean())
}
