//! Backups of a service under load, each preceded by one that is killed with kill -9. Every backup is restored, and a
//! service on the copy is compared with the one that it is a copy of: `mnemon backup` on embedded storage, `pg_dump` on
//! PostgreSQL. The work is in the testkit, because a test runs a short form of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mnemon_testkit::faults::{Rounds, backup, backup_postgres};

use crate::faults::build;
use crate::figures::Json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many backups
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Dump and restore a PostgreSQL database, instead of a data directory
    #[arg(long)]
    postgres: bool,
    /// Makes the moments of the kills repeatable
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => build()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let scratch = tempfile::tempdir()?;
    let fault_after = Duration::from_millis(200)..Duration::from_secs(2);
    let rounds = Rounds { count: args.rounds, fault_after, seed: args.seed };
    let report = if args.postgres {
        runtime.block_on(backup_postgres(&binary, scratch.path(), &rounds))?
    } else {
        runtime.block_on(backup(&binary, scratch.path(), &rounds))?
    };
    println!("{} backups under load, each after one that was killed ({} of them midway)", report.rounds, report.killed);
    match args.postgres {
        true => println!("killed dumps that were restored and passed `mnemon doctor --restore-check`: {}", report.half),
        false => println!("files of killed backups that were not whole: {}", report.half),
    }
    let found = &report.findings;
    println!(
        "acknowledged before the backups: {} saves and {} forgets; {} lost, {} back, {} wrong",
        found.saved, found.forgotten, found.lost, found.returned, found.wrong
    );
    println!("answers compared: {}; unequal: {}", report.compared, report.unequal);
    args.json.write(&report)?;
    if !report.is_passed() {
        bail!("FAIL");
    }
    println!("PASS");
    Ok(())
}
