//! `similar`: of what a save calls nearly the same, how much is about the same fact, how much of what is the same it
//! names, and what it costs. The labelled pairs are in `bench/data/similar`: written ones with their texts, and lines
//! of the sets given by `--data`, whose texts are not part of the repository. The weights were fitted to one half of
//! the pairs, by hash; the bars hold for the other half, and for what is named where every record of the sets is saved
//! in turn.

mod fit;
mod pairs;
mod speed;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::Result;
use mnemon_recall::{Likeness, Model, NewDoc, WorkspaceIndex};
use serde::Serialize;

use crate::figures::{Json, Verdict, judge};
use pairs::{Corpus, Labels, Tally, Written};
use speed::Times;

/// As many as a save names.
const LIMIT: usize = 3;
/// Of what is named, at least this share must be about the same fact.
const PRECISION_MIN: f64 = 0.90;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl`
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Fit the weights to the fitting half again, and print them
    #[arg(long)]
    fit: bool,
    /// How many records the time is measured with
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    records: Vec<u64>,
    /// The pinned sentences that those records are made of
    #[arg(long, default_value = "tools/recall-model/train_sentences.json.gz")]
    sentences: PathBuf,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    written: Tally,
    of_sets: Tally,
    saves: BTreeMap<String, Saves>,
    drawn: Tally,
    times: Vec<Times>,
    verdicts: Vec<Verdict>,
}

/// What became of a labelled pair.
struct Judged {
    row: String,
    is_fitting: bool,
    is_same: bool,
    is_named: bool,
    /// Whether it was drawn at random from all that was named.
    is_drawn: bool,
    likeness: Option<Likeness>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let written = judge_written(&Written::load()?);
    let (in_sets, saves) = judge_sets(&Corpus::load_all(&args.data)?, &Labels::load()?)?;
    if args.fit {
        return fit::print(written.iter().chain(&in_sets).filter(|pair| pair.is_fitting));
    }
    println!("labelled pairs, the half that the weights were not fitted to\n");
    println!("{:<22}{:>8}{:>8}{:>8}{:>11}{:>8}", "", "pairs", "same", "named", "precision", "recall");
    let written = print_rows("written", &written);
    let of_sets = print_rows("sets", &in_sets);
    println!("\nevery record of the sets saved in turn\n");
    println!("{:<22}{:>8}{:>14}{:>8}", "", "saves", "name some, %", "names");
    for (set, counts) in &saves {
        let share = 100.0 * counts.naming as f64 / counts.saves as f64;
        println!("{set:<22}{:>8}{share:>14.1}{:>8}", counts.saves, counts.names);
    }
    let drawn = Tally::of(in_sets.iter().filter(|pair| pair.is_drawn));
    println!("\nof the names {} were drawn and read: {}", drawn.named, drawn.interval());
    println!("\ntime of one call, right after the save, CPU µs\n");
    let times = speed::measure(&args.sentences, &args.records)?;
    println!();
    let bar = |bar: &str, is_met: bool| Verdict { is_met, bar: bar.to_owned() };
    let verdicts = vec![
        bar(
            "written pairs: at least 0.90 of what is named is about the same fact",
            written.precision() >= PRECISION_MIN,
        ),
        bar("pairs of the sets: at least 0.90", of_sets.precision() >= PRECISION_MIN),
        bar("records saved in turn: at least 0.90", drawn.precision() >= PRECISION_MIN),
        bar(
            "10,000 records: at most 15 µs for a line; always at most 150 µs for a page",
            times.iter().all(Times::is_quick),
        ),
    ];
    let figures = Figures { written, of_sets, saves, drawn, times, verdicts };
    args.json.write(&figures)?;
    judge(&figures.verdicts);
    Ok(())
}

/// Prints each group of the held-out half, and all together.
fn print_rows(name: &str, pairs: &[Judged]) -> Tally {
    let held_out = || pairs.iter().filter(|pair| !pair.is_fitting);
    let mut rows: Vec<&str> = held_out().map(|pair| pair.row.as_str()).collect();
    rows.sort_unstable();
    rows.dedup();
    for row in rows {
        Tally::of(held_out().filter(|pair| pair.row == row)).print(&format!("  {row}"));
    }
    let all = Tally::of(held_out());
    all.print(name);
    all
}

/// All written texts of a language are one workspace.
fn judge_written(pairs: &[Written]) -> Vec<Judged> {
    let mut by_language: BTreeMap<&str, Vec<&Written>> = BTreeMap::new();
    pairs.iter().for_each(|pair| by_language.entry(&pair.lang).or_default().push(pair));
    let mut judged = Vec::new();
    for (language, pairs) in by_language {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for (seq, text) in (0..).zip(pairs.iter().flat_map(|pair| [&pair.old, &pair.new])) {
            index.add(NewDoc::new(seq, text));
        }
        for (nth, pair) in (0..).zip(&pairs) {
            let (old, new) = (2 * nth, 2 * nth + 1);
            judged.push(Judged {
                row: if pair.is_later { format!("{language}, later") } else { language.to_owned() },
                is_fitting: pair.is_fitting(),
                is_same: pair.same,
                is_named: named(&index, new).contains(&old),
                is_drawn: false,
                likeness: index.likeness(new, old),
            });
        }
    }
    judged
}

/// How often a save names something.
#[derive(Default, Serialize)]
struct Saves {
    saves: usize,
    naming: usize,
    names: usize,
}

/// Saves every project of every set record by record and asks each time.
fn judge_sets(corpora: &[Corpus], labels: &Labels) -> Result<(Vec<Judged>, BTreeMap<String, Saves>)> {
    let (mut judged, mut saves) = (Vec::new(), BTreeMap::<String, Saves>::new());
    for corpus in corpora {
        let mut indexes: HashMap<&str, WorkspaceIndex> = HashMap::new();
        let counts = saves.entry(corpus.set.clone()).or_default();
        for (line, record) in (1_u64..).zip(&corpus.records) {
            let index = indexes.entry(&record.project).or_insert_with(|| WorkspaceIndex::new(Model::shipped()));
            index.add(NewDoc::new(line, &record.text));
            let names = named(index, line);
            counts.saves += 1;
            counts.naming += usize::from(!names.is_empty());
            counts.names += names.len();
            judged.extend(labels.of(&corpus.set, line).iter().map(|label| Judged {
                row: corpus.set.clone(),
                is_fitting: label.is_fitting(),
                is_same: label.same,
                is_named: names.contains(&label.old),
                is_drawn: label.drawn,
                likeness: index.likeness(line, label.old),
            }));
        }
    }
    labels.check(judged.len())?;
    Ok((judged, saves))
}

fn named(index: &WorkspaceIndex, seq: u64) -> Vec<u64> {
    index.similar(seq, LIMIT, &|_| true).into_iter().map(|similar| similar.seq).collect()
}
