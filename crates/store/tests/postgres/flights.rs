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
    async move { store.insert(Insert { record, records_max: None, idempotency: None, supersede: None }).await }
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
