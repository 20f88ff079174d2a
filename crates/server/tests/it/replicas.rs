//! Read replicas: a search on any node sees every save, however far the replica is behind, and reads it when it may.

use std::time::{Duration, Instant};

use mnemon_store::ReplicaReads;
use mnemon_store::postgres::PostgresConfig;
use mnemon_testkit::postgres::{Cluster, ClusterOptions};
use mnemon_testkit::{Caller, TestServer, TestServerOptions, TestStore};
use serde_json::json;

const ROUNDS: usize = 240;
/// The number of saves after which the standby stops replaying, or goes on.
const TURN: usize = 30;

struct Pair {
    primary: Cluster,
    standby: Cluster,
}

impl Pair {
    fn start() -> Self {
        let primary = Cluster::start(ClusterOptions::default()).expect("PostgreSQL is installed");
        let standby = Cluster::standby_of(&primary, "standby").expect("a standby starts");
        Self { primary, standby }
    }

    fn options(&self) -> TestServerOptions {
        // A machine that runs many tests at once may keep a caller waiting longer than a real service would.
        let (patience, replica_patience) = (Duration::from_secs(20), Duration::from_secs(20));
        let replicas = vec![self.standby.url("postgres")];
        let config = PostgresConfig::new(&self.primary.url("postgres"));
        let config = PostgresConfig { replicas, connections_max: 8, patience, replica_patience, ..config };
        TestServerOptions { store: TestStore::Postgres, postgres: Some(config), ..TestServerOptions::default() }
    }

    fn pause(&self) {
        self.standby.sql("postgres", "SELECT pg_wal_replay_pause()").expect("a standby can pause");
        self.until("SELECT pg_get_wal_replay_pause_state() = 'paused'");
    }

    fn go_on(&self) {
        self.standby.sql("postgres", "SELECT pg_wal_replay_resume()").expect("a standby can go on");
        let end = self.primary.sql("postgres", "SELECT pg_current_wal_lsn()").expect("the primary tells");
        self.until(&format!("SELECT pg_last_wal_replay_lsn() >= '{end}'"));
    }

    fn until(&self, question: &str) {
        let begun = Instant::now();
        while self.standby.sql("postgres", question).expect("the standby answers") != "t" {
            assert!(begun.elapsed() < Duration::from_secs(60), "{question}");
        }
    }
}

fn reads(nodes: &[&TestServer]) -> ReplicaReads {
    let each = nodes.iter().map(|node| node.engine.figures().replica_reads);
    each.fold(ReplicaReads::default(), |sum, one| ReplicaReads {
        answered: sum.answered + one.answered,
        behind: sum.behind + one.behind,
        failed: sum.failed + one.failed,
    })
}

async fn save(caller: &Caller, n: usize) -> (String, String) {
    let text = format!("the bolt marked m{n}x is in drawer {n}");
    let saved = caller.call("remember", json!({"content": text})).await;
    (text, saved.structured()["id"].as_str().expect("an id").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_search_misses_a_save_or_a_forget_while_the_replica_lags() {
    let pair = Pair::start();
    let first = TestServer::start_with(pair.options()).await;
    let second = first.one_more_node().await;
    let ana = first.first_caller().await;
    let elsewhere = second.caller(&ana.key);
    for n in 0..ROUNDS {
        match n / TURN % 2 {
            0 if n % TURN == 0 => pair.go_on(),
            1 if n % TURN == 0 => pair.pause(),
            _ => {}
        }
        let (saver, searcher) = if n % 2 == 0 { (&ana, &elsewhere) } else { (&elsewhere, &ana) };
        let (text, id) = save(saver, n).await;
        assert_eq!(searcher.search_texts(&format!("m{n}x")).await.first(), Some(&text), "round {n}");
        if n % 5 == 0 {
            searcher.call("forget", json!({"memory_id": id})).await.structured();
            assert!(!saver.search_texts(&format!("m{n}x")).await.contains(&text), "round {n}");
        }
    }
    let seen = reads(&[&first, &second]);
    assert!(seen.behind > 0, "the replica was behind at times: {seen:?}");
    // A node that knows nothing yet reads it all from a replica that has it all.
    pair.go_on();
    let third = first.one_more_node().await;
    let found = third.caller(&ana.key).search_texts("m1x").await;
    assert_eq!(found.first().map(String::as_str), Some("the bolt marked m1x is in drawer 1"));
    let seen = reads(&[&third]);
    assert!(seen.answered >= 2 && seen.behind + seen.failed == 0, "log and bodies: {seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_is_shown_at_once_though_the_replica_has_the_old_one() {
    let pair = Pair::start();
    let server = TestServer::start_with(pair.options()).await;
    let ana = server.first_caller().await;
    save(&ana, 1).await;
    pair.go_on();
    pair.pause();
    let reader = server.one_more_node().await;
    let caller = reader.caller(&ana.key);
    let author = async || {
        let found = caller.call("search", json!({"query": "m1x"})).await;
        found.structured()["result"][0]["author"].clone()
    };
    let before = author().await;
    pair.primary.sql("postgres", "UPDATE member SET name = 'Anabel'").expect("a name changes");
    pair.primary.sql("postgres", "UPDATE account SET account_version = account_version + 1").expect("and says so");
    let after = author().await;
    assert!(before != after && after == "Anabel", "{before} became {after}");
}
