//! Many callers at once on one node, beside the same on embedded storage: what a search costs the node, and how much of the
//! conversation with the database is shared.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mnemon_scratch_postgres::Cluster;

use super::{BATCH_MAX, FILLERS, SEED};
use crate::load::{Calls, Kind, Phase, Started, Texts, Until, phase, progress};

const CLIENTS: [usize; 2] = [1, 64];
const ROUNDS: usize = 3;
/// How much more of a node's processor a search may take on PostgreSQL, and how many transactions, with the most callers.
const CPU_RATIO_MAX: f64 = 1.3;
const TRANSACTIONS_MAX: f64 = 0.15;
const DATABASE: &str = "callers";

/// Whether both bars are met.
pub(super) async fn compare(cluster: &Cluster, records: u64, seconds: f64) -> Result<bool> {
    cluster.sql("postgres", &format!("CREATE DATABASE {DATABASE}"))?;
    let folder = tempfile::tempdir()?;
    let node = Started::node(&cluster.url(DATABASE), BATCH_MAX, None)?;
    let embedded = Started::service(&folder.path().join("data"))?;
    let calls = [&node, &embedded].map(|_| Arc::new(Calls::new(Texts::new(SEED), records, "searched", 0)));
    for (server, calls) in [&node, &embedded].into_iter().zip(&calls) {
        progress(&format!("storing {records} records"));
        phase(server, calls, Kind::Save, FILLERS, Until::Calls(records), false).await?;
        // Until most records have been shown once.
        phase(server, calls, Kind::Search, 8, Until::Calls(records / 2), false).await?;
    }
    println!("\nsearches in {records} records  clients  searches/s    p50 µs    p99 µs   node CPU µs   transactions");
    let until = Until::Time(Duration::from_secs_f64(seconds));
    let mut is_met = true;
    for clients in CLIENTS {
        let (mut shared, mut alone, mut transactions) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            progress(&format!("searches with {clients} clients, round {round} of {ROUNDS}"));
            let before = committed(cluster)?;
            let seen = phase(&node, &calls[0], Kind::Search, clients, until, false).await?;
            transactions.push((committed(cluster)? - before) / (seen.calls_per_second * seconds));
            shared.push(seen);
            alone.push(phase(&embedded, &calls[1], Kind::Search, clients, until, false).await?);
        }
        transactions.sort_by(f64::total_cmp);
        let (shared, alone, transactions) = (Phase::median(&shared), Phase::median(&alone), transactions[ROUNDS / 2]);
        println!("{}{transactions:>15.3}", super::row("PostgreSQL", clients, &shared));
        println!("{}", super::row("embedded", clients, &alone));
        if clients == CLIENTS[CLIENTS.len() - 1] {
            let ratio = shared.cpu_us_per_call / alone.cpu_us_per_call;
            is_met = ratio <= CPU_RATIO_MAX && transactions <= TRANSACTIONS_MAX;
            println!(
                "{} at {clients} clients a search takes {ratio:.2} x embedded's CPU time (bar: <= {CPU_RATIO_MAX}) and \
                 {transactions:.3} transactions (bar: <= {TRANSACTIONS_MAX})",
                if is_met { "PASS" } else { "FAIL" }
            );
        }
    }
    Ok(is_met)
}

/// How many transactions the database has committed. Connections report theirs about once a second, so a run has to be longer
/// than that.
fn committed(cluster: &Cluster) -> Result<f64> {
    let text =
        cluster.sql("postgres", &format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{DATABASE}'"))?;
    text.trim().parse().with_context(|| format!("the server counts transactions, and answered {text}"))
}
