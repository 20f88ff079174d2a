//! Three nodes on a PostgreSQL cluster that heals itself: three servers under Patroni with a synchronous standby.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use mnemon_testkit::faults::nodes::Nodes;
use mnemon_testkit::faults::patroni::{LOOP_WAIT, Patroni, TTL};

use super::Setup;
use super::outcome::Outcome;

/// How much longer than a lease and a look at it the first save may take: an election, a promotion, and new
/// connections.
const EXTRA_MAX: Duration = Duration::from_secs(15);

/// What is done to the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// It is killed, with its Patroni.
    Kill,
    /// It hangs, as if its network were gone, and is reset when another is the primary.
    Freeze,
    /// No lease can be renewed for a while, so that the primary steps down.
    Leases,
}

impl Blow {
    const fn name(self) -> &'static str {
        match self {
            Self::Kill => "killed",
            Self::Freeze => "frozen",
            Self::Leases => "leases lost",
        }
    }
}

/// Kills of the primary under load, then a machine that hangs, twice, and leases that can't be renewed.
pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let (mut cluster, scratch) = (Patroni::start().await?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(10);
    let mut blows = vec![Blow::Kill; rounds];
    blows.extend([Blow::Freeze, Blow::Freeze, Blow::Leases]);
    let mut waits = Vec::new();
    let fault = async |nodes: &mut Nodes| {
        for blow in &blows {
            waits.push((*blow, strike(*blow, &mut cluster, nodes).await?));
        }
        Ok(Duration::ZERO)
    };
    let report = nodes.under_load_of(fault).await?;
    let stored = cluster.sql("postgres", Nodes::STORED).await?;
    let doubled = cluster.sql("postgres", Nodes::DOUBLED).await?;
    let report = report.compare(&stored, &doubled)?;
    let mut times = String::new();
    for blow in [Blow::Kill, Blow::Freeze, Blow::Leases] {
        let of: Vec<String> = waits
            .iter()
            .filter(|(own, _)| *own == blow)
            .map(|(_, wait)| format!("{:.1}", wait.as_secs_f64()))
            .collect();
        let _ = write!(times, "; {} {} s", blow.name(), of.join(" "));
    }
    let longest =
        waits.iter().filter(|(blow, _)| *blow != Blow::Leases).map(|(_, wait)| *wait).max().unwrap_or_default();
    let (ttl, limit) = (TTL.as_secs(), TTL + LOOP_WAIT + EXTRA_MAX);
    Ok(Outcome::new("patroni", rounds)
        .fact(format!("{} acknowledged, {} failed and repeated", report.acknowledged, report.failed))
        .must(report.acknowledged > 0 && report.lost == 0, format!("{} lost", report.lost))
        .must(report.doubled == 0, format!("{} doubled", report.doubled))
        .must(longest <= limit, format!("first save after (ttl {ttl} s){times}")))
}

/// Strikes the primary, waits for the first save, and mends what was struck. Returns how long the first save took.
async fn strike(blow: Blow, cluster: &mut Patroni, nodes: &Nodes) -> Result<Duration> {
    let primary = cluster.primary().await?;
    let began = Instant::now();
    match blow {
        Blow::Kill => cluster.kill(primary)?,
        Blow::Freeze => cluster.freeze(primary)?,
        Blow::Leases => {
            cluster.freeze_leases(true)?;
            // Longer than a lease: the primary has to step down by itself.
            tokio::time::sleep(TTL + LOOP_WAIT).await;
            cluster.freeze_leases(false)?;
        }
    }
    nodes.until_back().await?;
    let took = began.elapsed();
    match blow {
        Blow::Kill => cluster.start_member(primary)?,
        Blow::Freeze => {
            // In place of a watchdog, Patroni's defence against a primary that wakes up and writes its lease once more,
            // although another has taken it.
            cluster.kill(primary)?;
            cluster.start_member(primary)?;
        }
        Blow::Leases => {}
    }
    cluster.until_whole().await?;
    Ok(took)
}
