//! `filters`: what filters cost. A workspace half of whose records are stale, tagged and of last year is searched over
//! HTTP with each filter and without, in turns; the server's processor time per call counts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};
use mnemon_guard_train::chance::Chance;
use mnemon_testkit::process::cpu_time;
use mnemon_testkit::wire::{CallFailed, Wire};
use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{Json, Verdict, judge, rounded};
use crate::load::{Source, Started, Texts, progress};
use crate::real_texts::RealTexts;

const SEED: u64 = 20_270_116;
const WORKSPACE: &str = "filtered";
/// Records share sources as facts of files do; every second source has changed.
const SOURCES: u64 = 200;
const FILLERS: usize = 32;
const ROUNDS: usize = 3;
/// How many times the CPU time a search may take.
const RATIO_MAX: f64 = 1.2;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many records
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000])]
    records: Vec<u64>,
    /// How many searches of each kind are measured at once
    #[arg(long, default_value_t = 1_500)]
    calls: u64,
    /// Real texts and queries: a folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`
    #[arg(long, value_name = "DIR")]
    texts: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    rounds: usize,
    calls: u64,
    rows: Vec<Row>,
    verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct Row {
    records: u64,
    filter: &'static str,
    /// Processor time of a search.
    cpu_us: f64,
    /// How many times that of a search without a filter.
    ratio: f64,
    hits: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let source = match &args.texts {
        None => Source::from(Texts::new(SEED)),
        Some(folder) => Source::Real(Arc::new(RealTexts::load(folder)?)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Figures { rounds: ROUNDS, calls: args.calls, rows: Vec::new(), verdicts: Vec::new() };
    println!(
        "every filter admits half of the records; CPU per search over HTTP, lowest of {ROUNDS} x {} calls\n",
        args.calls
    );
    println!("   records   filter                  µs   ratio   hits");
    for &records in &args.records {
        let costs = runtime.block_on(measure(&source, records, args.calls))?;
        let plain = costs[0].1.cpu_us;
        for (filter, Cost { cpu_us, hits }) in costs {
            let ratio = cpu_us / plain;
            println!("{records:>10}   {:15}{cpu_us:>11.1}{ratio:>8.2}{hits:>7.1}", filter.name());
            let [cpu_us, hits] = [cpu_us, hits].map(|value| rounded(value, 1));
            figures.rows.push(Row { records, filter: filter.name(), cpu_us, ratio: rounded(ratio, 2), hits });
        }
    }
    let dearest = figures.rows.iter().map(|row| row.ratio).fold(0.0, f64::max);
    let bar = format!("a filter costs at most {dearest:.2} x (bar: {RATIO_MAX} x)");
    figures.verdicts.push(Verdict { is_met: dearest <= RATIO_MAX, bar });
    args.json.write(&figures)?;
    println!();
    judge(&figures.verdicts);
    Ok(())
}

/// What a search asks for beside its query.
#[derive(Clone, Copy)]
enum Filter {
    None,
    ExcludeStale,
    Tags,
    Since,
}

impl Filter {
    const ALL: [Filter; 4] = [Filter::None, Filter::ExcludeStale, Filter::Tags, Filter::Since];

    fn name(self) -> &'static str {
        match self {
            Filter::None => "none",
            Filter::ExcludeStale => "exclude_stale",
            Filter::Tags => "tags",
            Filter::Since => "since",
        }
    }

    fn add_to(self, call: &mut Value) {
        match self {
            Filter::None => {}
            Filter::ExcludeStale => call["exclude_stale"] = json!(true),
            Filter::Tags => call["tags"] = json!([TAG]),
            Filter::Since => call["since"] = json!(THIS_YEAR),
        }
    }
}

/// A tag that every other record has, and the day from which on every other happened.
const TAG: &str = "House 7";
const THIS_YEAR: &str = "2026-01-01";

#[derive(Clone, Copy)]
struct Cost {
    cpu_us: f64,
    hits: f64,
}

async fn measure(source: &Source, records: u64, calls: u64) -> Result<Vec<(Filter, Cost)>> {
    let data = tempfile::tempdir()?;
    let server = Started::service(data.path())?;
    progress(&format!("storing {records} records"));
    fill(&server, source, records).await?;
    let mut searches =
        Searches { wire: Wire::connect(server.address, &server.key).await?, server: &server, source, records };
    progress("making half of them stale");
    searches.make_stale().await?;
    let mut costs: Vec<(Filter, Vec<Cost>)> = Filter::ALL.map(|filter| (filter, Vec::new())).into();
    for (filter, _) in &costs {
        searches.ask(200, *filter).await?;
    }
    for round in 1..=ROUNDS {
        progress(&format!("{records} records, round {round} of {ROUNDS}"));
        for (filter, costs) in &mut costs {
            costs.push(searches.ask(calls, *filter).await?);
        }
    }
    progress("");
    costs.into_iter().map(|(filter, costs)| Ok((filter, lowest(&costs)?))).collect()
}

fn lowest(costs: &[Cost]) -> Result<Cost> {
    costs.iter().copied().min_by(|one, other| one.cpu_us.total_cmp(&other.cpu_us)).context("nothing was measured")
}

/// Saves from several connections, so that saves share a commit.
async fn fill(server: &Started, source: &Source, records: u64) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut running = Vec::new();
    for _ in 0..FILLERS {
        let mut wire = Wire::connect(server.address, &server.key).await?;
        let (next, source) = (Arc::clone(&next), source.clone());
        running.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= records {
                    return anyhow::Ok(());
                }
                save(&mut wire, &source.text(number), number).await?;
            }
        }));
    }
    for filler in running {
        filler.await.context("a client panicked")??;
    }
    Ok(())
}

