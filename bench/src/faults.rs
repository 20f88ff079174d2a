//! What the service survives, tested against the real program. Each fault is a module; `bench/README.md` says what each
//! one shows. Kill and power loss live in the testkit, because the tests run a short form of them.

mod ack_order;
mod alerts;
mod alerts_story;
mod corrupt;
mod disk_full;
mod exhausted;
mod fsync;
mod hoarders;
mod idle;
mod inputs;
mod nodes;
mod outages;
mod outcome;
mod patroni;
mod sigterm;
mod slow;
mod strangers;
mod waits;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use mnemon_testkit::faults::{self, Program, Rounds, missing_for_mounts};
use tempfile::TempDir;

use crate::figures::Json;
use outcome::Outcome;

/// Which faults, how often, against which program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which fault
    #[arg(value_enum, default_value_t = Fault::All)]
    fault: Fault,
    /// How often [default: as many as the guide promises]
    #[arg(long)]
    rounds: Option<usize>,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Makes the random moments and places repeatable
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// With `alerts`: write what Prometheus saw to this file, as a test of the rules
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Fault {
    /// All faults, one after the other
    All,
    /// kill -9 under load
    Kill,
    /// Power loss under load
    Power,
    /// A disk whose syncs fail, temporarily and permanently
    Fsync,
    /// Every answer comes after a sync of the last write
    AckOrder,
    /// A disk that fills up and is freed again
    DiskFull,
    /// A damaged database file
    Corrupt,
    /// SIGTERM under load
    Sigterm,
    /// kill -9 of the agent or the service during a sync of session histories
    Sync,
    /// Huge, deep, repeated and broken requests, and texts that must come back byte for byte
    Inputs,
    /// Clients that send or read too slowly
    Slow,
    /// A thousand strangers who send as much as is taken, and five hundred connections with a key that never read
    Strangers,
    /// Ten thousand idle connections
    Idle,
    /// Three nodes on one PostgreSQL: saves, revocations and limits across them
    Nodes,
    /// kill -9 of nodes under load
    NodeKill,
    /// kill -9 of PostgreSQL under load
    PostgresKill,
    /// A synchronous standby takes over under load
    PostgresFailover,
    /// A table that somebody keeps locked, with 500 clients
    PostgresLocked,
    /// Which alert fires when while PostgreSQL is away; rounds are minutes
    Alerts,
    /// A PostgreSQL that is stopped and goes on
    PostgresFrozen,
    /// A proxy that delivers nothing between nodes and PostgreSQL
    NetworkCut,
    /// Packets between nodes and PostgreSQL are dropped
    PacketsDropped,
    /// Answers of PostgreSQL are dropped; what nodes send arrives
    AnswersDropped,
    /// Connections to PostgreSQL are reset
    ConnectionsReset,
    /// Others take all of PostgreSQL's connections
    ConnectionsUsedUp,
    /// PostgreSQL's disk fills up
    PostgresDiskFull,
    /// The clocks of the nodes jump by a day and by ten years, in both directions
    Clock,
    /// Nodes are stopped and started one after the other
    RollingRestart,
    /// One node after the other hangs
    NodePaused,
    /// The only synchronous standby is gone for a while
    StandbyLost,
    /// The check before a promotion, and the right standby promoted
    Promotion,
    /// A read replica that lags, stops and goes on while nodes read it
    ReplicaLag,
    /// Three servers under Patroni: the primary is killed, hangs, loses its lease
    Patroni,
}

