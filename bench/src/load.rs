//! What a call costs the server: saves and searches over HTTP, compared with a floor that answers a fixed body of the
//! same size.
//!
//! The two are measured in turns within one run, so that a busy machine slows both. Clients share the CPU with the
//! server; their time is not counted, but it limits the rates, also the floor's.

mod drive;
mod report;
mod server;
mod texts;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use mnemon_guard_train::chance::Chance;
use mnemon_testkit::process::resident_bytes;
use mnemon_testkit::wire::Wire;

use crate::figures::{Json, judge, rounded};
use crate::real_texts::RealTexts;

pub(crate) use drive::{Calls, Kind, Phase, Until, phase, phase_by};
use report::{LoadResult, Report};
pub(crate) use server::{ServerArgs, Started, run as run_server};
pub(crate) use texts::{Source, Texts};

const SEED: u64 = 20_270_115;
/// The workspace that is searched, and the one that grows while saves are measured.
const SEARCHED: &str = "searched";
const GROWING: &str = "growing";
/// How many clients store the records that are searched.
const FILLERS: usize = 64;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many records the searched workspace has [default: 10000; with --texts: all real ones]
    #[arg(long)]
    records: Option<u64>,
    /// How many clients call at once, one measurement each [default: 1,8,64; with --texts: 8,32]
    #[arg(long, value_delimiter = ',')]
    clients: Vec<usize>,
    /// Real texts and queries: a folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`. The
    /// lowest of all rounds counts then, because the question is what a call costs and not what else the machine does
    #[arg(long, value_name = "DIR")]
    texts: Option<PathBuf>,
    /// Another build of this bench, of an earlier commit: its service takes turns with this one's
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Length of each measurement, in seconds
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Number of rounds; the medians count
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Data directory of the service; must be empty [default: a temporary directory]
    #[arg(long)]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.records == Some(0) || args.rounds == 0 || args.clients.contains(&0) {
        bail!("--records, --rounds and every number of --clients must be at least 1");
    }
    // One thread for all clients: they must not take both cores from a server on a small machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let plan = Plan::of(args)?;
    let report = runtime.block_on(measure(args, &plan))?;
    println!("{report}");
    args.json.write(&report)?;
    judge(&report.verdicts);
    Ok(())
}

/// What is asked of whom, once the arguments are read.
struct Plan {
    source: Source,
    records: u64,
    clients: Vec<usize>,
    is_real: bool,
}

impl Plan {
    fn of(args: &Args) -> Result<Self> {
        let (source, usual_records, usual_clients) = match &args.texts {
            None => (Source::from(Texts::new(SEED)), 10_000, vec![1, 8, 64]),
            Some(folder) => {
                let texts = RealTexts::load(folder)?;
                let records = texts.len();
                (Source::Real(Arc::new(texts)), records, vec![8, 32])
            }
        };
        let clients = if args.clients.is_empty() { usual_clients } else { args.clients.clone() };
        Ok(Self { source, records: args.records.unwrap_or(usual_records), clients, is_real: args.texts.is_some() })
    }

    /// One figure for all rounds.
    fn sum_up(&self, phases: &[Phase]) -> Phase {
        if self.is_real { Phase::lowest(phases) } else { Phase::median(phases) }
    }
}

async fn measure(args: &Args, plan: &Plan) -> Result<Report> {
    let scratch = tempfile::tempdir()?;
    let data_dir = args.data_dir.clone().unwrap_or_else(|| scratch.path().join("data"));
    let before = args.before.as_ref().map(|program| (program.as_path(), scratch.path().join("before")));
    let bench = Bench::start(plan, &data_dir, before).await?;
    let resident_before = resident_bytes(bench.service.pid())?;
    let mut rows: Vec<LoadResult> = Vec::new();
    for &clients in &plan.clients {
        for kind in [Kind::Search, Kind::Save] {
            rows.push(bench.row(kind, clients, args, plan).await?);
        }
    }
    rows.sort_by_key(|row| row.kind != Kind::Search.name());
    let mib = |bytes: u64| rounded(bytes as f64 / f64::from(1 << 20), 1);
    let mut report = Report {
        is_real: plan.is_real,
        records: plan.records,
        cores: std::thread::available_parallelism()?.get(),
        rounds: args.rounds,
        seconds: args.seconds,
        rows,
        fill: bench.fill,
        resident_mib_filled: mib(resident_before),
        resident_mib_end: mib(resident_bytes(bench.service.pid())?),
        resident_mib_floor: mib(resident_bytes(bench.floors[0].pid())?),
        verdicts: Vec::new(),
    };
    report.verdicts = report.bars();
    Ok(report)
}

