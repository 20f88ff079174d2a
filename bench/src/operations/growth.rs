//! How the service grows: with the records of a workspace, and with tenants that do nothing. And whether it stays
//! within a limit of memory with far more records than fit.
//!
//! The first answer is that of a search over HTTP, counted from the moment in which the process is started. The files
//! have just been written or read, so they lie in the system's cache; the run with a limit of memory begins without
//! them.

mod group;
mod place;
mod records;
mod tenants;
mod tight;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::service::usual_binary;
use crate::figures::{Json, Verdict, exit_unless_met};
use records::Size;
use tenants::Tenants;

const SEED: u64 = 20_270_117;
/// Connections that save or create at once.
const WRITERS: usize = 64;
const RECORDS: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const TENANTS: [u64; 4] = [1, 1_000, 10_000, 100_000];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The binary to measure [default: `mnemon` beside this one]
    #[arg(long)]
    mnemon: Option<PathBuf>,
    /// Sizes of the workspace, one measurement each [default: 100 to 1000000, unless --tenants is given]
    #[arg(long, value_delimiter = ',')]
    records: Vec<u64>,
    /// Numbers of tenants, one measurement each [default: 1 to 100000, unless --records is given]
    #[arg(long, value_delimiter = ',')]
    tenants: Vec<u64>,
    /// Keep the loaded records in this directory and use them again next time
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// How often the start is measured for each size; the median counts
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// Instead: a service limited to this much memory (a control group, so as root), with --records in --workspaces
    #[arg(long, value_name = "MB")]
    within_mb: Option<u64>,
    /// With --within-mb: number of workspaces
    #[arg(long, default_value_t = 1_000)]
    workspaces: u64,
    /// With --within-mb: how many clients search at once
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// With --within-mb: length of the random searches, in seconds
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    #[command(flatten)]
    json: Json,
}

#[derive(Default, Serialize)]
struct Figures {
    sizes: Vec<Size>,
    tenants: Vec<Tenants>,
    verdicts: Vec<Verdict>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.starts > 0 && args.clients > 0, "--starts and --clients must be at least 1");
    ensure!(!args.records.contains(&0) && args.workspaces > 0, "--records and --workspaces must be at least 1");
    // One thread for all clients: they must not take both cores from the service on a small machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let binary = args.mnemon.clone().map_or_else(usual_binary, Ok)?;
    let figures = runtime.block_on(async {
        let mut figures = Figures::default();
        if let Some(mb) = args.within_mb {
            figures.verdicts = tight::measure(args, &binary, mb).await?;
            return anyhow::Ok(figures);
        }
        let is_all = args.records.is_empty() && args.tenants.is_empty();
        let records = if is_all { &RECORDS } else { args.records.as_slice() };
        let tenants = if is_all { &TENANTS } else { args.tenants.as_slice() };
        records::measure(args, &binary, records, &mut figures).await?;
        tenants::measure(&binary, tenants, &mut figures).await?;
        Ok(figures)
    })?;
    args.json.write(&figures)?;
    exit_unless_met(&figures.verdicts);
    Ok(())
}
