//! `recall-speed`: what a search, a save and a cold start cost, by the size of the workspace. Times are CPU time of the
//! measuring thread, so that a busy machine does not change them much; of a search the quickest of three counts.

mod clock;
pub(crate) mod texts;

use std::path::PathBuf;

use mnemon_recall::{Embedding, Model, NewDoc, SearchRequest, WorkspaceIndex};
use serde::Serialize;

use crate::figures::{Json, rounded};
use crate::real_texts::RealTexts;
use crate::recall::Fts5;
pub(crate) use clock::cpu_seconds;
use clock::{Costs, Times};
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
    #[command(flatten)]
    json: Json,
}

/// What one size costs. Printed line by line, because a million records take long.
#[derive(Serialize)]
struct Size {
    records: u64,
    #[serde(flatten)]
    built: Built,
    search: Costs,
    /// Mean number.
    hits: f64,
    fts5: Option<Costs>,
    #[serde(flatten)]
    started: Started,
    add: Costs,
    forget: Costs,
}

#[derive(Serialize)]
struct Built {
    records_per_second: f64,
    bytes_per_record: f64,
}

#[derive(Serialize)]
struct Started {
    snapshot_written_ms: f64,
    snapshot_mb: f64,
    from_snapshot_ms: f64,
    from_scratch_ms: f64,
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
    let mut figures = Vec::new();
    for records in sizes {
        println!("\n{records} records");
        let (index, built) = build(&texts, records);
        let (search, hits) = search(&texts, &index, records, args.queries);
        let fts5 = if records <= args.fts5_max { Some(fts5(&texts, &index, records)?) } else { None };
        let (index, started) = cold_start(&texts, index, records)?;
        let (add, forget) = add(&texts, index, records);
        figures.push(Size { records, built, search, hits, fts5, started, add, forget });
    }
    args.json.write(&figures)
}

fn build(texts: &Texts, records: u64) -> (WorkspaceIndex, Built) {
    let mut index = WorkspaceIndex::new(Model::shipped());
    let started = cpu_seconds();
    for seq in 0..records {
        put(&mut index, seq, &texts.record(seq), None);
    }
    let records_per_second = rounded(records as f64 / (cpu_seconds() - started), 0);
    let bytes_per_record = rounded(index.size_bytes() as f64 / records as f64, 0);
    println!("  build, vectors computed       {records_per_second:8.0} records/s");
    println!("  size                          {bytes_per_record:8.0} B/record");
    (index, Built { records_per_second, bytes_per_record })
}

fn put(index: &mut WorkspaceIndex, seq: u64, text: &str, embedding: Option<&Embedding>) {
    index.add(NewDoc { embedding, ..NewDoc::new(seq, text) });
}

fn search(texts: &Texts, index: &WorkspaceIndex, records: u64, queries: u64) -> (Costs, f64) {
    let mut times = Times::default();
    let mut found = 0;
    for number in 0..queries {
        let query = texts.query(number, records);
        let request = SearchRequest::new(&query, LIMIT);
        found += times.measure_calm(|| index.search(&request)).len();
    }
    let (costs, hits) = (times.sum_up(), rounded(found as f64 / queries as f64, 1));
    println!("  search, whole ranking         {costs}   ({hits:.1} hits)");
    (costs, hits)
}

/// Brings the index back from a snapshot, and from the texts with their stored vectors.
fn cold_start(texts: &Texts, index: WorkspaceIndex, records: u64) -> anyhow::Result<(WorkspaceIndex, Started)> {
    let ms = |seconds: f64| rounded(1e3 * seconds, 1);
    let started = cpu_seconds();
    let snapshot = index.to_snapshot(b"").to_bytes();
    let snapshot_written_ms = ms(cpu_seconds() - started);
    let snapshot_mb = rounded(snapshot.len() as f64 / 1e6, 1);
    println!("  snapshot written in           {snapshot_written_ms:8.1} ms, {snapshot_mb:.1} MB");
    drop(index);
    let started = cpu_seconds();
    let (_, restored) = WorkspaceIndex::from_snapshot(Model::shipped(), &snapshot)?;
    let from_snapshot_ms = ms(cpu_seconds() - started);
    println!("  cold start from snapshot      {from_snapshot_ms:8.1} ms");
    drop(snapshot);
    let sample = records.min(20_000);
    let stored: Vec<(String, Embedding)> =
        (0..sample).map(|seq| texts.record(seq)).map(|text| (text.clone(), Model::shipped().encode(&text))).collect();
    let mut scratch = WorkspaceIndex::new(Model::shipped());
    let started = cpu_seconds();
    for (seq, (text, embedding)) in (0..).zip(&stored) {
        put(&mut scratch, seq, text, Some(embedding));
    }
    let from_scratch_ms = ms((cpu_seconds() - started) * records as f64 / sample as f64);
    println!("  cold start from scratch       {from_scratch_ms:8.1} ms (vectors stored; {sample} measured)");
    Ok((restored, Started { snapshot_written_ms, snapshot_mb, from_snapshot_ms, from_scratch_ms }))
}

fn add(texts: &Texts, mut index: WorkspaceIndex, records: u64) -> (Costs, Costs) {
    let mut add_times = Times::default();
    let mut remove_times = Times::default();
    for seq in records..records + ADDED {
        let text = texts.record(seq);
        add_times.measure(|| put(&mut index, seq, &text, None));
    }
    for seq in records..records + ADDED {
        remove_times.measure(|| index.remove(seq));
    }
    let (add, forget) = (add_times.sum_up(), remove_times.sum_up());
    println!("  add one (vector computed)     {add}");
    println!("  forget one                    {forget}");
    (add, forget)
}

/// Both answer the same queries in turn, so that whatever else the machine does strikes both.
fn fts5(texts: &Texts, index: &WorkspaceIndex, records: u64) -> anyhow::Result<Costs> {
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
    let costs = theirs.sum_up();
    println!("  FTS5 on the same texts        {costs}");
    println!("  FTS5 costs                    {ratio:8.1} × ours ({:.1} µs for these queries)", 1e6 * ours.mean());
    Ok(costs)
}
