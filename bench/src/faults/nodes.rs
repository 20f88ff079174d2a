//! Three nodes behind HAProxy on one PostgreSQL, each its own process: the long forms.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use mnemon_scratch_postgres::Cluster;
use mnemon_testkit::faults::nodes::{
    NodeOptions, Nodes, NodesReport, durable_cluster, kill_server, restart_server, synchronous_pair, url_of_both,
};

use super::Setup;
use super::outcome::Outcome;

/// What nodes know about each other.
pub(crate) async fn together(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let count = setup.rounds(10_000);
    let seen = nodes.read_your_writes(count).await?;
    let revoked = nodes.revocations(200).await?;
    let passed = nodes.rate_limit(110, Duration::from_millis(40)).await?;
    Ok(Outcome::new("nodes", count)
        .must(seen == count, format!("{seen} of {count} saves seen by the next search elsewhere"))
        .must(revoked == 200, format!("{revoked} of 200 revoked keys refused by the next call everywhere"))
        .must((60..=85).contains(&passed), format!("{passed} calls passed a limit of 60, at 25 a second")))
}

pub(crate) async fn kill_node(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(10);
    let fault = async |nodes: &mut Nodes| {
        for round in 0..rounds {
            nodes.kill_node(round % 3).await?;
        }
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    Ok(tell(Outcome::new("node-kill", rounds), &report))
}

/// A database that is killed.
pub(crate) async fn kill_postgres(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(10);
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..rounds {
            kill_server(&cluster)?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            restart_server(&cluster)?;
            longest = longest.max(nodes.until_back().await?);
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    let words = report.other_words.first().cloned();
    let outcome = tell(Outcome::new("postgres-kill", rounds), &report);
    Ok(outcome.must(words.is_none(), format!("unexpected errors: {}", words.unwrap_or("none".into()))))
}

/// A standby that takes over.
pub(crate) async fn failover(setup: &Setup) -> Result<Outcome> {
    let rounds = setup.rounds(3);
    let mut outcome = Outcome::new("postgres-failover", rounds);
    for _ in 0..rounds {
        let ((primary, standby), scratch) = (synchronous_pair()?, tempfile::tempdir()?);
        let url = url_of_both(&primary, &standby, "postgres");
        let mut nodes = Nodes::start(&setup.binary, &url, scratch.path()).await?;
        let fault = async |nodes: &mut Nodes| {
            kill_server(&primary)?;
            tokio::time::sleep(Duration::from_millis(500)).await;
            standby.promote()?;
            nodes.until_back().await
        };
        let report = nodes.under_load(fault, |sql| Ok(standby.sql("postgres", sql)?)).await?;
        outcome = tell(outcome, &report);
    }
    Ok(outcome)
}

/// A standby that lags, and that stops replaying again and again, while every node may read it.
pub(crate) async fn replica_lag(setup: &Setup) -> Result<Outcome> {
    let (primary, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let standby = Cluster::standby_of(&primary, "standby")?;
    standby.sql("postgres", "ALTER SYSTEM SET recovery_min_apply_delay = '3ms'")?;
    standby.sql("postgres", "SELECT pg_reload_conf()")?;
    let options = NodeOptions { replicas: vec![standby.url("postgres")], ..NodeOptions::default() };
    let nodes = Nodes::start_with(&setup.binary, &primary.url("postgres"), &options, scratch.path()).await?;
    let (count, is_over) = (setup.rounds(10_000), AtomicBool::new(false));
    let searches = async {
        let seen = nodes.read_your_writes(count).await;
        is_over.store(true, Ordering::Release);
        seen
    };
    let pauses = async {
        let mut pauses = 0;
        while !is_over.load(Ordering::Acquire) {
            standby.sql("postgres", "SELECT pg_wal_replay_pause()")?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            standby.sql("postgres", "SELECT pg_wal_replay_resume()")?;
            tokio::time::sleep(Duration::from_millis(700)).await;
            pauses += 1;
        }
        anyhow::Ok(pauses)
    };
    let (seen, pauses) = tokio::join!(searches, pauses);
    let (seen, pauses) = (seen?, pauses?);
    let figure =
        async |outcome: &str| nodes.figure(&format!("mnemon_replica_reads_total{{outcome=\"{outcome}\"}}")).await;
    let (answered, behind, failed) = (figure("answered").await?, figure("behind").await?, figure("failed").await?);
    Ok(Outcome::new("replica-lag", count)
        .must(seen == count, format!("{seen} of {count} saves seen by the next search elsewhere"))
        .must(answered > 0 && behind > 0, format!("replica answered {answered} reads, was behind {behind} times"))
        .fact(format!("failed {failed} times, stopped {pauses} times")))
}

/// A table that somebody keeps locked.
pub(crate) async fn locked(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let report = nodes.with_locked_table(&cluster, 500, Duration::from_secs(30)).await?;
    Ok(Outcome::new("postgres-locked", 1)
        .fact(format!("{} calls by 500 clients", report.calls))
        .must(report.told == report.calls, format!("{} answered `storage is unavailable`", report.told))
        .must(
            report.is_passed(Duration::from_secs(2)),
            format!("longest wait {:.2} s, {} bytes more", report.wait_max.as_secs_f64(), report.growth_bytes),
        ))
}

fn tell(outcome: Outcome, report: &NodesReport) -> Outcome {
    outcome
        .fact(format!("{} acknowledged, {} failed and repeated", report.acknowledged, report.failed))
        .must(report.lost == 0, format!("{} lost", report.lost))
        .must(report.doubled == 0, format!("{} doubled", report.doubled))
        .must(
            report.is_passed(),
            format!("back within {:.2} s, {} KiB more", report.back_max.as_secs_f64(), report.growth_bytes >> 10),
        )
}
