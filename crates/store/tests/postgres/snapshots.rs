//! Snapshots, which are written while others save and purge.

use std::sync::Arc;
use std::time::Duration;

use mnemon_core::WorkspaceNo;
use mnemon_store::Store;
use mnemon_store_conformance::{House, audit, find_snapshot, save_snapshot};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::{database, node};

/// A house with one record in the workspace, and a connection past the store.
async fn house(url: &str) -> (House, WorkspaceNo, Client) {
    let store: Arc<dyn Store> = Arc::new(node(url).await);
    let house = House::build(&store).await;
    let (_, no) = house.save_numbered(house.record("the first")).await;
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the database opens");
    tokio::spawn(connection);
    (house, no, client)
}

/// Waits until somebody waits for a lock.
async fn until_somebody_waits(client: &Client) {
    const WAITING: &str = "
        SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while client.query_one(WAITING, &[]).await.expect("the server answers").get::<_, i64>(0) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_do_not_wait_while_a_snapshot_is_written() {
    let database = database();
    let (house, no, client) = house(&database.url).await;
    // The writer of the snapshot is held up in the middle.
    client.batch_execute("BEGIN; LOCK TABLE snapshot IN SHARE MODE").await.unwrap();
    let (writing, seq) = (house.clone(), house.last_seq().await);
    let write = tokio::spawn(async move { save_snapshot(&writing, no, seq, vec![1; 100_000]).await });
    until_somebody_waits(&client).await;
    timeout(Duration::from_secs(10), house.save_text("the second")).await.expect("a save waits for no snapshot");
    client.batch_execute("ROLLBACK").await.unwrap();
    write.await.unwrap();
    assert_eq!(find_snapshot(&house, no).await, Some((seq, vec![1; 100_000])));
}

/// Whichever takes the project's lock first, the snapshot or the purge.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_is_written_during_a_purge_does_not_stay() {
    let database = database();
    let (house, no, client) = house(&database.url).await;
    for round in 0..8 {
        let record = house.record(&format!("purged in round {round}"));
        house.save(record.clone()).await;
        let seq = house.last_seq().await;
        save_snapshot(&house, no, seq, vec![1; 100_000]).await;
        let lock = format!("BEGIN; SELECT 1 FROM project WHERE id = '{}' FOR UPDATE", house.project);
        client.batch_execute(&lock).await.unwrap();
        let (writing, purging) = (house.clone(), house.clone());
        let write = tokio::spawn(async move { save_snapshot(&writing, no, seq, vec![2; 100_000]).await });
        let purge = async move {
            let entry = audit(purging.account, 20, "record.purge");
            purging.store.purge(purging.project, record.id, entry).await.expect("storage works")
        };
        let purge = tokio::spawn(purge);
        until_somebody_waits(&client).await;
        client.batch_execute("ROLLBACK").await.unwrap();
        write.await.unwrap();
        assert!(purge.await.unwrap(), "round {round}");
        let stored = client.query_one("SELECT COUNT(*) FROM snapshot", &[]).await.unwrap().get::<_, i64>(0);
        assert_eq!((find_snapshot(&house, no).await, stored), (None, 0), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn older_snapshots_are_removed() {
    let database = database();
    let (house, no, client) = house(&database.url).await;
    for n in 0..3 {
        let seq = house.save_text(&format!("fact {n}")).await;
        save_snapshot(&house, no, seq, vec![n; 100_000]).await;
        assert_eq!(find_snapshot(&house, no).await, Some((seq, vec![n; 100_000])));
    }
    let stored = client.query_one("SELECT COUNT(*) FROM snapshot", &[]).await.unwrap().get::<_, i64>(0);
    assert_eq!(stored, 1);
}
