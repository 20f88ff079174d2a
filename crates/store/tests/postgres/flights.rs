//! Saves of many projects that are stored together: nobody pays for a neighbour, and each project keeps its order.

use std::sync::Arc;
use std::time::Duration;

use mnemon_store::conformance::House;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::{Insert, Inserted, Store, StoreError};
use tokio::task::{JoinSet, LocalSet};

use crate::{database, node};

const PROJECTS: usize = 8;

type Outcome = Result<Inserted, StoreError>;

/// One account with several projects.
async fn houses(store: &Arc<dyn Store>) -> Vec<House> {
    let first = House::build(store).await;
    let mut houses = vec![first.clone()];
    while houses.len() < PROJECTS {
        houses.push(House { project: first.add_project().await, ..first.clone() });
    }
    houses
}

fn save(house: &House, text: &str) -> impl Future<Output = Outcome> + Send + use<> {
    let (store, record) = (Arc::clone(&house.store), house.record(text));
    async move {
        store
            .insert(Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None })
            .await
    }
}

/// Saves into all projects at once, four into each, and tells by project how that went.
async fn save_everywhere(houses: &[House], round: &str) -> Vec<Vec<Outcome>> {
    let mut saves = JoinSet::new();
    for n in 0..4 * PROJECTS {
        let save = save(&houses[n % PROJECTS], &format!("fact {n} of round {round}"));
        saves.spawn(async move { (n % PROJECTS, save.await) });
    }
    let mut outcomes = vec![Vec::new(); PROJECTS];
    for (project, outcome) in saves.join_all().await {
        outcomes[project].push(outcome);
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_somebody_keeps_locked_fails_no_save_into_another() {
    let database = database();
    let config = PostgresConfig { patience: Duration::from_secs(2), ..PostgresConfig::new(&database.url) };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config).await.expect("the database opens"));
    let houses = houses(&store).await;
    let (client, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let locked = houses[3].project;
    client.batch_execute(&format!("BEGIN; SELECT 1 FROM project WHERE id = '{locked}' FOR UPDATE")).await.unwrap();
    for round in ["one", "two"] {
        for (project, outcomes) in save_everywhere(&houses, round).await.into_iter().enumerate() {
            for outcome in outcomes {
                match project {
                    3 => assert!(matches!(outcome, Err(StoreError::Away(_))), "round {round}: {outcome:?}"),
                    _ => assert!(matches!(outcome, Ok(Inserted::New { .. })), "round {round}: {outcome:?}"),
                }
            }
        }
    }
    client.batch_execute("ROLLBACK").await.unwrap();
    let outcomes = save_everywhere(&houses, "three").await;
    assert!(outcomes.iter().flatten().all(|outcome| matches!(outcome, Ok(Inserted::New { .. }))), "{outcomes:?}");
    for (project, house) in houses.iter().enumerate() {
        let stored = if project == 3 { 4 } else { 12 };
        assert_eq!(house.last_seq().await.0, stored, "what was refused is not stored later");
    }
}

/// How many connections of nodes the server has.
async fn open_connections(observer: &tokio_postgres::Client) -> i64 {
    const COUNT: &str = "
        SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mnemon'";
    observer.query_one(COUNT, &[]).await.expect("the server counts").get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_and_everything_else_share_the_connections_and_leave_none_behind() {
    let database = database();
    let (observer, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let config = PostgresConfig { connections_max: 5, ..PostgresConfig::new(&database.url) };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config).await.expect("the database opens"));
    let houses = houses(&store).await;
    let mut calls = JoinSet::new();
    // Few enough that the server is not told to count its rows, which takes a connection of its own.
    for n in 0..6 * PROJECTS {
        let (house, save) = (houses[n % PROJECTS].clone(), save(&houses[n % PROJECTS], &format!("fact {n}")));
        calls.spawn(async move { assert!(matches!(save.await, Ok(Inserted::New { .. }))) });
        calls.spawn(async move { assert!(house.last_seq().await.0 <= 6) });
    }
    let mut most = 0;
    while let Some(call) = calls.join_next().await {
        call.unwrap();
        most = most.max(open_connections(&observer).await);
    }
    assert!((2..=5).contains(&most), "{most} connections");
    let figures = store.figures();
    assert_eq!((figures.connections.max, figures.waiting_writes), (5, 0));
    drop((houses, store));
    let gone = async { while open_connections(&observer).await > 0 {} };
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("whoever is dropped hangs up");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_when_a_store_closes_is_stored() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let houses = houses(&store).await;
    let mut saves = JoinSet::new();
    for n in 0..4 * PROJECTS {
        saves.spawn(save(&houses[n % PROJECTS], &format!("fact {n}")));
    }
    // The first leaves at once. Those that came meanwhile fly, or wait for their flight.
    let first = saves.join_next().await.unwrap().unwrap();
    store.close().await;
    assert_eq!(store.figures().waiting_writes, 0, "nobody is left at the door");
    let late = save(&houses[0], "too late").await;
    assert!(matches!(late, Err(StoreError::Away(_) | StoreError::Failed(_))), "{late:?}");
    let outcomes = saves.join_all().await.into_iter().chain([first]);
    let answered = outcomes.filter(|outcome| matches!(outcome, Ok(Inserted::New { .. })));
    let again: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let mut stored = 0;
    for house in &houses {
        stored += House { store: Arc::clone(&again), ..house.clone() }.last_seq().await.0;
    }
    assert!(stored > 0);
    assert_eq!(answered.count() as u64, stored, "whoever was let in is stored and has an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_that_the_server_refuses_fails_alone() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let houses = houses(&store).await;
    let mut saves = JoinSet::new();
    for n in 0..8 * PROJECTS {
        // PostgreSQL stores no such text. Nothing that reaches the store has one: this stands for whatever it may refuse.
        let is_bad = n % 20 == 19;
        let text = format!("fact {n}{}", if is_bad { "\0" } else { "" });
        let save = save(&houses[n % PROJECTS], &text);
        saves.spawn(async move { (is_bad, save.await) });
    }
    for (is_bad, outcome) in saves.join_all().await {
        match is_bad {
            true => assert!(matches!(outcome, Err(StoreError::Failed(_))), "{outcome:?}"),
            false => assert!(matches!(outcome, Ok(Inserted::New { .. })), "{outcome:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_into_a_project_are_stored_in_the_order_they_came() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(
        PostgresStore::open(PostgresConfig { batch_max: 10, ..PostgresConfig::new(&database.url) })
            .await
            .expect("the database opens"),
    );
    let houses = houses(&store).await;
    // On one thread, tasks begin in the order in which they were spawned.
    let tasks = LocalSet::new();
    let saves: Vec<_> = (0..25 * PROJECTS)
        .map(|n| (n % PROJECTS, tasks.spawn_local(save(&houses[n % PROJECTS], &format!("fact {n}")))))
        .collect();
    tasks.await;
    let mut seqs = vec![Vec::new(); PROJECTS];
    for (project, save) in saves {
        match save.await.unwrap() {
            Ok(Inserted::New { seq, .. }) => seqs[project].push(seq.0),
            other => panic!("{other:?}"),
        }
    }
    for seqs in seqs {
        assert_eq!(seqs, (1..=25).collect::<Vec<_>>());
    }
}
