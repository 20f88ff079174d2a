//! Three nodes behind HAProxy whose database is there and does not answer, or does not write: nothing is lost, nobody
//! waits long, and searches go on as long as the database can be read.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_testkit::faults::network::Network;
use mnemon_testkit::faults::nodes::{
    Nodes, NodesReport, durable_cluster, freeze_server, kill_server, restart_server, synchronous_pair,
};
use mnemon_testkit::faults::packets::{Packets, Verdict};
use tokio::time::sleep;

use super::Setup;
use super::outcome::Outcome;

/// How long each outage lasts: longer than anything that waits.
const OUTAGE: Duration = Duration::from_secs(12);
/// The longest that a caller waits for an answer.
const ANSWER_MAX: Duration = Duration::from_millis(2_500);

/// A server that is stopped in the middle of its work, and goes on.
pub(crate) async fn frozen(setup: &Setup) -> Result<Outcome> {
    let cluster = durable_cluster()?;
    let url = cluster.url("postgres");
    strike(setup, "postgres-frozen", &cluster, &url, |is_on| freeze_server(&cluster, is_on)).await
}

/// A proxy between the nodes and their database that delivers nothing more, and then does. Connections stay open.
pub(crate) async fn cut(setup: &Setup) -> Result<Outcome> {
    let cluster = reachable_cluster()?;
    let network = Network::start(cluster.address()).await?;
    let cut = |is_on| {
        network.cut(is_on);
        Ok(())
    };
    strike(setup, "network-cut", &cluster, &url_at(network.address), cut).await
}

/// The machine's packet filter drops what the nodes and their database send each other.
pub(crate) async fn dropped(setup: &Setup) -> Result<Outcome> {
    filtered(setup, "packets-dropped", Verdict::DropAll).await
}

/// The database does what it is asked, and its answers are dropped: a save that failed may be stored.
pub(crate) async fn answers_dropped(setup: &Setup) -> Result<Outcome> {
    filtered(setup, "answers-dropped", Verdict::DropAnswers).await
}

/// Every connection to the database is reset as soon as it is used.
pub(crate) async fn reset(setup: &Setup) -> Result<Outcome> {
    filtered(setup, "connections-reset", Verdict::Reset).await
}

async fn filtered(setup: &Setup, name: &'static str, verdict: Verdict) -> Result<Outcome> {
    let cluster = reachable_cluster()?;
    let packets = Packets::of(cluster.address())?;
    let url = url_at(cluster.address());
    strike(setup, name, &cluster, &url, |is_on| packets.turn(if is_on { verdict } else { Verdict::Pass })).await
}

/// Not through its socket, where no packet is dropped.
fn url_at(address: SocketAddr) -> String {
    format!("postgres://postgres@{address}/postgres")
}

fn reachable_cluster() -> Result<Cluster> {
    Ok(Cluster::start(ClusterOptions { is_durable: true, is_on_loopback: true, ..ClusterOptions::default() })?)
}

/// Turns a fault of the database on and off while everybody calls.
async fn strike(
    setup: &Setup,
    name: &'static str,
    cluster: &Cluster,
    url: &str,
    turn: impl Fn(bool) -> Result<()>,
) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    let nodes = Nodes::start(&setup.binary, url, scratch.path()).await?;
    strike_on(setup, name, cluster, nodes, turn).await
}

