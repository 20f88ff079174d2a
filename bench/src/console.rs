//! `console`: what every page of the console weighs, and how long the service takes for it, in a project of many
//! records. On both engines in one run: a page again and again, the same after a write each time, and the very first
//! one after a start.

mod pages;
mod world;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_testkit::{Caller, ConsoleVisitor};
use serde::Serialize;
use serde_json::json;

use crate::figures::{Json, Verdict, judge, rounded};
use crate::load::{Started, progress};
use pages::{list_pages, weigh};
use world::{Size, World};

/// HTML, style and script of a page together.
const BYTES_MAX: usize = 100_000;
/// What the service may take for a page, at the median.
const MILLISECONDS_MAX: f64 = 50.0;
/// How many saves PostgreSQL stores in one transaction.
const BATCH_MAX: usize = 64;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    size: Size,
    /// How often each page is opened, and how often after a write
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Which engines
    #[arg(long, value_delimiter = ',', default_values_t = ["sqlite".to_owned(), "postgres".to_owned()])]
    engines: Vec<String>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    engines: Vec<Engine>,
    verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct Engine {
    engine: String,
    /// Signing in, and the first page after a start.
    first_ms: f64,
    pages: Vec<Page>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Size { records, sources, people } = args.size;
    let is_none = [records, sources, people, args.rounds as u64].contains(&0);
    ensure!(!is_none, "--rounds, --records, --sources and --people must be at least 1");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut engines = Vec::new();
    for engine in &args.engines {
        engines.push(match engine.as_str() {
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
        });
    }
    let is_met = engines.iter().flat_map(|engine| &engine.pages).all(Page::is_met);
    let kilobytes = BYTES_MAX / 1_000;
    let bar = format!("every page is below {kilobytes} kB and {MILLISECONDS_MAX} ms at the median, after a write too");
    let figures = Figures { engines, verdicts: vec![Verdict { is_met, bar }] };
    args.json.write(&figures)?;
    println!();
    judge(&figures.verdicts);
    Ok(())
}

/// Its bytes alone and with style and script, and how long it takes, also after a write.
#[derive(Serialize)]
struct Page {
    page: String,
    html_bytes: usize,
    bytes: usize,
    p50_ms: f64,
    p95_ms: f64,
    written_p50_ms: f64,
    written_p95_ms: f64,
}

impl Page {
    fn is_met(&self) -> bool {
        self.bytes < BYTES_MAX && self.p50_ms < MILLISECONDS_MAX && self.written_p50_ms < MILLISECONDS_MAX
    }
}

impl std::fmt::Display for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { page, html_bytes, bytes, p50_ms, p95_ms, written_p50_ms, written_p95_ms } = self;
        let mark = if self.is_met() { " " } else { "!" };
        write!(
            f,
            "{mark} {page:<26}{html_bytes:>8}{bytes:>8}{p50_ms:>10.1}{p95_ms:>8.1}{written_p50_ms:>20.1}{written_p95_ms:>8.1}"
        )
    }
}

async fn measure(args: &Args, engine: &str, start: impl Fn() -> Result<Started>) -> Result<Engine> {
    let server = start()?;
    let world = World::fill(&server, args.size).await?;
    drop(server);
    // Cold: nothing is in the memory of the new process.
    let server = start()?;
    let url = format!("http://{}", server.address);
    let admin = Caller::connect(&url, &world.key);
    let (person, first_ms) = signed_in(&admin).await?;
    let Size { records, sources, people } = args.size;
    println!("\n{engine}, {records} records, {sources} sources, {people} people, {} times each", args.rounds);
    println!("  signing in and the first page after a start: {first_ms:.0} ms");
    println!("  page                          HTML     sum    ms p50     p95   after a write p50     p95");
    let mut pages = Vec::new();
    for (name, path) in list_pages(&person).await? {
        progress(&format!("{engine}: {name}"));
        let weight = weigh(&person, &path).await?;
        let (mut again, mut after_write) = (Vec::new(), Vec::new());
        for round in 0..args.rounds {
            again.push(timed(&person, &path).await?);
            save(&admin, &name, round).await?;
            after_write.push(timed(&person, &path).await?);
        }
        progress("");
        let page = Page {
            page: name,
            html_bytes: weight.html,
            bytes: weight.sum(),
            p50_ms: at_share(&again, 0.5),
            p95_ms: at_share(&again, 0.95),
            written_p50_ms: at_share(&after_write, 0.5),
            written_p95_ms: at_share(&after_write, 0.95),
        };
        println!("{page}");
        pages.push(page);
    }
    Ok(Engine { engine: engine.to_owned(), first_ms, pages })
}

async fn signed_in(admin: &Caller) -> Result<(ConsoleVisitor, f64)> {
    let began = Instant::now();
    let person = ConsoleVisitor::sign_in(admin).await;
    let took = rounded(milliseconds(began.elapsed()), 0);
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

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value below which this share of the others lies.
fn at_share(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    rounded(sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN), 1)
}
