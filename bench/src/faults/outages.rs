//! Three nodes behind HAProxy whose database is there and does not answer, or does not write: nothing is lost, nobody
//! waits long, and searches go on as long as the database can be read.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_testkit::faults::network::Network;
use mnemon_testkit::faults::nodes::{
    Nodes, NodesReport, durable_cluster, freeze_server, kill_server, restart_server, synchronous_pair,
};
use tokio::time::sleep;

use super::Setup;
use super::outcome::Outcome;

/// How long each outage lasts: longer than anything that waits.
const OUTAGE: Duration = Duration::from_secs(12);
/// The longest that a caller waits for an answer.
const ANSWER_MAX: Duration = Duration::from_millis(2_500);

/// A server that is stopped in the middle of its work, and goes on.
pub(crate) async fn frozen(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(3);
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..rounds {
            freeze_server(&cluster, true)?;
            sleep(OUTAGE).await;
            freeze_server(&cluster, false)?;
            longest = longest.max(nodes.until_back().await?);
            sleep(Duration::from_secs(1)).await;
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    Ok(tell(Outcome::new("postgres-frozen", rounds), &report))
}

/// A network that delivers nothing more between the nodes and their database, and then does.
pub(crate) async fn cut(setup: &Setup) -> Result<Outcome> {
    let cluster =
        Cluster::start(ClusterOptions { is_durable: true, is_on_loopback: true, ..ClusterOptions::default() })?;
    let scratch = tempfile::tempdir()?;
    let network = Network::start(cluster.address()).await?;
    let url = cluster.url("postgres").replace(&cluster.address().to_string(), &network.address.to_string());
    ensure!(url.contains(&network.address.to_string()), "{url} does not lead through the network");
    let mut nodes = Nodes::start(&setup.binary, &url, scratch.path()).await?;
    let rounds = setup.rounds(3);
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..rounds {
            network.cut(true);
            sleep(OUTAGE).await;
            network.cut(false);
            longest = longest.max(nodes.until_back().await?);
            sleep(Duration::from_secs(1)).await;
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    Ok(tell(Outcome::new("network-cut", rounds), &report))
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

fn tell(outcome: Outcome, report: &NodesReport) -> Outcome {
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