/// The same on nodes that run already.
pub(super) async fn strike_on(
    setup: &Setup,
    name: &'static str,
    cluster: &Cluster,
    mut nodes: Nodes,
    turn: impl Fn(bool) -> Result<()>,
) -> Result<Outcome> {
    let rounds = setup.rounds(3);
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..rounds {
            turn(true)?;
            sleep(OUTAGE).await;
            turn(false)?;
            longest = longest.max(nodes.until_back().await?);
            sleep(Duration::from_secs(1)).await;
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    Ok(tell(Outcome::new(name, rounds), &report))
}

/// One node after the other is stopped in the middle of its work, behind the balancer of the guide.
pub(crate) async fn node_paused(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(3);
    let fault = async |nodes: &mut Nodes| {
        for round in 0..rounds {
            nodes.pause_node(round % 3, true)?;
            sleep(OUTAGE).await;
            nodes.pause_node(round % 3, false)?;
            sleep(Duration::from_secs(3)).await;
        }
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    let out = report.searches_out_max;
    let outcome = tell(Outcome::new("node-paused", rounds), &report);
    Ok(outcome.must(out <= ANSWER_MAX, format!("searches out for at most {:.2} s", out.as_secs_f64())))
}

/// The standby that has to confirm each save is gone for a while.
pub(crate) async fn standby_lost(setup: &Setup) -> Result<Outcome> {
    let ((primary, standby), scratch) = (synchronous_pair()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &primary.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(3);
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..rounds {
            kill_server(&standby)?;
            sleep(OUTAGE).await;
            restart_server(&standby)?;
            longest = longest.max(nodes.until_back().await?);
            sleep(Duration::from_secs(1)).await;
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(primary.sql("postgres", sql)?)).await?;
    let outcome = tell(Outcome::new("standby-lost", rounds), &report);
    Ok(outcome.must(report.searches_failed == 0, format!("{} searches failed", report.searches_failed)))
}

/// Two standbys of which one confirms each save. The check refuses the one that was away; the other takes over.
pub(crate) async fn promotion(setup: &Setup) -> Result<Outcome> {
    let (primary, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let (one, two) = (Cluster::standby_of(&primary, "one")?, Cluster::standby_of(&primary, "two")?);
    primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (one, two)'")?;
    primary.sql("postgres", "SELECT pg_reload_conf()")?;
    let url = url_of(&[&primary, &one, &two]);
    let mut nodes = Nodes::start(&setup.binary, &url, scratch.path()).await?;
    let mut said = (false, false);
    let fault = async |nodes: &mut Nodes| {
        kill_server(&one)?;
        sleep(Duration::from_secs(3)).await;
        kill_server(&primary)?;
        restart_server(&one)?;
        let may = |candidate: &Cluster| may_be_promoted(&setup.binary, &primary, &[&one, &two], candidate);
        said = (may(&one)?, may(&two)?);
        ensure!(said == (false, true), "the check says {said:?} of the standby that was away and of the other");
        two.promote()?;
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(two.sql("postgres", sql)?)).await?;
    let outcome = tell(Outcome::new("promotion", 1), &report);
    Ok(outcome.must(said == (false, true), "the wrong standby was refused".to_owned()))
}

/// The URL of whichever accepts writes.
fn url_of(clusters: &[&Cluster]) -> String {
    let host = |cluster: &&Cluster| cluster.folder().display().to_string().replace('/', "%2F");
    let hosts: Vec<String> = clusters.iter().map(host).collect();
    format!("postgres://postgres@{}/postgres?target_session_attrs=read-write", hosts.join(","))
}

fn may_be_promoted(
    binary: &std::path::Path,
    primary: &Cluster,
    standbys: &[&Cluster],
    candidate: &Cluster,
) -> Result<bool> {
    let replicas: Vec<String> = standbys.iter().map(|standby| standby.url("postgres")).collect();
    let mut command = Command::new(binary);
    command.args(["doctor", "--promote", &candidate.url("postgres"), "--database", &primary.url("postgres")]);
    let output = command.env("MNEMON_DATABASE_REPLICAS", replicas.join(",")).output().context("the program runs")?;
    Ok(output.status.success())
}

pub(super) fn tell(outcome: Outcome, report: &NodesReport) -> Outcome {
    let words = report.other_words.first().cloned().unwrap_or_else(|| "none".to_owned());
    outcome
        .fact(format!("{} acknowledged, {} failed and repeated", report.acknowledged, report.failed))
        .must(report.acknowledged > 0 && report.lost == 0, format!("{} lost", report.lost))
        .must(report.doubled == 0, format!("{} doubled", report.doubled))
        .must(report.answer_max <= ANSWER_MAX, format!("longest wait {:.2} s", report.answer_max.as_secs_f64()))
        .fact(format!("{} of {} searches failed", report.searches_failed, report.searches))
        .must(report.other_words.is_empty(), format!("unexpected errors: {words}"))
        .must(report.is_passed(), format!("back within {:.2} s", report.back_max.as_secs_f64()))
}
