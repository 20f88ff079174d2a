//! The service on PostgreSQL: batched saves compared with single ones, searches on one, two and three nodes, many
//! callers beside embedded storage, what freshness adds to a search, and the same searches by PostgreSQL's own
//! full-text search.
//!
//! The server is durable (fsync on), on this machine, and started for the run; nodes are separate processes. All of
//! them and the clients share the cores, so rates do not add up over nodes on a small machine.

mod callers;
mod freshness;
mod text_search;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use serde::Serialize;

use crate::figures::{Json, Verdict, exit_unless_met};
use crate::load::{Calls, Kind, Phase, Started, Texts, Until, index, phase, progress};

const SEED: u64 = 20_270_116;
/// How many clients fill the searched workspace.
const FILLERS: usize = 32;
/// How many saves are batched by default.
const BATCH_MAX: usize = 64;
/// How much faster than PostgreSQL's own search the ranking must be.
const TEXT_SEARCH_RATIO_MIN: f64 = 20.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of records in the searched workspace
    #[arg(long, default_value_t = 10_000)]
    records: u64,
    /// Numbers of concurrent saving clients, one measurement each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32, 128])]
    clients: Vec<usize>,
    /// Numbers of nodes to search on, one measurement each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    nodes: Vec<usize>,
    /// Length of each measurement, in seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Only many callers beside embedded storage
    #[arg(long)]
    callers: bool,
    /// Only what a call of each tool costs, by plan
    #[arg(long)]
    by_tool: bool,
    /// Another build of this bench, of an earlier commit: where many call, its node takes turns with this one's, and
    /// rates are compared with its rates instead of recorded ones
    #[arg(long)]
    before: Option<PathBuf>,
    /// Number of queries to compare with PostgreSQL's own search
    #[arg(long, default_value_t = 1_000)]
    queries: u64,
    /// The pinned sentences that the records are made of
    #[arg(long, default_value = "tools/recall-model/train_sentences.json.gz")]
    sentences: PathBuf,
    #[command(flatten)]
    json: Json,
}

#[derive(Default, Serialize)]
struct Figures {
    callers: Vec<callers::Row>,
    saves: Vec<Row>,
    searches: Vec<Row>,
    #[serde(flatten)]
    freshness: Option<freshness::Freshness>,
    #[serde(flatten)]
    text_search: Option<text_search::TextSearch>,
    verdicts: Vec<Verdict>,
}

/// Saves by a number of clients, or searches on a number of nodes.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    count: usize,
    #[serde(flatten)]
    seen: Phase,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if args.by_tool {
        return args.json.write(&runtime.block_on(crate::operations::by_tool::measure())?);
    }
    let settings = callers::settings();
    let cluster = Cluster::start(ClusterOptions { is_durable: true, settings, ..ClusterOptions::default() })?;
    let mut figures =
        runtime.block_on(callers::compare(&cluster, args.before.as_deref(), args.records, args.seconds))?;
    if !args.callers {
        runtime.block_on(measure(args, &cluster, &mut figures))?;
    }
    args.json.write(&figures)?;
    // Leaving the process would leave the server running.
    drop(cluster);
    exit_unless_met(&figures.verdicts);
    Ok(())
}

/// Everything but many callers.
async fn measure(args: &Args, cluster: &Cluster, figures: &mut Figures) -> Result<()> {
    figures.saves = saves(args, cluster).await?;
    figures.searches = searches(args, cluster).await?;
    figures.freshness = Some(freshness::measure(cluster, args.seconds).await?);
    let text_search = text_search::compare(cluster, &args.sentences, args.records, args.queries).await?;
    let ratio = text_search.ratio();
    let bar = format!("PostgreSQL's own search takes {ratio:.1} x as long (bar: >= {TEXT_SEARCH_RATIO_MIN} x)");
    let verdict = Verdict { is_met: ratio >= TEXT_SEARCH_RATIO_MIN, bar };
    println!("\n{verdict}");
    figures.text_search = Some(text_search);
    figures.verdicts.push(verdict);
    Ok(())
}