/// The servers, filled and warm.
struct Bench {
    service: Started,
    before: Option<Started>,
    floors: [Started; 2],
    searches: Arc<Calls>,
    saves: Arc<Calls>,
    fill: Phase,
}

impl Bench {
    async fn start(plan: &Plan, data_dir: &Path, before: Option<(&Path, PathBuf)>) -> Result<Self> {
        let before = match before {
            Some((program, dir)) => Some(Started::service_by(program, &dir)?),
            None => None,
        };
        if let Some(before) = &before {
            fill(before, plan).await?;
        }
        let service = Started::service(data_dir)?;
        let Filled { searches, saves, fill, search_bytes, save_bytes } = fill(&service, plan).await?;
        let floors = [Started::floor(search_bytes as usize)?, Started::floor(save_bytes as usize)?];
        Ok(Self { service, before, floors, searches, saves, fill })
    }

    async fn row(&self, kind: Kind, clients: usize, args: &Args, plan: &Plan) -> Result<LoadResult> {
        let (calls, floor) = match kind {
            Kind::Search => (&self.searches, &self.floors[0]),
            Kind::Save => (&self.saves, &self.floors[1]),
        };
        let until = Until::Time(Duration::from_secs_f64(args.seconds));
        let (mut floors, mut measured, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=args.rounds {
            progress(&format!("{} with {clients} clients, round {round} of {}", kind.name(), args.rounds));
            floors.push(phase(floor, calls, kind, clients, until, true).await?);
            measured.push(phase(&self.service, calls, kind, clients, until, false).await?);
            if let Some(service) = &self.before {
                before.push(phase(service, calls, kind, clients, until, false).await?);
            }
        }
        let (measured, floor) = (plan.sum_up(&measured), plan.sum_up(&floors));
        Ok(LoadResult {
            kind: kind.name(),
            clients,
            rate_ratio: measured.calls_per_second / floor.calls_per_second,
            cpu_ratio: measured.cpu_us_per_call / floor.cpu_us_per_call,
            measured,
            floor,
            before: self.before.as_ref().map(|_| plan.sum_up(&before)),
        })
    }
}

/// What a service was filled with, and how large its answers are.
struct Filled {
    searches: Arc<Calls>,
    saves: Arc<Calls>,
    fill: Phase,
    search_bytes: f64,
    save_bytes: f64,
}

/// Stores the records, and warms the service up.
async fn fill(service: &Started, plan: &Plan) -> Result<Filled> {
    let searches = Arc::new(Calls::new(plan.source.clone(), plan.records, SEARCHED, 0).bare());
    let saves = Arc::new(Calls::new(plan.source.clone(), 1, GROWING, plan.records));
    progress(&format!("storing {} records", plan.records));
    let fill = phase(service, &searches, Kind::Save, FILLERS, Until::Calls(plan.records), false).await?;
    index(service, 1, &saves).await?;
    progress("warming up");
    let warm = Until::Calls(500);
    let search_bytes = phase(service, &searches, Kind::Search, 1, warm, false).await?.answer_bytes;
    let save_bytes = phase(service, &saves, Kind::Save, 1, warm, false).await?.answer_bytes;
    Ok(Filled { searches, saves, fill, search_bytes, save_bytes })
}

/// Searches the workspace of these calls once in each of the first `projects` projects: from then on it is indexed in
/// memory, and each save pays for that too.
pub(crate) async fn index(server: &Started, projects: usize, calls: &Calls) -> Result<()> {
    for key in server.keys.iter().take(projects) {
        let mut wire = Wire::connect(server.address, key).await?;
        wire.post(&calls.save()).await?;
        wire.post(&calls.search(&mut Chance::with_seed(1))).await?;
    }
    Ok(())
}

impl Phase {
    /// The best of each figure: other work on the machine makes a call cost more, never less.
    fn lowest(phases: &[Self]) -> Self {
        let lowest = |figure: fn(&Self) -> f64| phases.iter().map(figure).fold(f64::INFINITY, f64::min);
        Self {
            calls_per_second: phases.iter().map(|phase| phase.calls_per_second).fold(0.0, f64::max),
            p50_us: lowest(|phase| phase.p50_us),
            p99_us: lowest(|phase| phase.p99_us),
            cpu_us_per_call: lowest(|phase| phase.cpu_us_per_call),
            answer_bytes: lowest(|phase| phase.answer_bytes),
            calls: lowest(|phase| phase.calls),
        }
    }

    /// The median of each figure.
    pub(crate) fn median(phases: &[Self]) -> Self {
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
            calls: median(|phase| phase.calls),
        }
    }
}

/// One line that says what happens now, only on a terminal.
pub(crate) fn progress(text: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\u{1b}[2K{text} ");
        let _ = stderr.flush();
    }
}
