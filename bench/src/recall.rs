//! `recall`: R@k, MRR@10 and nDCG@10 on labelled sets, for SQLite's FTS5 and for the ranking in its steps.

pub(crate) mod data;
mod keywords;
mod metrics;
mod rankers;
mod score;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use crate::figures::Json;
use keywords::Keywords;
use metrics::{Percent, Quality};
use rankers::Ranker;

pub(crate) use data::{Project, Query, Set, load};
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
    #[command(flatten)]
    json: Json,
}

/// One line of the table.
struct SetQuality {
    set: String,
    ranker: &'static str,
    quality: Quality,
}

#[derive(Serialize)]
struct Figures {
    sets: Vec<Row>,
    kinds: Vec<KindRow>,
    keywords: Vec<Keywords>,
}

#[derive(Serialize)]
struct Row {
    set: String,
    ranker: &'static str,
    #[serde(flatten)]
    quality: Percent,
}

#[derive(Serialize)]
struct KindRow {
    set: String,
    kind: String,
    questions: u32,
    ranker: &'static str,
    #[serde(flatten)]
    quality: Percent,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.score {
        return score::run(&data::load(&args.data)?, &args.json);
    }
    let mut rows = Vec::new();
    let mut kinds = Vec::new();
    println!("{:12} {:14} {}", "set", "ranker", Quality::HEADINGS);
    let mut sets = data::load(&args.data)?;
    sets.retain(|set| args.set.is_empty() || args.set.contains(&set.name));
    for set in &sets {
        for ranker in Ranker::ALL {
            let (quality, of_kinds) = measure(set, ranker).with_context(|| format!("set {}", set.name))?;
            println!("{:12} {:14} {quality}", set.name, ranker.name());
            rows.push(SetQuality { set: set.name.clone(), ranker: ranker.name(), quality });
            if Ranker::COMPARED.contains(&ranker.name()) && of_kinds.len() > 1 {
                kinds.extend(of_kinds.into_iter().map(|(kind, quality)| (set.name.clone(), kind, ranker, quality)));
            }
        }
    }
    rows.extend(means(&rows));
    // Beyond 5,000 records words and signs choose whom to compare; no set alone is so large.
    sets.push(data::as_one(sets.iter().filter(|set| is_memory(&set.name))));
    let one = sets.last().context("the sets as one")?;
    for ranker in [Ranker::FULL, Ranker::EXHAUSTIVE] {
        let (quality, _) = measure(one, ranker)?;
        println!("{:12} {:14} {quality}", one.name, ranker.name());
        rows.push(SetQuality { set: one.name.clone(), ranker: ranker.name(), quality });
    }
    println!("\n{:12} {:26} {:14} questions {}", "set", "kind", "ranker", Quality::HEADINGS);
    kinds.sort_by(|(one_set, one, ..), (other_set, other, ..)| (one_set, one).cmp(&(other_set, other)));
    for (set, kind, ranker, quality) in &kinds {
        println!("{set:12} {kind:26} {:14} {:9} {}", ranker.name(), quality.questions(), quality.mean());
    }
    println!("\n{:12} keyword queries (2 or 3 words of a record) whose first hit has all of them", "set");
    let mut keywords = Vec::new();
    for set in &sets {
        let found = keywords::measure(set)?;
        println!("{found}");
        keywords.push(found);
    }
    let row = |row: SetQuality| Row { set: row.set, ranker: row.ranker, quality: row.quality.percent() };
    let kind_row = |(set, kind, ranker, quality): (String, String, Ranker, Quality)| {
        let questions = quality.questions();
        KindRow { set, kind, questions, ranker: ranker.name(), quality: quality.mean().percent() }
    };
    args.json.write(&Figures {
        sets: rows.into_iter().map(row).collect(),
        kinds: kinds.into_iter().map(kind_row).collect(),
        keywords,
    })
}

/// Cranfield is no memory: it is there to see that nothing breaks.
fn is_memory(set: &str) -> bool {
    set != "cranfield"
}

/// Per ranker, the mean over the sets of memories.
fn means(rows: &[SetQuality]) -> Vec<SetQuality> {
    let mean = |ranker: Ranker| {
        let mut total = Quality::default();
        let of_memory = rows.iter().filter(|row| row.ranker == ranker.name() && is_memory(&row.set));
        of_memory.for_each(|row| total.add(&row.quality));
        println!("{:12} {:14} {}", "mean", ranker.name(), total.mean());
        SetQuality { set: "mean".to_owned(), ranker: ranker.name(), quality: total.mean() }
    };
    Ranker::ALL.map(mean).into()
}

/// The mean over all queries of all projects of a set, and sums by kind of query; each project is searched apart.
fn measure(set: &data::Set, ranker: Ranker) -> anyhow::Result<(Quality, BTreeMap<String, Quality>)> {
    let mut total = Quality::default();
    let mut kinds: BTreeMap<String, Quality> = BTreeMap::new();
    for project in &set.projects {
        let searcher = ranker.index(project)?;
        for query in &project.queries {
            let found = searcher.search(&query.text, DEPTH)?;
            let records: Vec<usize> = found.iter().map(|&text| project.records[text]).collect();
            let quality = Quality::of(&records, &query.gold);
            total.add(&quality);
            kinds.entry(query.kind.clone()).or_default().add(&quality);
        }
    }
    Ok((total.mean(), kinds))
}
