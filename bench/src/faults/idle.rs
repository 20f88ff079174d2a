//! Ten thousand silent connections, and a hundred that work.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mnemon_testkit::process::resident_bytes;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Setup;
use super::outcome::Outcome;
use super::waits::{measure, prepare};
use crate::figures::rounded;

const IDLE: usize = 10_000;
const ACTIVE: usize = 100;
const MEASURED: Duration = Duration::from_secs(4);
/// How long the service waits for the head of a request.
const HUNG_UP_ON_AFTER: Duration = Duration::from_secs(15);
const BYTES_EACH_MAX: u64 = 20 << 10;
/// Files that a process has open besides the connections.
const OTHER_FILES: usize = 200;

#[derive(Serialize)]
struct Idle {
    connections: usize,
    kib_each: f64,
    /// Of those that work.
    calls: usize,
    failures: usize,
}

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
    let began = Instant::now();
    let idle = open(service.address, idle_wanted).await?;
    let opened_in = began.elapsed();
    let busy = measure(&service, ACTIVE, MEASURED).await?;
    let each = resident_bytes(service.pid)?.saturating_sub(before) / idle_wanted.max(1) as u64;
    // A connection that was closed by the service can be read to its end.
    let still_open = idle.iter().filter(|stream| stream.try_read(&mut [0; 1]).is_err()).count();
    if began.elapsed() >= HUNG_UP_ON_AFTER {
        bail!(
            "can't tell here: it took {opened_in:.0?} to open the connections, and silent connections are closed meanwhile"
        );
    }
    let kib_each = rounded(each as f64 / 1024.0, 1);
    let figures = Idle { connections: idle_wanted, kib_each, calls: busy.calls, failures: busy.failures };
    Outcome::new("idle", 1)
        .fact(format!("opened within {:.1} s", opened_in.as_secs_f64()))
        .must(still_open == idle_wanted, format!("{still_open} of {idle_wanted} idle connections open"))
        .must(each <= BYTES_EACH_MAX, format!("{kib_each:.1} KiB each"))
        .must(busy.failures == 0, format!("{} of {} active calls failed", busy.failures, busy.calls))
        .must(busy.is_at_most_twice(&quiet), format!("active p99 {:.1?}, {:.1?} before", busy.p99, quiet.p99))
        .figures("idle", &figures)
}

/// Opens connections, several at a time: one by one would take long on a busy machine.
async fn open(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>> {
    const AT_ONCE: usize = 16;
    let mut opening = JoinSet::new();
    for nth in 0..AT_ONCE {
        opening.spawn(async move {
            let mut opened = Vec::new();
            for _ in (nth..count).step_by(AT_ONCE) {
                opened.push(TcpStream::connect(address).await?);
            }
            anyhow::Ok(opened)
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(opened) = opening.join_next().await {
        all.extend(opened.context("a client panicked")??);
    }
    Ok(all)
}

fn open_files_max() -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    let soft = line.split_whitespace().nth(3).unwrap_or_default();
    Ok(soft.parse().unwrap_or(usize::MAX))
}