impl Fault {
    const EACH: [Self; 32] = [
        Self::Kill,
        Self::Power,
        Self::Fsync,
        Self::AckOrder,
        Self::DiskFull,
        Self::Corrupt,
        Self::Sigterm,
        Self::Sync,
        Self::Inputs,
        Self::Slow,
        Self::Strangers,
        Self::Idle,
        Self::Nodes,
        Self::NodeKill,
        Self::PostgresKill,
        Self::PostgresFailover,
        Self::PostgresLocked,
        Self::Alerts,
        Self::PostgresFrozen,
        Self::NetworkCut,
        Self::PacketsDropped,
        Self::AnswersDropped,
        Self::ConnectionsReset,
        Self::ConnectionsUsedUp,
        Self::PostgresDiskFull,
        Self::Clock,
        Self::RollingRestart,
        Self::NodePaused,
        Self::StandbyLost,
        Self::Promotion,
        Self::ReplicaLag,
        Self::Patroni,
    ];
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => build()?,
    };
    let setup = Setup { binary, rounds: args.rounds, seed: args.seed, record: args.record.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let chosen: &[Fault] = if args.fault == Fault::All { &Fault::EACH } else { &[args.fault] };
    let mut outcomes = Vec::new();
    for &fault in chosen {
        let outcome = runtime.block_on(run_one(fault, &setup));
        let outcome = outcome.unwrap_or_else(|error| Outcome::failed(fault_name(fault), &format!("{error:#}")));
        println!("{outcome}");
        outcomes.push(outcome);
    }
    args.json.write(&outcomes)?;
    if !outcomes.iter().all(Outcome::is_passed) {
        std::process::exit(1);
    }
    Ok(())
}

async fn run_one(fault: Fault, setup: &Setup) -> Result<Outcome> {
    match fault {
        Fault::All => bail!("all is not one fault"),
        Fault::Kill => kill(setup).await,
        Fault::Power => power(setup).await,
        Fault::Fsync => fsync::run(setup).await,
        Fault::AckOrder => ack_order::run(setup).await,
        Fault::DiskFull => disk_full::run(setup).await,
        Fault::Corrupt => corrupt::run(setup).await,
        Fault::Sigterm => sigterm::run(setup).await,
        Fault::Sync => sync(setup).await,
        Fault::Inputs => inputs::run(setup).await,
        Fault::Slow => slow::run(setup).await,
        Fault::Strangers => strangers::run(setup).await,
        Fault::Idle => idle::run(setup).await,
        Fault::Nodes => nodes::together(setup).await,
        Fault::NodeKill => nodes::kill_node(setup).await,
        Fault::PostgresKill => nodes::kill_postgres(setup).await,
        Fault::PostgresFailover => nodes::failover(setup).await,
        Fault::PostgresLocked => nodes::locked(setup).await,
        Fault::Alerts => alerts::run(setup).await,
        Fault::PostgresFrozen => outages::frozen(setup).await,
        Fault::NetworkCut => outages::cut(setup).await,
        Fault::PacketsDropped => outages::dropped(setup).await,
        Fault::AnswersDropped => outages::answers_dropped(setup).await,
        Fault::ConnectionsReset => outages::reset(setup).await,
        Fault::ConnectionsUsedUp => exhausted::connections_used_up(setup).await,
        Fault::PostgresDiskFull => exhausted::postgres_disk_full(setup).await,
        Fault::Clock => exhausted::clock(setup).await,
        Fault::RollingRestart => exhausted::rolling_restart(setup).await,
        Fault::NodePaused => outages::node_paused(setup).await,
        Fault::StandbyLost => outages::standby_lost(setup).await,
        Fault::Promotion => outages::promotion(setup).await,
        Fault::ReplicaLag => nodes::replica_lag(setup).await,
        Fault::Patroni => patroni::run(setup).await,
    }
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::All => "all",
        Fault::Kill => "kill",
        Fault::Power => "power",
        Fault::Fsync => "fsync",
        Fault::AckOrder => "ack-order",
        Fault::DiskFull => "disk-full",
        Fault::Corrupt => "corrupt",
        Fault::Sigterm => "sigterm",
        Fault::Sync => "sync",
        Fault::Inputs => "inputs",
        Fault::Slow => "slow",
        Fault::Strangers => "strangers",
        Fault::Idle => "idle",
        Fault::Nodes => "nodes",
        Fault::NodeKill => "node-kill",
        Fault::PostgresKill => "postgres-kill",
        Fault::PostgresFailover => "postgres-failover",
        Fault::PostgresLocked => "postgres-locked",
        Fault::Alerts => "alerts",
        Fault::PostgresFrozen => "postgres-frozen",
        Fault::NetworkCut => "network-cut",
        Fault::PacketsDropped => "packets-dropped",
        Fault::AnswersDropped => "answers-dropped",
        Fault::ConnectionsReset => "connections-reset",
        Fault::ConnectionsUsedUp => "connections-used-up",
        Fault::PostgresDiskFull => "postgres-disk-full",
        Fault::Clock => "clock",
        Fault::RollingRestart => "rolling-restart",
        Fault::NodePaused => "node-paused",
        Fault::StandbyLost => "standby-lost",
        Fault::Promotion => "promotion",
        Fault::ReplicaLag => "replica-lag",
        Fault::Patroni => "patroni",
    }
}

