//! Read replicas that are dead, silent, behind, or no replicas of this primary: the primary answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mnemon_core::{NewRecord, Seq, WorkspaceName};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::{AtLeast, ReplicaReads, Store};
use mnemon_store_conformance::House;
use tokio::net::UnixListener;

/// A node whose searches may read a replica, and a house on the primary.
async fn node(primary: &Cluster, replica: &str, replica_patience: Duration) -> House {
    let config = PostgresConfig {
        replicas: vec![replica.to_owned()],
        patience: Duration::from_secs(20),
        replica_patience,
        ..PostgresConfig::new(&primary.url("postgres"))
    };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config).await.expect("the database opens"));
    House::build(&store).await
}

fn cluster() -> Cluster {
    Cluster::start(ClusterOptions::default()).expect("PostgreSQL is installed")
}

async fn until(standby: &Cluster, question: &str) {
    let begun = Instant::now();
    while standby.sql("postgres", question).expect("the standby answers") != "t" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{question}");
    }
}

async fn until_replayed(primary: &Cluster, standby: &Cluster) {
    let end = primary.sql("postgres", "SELECT pg_current_wal_lsn()").expect("the primary answers");
    until(standby, &format!("SELECT pg_last_wal_replay_lsn() >= '{end}'")).await;
}

/// The texts at these places, by somebody who must see everything up to a place.
async fn texts(house: &House, seqs: &[Seq], seq: Seq) -> Vec<String> {
    let at_least = AtLeast { seq, account_version: 0 };
    let found = house.store.load_at_least(house.project, seqs, at_least).await.expect("storage works");
    found.into_iter().map(|record| record.fact.content).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_answers_what_it_has_replayed_and_nothing_else() {
    let primary = cluster();
    let standby = Cluster::standby_of(&primary, "standby").expect("a standby starts");
    let house = node(&primary, &standby.url("postgres"), Duration::from_secs(20)).await;
    let first = house.save_text("first").await;
    until_replayed(&primary, &standby).await;
    let no = house.store.list_workspaces(house.project).await.unwrap()[0].no;
    assert_eq!(texts(&house, &[first], first).await, ["first"]);
    let tail = house.store.tail_at_least(house.project, no, Seq(0), 10, first).await.unwrap();
    assert_eq!(house.store.tail(house.project, no, Seq(0), 10).await, Ok(tail));
    assert!(house.store.find_snapshot_at_least(house.project, no, first).await.unwrap().is_none());
    assert_eq!(house.store.replica_reads(), ReplicaReads { answered: 3, behind: 0, failed: 0 });

    standby.sql("postgres", "SELECT pg_wal_replay_pause()").unwrap();
    until(&standby, "SELECT pg_get_wal_replay_pause_state() = 'paused'").await;
    let second = house.save_text("second").await;
    assert_eq!(texts(&house, &[first, second], second).await, ["first", "second"]);
    assert_eq!(house.store.replica_reads(), ReplicaReads { answered: 3, behind: 1, failed: 0 });
    // It rests a little, and then serves those who need less.
    while house.store.replica_reads().answered == 3 {
        assert_eq!(texts(&house, &[first], first).await, ["first"]);
    }
    // A workspace that began after what it has replayed has not ended.
    let record = NewRecord { workspace: WorkspaceName::parse("late").unwrap(), ..house.record("third") };
    let (_, late) = house.save_numbered(record).await;
    assert!(house.store.tail_at_least(house.project, late, Seq(0), 10, first).await.unwrap().is_active);
    assert_eq!(house.store.check_replicas().await, [Ok(())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_no_standby_of_the_primary_is_not_read() {
    let primary = cluster();
    let copy = Cluster::standby_of(&primary, "standby").expect("a standby starts");
    let house = node(&primary, &copy.url("postgres"), Duration::from_secs(20)).await;
    let seq = house.save_text("right").await;
    until_replayed(&primary, &copy).await;
    // From here on it has a history of its own.
    copy.promote().unwrap();
    copy.sql("postgres", "UPDATE project SET seq = seq + 100").unwrap();
    let stray = cluster();
    for _ in 0..3 {
        assert_eq!(texts(&house, &[seq], seq).await, ["right"]);
    }
    assert_eq!(house.store.replica_reads().answered, 0);
    let told = house.store.check_replicas().await.remove(0).expect_err("it is none").to_string();
    assert!(told.contains("no standby of the primary"), "{told}");
    let other = node(&primary, &stray.url("postgres"), Duration::from_secs(20)).await;
    let seq = other.save_text("right").await;
    assert_eq!(texts(&other, &[seq], seq).await, ["right"]);
    assert_eq!(other.store.replica_reads().answered, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_gone_or_silent_costs_a_moment_and_no_answer() {
    let primary = cluster();
    let folder = tempfile::tempdir().unwrap();
    let encoded = folder.path().display().to_string().replace('/', "%2F");
    let url = format!("postgres://postgres@{encoded}:5432/postgres");
    let gone = node(&primary, &url, Duration::from_millis(200)).await;
    let seq = gone.save_text("there").await;
    assert_eq!(texts(&gone, &[seq], seq).await, ["there"]);
    assert_eq!(gone.store.replica_reads(), ReplicaReads { answered: 0, behind: 0, failed: 1 });
    // It takes every connection and never says a word.
    let _silent = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let silent = node(&primary, &url, Duration::from_millis(200)).await;
    let seq = silent.save_text("there").await;
    for _ in 0..20 {
        assert_eq!(texts(&silent, &[seq], seq).await, ["there"]);
    }
    assert_eq!(silent.store.replica_reads().failed, 1, "it is left alone then");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_silent_does_not_keep_a_node_from_the_primary() {
    let primary = cluster();
    let folder = tempfile::tempdir().unwrap();
    let _silent = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let encode = |path: &std::path::Path| path.display().to_string().replace('/', "%2F");
    let hosts = format!("{},{}", encode(folder.path()), encode(primary.folder()));
    let url = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write");
    let config = PostgresConfig { patience: Duration::from_secs(20), ..PostgresConfig::new(&url) };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config).await.expect("one of them is the primary"));
    let house = House::build(&store).await;
    let seq = house.save_text("there").await;
    assert_eq!(texts(&house, &[seq], seq).await, ["there"]);
}