/// Durable saves, batched and one by one, each kind in its own database.
async fn saves(args: &Args, cluster: &Cluster) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    println!("\nsaves on one node        clients   saves/s    p50 µs    p99 µs   node CPU µs");
    for (name, batch_max) in [("stored together", BATCH_MAX), ("one by one", 1)] {
        let database = format!("saves_{batch_max}");
        cluster.sql("postgres", &format!("CREATE DATABASE {database}"))?;
        let node = Started::node(&cluster.url(&database), batch_max, None)?;
        let calls = Arc::new(Calls::new(Texts::new(SEED), 1, "growing", 0));
        index(&node, 1, &calls).await?;
        for &clients in &args.clients {
            progress(&format!("saves {name}, {clients} clients"));
            let until = Until::Time(Duration::from_secs_f64(args.seconds));
            let seen = phase(&node, &calls, Kind::Save, clients, until, false).await?;
            rows.push(row(name, clients, seen));
        }
    }
    Ok(rows)
}

/// Searches on several nodes of one database, with as many clients on each.
async fn searches(args: &Args, cluster: &Cluster) -> Result<Vec<Row>> {
    const CLIENTS: usize = 12;
    cluster.sql("postgres", "CREATE DATABASE searches")?;
    let url = cluster.url("searches");
    let first = Started::node(&url, BATCH_MAX, None)?;
    let calls = Arc::new(Calls::new(Texts::new(SEED), args.records, "searched", 0));
    progress(&format!("storing {} records", args.records));
    phase(&first, &calls, Kind::Save, FILLERS, Until::Calls(args.records), false).await?;
    let key = first.key.clone();
    let (mut nodes, mut rows) = (vec![first], Vec::new());
    println!("\nsearches of {} records   nodes  searches/s    p50 µs    p99 µs   node CPU µs", args.records);
    for &count in &args.nodes {
        while nodes.len() < count {
            nodes.push(Started::node(&url, BATCH_MAX, Some(&key))?);
        }
        for node in &nodes[..count] {
            phase(node, &calls, Kind::Search, 1, Until::Calls(100), false).await?;
        }
        progress(&format!("searches on {count} nodes"));
        let until = Until::Time(Duration::from_secs_f64(args.seconds));
        let clients = CLIENTS.div_ceil(count);
        let mut seen = Vec::new();
        let running = nodes[..count].iter().map(|node| phase(node, &calls, Kind::Search, clients, until, false));
        for phase in futures_util::future::join_all(running).await {
            seen.push(phase?);
        }
        rows.push(row("", count, joined(&seen)));
    }
    Ok(rows)
}

/// The sum of the nodes' rates, the worst node's waits, and the mean CPU time.
fn joined(phases: &[Phase]) -> Phase {
    let sum = |figure: fn(&Phase) -> f64| phases.iter().map(figure).sum::<f64>();
    let most = |figure: fn(&Phase) -> f64| phases.iter().map(figure).fold(0.0, f64::max);
    Phase {
        calls_per_second: sum(|phase| phase.calls_per_second),
        p50_us: most(|phase| phase.p50_us),
        p99_us: most(|phase| phase.p99_us),
        cpu_us_per_call: sum(|phase| phase.cpu_us_per_call) / phases.len() as f64,
        answer_bytes: sum(|phase| phase.answer_bytes) / phases.len() as f64,
        calls: sum(|phase| phase.calls),
    }
}

/// Printed at once.
fn row(name: &'static str, count: usize, seen: Phase) -> Row {
    let Phase { calls_per_second, p50_us, p99_us, cpu_us_per_call, .. } = seen;
    println!("  {name:<22} {count:>7} {calls_per_second:>9.0} {p50_us:>9.0} {p99_us:>9.0} {cpu_us_per_call:>13.1}");
    Row { name, count, seen }
}
