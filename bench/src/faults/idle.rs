//! Ten thousand connections that say nothing, and a hundred that work.

use std::time::Duration;

use anyhow::{Result, bail};
use mnemon_testkit::process::resident_bytes;
use tokio::net::TcpStream;

use super::Setup;
use super::outcome::Outcome;
use super::waits::{measure, prepare};

const IDLE: usize = 10_000;
const ACTIVE: usize = 100;
const MEASURED: Duration = Duration::from_secs(4);
const BYTES_EACH_MAX: u64 = 20 << 10;
/// Files that a process has open beside the connections.
const OTHER_FILES: usize = 200;

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let idle_wanted = setup.rounds(IDLE);
    let files_max = open_files_max()?;
    if files_max < idle_wanted + ACTIVE + OTHER_FILES {
        bail!("can't run here: {idle_wanted} connections need more open files than {files_max} (ulimit -n)");
    }
    let (program, _scratch) = setup.program()?;
    let service = program.start().await?;
    prepare(&service, 500).await?;
    let quiet = measure(&service, ACTIVE, MEASURED).await?;
    let before = resident_bytes(service.pid)?;
    let mut idle = Vec::with_capacity(idle_wanted);
    for _ in 0..idle_wanted {
        idle.push(TcpStream::connect(service.address).await?);
    }
    let busy = measure(&service, ACTIVE, MEASURED).await?;
    let each = resident_bytes(service.pid)?.saturating_sub(before) / idle_wanted.max(1) as u64;
    // A connection that was hung up on can be read to its end.
    let still_open = idle.iter().filter(|stream| stream.try_read(&mut [0; 1]).is_err()).count();
    Ok(Outcome::new("idle", 1)
        .must(still_open == idle_wanted, format!("{still_open} of {idle_wanted} idle connections open"))
        .must(each <= BYTES_EACH_MAX, format!("{:.1} KiB each", each as f64 / 1024.0))
        .must(busy.failures == 0, format!("{} of {} active calls failed", busy.failures, busy.calls))
        .must(busy.is_at_most_twice(&quiet), format!("active p99 {:.1?} beside {:.1?} before", busy.p99, quiet.p99)))
}

fn open_files_max() -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    let soft = line.split_whitespace().nth(3).unwrap_or_default();
    Ok(soft.parse().unwrap_or(usize::MAX))
}
