//! Connections that are lost while a batch is stored: nothing is lost, nothing is stored twice, and every save is
//! answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mnemon_core::{DepartmentTree, FactKey, NewRecord, Role, Viewer};
use mnemon_scratch_postgres::Database;
use mnemon_store::{Insert, Inserted, Store, Supersede};
use mnemon_store_conformance::{House, audit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::lines::Line;
use crate::{database, node};

/// What a line does with what is sent.
const CARRIES: u8 = 0;
/// It ends with the next question, before that arrives.
const LOSES_QUESTION: u8 = 1;
/// The same with the next commit.
const LOSES_COMMIT: u8 = 2;
/// The commit arrives, and the line ends before its answer.
const LOSES_ANSWER_TO_COMMIT: u8 = 3;

/// A line that ends one connection as it is told to, and then carries again.
fn breaking_line(database: &Database, mode: &Arc<AtomicU8>) -> Line {
    let mode = Arc::clone(mode);
    Line::to(database, move |near, far| {
        tokio::spawn(carry(near, far, Arc::clone(&mode)));
    })
}

async fn carry(mut near: UnixStream, mut far: UnixStream, mode: Arc<AtomicU8>) {
    let (mut questions, mut answers) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            Ok(count @ 1..) = near.read(&mut questions) => {
                let is_commit = questions[..count].windows(6).any(|word| word == b"COMMIT");
                let now = mode.load(Ordering::SeqCst);
                let losing = if now == LOSES_QUESTION || is_commit { now } else { CARRIES };
                if losing != CARRIES {
                    mode.store(CARRIES, Ordering::SeqCst);
                }
                if matches!(losing, LOSES_QUESTION | LOSES_COMMIT) {
                    return;
                }
                far.write_all(&questions[..count]).await.expect("the server reads");
                if losing == LOSES_ANSWER_TO_COMMIT {
                    // The server has done what it was asked when it has nothing more to say.
                    let silence = Duration::from_millis(300);
                    while let Ok(Ok(1..)) = tokio::time::timeout(silence, far.read(&mut answers)).await {}
                    return;
                }
            }
            Ok(count @ 1..) = far.read(&mut answers) => {
                if near.write_all(&answers[..count]).await.is_err() {
                    return;
                }
            }
            else => return,
        }
    }
}

fn insert_of(record: NewRecord) -> Insert {
    Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_connection_is_lost_is_stored_once_and_answered() {
    const PROJECTS: usize = 4;
    let database = database();
    let mode = Arc::new(AtomicU8::new(CARRIES));
    let line = breaking_line(&database, &mode);
    let store: Arc<dyn Store> = Arc::new(node(&line.url).await);
    let mut houses = Vec::new();
    for _ in 0..PROJECTS {
        houses.push(House::build(&store).await);
    }
    for (round, losing) in [LOSES_QUESTION, LOSES_COMMIT, LOSES_ANSWER_TO_COMMIT].into_iter().enumerate() {
        mode.store(losing, Ordering::SeqCst);
        let mut saves = JoinSet::new();
        for n in 0..3 * PROJECTS {
            let house = houses[n % PROJECTS].clone();
            let record = house.sourced(&format!("fact {n} of round {round}"), "file", &format!("hash-{round}"));
            saves.spawn(async move { house.insert(record).await });
        }
        for inserted in saves.join_all().await {
            assert!(matches!(inserted, Inserted::New { .. }), "round {round}: {inserted:?}");
        }
        assert_eq!(mode.load(Ordering::SeqCst), CARRIES, "round {round}: a connection was lost");
        for house in &houses {
            assert_eq!(house.last_seq().await.0 as usize, 3 * (round + 1), "each is stored once");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_whose_connection_is_lost_names_what_it_replaced() {
    let database = database();
    let mode = Arc::new(AtomicU8::new(CARRIES));
    let line = breaking_line(&database, &mode);
    let store: Arc<dyn Store> = Arc::new(node(&line.url).await);
    let house = House::build(&store).await;
    let keyed = |text: &str| {
        let fact_key = FactKey { text: "office".to_owned(), is_given: true };
        NewRecord { fact_key, ..house.record(text) }
    };
    let mut last = keyed("the office is in Lisbon");
    house.save(last.clone()).await;
    for (losing, city) in [(LOSES_COMMIT, "Porto"), (LOSES_ANSWER_TO_COMMIT, "Faro")] {
        let before = house.last_seq().await.0;
        let viewer = Viewer::new(house.ana, Role::Member, None, &DepartmentTree::default());
        let audit = audit(house.account, 20, "record.supersede");
        let supersede = Some(Supersede { ids: vec![last.id], same_key: false, viewer, audit });
        let record = keyed(&format!("the office is in {city}"));
        mode.store(losing, Ordering::SeqCst);
        let inserted = store.insert(Insert { supersede, ..insert_of(record.clone()) }).await.expect("it is stored");
        assert!(matches!(&inserted, Inserted::New { superseded, .. } if *superseded == [last.id]), "{inserted:?}");
        assert_eq!(house.last_seq().await.0, before + 2, "stored once, forgotten once");
        last = record;
    }
}
