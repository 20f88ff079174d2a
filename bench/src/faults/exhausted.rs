//! Nodes whose machine or database runs out of something: a clock that is right, a place for a connection, a
//! byte on the database's disk. And nodes that are restarted one after the other, as an upgrade does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_testkit::faults::nodes::{NodeOptions, Nodes, durable_cluster, restart_server};
use mnemon_testkit::faults::{Mounted, missing_for_mounts};
use tokio::time::sleep;

use super::Setup;
use super::outages::{strike_on, tell};
use super::outcome::Outcome;

/// What the clocks of the nodes are told, one after the other.
const SHIFTS: [&str; 5] = ["+1d", "-1d", "+10y", "-10y", "+0"];
const SHIFTED: Duration = Duration::from_secs(4);
/// Where Debian has the library that shows a program another time.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Fewer than three nodes under load would like to have.
const CONNECTIONS: usize = 40;
const END_NODES: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename <> 'other'";
const DISK_BYTES: u64 = 512 << 20;

/// The clocks of all nodes jump while everybody calls. The database's does not.
pub(crate) async fn clock(setup: &Setup) -> Result<Outcome> {
    ensure!(Path::new(FAKETIME).exists(), "libfaketime is not installed; on Debian: apt-get install faketime");
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let shift = scratch.path().join("shift");
    let turn_to = |text: &str| std::fs::write(&shift, text);
    turn_to("+0")?;
    let environment = vec![
        ("LD_PRELOAD", FAKETIME.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", shift.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let options = NodeOptions { environment, ..NodeOptions::default() };
    let mut nodes = Nodes::start_with(&setup.binary, &cluster.url("postgres"), &options, scratch.path()).await?;
    let rounds = setup.rounds(2);
    let fault = async |nodes: &mut Nodes| {
        for _ in 0..rounds {
            for text in SHIFTS {
                turn_to(text)?;
                sleep(SHIFTED).await;
            }
        }
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    let failed = report.searches_failed;
    Ok(tell(Outcome::new("clock", rounds), &report).must(failed == 0, format!("{failed} searches failed")))
}

/// Each node in turn is told to stop, finishes what it has, and is started again.
pub(crate) async fn rolling_restart(setup: &Setup) -> Result<Outcome> {
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let rounds = setup.rounds(6);
    let fault = async |nodes: &mut Nodes| {
        for round in 0..rounds {
            nodes.restart_node(round % 3).await?;
            sleep(Duration::from_secs(3)).await;
        }
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    let out = report.searches_out_max;
    Ok(tell(Outcome::new("rolling-restart", rounds), &report)
        .must(out <= Duration::from_millis(2_500), format!("searches out for at most {:.2} s", out.as_secs_f64())))
}

/// Others take every connection that the database has.
pub(crate) async fn connections_used_up(setup: &Setup) -> Result<Outcome> {
    let settings =
        [("max_connections", CONNECTIONS.to_string()), ("client_connection_check_interval", "200ms".to_owned())];
    let settings = settings.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let cluster = Cluster::start(ClusterOptions { is_durable: true, settings, ..ClusterOptions::default() })?;
    cluster.sql("postgres", "CREATE ROLE other LOGIN")?;
    let scratch = tempfile::tempdir()?;
    let nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let others: Mutex<Vec<Child>> = Mutex::default();
    let turn = |is_on: bool| {
        let mut others = others.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for mut other in others.drain(..) {
            other.kill()?;
            other.wait()?;
        }
        // The second time they take what the nodes have lost.
        for _ in 0..if is_on { 2 } else { 0 } {
            for _ in 0..CONNECTIONS {
                others.push(cluster.session_of("other", "postgres", "SELECT pg_sleep(60)")?);
            }
            let _ = cluster.sql("postgres", END_NODES);
        }
        Ok(())
    };
    strike_on(setup, "connections-used-up", &cluster, nodes, turn).await
}

/// The database's disk fills up to the last byte. It may stop and recover; what it confirmed stays.
pub(crate) async fn postgres_disk_full(setup: &Setup) -> Result<Outcome> {
    if let Some(missing) = missing_for_mounts() {
        anyhow::bail!("can't run here: {missing}");
    }
    let (scratch, rooms) = (tempfile::tempdir()?, tempfile::tempdir()?);
    // The server's own user goes through it.
    std::fs::set_permissions(rooms.path(), Permissions::from_mode(0o755))?;
    let disk = Mounted::tmpfs(DISK_BYTES, &rooms.path().join("disk"))?;
    let parent = Some(disk.path.clone());
    let cluster = Cluster::start(ClusterOptions { is_durable: true, parent, ..ClusterOptions::default() })?;
    let nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let filler: Mutex<Option<PathBuf>> = Mutex::default();
    let turn = |is_on: bool| {
        let mut filler = filler.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if is_on {
            *filler = Some(disk.fill()?);
            return Ok(());
        }
        std::fs::remove_file(filler.take().context("it was filled")?)?;
        // A server that could not write its log has ended.
        if cluster.sql("postgres", "SELECT 1").is_err() { restart_server(&cluster) } else { Ok(()) }
    };
    strike_on(setup, "postgres-disk-full", &cluster, nodes, turn).await
}
