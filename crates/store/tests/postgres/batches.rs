//! Saves of many projects that are stored together: no project pays for another, and each keeps its order.

use std::sync::Arc;
use std::time::Duration;

use mnemon_core::{DepartmentTree, FactKey, NewRecord, Role, Seq, Viewer};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::{Insert, Inserted, Store, StoreError, Supersede, statements_sent};
use mnemon_store_conformance::{House, audit};
use tokio::task::{JoinSet, LocalSet};

use crate::trips::long_line;
use crate::{database, node};

const PROJECTS: usize = 8;

type Outcome = Result<Inserted, StoreError>;

fn insert_of(record: NewRecord) -> Insert {
    Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None }
}

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
    async move { store.insert(insert_of(record)).await }
}

/// Saves into all projects at once, four into each, and returns by project how that went.
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
async fn a_project_that_somebody_keeps_locked_neither_fails_nor_delays_saves_into_others() {
    let database = database();
    let config = PostgresConfig { patience: Duration::from_secs(4), ..PostgresConfig::new(&database.url) };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config).await.expect("the database opens"));
    let houses = houses(&store).await;
    let (client, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let locked = houses[3].project;
    client.batch_execute(&format!("BEGIN; SELECT 1 FROM project WHERE id = '{locked}' FOR UPDATE")).await.unwrap();
    let refused = tokio::spawn(save(&houses[3], "a fact that has to wait"));
    for round in ["one", "two"] {
        let others: Vec<House> = houses.iter().filter(|house| house.project != locked).cloned().collect();
        let mut saves = JoinSet::new();
        for n in 0..4 * others.len() {
            saves.spawn(save(&others[n % others.len()], &format!("fact {n} of round {round}")));
        }
        for outcome in saves.join_all().await {
            assert!(matches!(outcome, Ok(Inserted::New { .. })), "round {round}: {outcome:?}");
        }
    }
    assert!(!refused.is_finished(), "the others did not wait for it");
    for (project, outcomes) in save_everywhere(&houses, "three").await.into_iter().enumerate() {
        for outcome in outcomes {
            match project {
                3 => assert!(matches!(outcome, Err(StoreError::Away(_))), "{outcome:?}"),
                _ => assert!(matches!(outcome, Ok(Inserted::New { .. })), "{outcome:?}"),
            }
        }
    }
    assert!(matches!(refused.await.unwrap(), Err(StoreError::Away(_))));
    client.batch_execute("ROLLBACK").await.unwrap();
    let outcomes = save_everywhere(&houses, "four").await;
    assert!(outcomes.iter().flatten().all(|outcome| matches!(outcome, Ok(Inserted::New { .. }))), "{outcomes:?}");
    for (project, house) in houses.iter().enumerate() {
        let stored = if project == 3 { 4 } else { 16 };
        assert_eq!(house.last_seq().await.0, stored, "what was refused is not stored later");
    }
}

/// New records, duplicates and replacements, all at once: each is decided on its own.
#[tokio::test(flavor = "multi_thread")]
async fn saves_that_need_statements_of_their_own_are_stored_beside_the_others() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let houses = houses(&store).await;
    let keyed = |house: &House, text: &str| {
        let fact_key = FactKey { text: "office".to_owned(), is_given: true };
        NewRecord { fact_key, ..house.record(text) }
    };
    let mut old = Vec::new();
    for house in &houses {
        house.save_text("an old fact").await;
        let record = keyed(house, "the office is in Lisbon");
        old.push(record.id);
        house.save(record).await;
    }
    let mut saves = JoinSet::new();
    for n in 0..6 * PROJECTS {
        let (project, kind) = (n % PROJECTS, n / PROJECTS);
        let house = houses[project].clone();
        let insert = match kind {
            0 => insert_of(house.record("an old fact")),
            1 => {
                let viewer = Viewer::new(house.ana, Role::Member, None, &DepartmentTree::default());
                let audit = audit(house.account, 20, "record.supersede");
                let supersede = Supersede { ids: Vec::new(), same_key: true, viewer, audit };
                Insert { supersede: Some(supersede), ..insert_of(keyed(&house, "the office is in Porto")) }
            }
            _ => insert_of(house.record(&format!("new fact {n}"))),
        };
        saves.spawn(async move { (project, kind, house.store.insert(insert).await.expect("storage works")) });
    }
    for (project, kind, inserted) in saves.join_all().await {
        match (kind, inserted) {
            (0, Inserted::Duplicate { .. }) => {}
            (1, Inserted::New { superseded, .. }) => assert_eq!(superseded, [old[project]]),
            (2.., Inserted::New { .. }) => {}
            (kind, other) => panic!("{kind}: {other:?}"),
        }
    }
    for house in &houses {
        // Two before, four new ones, one replacement, and that the replaced one was forgotten.
        assert_eq!(house.last_seq().await, Seq(8));
    }
}