/// Every other record is tagged and of this year; the other two halves overlap the stale one by half.
async fn save(wire: &mut Wire, text: &str, number: u64) -> Result<()> {
    let mut call = json!({
        "content": text, "workspace": WORKSPACE, "source_id": source_id(number % SOURCES), "source_hash": "sha256:0001",
        "occurred_at": if (number / 4).is_multiple_of(2) { "2026-05-17" } else { "2025-05-17" },
    });
    if (number / 2).is_multiple_of(2) {
        call["tags"] = json!(["billing", TAG]);
    }
    match wire.call("remember", &call).await {
        Ok(_) => Ok(()),
        // The guard refuses a text now and then; one record less changes nothing here.
        Err(CallFailed::Refused { text, .. }) if text.contains("Memory rejected by") => Ok(()),
        Err(failed) => bail!("a save failed: {failed:?}"),
    }
}

fn source_id(number: u64) -> String {
    format!("notes/{number}.md")
}

struct Searches<'s> {
    wire: Wire,
    server: &'s Started,
    source: &'s Source,
    records: u64,
}

impl Searches<'_> {
    async fn make_stale(&mut self) -> Result<()> {
        let mut stale = 0;
        for source in (0..SOURCES).step_by(2) {
            let call = json!({"source_id": source_id(source), "current_source_hash": "sha256:0002"});
            stale += self.call("validate_memory", &call).await?["stale_count"].as_u64().unwrap_or(0);
        }
        ensure!(stale.abs_diff(self.records / 2) * 50 <= self.records, "{stale} of {} records are stale", self.records);
        Ok(())
    }

    /// The same queries each time.
    async fn ask(&mut self, calls: u64, filter: Filter) -> Result<Cost> {
        let mut chance = Chance::with_seed(SEED);
        let before = cpu_time(self.server.pid())?;
        let mut hits = 0;
        for _ in 0..calls {
            let query = self.source.query(chance.below(self.records as usize) as u64, &mut chance);
            let mut call = json!({"query": query, "workspace": WORKSPACE});
            filter.add_to(&mut call);
            let answer = self.call("search", &call).await?;
            let found = answer["result"].as_array().context("a list")?;
            hits += found.len();
            let is_wrong = |record: &Value| match filter {
                Filter::None => false,
                Filter::ExcludeStale => record["status"] == "stale",
                Filter::Tags => record["tags"].is_null(),
                Filter::Since => record["occurred_at"] != "2026-05-17",
            };
            ensure!(!found.iter().any(is_wrong), "{} let a wrong record through", filter.name());
        }
        let cpu = cpu_time(self.server.pid())?.saturating_sub(before);
        Ok(Cost { cpu_us: cpu.as_secs_f64() * 1e6 / calls as f64, hits: hits as f64 / calls as f64 })
    }

    async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.wire.call(tool, arguments).await.map_err(|failed| anyhow::anyhow!("{tool} failed: {failed:?}"))
    }
}
