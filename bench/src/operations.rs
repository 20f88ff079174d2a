//! What an operator sees and pays: a mixed load over many projects whose figures must agree with the driver's own
//! counts to the call, and what scraping and the access log cost.
//!
//! The cost is the CPU time of the service per call, watched and unwatched in turns within one run, so that a busy
//! machine slows both. The lowest of all rounds counts: the question is what a call costs, not what else the machine
//! does.

pub(crate) mod growth;
mod http;
mod mixed;
mod projects;
mod service;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::mixed::{Counts, Mix};
use self::projects::Projects;
use self::service::Service;

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
}

/// What watching may cost.
const COST_MAX: f64 = 0.03;

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.projects == 0 || args.clients == 0 || args.rounds == 0 {
        bail!("--projects, --clients and --rounds must be at least 1");
    }
    // One thread for all clients: they must not take both cores from the service on a small machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_met = runtime.block_on(measure(args))?;
    if !is_met {
        std::process::exit(1);
    }
    Ok(())
}

async fn measure(args: &Args) -> Result<bool> {
    let binary = args.mnemon.clone().map_or_else(service::usual_binary, Ok)?;
    let scratch = tempfile::tempdir()?;
    let plain_dir = scratch.path().join("plain");
    let service = Service::start(&binary, &plain_dir, &[])?;
    let projects = Projects::create(&service, args.projects, args.records).await?;
    println!("{} projects with {} records; {} clients", projects.len(), projects.records(), args.clients);
    let agree = compare(args, &service, &projects).await?;
    service.stop()?;
    let cost = cost(args, &binary, &plain_dir, &projects).await?;
    Ok(verdict(agree, "figures agree with the driver's counts, to the call")
        & verdict(cost <= COST_MAX, &format!("being watched costs {:.1} % (at most 3 %)", cost * 100.0)))
}

fn verdict(is_met: bool, text: &str) -> bool {
    println!("{} {text}", if is_met { "PASS" } else { "FAIL" });
    is_met
}

/// Runs the load, and holds the figures against the driver's own counts.
async fn compare(args: &Args, service: &Service, projects: &Projects) -> Result<bool> {
    let before = Counts::served(service).await?;
    let mix = Mix::new(args.clients, Duration::from_secs(args.seconds));
    let driven = mix.run(service, projects).await?;
    let served = Counts::served(service).await?.since(&before);
    println!("{:<20} {:>8} {:>12} {:>12}", "tool", "outcome", "driver", "figures");
    let mut agree = true;
    for (tool, outcome, count) in driven.rows() {
        let shown = served.get(tool, outcome);
        println!("{tool:<20} {outcome:>8} {count:>12} {shown:>12}");
        agree &= shown == count;
    }
    println!("{:<20} {:>8} {:>12} {:>12}", "all requests", "", driven.total(), served.requests());
    Ok(agree & (served.requests() == driven.total()) & (served.total() == driven.total()))
}

/// How much more CPU time a call takes while the service is watched.
async fn cost(args: &Args, binary: &Path, plain_dir: &Path, projects: &Projects) -> Result<f64> {
    let watched_dir = plain_dir.with_file_name("watched");
    for from in service::files(plain_dir)? {
        let to = watched_dir.join(from.strip_prefix(plain_dir)?);
        std::fs::create_dir_all(to.parent().context("it is in a directory")?)?;
        std::fs::copy(from, to)?;
    }
    let plain = Service::start(binary, plain_dir, &[])?;
    let watched = Service::start(binary, &watched_dir, &[("MNEMON_LOG_ACCESS", "true")])?;
    let mut lowest = [f64::MAX; 2];
    for round in 0..=args.rounds {
        // The first may find the machine in another state, so they take turns at being first.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            let service = if which == 0 { &plain } else { &watched };
            let mix = Mix::new(args.clients, Duration::from_secs(args.round_seconds)).scraped(which == 1);
            let before = service.cpu_time()?;
            let calls = mix.run(service, projects).await?.total();
            let per_call_us = (service.cpu_time()? - before).as_secs_f64() * 1e6 / calls as f64;
            // The first round only warms up.
            if round > 0 {
                println!(
                    "round {round}: {:<8} {per_call_us:>8.1} us/call",
                    if which == 0 { "plain" } else { "watched" }
                );
                lowest[which] = lowest[which].min(per_call_us);
            }
        }
    }
    Ok(lowest[1] / lowest[0] - 1.0)
}