/// A record as people are told to save it: under a key, from a source as it is now.
fn sourced(house: &House, nth: usize) -> NewRecord {
    let fact_key = FactKey { text: format!("key {nth}"), is_given: true };
    NewRecord { fact_key, ..house.sourced(&format!("fact {nth}"), &format!("file {}", nth % 10), "hash") }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_with_key_source_and_hash_takes_two_round_trips_and_brings_its_standing() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    for nth in 0..20 {
        let before = store.figures().connections.round_trips;
        let limited = Insert { records_max: Some(100), workspaces_max: Some(3), ..insert_of(sourced(&house, nth)) };
        let (inserted, standing) = store.insert_with_standing(limited).await.unwrap();
        assert_eq!(store.figures().connections.round_trips - before, 2);
        assert!(matches!(inserted, Inserted::New { .. }), "{inserted:?}");
        let standing = standing.expect("it comes with the save");
        assert_eq!((standing.under_key.len(), standing.sources.len()), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_with_key_source_and_hash_of_many_projects_are_stored_by_few_statements() {
    const CLIENTS: usize = 128;
    const SAVES: usize = 8;
    let database = database();
    let line = long_line(&database);
    let near: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let far: Arc<dyn Store> = Arc::new(node(&line.url).await);
    let mut houses = Vec::new();
    for _ in 0..64 {
        houses.push(House { store: Arc::clone(&far), ..House::build(&near).await });
    }
    let before = statements_sent();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let house = houses[client % houses.len()].clone();
        clients.spawn(async move {
            for n in 0..SAVES {
                let insert = insert_of(sourced(&house, client * SAVES + n));
                let (inserted, standing) = house.store.insert_with_standing(insert).await.expect("storage works");
                assert!(matches!(inserted, Inserted::New { .. }) && standing.is_some(), "{inserted:?}");
            }
        });
    }
    clients.join_all().await;
    let per_save = (statements_sent() - before) as f64 / (CLIENTS * SAVES) as f64;
    println!("{per_save} statements for each save");
    assert!(per_save <= 0.2, "{per_save}");
    let each = (CLIENTS / houses.len() * SAVES) as u64;
    for house in houses {
        assert_eq!(near.last_seq(house.project).await.unwrap(), Some(Seq(each)), "each took its own place");
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
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("a dropped caller hangs up");
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
    // The first is stored at once. Those that came meanwhile are in a batch, or wait for one.
    let first = saves.join_next().await.unwrap().unwrap();
    store.close().await;
    assert_eq!(store.figures().waiting_writes, 0, "nothing waits");
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
    assert_eq!(answered.count() as u64, stored, "each save that was let in is stored and has an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_that_the_server_refuses_fails_alone() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let houses = houses(&store).await;
    let mut saves = JoinSet::new();
    for n in 0..8 * PROJECTS {
        // PostgreSQL stores no such text. Nothing that reaches the store has one: this stands for whatever it may
        // refuse.
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
