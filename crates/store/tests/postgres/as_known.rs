//! Saves into projects that a node knows take one round trip. What it knows is checked before anything is written, whatever
//! happened meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mnemon_core::{Audience, Seq};
use mnemon_scratch_postgres::Database;
use mnemon_store::conformance::{House, audit, workspace};
use mnemon_store::{Insert, Inserted, Store, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::lines::Line;
use crate::{database, node};

/// After so many saves a node knows a project: one to see it, one to see that nobody else writes.
const ACQUAINTANCE: usize = 2;

/// A node, and a house that it knows.
async fn known_house(url: &str) -> House {
    let store: Arc<dyn Store> = Arc::new(node(url).await);
    let house = House::build(&store).await;
    meet(&house).await;
    house
}

async fn meet(house: &House) {
    for n in 0..ACQUAINTANCE {
        house.save_text(&format!("acquaintance {n} at {}", house.last_seq().await.0)).await;
    }
}

fn round_trips(house: &House) -> u64 {
    house.store.figures().connections.round_trips
}

/// How many round trips a save takes, and what comes of it.
async fn save(house: &House, text: &str) -> (u64, Inserted) {
    let before = round_trips(house);
    let inserted = house.insert(house.record(text)).await;
    (round_trips(house) - before, inserted)
}

fn seq_of(inserted: &Inserted) -> u64 {
    let Inserted::New { seq, .. } = inserted else { panic!("expected a new record and got {inserted:?}") };
    seq.0
}

/// The same house, from another node.
async fn other_node(house: &House, url: &str) -> House {
    House { store: Arc::new(node(url).await), ..house.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_into_a_project_that_nobody_else_writes_to_takes_one_round_trip() {
    let database = database();
    let house = known_house(&database.url).await;
    for n in 0..5 {
        let (trips, inserted) = save(&house, &format!("fact {n}")).await;
        assert_eq!((trips, seq_of(&inserted)), (1, (ACQUAINTANCE + n + 1) as u64));
    }
    let seq = house.last_seq().await;
    assert_eq!(house.load(seq).await.map(|record| record.fact.content), Some("fact 4".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_after_another_nodes_is_stored_behind_it() {
    let database = database();
    let house = known_house(&database.url).await;
    let other = other_node(&house, &database.url).await;
    for n in 0..3 {
        let theirs = other.save_text(&format!("theirs {n}")).await;
        let (_, ours) = save(&house, &format!("ours {n}")).await;
        assert_eq!(seq_of(&ours), theirs.0 + 1);
    }
    // It was wrong once. From then on it asks first, until it has seen that the other one is gone.
    let trips: Vec<u64> = [save(&house, "a").await.0, save(&house, "b").await.0].into();
    assert_eq!(trips, [2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_is_found_by_a_node_that_expects_none() {
    let database = database();
    let house = known_house(&database.url).await;
    let first = house.save_text("The office is in Lisbon.").await;
    let (_, again) = save(&house, "The office is in Lisbon.").await;
    assert!(matches!(&again, Inserted::Duplicate { record, .. } if record.seq == first), "{again:?}");
    assert_eq!(house.last_seq().await, first, "a save that says nothing new writes nothing");
    // Two at once, of which only one can be new.
    let texts = ["The office is in Porto.", "The office is in Porto."];
    let (one, two) = tokio::join!(house.insert(house.record(texts[0])), house.insert(house.record(texts[1])));
    assert_eq!([&one, &two].iter().filter(|saved| matches!(saved, Inserted::New { .. })).count(), 1, "{one:?} {two:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_another_node_does_to_a_project_is_seen_by_the_next_save() {
    let database = database();
    let house = known_house(&database.url).await;
    let other = other_node(&house, &database.url).await;
    let (_, old_no) = house.save_numbered(house.record("in the old workspace")).await;
    assert!(other.delete_workspace("default", 20).await.is_some());
    let (seq, new_no) = house.save_numbered(house.record("in the new workspace")).await;
    assert_ne!(old_no, new_no, "the workspace is born again");
    meet(&house).await;
    other.forget(&[seq], 30).await;
    assert!(matches!(house.insert(house.record("in the new workspace")).await, Inserted::New { .. }), "it is gone");
    meet(&house).await;
    let line = audit(house.account, 40, "project.delete");
    assert_eq!(other.store.delete_project(house.account, house.project, line).await, Ok(true));
    let refused = house.store.insert(plain(&house, "too late", None)).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
}

fn plain(house: &House, text: &str, records_max: Option<u64>) -> Insert {
    Insert { record: house.record(text), records_max, workspaces_max: None, idempotency: None, supersede: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_records_is_kept_to_the_last_one() {
    let database = database();
    let house = known_house(&database.url).await;
    let max = (ACQUAINTANCE + 2) as u64;
    for n in 0..2 {
        let inserted = house.store.insert(plain(&house, &format!("fact {n}"), Some(max))).await.unwrap();
        assert!(matches!(inserted, Inserted::New { .. }), "{inserted:?}");
    }
    assert_eq!(house.store.insert(plain(&house, "one too many", Some(max))).await, Ok(Inserted::LimitReached));
    let other = other_node(&house, &database.url).await;
    other.forget(&[Seq(1)], 30).await;
    let inserted = house.store.insert(plain(&house, "there is room", Some(max))).await.unwrap();
    assert!(matches!(inserted, Inserted::New { .. }), "{inserted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_by_a_known_key_is_refused_once_its_account_has_changed() {
    let database = database();
    let house = known_house(&database.url).await;
    let appearance = async || {
        let presented = house.store.find_credential(&house.key_hash).await.unwrap().unwrap();
        presented.credential.appearance
    };
    let before = appearance().await;
    let insert = async |text: &str, appearance| {
        let trips = round_trips(&house);
        let inserted = house.store.insert_if_unchanged(plain(&house, text, None), appearance).await.unwrap();
        (inserted.is_some(), round_trips(&house) - trips)
    };
    assert_eq!(insert("as it was", before).await, (true, 1));
    house.add_department("Works", None).await;
    assert!(!insert("by what it was", before).await.0);
    let now = appearance().await;
    assert!(insert("as it is", now).await.0);
    assert_eq!(insert("as it still is", now).await, (true, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_of_several_workspaces_and_readers_go_together() {
    let database = database();
    let house = known_house(&database.url).await;
    let vary = |n: usize, text: String| {
        let mut record = house.record(&text);
        record.workspace = workspace(["default", "travel", "food"][n % 3]);
        record.audience = if n.is_multiple_of(2) { Audience::Shared } else { Audience::Author(house.ana) };
        record
    };
    // New workspaces are asked for; after that they are known.
    let mut seen = Vec::new();
    for round in 0..3 {
        let mut saves = JoinSet::new();
        for n in 0..12 {
            let (house, record) = (house.clone(), vary(n, format!("fact {n} of round {round}")));
            saves.spawn(async move { house.insert(record).await });
        }
        seen.extend(saves.join_all().await.iter().map(seq_of));
    }
    seen.sort_unstable();
    let first = ACQUAINTANCE as u64 + 1;
    assert_eq!(seen, (first..first + 36).collect::<Vec<_>>());
    for seq in seen {
        let record = house.load(Seq(seq)).await.expect("it is there, and whole");
        assert!(record.fact.content.starts_with("fact"), "{record:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_was_lost_and_went_on_differently_is_not_taken_for_the_known_one() {
    let database = database();
    let house = known_house(&database.url).await;
    let id = house.project;
    // As long as the known one, with as many records; but the workspace is another.
    let rewrite = format!(
        "UPDATE workspace SET deleted_at = 1 WHERE project_id = '{id}';
        INSERT INTO workspace (project_id, no, created_at, deleted_at, name) VALUES ('{id}', 77, 1, NULL, 'default')"
    );
    database.sql(&rewrite).expect("the owner may do that");
    let (_, no) = house.save_numbered(house.record("a fact")).await;
    assert_eq!(no.0, 77);
}

/// What a line does with what is sent.
const CARRIES: u8 = 0;
const LOSES_ANSWERS: u8 = 1;
const LOSES_QUESTIONS: u8 = 2;

/// A line that breaks whatever connection is used while it loses something, and then carries again.
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
                let losing = mode.swap(CARRIES, Ordering::SeqCst);
                if losing == LOSES_QUESTIONS {
                    return;
                }
                far.write_all(&questions[..count]).await.expect("the server reads");
                if losing == LOSES_ANSWERS {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_lost_during_a_save_leaves_it_stored_once_and_answered() {
    let database = database();
    let mode = Arc::new(AtomicU8::new(CARRIES));
    let line = breaking_line(&database, &mode);
    let house = known_house(&line.url).await;
    for (round, lost) in [LOSES_ANSWERS, LOSES_QUESTIONS, LOSES_ANSWERS].into_iter().enumerate() {
        let before = house.last_seq().await.0;
        mode.store(lost, Ordering::SeqCst);
        let inserted = house.insert(house.record(&format!("fact {round}"))).await;
        assert_eq!(seq_of(&inserted), before + 1, "{inserted:?}");
        assert_eq!(house.last_seq().await.0, before + 1, "it is stored once");
        meet(&house).await;
    }
}
