//! A server that is slow, locked, killed or gone: which error comes, how soon, and that it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mnemon_scratch_postgres::{Cluster, ClusterOptions, Database};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::{Insert, Store, StoreError};
use mnemon_store_conformance::House;

use crate::database;

/// A node with a service's timeouts: how soon it gives up is what these tests are about.
async fn node(url: &str) -> PostgresStore {
    PostgresStore::open(PostgresConfig::new(url)).await.expect("the database opens")
}

fn save(house: &House, text: &str) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
    let (store, record) = (Arc::clone(&house.store), house.record(text));
    async move {
        store
            .insert(Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None })
            .await
            .map(|_| ())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_away_until_it_is_back() {
    let cluster = Cluster::start(ClusterOptions::default()).expect("PostgreSQL is installed");
    let store: Arc<dyn Store> = Arc::new(node(&cluster.url("postgres")).await);
    let house = House::build(&store).await;
    let mut seqs = vec![house.save_text("before").await];
    for round in 0..3 {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(cluster.pid().unwrap() as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        // The server's children keep serving until each has noticed that its parent is gone.
        let mut count = 0;
        while let Ok(()) = save(&house, &format!("meanwhile {round}.{count}")).await {
            count += 1;
        }
        let answer = save(&house, &format!("meanwhile {round}")).await;
        assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
        assert!(matches!(store.find_credential(&house.key_hash).await, Err(StoreError::Away(_))));
        assert!(matches!(store.check().await, Err(StoreError::Away(_))));
        restart(&cluster);
        let back = Instant::now();
        while store.check().await.is_err() {
            assert!(back.elapsed() < Duration::from_secs(5));
        }
        seqs.push(house.save_text(&format!("after {round}")).await);
    }
    assert_eq!(store.load(house.project, &seqs).await.unwrap().len(), seqs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stores_no_saves_any_more_is_not_ready() {
    let database = database();
    let node = Arc::new(node(&database.url).await);
    let store: Arc<dyn Store> = node.clone();
    let house = House::build(&store).await;
    house.save_text("before").await;
    store.check().await.expect("it works");
    node.lose_writer().await;
    save(&house, "after").await.expect_err("nobody stores it");
    let told = store.check().await.expect_err("nobody can save").to_string();
    assert!(told.contains("restart the service"), "{told}");
    assert!(store.find_credential(&house.key_hash).await.is_ok(), "the server is there");
}

/// A server can answer one statement of a search while it refuses another.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_ready_only_while_every_statement_of_a_search_is_answered() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    store.check_reads().await.expect("it works");
    for table in ["api_key", "workspace", "record"] {
        database.sql(&format!("REVOKE SELECT ON {table} FROM mnemon_app")).expect("the owner decides");
        store.check_reads().await.expect_err(table);
        database.sql(&format!("GRANT SELECT ON {table} TO mnemon_app")).expect("the owner decides");
        store.check_reads().await.expect(table);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_told_to_stop_is_not_called_broken() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    store.close().await;
    let told = store.check().await.expect_err("it has stopped").to_string();
    assert!(told.ends_with("the store is closed"), "{told}");
}

/// The children of a killed server end by themselves, and a new one waits for that.
fn restart(cluster: &Cluster) {
    let begun = Instant::now();
    while let Err(error) = cluster.start_again() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_behind_a_lock_has_an_error_within_two_seconds() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    let (client, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; LOCK TABLE record, api_key IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut callers = Vec::new();
    for n in 0..100 {
        let (house, store, save) = (house.clone(), Arc::clone(&store), save(&house, &format!("fact {n}")));
        callers.push(tokio::spawn(async move {
            let begun = Instant::now();
            let answer = if n % 2 == 0 { save.await } else { store.find_credential(&house.key_hash).await.map(|_| ()) };
            (answer, begun.elapsed())
        }));
    }
    for caller in callers {
        let (answer, took) = caller.await.unwrap();
        assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
        assert!(took < Duration::from_millis(2_500), "{took:?}");
    }
    client.batch_execute("ROLLBACK").await.unwrap();
    house.save_text("after").await;
    assert_eq!(house.last_seq().await.0, 1, "what was refused is not stored later");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_leads_nowhere_is_said_in_words() {
    let check = async |url: &str, words: &str| {
        let error = PostgresStore::open(PostgresConfig::new(url)).await.err().expect(url).to_string();
        assert!(error.contains(words), "{error}");
    };
    check("postgres://me@127.0.0.1:1/mnemon", "storage is unavailable: can't connect to PostgreSQL").await;
    check("postgres://me@%2Fnowhere/mnemon", "storage is unavailable: can't connect to PostgreSQL").await;
    let database = Database::fresh().expect("PostgreSQL is installed");
    let elsewhere = database.url.replace("/test_", "/absent_");
    check(&elsewhere, "PostgreSQL refuses the connection: database").await;
}
