//! `recall-speed`: what a search, a save and a cold start cost, by the size of the workspace. Times are CPU time of the
//! measuring thread, so that a busy machine does not change them much; of a search the quickest of three counts.

mod clock;
pub(crate) mod texts;

use std::path::PathBuf;

use mnemon_recall::{Embedding, Model, NewDoc, SearchRequest, WorkspaceIndex};

use crate::real_texts::RealTexts;
use crate::recall::Fts5;
use clock::Times;
pub(crate) use clock::cpu_seconds;
use texts::Texts;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many records [default: 1000,10000,100000,1000000; with --texts: all real ones, and 100000]
    #[arg(long, value_delimiter = ',')]
    records: Vec<u64>,
    /// How many queries per size
    #[arg(long, default_value_t = 1000)]
    queries: u64,
    /// Up to how many records SQLite's FTS5 is asked too
    #[arg(long, default_value_t = 100_000)]
    fts5_max: u64,
    /// The pinned sentences the records are made of
    #[arg(long, default_value = "tools/recall-model/train_sentences.json.gz")]
    sentences: PathBuf,
    /// Real texts and queries instead: a folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`
    #[arg(long, value_name = "DIR")]
    texts: Option<PathBuf>,
}

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The size beyond the real texts' own number, reached by putting pieces of them together.
const REAL_SIZE: u64 = 100_000;

/// How many hits are asked for.
const LIMIT: usize = 10;
/// How many records are added to measure the cost of one.
const ADDED: u64 = 500;
/// FTS5 gets fewer queries: it is that slow.
const FTS5_QUERIES: u64 = 100;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (texts, usual) = match &args.texts {
        None => (Texts::load(&args.sentences)?, SIZES.to_vec()),
        Some(folder) => {
            let real = RealTexts::load(folder)?;
            let usual = vec![real.len(), REAL_SIZE];
            (Texts::Real(real), usual)
        }
    };
    let sizes = if args.records.is_empty() { usual } else { args.records.clone() };
    for records in sizes {
        println!("\n{records} records");
        let index = build(&texts, records);
        search(&texts, &index, records, args.queries);
        if records <= args.fts5_max {
            fts5(&texts, &index, records)?;
        }
        let index = cold_start(&texts, index, records)?;
        add(&texts, index, records);
    }
    Ok(())
}

fn build(texts: &Texts, records: u64) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    let started = cpu_seconds();
    for seq in 0..records {
        put(&mut index, seq, &texts.record(seq), None);
    }
    let seconds = cpu_seconds() - started;
    println!("  build, vectors computed       {:8.0} records/s", records as f64 / seconds);
    println!("  size                          {:8.0} B/record", index.size_bytes() as f64 / records as f64);
    index
}

fn put(index: &mut WorkspaceIndex, seq: u64, text: &str, embedding: Option<&Embedding>) {
    index.add(NewDoc { embedding, ..NewDoc::new(seq, text) });
}

fn search(texts: &Texts, index: &WorkspaceIndex, records: u64, queries: u64) {
    let mut times = Times::default();
    let mut found = 0;
    for number in 0..queries {
        let query = texts.query(number, records);
        let request = SearchRequest::new(&query, LIMIT);
        found += times.measure_calm(|| index.search(&request)).len();
    }
    println!("  search, whole ranking         {times}   ({:.1} hits)", found as f64 / queries as f64);
}

/// Brings the index back from a snapshot, and from the texts with their stored vectors.
fn cold_start(texts: &Texts, index: WorkspaceIndex, records: u64) -> anyhow::Result<WorkspaceIndex> {
    let started = cpu_seconds();
    let snapshot = index.to_snapshot(b"").to_bytes();
    println!(
        "  snapshot written in           {:8.1} ms, {:.1} MB",
        1e3 * (cpu_seconds() - started),
        snapshot.len() as f64 / 1e6
    );
    drop(index);
    let started = cpu_seconds();
    let (_, restored) = WorkspaceIndex::from_snapshot(Model::shipped(), &snapshot)?;
    println!("  cold start from snapshot      {:8.1} ms", 1e3 * (cpu_seconds() - started));
    drop(snapshot);
    let sample = records.min(20_000);
    let stored: Vec<(String, Embedding)> =
        (0..sample).map(|seq| texts.record(seq)).map(|text| (text.clone(), Model::shipped().encode(&text))).collect();
    let mut scratch = WorkspaceIndex::new(Model::shipped());
    let started = cpu_seconds();
    for (seq, (text, embedding)) in (0..).zip(&stored) {
        put(&mut scratch, seq, text, Some(embedding));
    }
    let seconds = (cpu_seconds() - started) * records as f64 / sample as f64;
    println!("  cold start from scratch       {:8.1} ms (vectors stored; {sample} measured)", 1e3 * seconds);
    Ok(restored)
}

fn add(texts: &Texts, mut index: WorkspaceIndex, records: u64) {
    let mut add_times = Times::default();
    let mut remove_times = Times::default();
    for seq in records..records + ADDED {
        let text = texts.record(seq);
        add_times.measure(|| put(&mut index, seq, &text, None));
    }
    for seq in records..records + ADDED {
        remove_times.measure(|| index.remove(seq));
    }
    println!("  add one (vector computed)     {add_times}");
    println!("  forget one                    {remove_times}");
}

/// Both answer the same queries in turn, so that whatever else the machine does strikes both.
fn fts5(texts: &Texts, index: &WorkspaceIndex, records: u64) -> anyhow::Result<()> {
    let all: Vec<String> = (0..records).map(|seq| texts.record(seq)).collect();
    let table = Fts5::new(all.iter().map(String::as_str))?;
    let (mut theirs, mut ours) = (Times::default(), Times::default());
    for number in 0..FTS5_QUERIES {
        let query = texts.query(number, records);
        theirs.measure_calm(|| table.search(&query, LIMIT))?;
        let request = SearchRequest::new(&query, LIMIT);
        ours.measure_calm(|| index.search(&request));
    }
    let ratio = theirs.mean() / ours.mean();
    println!("  FTS5 on the same texts        {theirs}");
    println!("  FTS5 costs                    {ratio:8.1} × ours ({:.1} µs for these queries)", 1e6 * ours.mean());
    Ok(())
}
