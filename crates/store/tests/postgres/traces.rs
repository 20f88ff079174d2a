//! What a purge leaves in the files of a database: nothing, once they were compacted.

use std::sync::Arc;
use std::time::Duration;

use mnemon_scratch_postgres::Database;
use mnemon_store::Store;
use mnemon_store_conformance::{House, audit};

use crate::{database, node};

const CANARY: &[u8] = b"canary-Zwitscherling";

/// The files of the database that contain the canary.
fn files_with_canary(database: &Database) -> Vec<String> {
    let files = std::fs::read_dir(database.files().expect("it writes its files")).expect("its folder");
    let files = files.map(|file| file.expect("a file").path());
    let has = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(CANARY.len()).any(|window| window == CANARY)
    };
    files.filter(has).map(|path| path.display().to_string()).collect()
}

/// Deleted rows stay visible to transactions that began before: compacting waits for those.
#[tokio::test(flavor = "multi_thread")]
async fn compacting_leaves_nothing_of_a_purged_record_though_somebody_was_still_looking() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    let record = house.record(&String::from_utf8_lossy(CANARY));
    let id = record.id;
    house.save(record).await;
    assert!(!files_with_canary(&database).is_empty(), "the search finds what is there");
    let (looking, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    looking.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    let purged = store.purge(house.project, id, audit(house.account, 20, "record.purge")).await;
    assert_eq!(purged, Ok(true));
    let mut compacting = Box::pin(store.compact());
    let early = tokio::time::timeout(Duration::from_millis(300), &mut compacting).await;
    assert!(early.is_err(), "it waits for the transaction");
    looking.batch_execute("COMMIT").await.unwrap();
    assert_eq!(compacting.await, Ok(()));
    assert_eq!(files_with_canary(&database), Vec::<String>::new());
    house.save_text("the tables work").await;
}
