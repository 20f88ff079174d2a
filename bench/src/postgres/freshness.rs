//! What a search pays for being fresh: the one round trip that reads credential, subscription and the end of the log.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mnemon_core::CredentialHash;
use mnemon_scratch_postgres::Cluster;
use mnemon_store::Credentials;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use serde::Serialize;

use super::BATCH_MAX;
use crate::load::Started;

/// The middle of each.
#[derive(Serialize)]
pub(super) struct Freshness {
    round_trip_us: f64,
    shortest_round_trip_us: f64,
}

/// Times the read alone, compared with the shortest possible request to the server.
pub(super) async fn measure(cluster: &Cluster, seconds: f64) -> Result<Freshness> {
    cluster.sql("postgres", "CREATE DATABASE freshness")?;
    let url = cluster.url("freshness");
    let node = Started::node(&url, BATCH_MAX, None)?;
    let hash = CredentialHash::of(&node.key);
    let store = PostgresStore::open(PostgresConfig::new(&url)).await?;
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    let nothing = client.prepare("SELECT 1").await?;
    let (mut reads, mut nothings) = (Vec::new(), Vec::new());
    let ends = Instant::now() + Duration::from_secs_f64(seconds);
    // In turns, so that a busy machine slows both.
    while Instant::now() < ends {
        let began = Instant::now();
        store.find_credential(&hash).await?.context("the key of the first start is accepted")?;
        reads.push(began.elapsed());
        let began = Instant::now();
        client.query(&nothing, &[]).await?;
        nothings.push(began.elapsed());
    }
    let (round_trip_us, shortest_round_trip_us) = (middle(&mut reads), middle(&mut nothings));
    println!("\nfreshness: credential, subscription and end of the log, one round trip: {round_trip_us:.0} µs p50");
    println!(
        "           shortest round trip to the same server (SELECT 1):           {shortest_round_trip_us:.0} µs p50"
    );
    Ok(Freshness { round_trip_us, shortest_round_trip_us })
}

fn middle(waits: &mut [Duration]) -> f64 {
    waits.sort_unstable();
    waits.get(waits.len() / 2).map_or(0.0, |wait| wait.as_secs_f64() * 1e6)
}
