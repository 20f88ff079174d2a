//! How many round trips a call makes before it starts, and how many statements calls send that arrive together, over
//! a slow line.

use std::sync::Arc;
use std::time::Duration;

use mnemon_core::CredentialHash;
use mnemon_scratch_postgres::Database;
use mnemon_store::postgres::PostgresStore;
use mnemon_store::{Credentials, Records, Store, statements_sent};
use mnemon_store_conformance::{House, at, audit, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::lines::Line;
use crate::{database, node};

/// How long bytes travel in one direction. A call with two round trips would need four of it.
const ONE_WAY: Duration = Duration::from_millis(50);

/// A long line to a database.
pub(crate) fn long_line(database: &Database) -> Line {
    Line::to(database, |near, far| {
        let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
        tokio::spawn(carry(near_in, far_out));
        tokio::spawn(carry(far_in, near_out));
    })
}

/// Carries bytes from one end to the other, delayed, without making later ones wait.
async fn carry(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Send + Unpin + 'static) {
    let (sent, mut arriving) = tokio::sync::mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, bytes)) = arriving.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let _ = sent.send((Instant::now() + ONE_WAY, bytes[..count].to_vec()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_begins_with_one_way_there_and_back_by_key_and_by_token() {
    let database = database();
    let line = long_line(&database);
    let near: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&near).await;
    connect(&house, "token").await;
    let far = node(&line.url).await;
    let token = CredentialHash::of("token");
    let (mut by_key, mut by_token) = (Duration::MAX, Duration::MAX);
    // The first of each prepares its statements; of the others the fastest counts, whatever else the machine does.
    for _ in 0..8 {
        let begun = Instant::now();
        assert!(far.find_credential(&house.key_hash).await.unwrap().is_some());
        by_key = by_key.min(begun.elapsed());
        let begun = Instant::now();
        assert!(far.find_credential_by_token(&token).await.unwrap().is_some());
        by_token = by_token.min(begun.elapsed());
    }
    for (what, took) in [("key", by_key), ("token", by_token)] {
        assert!((2 * ONE_WAY..4 * ONE_WAY).contains(&took), "by {what}: {took:?}");
    }
}

/// A node at the end of a long line, its statements prepared, and a house that a node next to the server has built.
async fn far_node() -> (Database, Line, Arc<PostgresStore>, House) {
    let database = database();
    let line = long_line(&database);
    let near: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&near).await;
    let far = Arc::new(node(&line.url).await);
    far.find_credential(&house.key_hash).await.expect("storage works").expect("the key is there");
    (database, line, far, house)
}

/// Begins a look-up, and returns when it is on its way.
async fn begin(far: &Arc<PostgresStore>, hash: CredentialHash) -> JoinHandle<bool> {
    let far = Arc::clone(far);
    let before = statements_sent();
    let task = tokio::spawn(async move {
        let found = far.find_credential(&hash).await.expect("storage works");
        found.is_some_and(|presented| presented.credential.is_revoked)
    });
    while statements_sent() == before {
        tokio::task::yield_now().await;
    }
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_arrive_during_a_look_up_share_the_next_one() {
    let (_database, _line, far, house) = far_node().await;
    let first = begin(&far, house.key_hash).await;
    let before = statements_sent();
    let mut waiting = JoinSet::new();
    for n in 0..64 {
        let (far, is_known) = (Arc::clone(&far), n % 2 == 0);
        let hash = if is_known { house.key_hash } else { CredentialHash::of("unknown") };
        waiting.spawn(async move { far.find_credential(&hash).await.expect("storage works").is_some() == is_known });
    }
    assert!(waiting.join_all().await.into_iter().all(|is_right| is_right), "each gets its own answer");
    assert_eq!(statements_sent() - before, 2, "one for the known key, one for all others");
    assert!(!first.await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_searches_of_many_projects_need_together_are_read_together() {
    const PROJECTS: usize = 8;
    let (database, _line, far, house) = far_node().await;
    let near = Arc::clone(&house.store);
    let mut homes = Vec::new();
    for n in 0..PROJECTS {
        let home = House::build(&near).await;
        let seq = home.save_text(&format!("fact of project {n}")).await;
        homes.push((home.project, seq));
    }
    let broken = homes[0];
    let project = broken.0;
    database.sql(&format!("UPDATE record SET content = 'changed' WHERE project_id = '{project}'")).unwrap();
    let load = |(project, seq)| {
        let far = Arc::clone(&far);
        tokio::spawn(async move { far.load(project, &[seq]).await })
    };
    // Its statements are prepared now.
    load(homes[1]).await.unwrap().unwrap();
    let before = statements_sent();
    let first = load(homes[1]);
    while statements_sent() == before {
        tokio::task::yield_now().await;
    }
    let (before, mut waiting) = (statements_sent(), Vec::new());
    for n in 0..64 {
        waiting.push((n, load(homes[n % PROJECTS])));
    }
    for (n, loading) in waiting {
        let texts = loading.await.unwrap().map(|found| found.into_iter().map(|record| record.fact.content).collect());
        match n % PROJECTS {
            0 => assert_eq!(texts, Ok(Vec::new()), "what is damaged is left out, and nothing else"),
            of => assert_eq!(texts, Ok(vec![format!("fact of project {of}")])),
        }
    }
    assert_eq!(statements_sent() - before, 2, "one opens the accounts, one reads");
    first.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_after_a_change_is_not_served_by_a_look_up_that_began_before_it() {
    let (_database, _line, far, house) = far_node().await;
    for n in 0..3 {
        // This one may read before the change or after it: it began before, so either is right.
        let first = begin(&far, house.key_hash).await;
        if n == 1 {
            assert!(house.store.revoke_key(house.key, at(1), audit(house.account, 1, "key.revoke")).await.unwrap());
        }
        let second = far.find_credential(&house.key_hash).await.unwrap().expect("the key is there");
        assert_eq!(second.credential.is_revoked, n > 0, "round {n}");
        first.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_leaves_nobody_waiting() {
    let (_database, _line, far, house) = far_node().await;
    let leader = begin(&far, house.key_hash).await;
    let mut waiting = JoinSet::new();
    for _ in 0..8 {
        let (far, hash) = (Arc::clone(&far), house.key_hash);
        waiting.spawn(async move { far.find_credential(&hash).await.expect("storage works").is_some() });
    }
    leader.abort();
    assert_eq!(waiting.join_all().await, [true; 8]);
    assert!(far.find_credential(&house.key_hash).await.unwrap().is_some());
}
