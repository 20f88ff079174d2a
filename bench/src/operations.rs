//! What an operator sees and pays: a mixed load over many projects whose figures must agree with the driver's own
//! counts to the call, and what scraping and the access log cost.
//!
//! The cost is the CPU time of the service per call, watched and unwatched in turns within one run, so that a busy
//! machine slows both. The lowest of all rounds counts: the question is what a call costs, not what else the machine
//! does.

pub(crate) mod by_tool;
mod figures;
pub(crate) mod growth;
mod http;
mod mixed;
mod projects;
mod service;
pub(crate) mod steady;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::mixed::{Counts, Mix};
use self::projects::Projects;
use self::service::Service;
use crate::figures::{Json, Verdict, exit_unless_met, rounded};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The binary to measure [default: `mnemon` beside this one]
    #[arg(long)]
    mnemon: Option<PathBuf>,
    /// How many projects there are; the n-th has a share of 1/n
    #[arg(long, default_value_t = 1_000)]
    projects: usize,
    /// How many records they have together at the start
    #[arg(long, default_value_t = 20_000)]
    records: usize,
    /// How many clients call at once
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Length of the load whose figures are compared, in seconds
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Rounds of measuring what it costs to be watched
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Length of each round, in seconds
    #[arg(long, default_value_t = 4)]
    round_seconds: u64,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    projects: usize,
    records: usize,
    clients: usize,
    counts: Vec<Count>,
    rounds: Vec<Round>,
    verdicts: [Verdict; 2],
}

/// Calls by the driver's own count, and by the service's figures.
#[derive(Serialize)]
struct Count {
    tool: String,
    outcome: &'static str,
    driver: u64,
    figures: u64,
}

#[derive(Serialize)]
struct Round {
    round: usize,
    is_watched: bool,
    cpu_us_per_call: f64,
}

/// What watching may cost.
const COST_MAX: f64 = 0.03;

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.projects == 0 || args.clients == 0 || args.rounds == 0 {
        bail!("--projects, --clients and --rounds must be at least 1");
    }
    // One thread for all clients: they must not take both cores from the service on a small machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(args))?;
    args.json.write(&figures)?;
    exit_unless_met(&figures.verdicts);
    Ok(())
}

async fn measure(args: &Args) -> Result<Figures> {
    let binary = args.mnemon.clone().map_or_else(service::usual_binary, Ok)?;
    let scratch = tempfile::tempdir()?;
    let plain_dir = scratch.path().join("plain");
    let service = Service::start(&binary, &plain_dir, &[])?;
    let projects = Projects::create(&service, args.projects, args.records).await?;
    println!("{} projects with {} records; {} clients", projects.len(), projects.records(), args.clients);
    let (counts, agree) = compare(args, &service, &projects).await?;
    service.stop()?;
    let (rounds, cost) = cost(args, &binary, &plain_dir, &projects).await?;
    let verdicts = [
        verdict(agree, "figures agree with the driver's counts, to the call".to_owned()),
        verdict(cost <= COST_MAX, format!("being watched costs {:.1} % (at most 3 %)", cost * 100.0)),
    ];
    Ok(Figures {
        projects: projects.len(),
        records: projects.records(),
        clients: args.clients,
        counts,
        rounds,
        verdicts,
    })
}

/// Printed at once: what comes next may take long.
fn verdict(is_met: bool, bar: String) -> Verdict {
    let verdict = Verdict { is_met, bar };
    println!("{verdict}");
    verdict
}

/// Runs the load, and holds the figures against the driver's own counts.
async fn compare(args: &Args, service: &Service, projects: &Projects) -> Result<(Vec<Count>, bool)> {
    let before = Counts::served(service).await?;
    let mix = Mix::new(args.clients, Duration::from_secs(args.seconds));
    let driven = mix.run(service, projects).await?;
    let served = Counts::served(service).await?.since(&before);
    println!("{:<20} {:>8} {:>12} {:>12}", "tool", "outcome", "driver", "figures");
    let count = |(tool, outcome, driver): (&str, &'static str, u64)| {
        let figures = served.get(tool, outcome);
        println!("{tool:<20} {outcome:>8} {driver:>12} {figures:>12}");
        Count { tool: tool.to_owned(), outcome, driver, figures }
    };
    let counts: Vec<Count> = driven.rows().map(count).collect();
    let agree = counts.iter().all(|count| count.driver == count.figures);
    println!("{:<20} {:>8} {:>12} {:>12}", "all requests", "", driven.total(), served.requests());
    let agree = agree & (served.requests() == driven.total()) & (served.total() == driven.total());
    Ok((counts, agree))
}

/// How much more CPU time a call takes while the service is watched.
async fn cost(args: &Args, binary: &Path, plain_dir: &Path, projects: &Projects) -> Result<(Vec<Round>, f64)> {
    let watched_dir = plain_dir.with_file_name("watched");
    for from in service::files(plain_dir)? {
        let to = watched_dir.join(from.strip_prefix(plain_dir)?);
        std::fs::create_dir_all(to.parent().context("it is in a directory")?)?;
        std::fs::copy(from, to)?;
    }
    let plain = Service::start(binary, plain_dir, &[])?;
    let watched = Service::start(binary, &watched_dir, &[("MNEMON_LOG_ACCESS", "true")])?;
    let (mut lowest, mut rounds) = ([f64::MAX; 2], Vec::new());
    for round in 0..=args.rounds {
        // The first may find the machine in another state, so they take turns at being first.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            let service = if which == 0 { &plain } else { &watched };
            let mix = Mix::new(args.clients, Duration::from_secs(args.round_seconds)).scraped(which == 1);
            let before = service.cpu_time()?;
            let calls = mix.run(service, projects).await?.total();
            let cpu_us = (service.cpu_time()? - before).as_secs_f64() * 1e6;
            let cpu_us_per_call = rounded(cpu_us / calls as f64, 1);
            // The first round only warms up.
            if round > 0 {
                let name = if which == 0 { "plain" } else { "watched" };
                println!("round {round}: {name:<8} {cpu_us_per_call:>8.1} us/call");
                lowest[which] = lowest[which].min(cpu_us_per_call);
                rounds.push(Round { round, is_watched: which == 1, cpu_us_per_call });
            }
        }
    }
    Ok((rounds, lowest[1] / lowest[0] - 1.0))
}
