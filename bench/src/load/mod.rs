//! What a call costs the server: saves and searches over HTTP beside a floor that answers a fixed body of the same size.
//!
//! The two are measured in turns within one run, so that a busy machine slows both. Clients share the processor with the
//! server; their time is not counted, but it bounds the rates, the floor's as well.

mod drive;
mod report;
mod server;
mod texts;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use mnemon_testkit::process::resident_bytes;
use mnemon_testkit::wire::Wire;

pub(crate) use drive::{Calls, Kind, Phase, Until, phase};
use report::{Report, Row};
pub(crate) use server::{ServerArgs, Started, run as run_server};
pub(crate) use texts::{Chance, Texts};

const SEED: u64 = 20_270_115;
/// The workspace that is searched, and the one that grows while saves are measured.
const SEARCHED: &str = "searched";
const GROWING: &str = "growing";
/// How many clients store the records that are searched.
const FILLERS: usize = 64;

/// How much, how long, and where to keep the result.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many records the searched workspace has
    #[arg(long, default_value_t = 10_000)]
    records: u64,
    /// How many clients call at once, one measurement each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    clients: Vec<usize>,
    /// How long each measurement takes
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// How often everything is measured; the medians count
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the service keeps its data; must be empty [default: a temporary directory]
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Write the figures as JSON to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.records == 0 || args.rounds == 0 || args.clients.is_empty() || args.clients.contains(&0) {
        bail!("--records, --rounds and every number of --clients must be at least 1");
    }
    // One thread for all clients: they must not take both cores from a server on a small machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    let bars = report.bars();
    println!("{report}");
    for bar in &bars {
        println!("{} {}", if bar.is_met { "PASS" } else { "FAIL" }, bar.text);
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    if bars.iter().any(|bar| !bar.is_met) {
        // Not an error of the bench, so no error's words: the line that begins with FAIL has said it.
        std::process::exit(1);
    }
    Ok(())
}

async fn measure(args: &Args) -> Result<Report> {
    let scratch = tempfile::tempdir()?;
    let data_dir = args.data_dir.clone().unwrap_or_else(|| scratch.path().join("data"));
    let bench = Bench::start(args, &data_dir).await?;
    let resident_before = resident_bytes(bench.service.pid())?;
    let mut rows: Vec<Row> = Vec::new();
    for &clients in &args.clients {
        for kind in [Kind::Search, Kind::Save] {
            rows.push(bench.row(kind, clients, args).await?);
        }
    }
    rows.sort_by_key(|row| row.kind != Kind::Search.name());
    Ok(Report {
        records: args.records,
        cores: std::thread::available_parallelism()?.get(),
        rounds: args.rounds,
        seconds: args.seconds,
        rows,
        fill: bench.fill,
        resident_bytes_filled: resident_before,
        resident_bytes_end: resident_bytes(bench.service.pid())?,
        resident_bytes_floor: resident_bytes(bench.floors[0].pid())?,
    })
}

/// The servers, filled and warm.
struct Bench {
    service: Started,
    floors: [Started; 2],
    searches: Arc<Calls>,
    saves: Arc<Calls>,
    fill: Phase,
}

impl Bench {
    async fn start(args: &Args, data_dir: &std::path::Path) -> Result<Self> {
        let service = Started::service(data_dir)?;
        let searches = Arc::new(Calls::new(Texts::new(SEED), args.records, SEARCHED, 0));
        let saves = Arc::new(Calls::new(Texts::new(SEED), 1, GROWING, args.records));
        progress(&format!("storing {} records", args.records));
        let fill = phase(&service, &searches, Kind::Save, FILLERS, Until::Calls(args.records), false).await?;
        // A workspace is indexed in memory from its first search on, and from then on each save pays for that too.
        let mut wire = Wire::connect(service.address, &service.key).await?;
        wire.post(&saves.save()).await?;
        wire.post(&saves.search(&mut Chance::new(1))).await?;
        progress("warming up");
        let warm = Until::Calls(500);
        let search_bytes = phase(&service, &searches, Kind::Search, 1, warm, false).await?.answer_bytes;
        let save_bytes = phase(&service, &saves, Kind::Save, 1, warm, false).await?.answer_bytes;
        let floors = [Started::floor(search_bytes as usize)?, Started::floor(save_bytes as usize)?];
        Ok(Self { service, floors, searches, saves, fill })
    }

    async fn row(&self, kind: Kind, clients: usize, args: &Args) -> Result<Row> {
        let (calls, floor) = match kind {
            Kind::Search => (&self.searches, &self.floors[0]),
            Kind::Save => (&self.saves, &self.floors[1]),
        };
        let until = Until::Time(Duration::from_secs_f64(args.seconds));
        let (mut floors, mut measured) = (Vec::new(), Vec::new());
        for round in 1..=args.rounds {
            progress(&format!("{} with {clients} clients, round {round} of {}", kind.name(), args.rounds));
            floors.push(phase(floor, calls, kind, clients, until, true).await?);
            measured.push(phase(&self.service, calls, kind, clients, until, false).await?);
        }
        Ok(Row { kind: kind.name(), clients, measured: Phase::median(&measured), floor: Phase::median(&floors) })
    }
}

impl Phase {
    /// The median of each figure.
    fn median(phases: &[Self]) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = phases.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Self {
            calls_per_second: median(|phase| phase.calls_per_second),
            p50_us: median(|phase| phase.p50_us),
            p99_us: median(|phase| phase.p99_us),
            cpu_us_per_call: median(|phase| phase.cpu_us_per_call),
            answer_bytes: median(|phase| phase.answer_bytes),
        }
    }
}

/// One line that says what happens now, on a terminal alone.
pub(crate) fn progress(text: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\u{1b}[2K{text} ");
        let _ = stderr.flush();
    }
}