async fn kill(setup: &Setup) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    let report = faults::kill(&setup.binary, scratch.path(), &Rounds::long(setup.rounds(50), setup.seed)).await?;
    let outcome = Outcome::new("kill", report.rounds).findings(&report.findings);
    Ok(outcome.must(report.is_passed(), format!("slowest restart {:.2} s", report.restart_max.as_secs_f64())))
}

async fn sync(setup: &Setup) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    let report = faults::kill_sync(&setup.binary, scratch.path(), setup.rounds(200), setup.seed).await?;
    Ok(Outcome::new("sync", report.rounds)
        .fact(format!("agent killed {} times while working, service {}", report.agent_kills, report.service_kills))
        .fact(format!("{} copies were cut off midway", report.cut_off))
        .fact(format!("{} copies of {:.1} MB compared", report.compared, report.bytes as f64 / 1e6))
        .must(report.is_passed(), format!("{} unequal", report.unequal)))
}

async fn power(setup: &Setup) -> Result<Outcome> {
    if let Some(missing) = missing_for_mounts() {
        bail!("can't run here: {missing}");
    }
    let scratch = tempfile::tempdir()?;
    let report = faults::power(&setup.binary, scratch.path(), &Rounds::long(setup.rounds(10), setup.seed)).await?;
    Ok(Outcome::new("power", report.rounds)
        .findings(&report.findings)
        .must(report.is_passed(), format!("{} blind rounds", report.blind))
        .fact(format!("slowest restart {:.2} s", report.restart_max.as_secs_f64()))
        .must(is_missing_sync_seen(setup).await?, "a missing sync would be seen".to_owned()))
}

/// The control: the same with every sync ignored. If that loses nothing either, the method proves nothing.
async fn is_missing_sync_seen(setup: &Setup) -> Result<bool> {
    let scratch = tempfile::tempdir()?;
    let inject = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:retval=0"];
    let under = strace(&scratch.path().join("trace"), &inject)?;
    let rounds = Rounds::short(1, setup.seed);
    let report = faults::power_under(&under, &setup.binary, scratch.path(), &rounds).await;
    // A database that can no longer be opened is an obvious loss.
    Ok(report.map_or(true, |report| !report.findings.is_clean()))
}

/// What every fault needs.
pub(crate) struct Setup {
    binary: PathBuf,
    rounds: Option<usize>,
    seed: u64,
    record: Option<PathBuf>,
}

impl Setup {
    fn rounds(&self, usual: usize) -> usize {
        self.rounds.unwrap_or(usual)
    }

    /// The program on its own empty data directory.
    fn program(&self) -> Result<(Program, TempDir)> {
        let scratch = tempfile::tempdir()?;
        Ok((Program::new(&self.binary, &scratch.path().join("data"), scratch.path()), scratch))
    }
}

/// Builds the program into the directory of the bench, with the same profile.
pub(crate) fn build() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let profile_dir = own.parent().context("a program lies in a directory")?;
    let target_dir = profile_dir.parent().context("a profile's directory lies in the target directory")?;
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--package", "mnemon-cli", "--target-dir"]).arg(target_dir);
    if profile_dir.ends_with("release") {
        command.arg("--release");
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = command.current_dir(workspace).status().context("can't run cargo; pass --binary")?;
    if !status.success() {
        bail!("can't build the program; pass --binary");
    }
    Ok(profile_dir.join("mnemon"))
}

/// Runs the program under `strace`, with its log in a file.
fn strace(log: &Path, arguments: &[&str]) -> Result<Vec<std::ffi::OsString>> {
    if Command::new("strace").arg("-V").output().is_err() {
        bail!("can't run here: needs strace");
    }
    let mut words: Vec<std::ffi::OsString> = vec!["strace".into(), "-f".into(), "-qq".into(), "-o".into(), log.into()];
    words.extend(arguments.iter().map(Into::into));
    Ok(words)
}
