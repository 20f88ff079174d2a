//! `gate`: what the gate by meaning keeps out and what it costs, as a curve over its bar. On one side queries foreign
//! to a workspace, which should find nothing by meaning alone; on the other questions that share no word with their
//! answers.

mod curve;
mod foreign;
mod paraphrase;
pub(crate) mod stems;
mod wordnet;

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::figures::Json;
use crate::ranker::{BARS, SERVICE_BAR, Workspace};
use crate::recall::data;
use curve::{Curve, Point};
use paraphrase::SmallWorkspace;
use wordnet::WordNet;

/// The set whose facts are closest to what assistants save.
const FACTS: &str = "locomo_obs";
const LIMIT: usize = 10;
/// Of the set of paraphrases that the recorded runs were made with.
const CHECKSUM: &str = "478df3576c34ed3dd9572c6c58550d6f66cc0f9da42fc4796e4130d95778725e";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`
    #[arg(long)]
    data: PathBuf,
    /// WordNet's files
    #[arg(long, default_value = "/usr/share/wordnet")]
    wordnet: PathBuf,
    #[command(flatten)]
    json: Json,
    /// A curve of another build to compare with; fails unless this build finds more at the same foreign rate
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Show some paraphrases
    #[arg(long)]
    show: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sets = data::load(&args.data)?;
    let facts = sets.iter().find(|set| set.name == FACTS).with_context(|| format!("the folder has no {FACTS}"))?;
    let small = paraphrase::workspaces(facts, &WordNet::load(&args.wordnet)?);
    let checksum = paraphrase::checksum(&small);
    describe(&small, &checksum, args.show);
    let mut points: Vec<Point> = BARS.iter().map(|&bar| point(bar, &small)).collect();
    for pair in foreign::PAIRS {
        let found = foreign::measure(&sets, pair, &BARS)?;
        for (point, &count) in points.iter_mut().zip(&found.let_in) {
            point.foreign.push(count as f64 / found.queries.max(1) as f64);
        }
    }
    let few = foreign::measure_few(&sets, &small, &BARS);
    for (point, &count) in points.iter_mut().zip(&few.let_in) {
        point.foreign_of_few = Some(count as f64 / few.queries.max(1) as f64);
    }
    let curve = Curve::of(checksum, points);
    curve.print();
    args.json.write(&curve)?;
    if let Some(path) = &args.against
        && !curve.print_against(&Curve::read(path)?)?
    {
        println!("FAIL the gate finds no more at the same foreign rate");
        std::process::exit(1);
    }
    Ok(())
}

fn describe(small: &[SmallWorkspace], checksum: &str, is_shown: bool) {
    let questions = || small.iter().flat_map(|workspace| &workspace.questions);
    let facts: usize = small.iter().map(|workspace| workspace.texts.len()).sum();
    println!("{} paraphrased questions to {} workspaces with {facts} facts", questions().count(), small.len());
    println!("SHA-256 {checksum}{}\n", if checksum == CHECKSUM { ", as pinned" } else { ": NOT the pinned set" });
    if is_shown {
        for question in questions().step_by(10) {
            println!("{:70} -> {}", question.original, question.paraphrase);
        }
    }
}

/// What the questions find with the bar at this height.
fn point(bar: f64, small: &[SmallWorkspace]) -> Point {
    let (mut paraphrases, mut originals) = (Vec::new(), Vec::new());
    for SmallWorkspace { texts, questions } in small {
        let workspace = Workspace::new(texts.iter().map(String::as_str));
        for question in questions {
            paraphrases.push(recall(&workspace, &question.paraphrase, &question.gold, bar));
            originals.push(recall(&workspace, &question.original, &question.gold, bar));
        }
    }
    Point { bar, is_service: bar == SERVICE_BAR, foreign: Vec::new(), foreign_of_few: None, paraphrases, originals }
}

fn recall(workspace: &Workspace, query: &str, gold: &HashSet<usize>, bar: f64) -> f32 {
    let found = workspace.search(query, LIMIT, bar);
    found.iter().filter(|place| gold.contains(place)).count() as f32 / gold.len().max(1) as f32
}
