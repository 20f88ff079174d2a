//! `console`: what every page of the console weighs, and how long the service takes for it, in a project of many
//! records. On both engines in one run: a page again and again, the same after a write each time, and the very first
//! one after a start.

mod pages;
mod world;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_testkit::{Caller, ConsoleVisitor};
use serde_json::json;

use crate::load::{Started, progress};
use pages::{Weight, list_pages, weigh};
use world::World;

/// HTML, style and script of a page together.
const BYTES_MAX: usize = 100_000;
/// What the service may take for a page, at the median.
const MILLISECONDS_MAX: f64 = 50.0;
/// How many saves PostgreSQL stores in one transaction.
const BATCH_MAX: usize = 64;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many records the project has
    #[arg(long, default_value_t = 100_000)]
    records: u64,
    /// How often each page is opened, and how often after a write
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Which engines
    #[arg(long, value_delimiter = ',', default_values_t = ["sqlite".to_owned(), "postgres".to_owned()])]
    engines: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.rounds > 0 && args.records > 0, "--rounds and --records must be at least 1");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut is_met = true;
    for engine in &args.engines {
        let rows = match engine.as_str() {
            "sqlite" => {
                let data = tempfile::tempdir()?;
                let start = || Started::service(data.path());
                runtime.block_on(measure(args, engine, start))?
            }
            "postgres" => {
                let cluster = Cluster::start(ClusterOptions { is_durable: true, ..ClusterOptions::default() })?;
                cluster.sql("postgres", "CREATE DATABASE console")?;
                let url = cluster.url("console");
                runtime.block_on(measure(args, engine, || Started::node(&url, BATCH_MAX, None)))?
            }
            other => anyhow::bail!("--engines knows sqlite and postgres, not '{other}'"),
        };
        is_met &= rows.iter().all(PageTimes::is_met);
    }
    println!(
        "\n{} every page is below {} kB and {MILLISECONDS_MAX} ms at the median, after a write too",
        if is_met { "PASS" } else { "FAIL" },
        BYTES_MAX / 1_000
    );
    if !is_met {
        // A missed bar is not an error of the bench: the line that starts with FAIL says it.
        std::process::exit(1);
    }
    Ok(())
}

/// One page.
struct PageTimes {
    weight: Weight,
    again: Vec<f64>,
    after_write: Vec<f64>,
}

impl PageTimes {
    fn is_met(&self) -> bool {
        self.weight.sum() < BYTES_MAX
            && at_share(&self.again, 0.5) < MILLISECONDS_MAX
            && at_share(&self.after_write, 0.5) < MILLISECONDS_MAX
    }
}

async fn measure(args: &Args, engine: &str, start: impl Fn() -> Result<Started>) -> Result<Vec<PageTimes>> {
    let server = start()?;
    let world = World::fill(&server, args.records).await?;
    drop(server);
    // Cold: nothing is in the memory of the new process.
    let server = start()?;
    let url = format!("http://{}", server.address);
    let admin = Caller::connect(&url, &world.key);
    let (person, sign_in) = signed_in(&admin).await?;
    println!("\n{engine}, {} records, {} times each", args.records, args.rounds);
    println!("  signing in and the first page after a start: {sign_in:.0} ms");
    println!("  page                          HTML     sum    ms p50     p95   after a write p50     p95");
    let mut rows = Vec::new();
    for (name, path) in list_pages(&person).await? {
        progress(&format!("{engine}: {name}"));
        let weight = weigh(&person, &path).await?;
        let mut row = PageTimes { weight, again: Vec::new(), after_write: Vec::new() };
        for round in 0..args.rounds {
            row.again.push(timed(&person, &path).await?);
            save(&admin, &name, round).await?;
            row.after_write.push(timed(&person, &path).await?);
        }
        progress("");
        print(&name, &row);
        rows.push(row);
    }
    Ok(rows)
}

async fn signed_in(admin: &Caller) -> Result<(ConsoleVisitor, f64)> {
    let began = Instant::now();
    let person = ConsoleVisitor::sign_in(admin).await;
    let took = milliseconds(began.elapsed());
    Ok((person.ok_or_else(|| anyhow::anyhow!("the console does not let the admin in"))?, took))
}

async fn timed(person: &ConsoleVisitor, path: &str) -> Result<f64> {
    let began = Instant::now();
    let answer = person.get(path).await;
    let took = milliseconds(began.elapsed());
    ensure!(answer.status == 200, "{path} answered {}", answer.status);
    Ok(took)
}

async fn save(admin: &Caller, page: &str, round: usize) -> Result<()> {
    let content = format!("Note {round}, written before the page {page} was opened once more.");
    let saved = admin.call("remember", json!({"content": content, "workspace": world::WRITTEN})).await;
    ensure!(!saved.is_error(), "a save failed: {}", saved.text());
    Ok(())
}

fn print(name: &str, row: &PageTimes) {
    println!(
        "{} {name:<26}{:>8}{:>8}{:>10.1}{:>8.1}{:>20.1}{:>8.1}",
        if row.is_met() { " " } else { "!" },
        row.weight.html,
        row.weight.sum(),
        at_share(&row.again, 0.5),
        at_share(&row.again, 0.95),
        at_share(&row.after_write, 0.5),
        at_share(&row.after_write, 0.95),
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value below which this share of the others lies.
fn at_share(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}
