//! Many nodes on one database: each sees what the others did, and none can get past another's decision.

use std::sync::Arc;

use mnemon_core::{FactKey, NewRecord, ProjectId, Seq};
use mnemon_scratch_postgres::Database;
use mnemon_store::{Idempotency, Insert, Inserted, Store};
use mnemon_store_conformance::{House, at, audit, check_that_a_damaged_record_is_left_out};

use crate::{database, node};

const NODES: usize = 3;

/// The same house, seen from several nodes.
async fn nodes(url: &str) -> Vec<House> {
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..NODES {
        stores.push(Arc::new(node(url).await));
    }
    let house = House::build(&stores[0]).await;
    stores.into_iter().map(|store| House { store, ..house.clone() }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_on_one_node_is_read_on_the_next() {
    let database = database();
    let nodes = nodes(&database.url).await;
    for n in 0..60 {
        let seq = nodes[n % NODES].save_text(&format!("fact {n}")).await;
        let other = &nodes[(n + 1) % NODES];
        let presented = other.store.find_credential(&other.key_hash).await.unwrap().unwrap();
        assert_eq!(presented.seq, seq, "the next request anywhere knows how far the log has come");
        assert_eq!(other.load(seq).await.map(|record| record.fact.content), Some(format!("fact {n}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_is_seen_by_the_next_request_on_every_node() {
    let database = database();
    let nodes = nodes(&database.url).await;
    for n in 0..20 {
        let key = nodes[n % NODES].add_key(nodes[0].ana).await;
        for node in &nodes {
            assert!(!node.store.find_credential(&key.hash).await.unwrap().unwrap().credential.is_revoked);
        }
        let line = audit(nodes[0].account, 30, "key.revoke");
        assert_eq!(nodes[n % NODES].store.revoke_key(key.id, at(30), line).await, Ok(true));
        for node in &nodes {
            assert!(node.store.find_credential(&key.hash).await.unwrap().unwrap().credential.is_revoked);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_saves_of_all_nodes_take_consecutive_places_and_keep_the_limit() {
    const LIMIT: u64 = 100;
    let database = database();
    let nodes = nodes(&database.url).await;
    let mut callers = Vec::new();
    for n in 0..150 {
        let house = nodes[n % NODES].clone();
        callers.push(tokio::spawn(async move {
            let record = house.record(&format!("fact {n}"));
            let insert =
                Insert { record, records_max: Some(LIMIT), workspaces_max: None, idempotency: None, supersede: None };
            house.store.insert(insert).await.unwrap()
        }));
    }
    let mut seqs = Vec::new();
    for caller in callers {
        match caller.await.unwrap() {
            Inserted::New { seq, .. } => seqs.push(seq),
            other => assert_eq!(other, Inserted::LimitReached),
        }
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=LIMIT).map(Seq).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_used_on_all_nodes_at_once_stores_one_record() {
    let database = database();
    let nodes = nodes(&database.url).await;
    for round in 0..10 {
        let mut callers = Vec::new();
        for n in 0..12 {
            let house = nodes[n % NODES].clone();
            callers.push(tokio::spawn(async move {
                let key = Idempotency {
                    member: house.ana,
                    key: format!("key {round}"),
                    arguments_hash: [7; 32],
                    valid_since: at(0),
                };
                house.insert_with_key(house.record(&format!("fact {round}")), key).await
            }));
        }
        let mut new = 0;
        for caller in callers {
            match caller.await.unwrap() {
                Inserted::New { .. } => new += 1,
                other => assert!(matches!(other, Inserted::Replayed(_)), "{other:?}"),
            }
        }
        assert_eq!(new, 1);
    }
}

/// Plans are cached, and those of a young table must not read a project's records once per save when it has grown.
#[tokio::test(flavor = "multi_thread")]
async fn a_save_reads_as_little_of_a_full_workspace_as_of_an_empty_one() {
    const SAVES: usize = 2_000;
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    save_facts(&house, 0..SAVES).await;
    store.close().await;
    check_rows_read(&database, SAVES).await;
}

/// The server makes new plans after it has counted a table. While that is young, the index that leads to a save's
/// duplicate is the first to grow higher, and another one that leads to all records of the workspace looks cheaper.
#[tokio::test(flavor = "multi_thread")]
async fn a_save_reads_as_little_after_its_young_table_was_counted() {
    const SAVES: usize = 600;
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    for first in (0..SAVES).step_by(20) {
        save_facts(&house, first..first + 20).await;
        database.sql("ANALYZE record").unwrap();
    }
    store.close().await;
    check_rows_read(&database, SAVES).await;
}

/// Projects of one kind have files of the same names.
#[tokio::test(flavor = "multi_thread")]
async fn a_save_reads_nothing_of_the_same_source_in_other_projects() {
    const SAVES: usize = 40;
    const PROJECTS: usize = 16;
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    // Once it knows that a workspace has forty records, the planner may as well read them all: no statistics meanwhile.
    for table in ["record", "source"] {
        database.sql(&format!("ALTER TABLE {table} SET (autovacuum_enabled = false)")).expect("the table is there");
    }
    for _ in 0..PROJECTS {
        save_facts(&House::build(&store).await, 0..SAVES).await;
    }
    store.close().await;
    check_rows_read(&database, PROJECTS * SAVES).await;
}

/// Saves facts with a key, a source and its hash.
async fn save_facts(house: &House, numbers: std::ops::Range<usize>) {
    for first in numbers.clone().step_by(8) {
        let saves = (first..numbers.end.min(first + 8)).map(|number| {
            let house = house.clone();
            let fact_key = FactKey { text: format!("key {number}"), is_given: true };
            let record = house.sourced(&format!("fact {number}"), &format!("file {}", number % 50), "hash");
            let (record, supersede) = (NewRecord { fact_key, ..record }, None);
            let insert = Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede };
            tokio::spawn(async move { house.store.insert_with_standing(insert).await })
        });
        for save in saves.collect::<Vec<_>>() {
            save.await.expect("a save ends").expect("storage works");
        }
    }
}

/// Each save but the first of a workspace has looked for its duplicate and found none, and found itself under its key
/// and what is known of its source. All nodes must be closed: connections report what they read when they end, and the
/// server adds it up a moment later.
async fn check_rows_read(database: &Database, saves: usize) {
    const LOOKS: &str = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname = 'record'";
    const BY_INDEX: &str = "
        SELECT indexrelname, idx_scan, idx_tup_read
        FROM pg_stat_user_indexes
        WHERE relname IN ('record', 'source')";
    let sql = |statement: &str| database.sql(statement).expect("the server counts");
    let number = |statement: &str| sql(statement).parse::<usize>().expect("a number");
    for _ in 0..100 {
        if number(LOOKS) >= saves {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(number(LOOKS) >= saves, "each save looks for itself under its key");
    for table in ["record", "source"] {
        let read = number(&format!(
            "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = '{table}')
                + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = '{table}')"
        ));
        assert!(read < 4 * saves, "{read} rows of {table} were read for {saves} saves:\n{}", sql(BY_INDEX));
    }
}

/// Batches of several projects, locked by all nodes at once, in every order that callers come in.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_write_to_the_same_projects_do_not_stand_in_each_others_way() {
    let database = database();
    let nodes = nodes(&database.url).await;
    let mut projects: Vec<ProjectId> = vec![nodes[0].project];
    for _ in 0..7 {
        projects.push(nodes[0].add_project().await);
    }
    let mut callers = Vec::new();
    for n in 0..240 {
        let house = House { project: projects[(n * 5) % projects.len()], ..nodes[n % NODES].clone() };
        callers.push(tokio::spawn(async move { house.save_text(&format!("fact {n}")).await }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    for project in projects {
        let house = House { project, ..nodes[0].clone() };
        assert_eq!(house.last_seq().await, Seq(30));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_takes_no_other_with_it() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    let project = house.project;
    let damage = async |seq: Seq| {
        let change =
            format!("UPDATE record SET content = 'another' WHERE project_id = '{project}' AND seq = {}", seq.0);
        database.sql(&change).unwrap();
    };
    check_that_a_damaged_record_is_left_out(&house, damage).await;
}
