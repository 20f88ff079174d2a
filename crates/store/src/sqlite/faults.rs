//! What the store does when its storage fails: tests that must reach behind the traits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mnemon_core::{NewRecord, Seq};
use rusqlite::Connection;

use super::SqliteStore;
use crate::fixtures::{House, at, audit};
use crate::{Insert, Inserted, Records, Store, StoreError};

struct Ground(PathBuf);

impl Ground {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mnemon-faults-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&self.0).expect("the directory is free"))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn build(store: &Arc<SqliteStore>) -> House {
    let store: Arc<dyn Store> = store.clone();
    House::build(&store).await
}

async fn try_save(house: &House, text: &str) -> Result<Inserted, StoreError> {
    let record = NewRecord { embedding: vec![7; 300], ..house.record(text) };
    house
        .store
        .insert(Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None })
        .await
}

async fn set(store: &SqliteStore, pragma: &'static str) {
    store.writer.write(move |tx| Ok(tx.conn.query_row(pragma, [], |_| Ok(()))?)).await.expect("a pragma");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_alone_and_recovers_by_itself() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    let first = house.save_text("before").await;
    set(&store, "PRAGMA max_page_count = 1").await;
    let text = "long ".repeat(3_000);
    let mut refused = 0;
    for n in 0..20 {
        match try_save(&house, &format!("{n} {text}")).await {
            Err(StoreError::Full) => refused += 1,
            other => assert!(other.is_ok(), "{other:?}"),
        }
        assert!(house.load(first).await.is_some(), "reading goes on");
    }
    assert!(refused > 10, "{refused}");
    let before = house.last_seq().await;
    set(&store, "PRAGMA max_page_count = 4294967294").await;
    assert_eq!(house.save_text("after").await, Seq(before.0 + 1), "no restart, and no place of the log lost");
    assert_eq!(store.check().await, Ok(()));
}

#[tokio::test]
async fn a_lost_connection_acknowledges_nothing_until_it_was_checked() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    house.save_text("before").await;
    let failing =
        store.writer.write(|_| -> Result<(), StoreError> { Err(StoreError::Away("as a failing disk".into())) });
    assert_eq!(failing.await, Err(StoreError::Away("as a failing disk".into())));
    let mut away = 0;
    loop {
        match try_save(&house, "after").await {
            Ok(inserted) => break assert!(matches!(inserted, Inserted::New { seq: Seq(2), .. })),
            Err(StoreError::Away(_)) => away += 1,
            Err(other) => panic!("{other:?}"),
        }
        assert!(house.load(Seq(1)).await.is_some(), "reading goes on");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(away > 0, "the connection was left alone for a moment");
    assert_eq!(store.check().await, Ok(()));
}

#[tokio::test]
async fn a_database_that_lost_acknowledged_records_is_not_written_to() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    house.save_text("one").await;
    store.writer.write(|tx| Ok(tx.conn.execute_batch("UPDATE project SET seq = 0")?)).await.unwrap();
    let failing =
        store.writer.write(|_| -> Result<(), StoreError> { Err(StoreError::Away("as a failing disk".into())) });
    assert!(failing.await.is_err());
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    let Err(StoreError::Failed(words)) = try_save(&house, "two").await else { panic!("it must refuse") };
    assert!(words.contains("acknowledged records are lost"), "{words}");
    assert!(store.check().await.is_err());
}

#[tokio::test]
async fn an_act_that_panics_fails_alone() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    let act = |_: &mut super::batch::Tx<'_>| -> Result<(), StoreError> { panic!("a bug in an act, on purpose") };
    assert_eq!(store.writer.write(act).await, Err(StoreError::Failed("an act panicked".to_owned())));
    assert_eq!(house.save_text("after").await, Seq(1));
}

#[tokio::test]
async fn a_directory_serves_one_process_at_a_time() {
    let ground = Ground::new();
    let store = ground.open();
    let error = SqliteStore::open(&ground.0).err().unwrap();
    let StoreError::Failed(words) = &error else { panic!("{error:?}") };
    assert!(words.starts_with("another mnemon is using this data directory"), "{words}");
    store.close().await;
    SqliteStore::open(&ground.0).unwrap();
    SqliteStore::open(&ground.0).expect("dropping lets go too");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_stored_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let store = ground.open();
    build(&store).await;
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(ground.0.clone()), 0o700);
    for file in std::fs::read_dir(&ground.0).unwrap() {
        let path = file.unwrap().path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path.clone()), expected, "{}", path.display());
    }
}

#[tokio::test]
async fn everything_is_there_after_closing_and_after_none() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    let seq = house.save(house.sourced("kept", "page", "h1")).await;
    let before = house.load(seq).await;
    for is_closed in [true, false] {
        if is_closed {
            store.close().await;
            let wal = std::fs::metadata(ground.0.join("mnemon.db-wal")).map_or(0, |file| file.len());
            assert_eq!(wal, 0, "closing carries the WAL into the database");
        }
        let copy = Ground::new();
        std::fs::create_dir(&copy.0).unwrap();
        for file in std::fs::read_dir(&ground.0).unwrap() {
            let file = file.unwrap();
            if file.path().is_dir() {
                continue; // Snapshots are derived.
            }
            std::fs::copy(file.path(), copy.0.join(file.file_name())).unwrap();
        }
        let again: Arc<dyn Store> = copy.open();
        assert_eq!(again.load(house.project, &[seq]).await.map(|mut found| found.pop()), Ok(before.clone()));
        assert_eq!(again.last_seq(house.project).await, Ok(Some(seq)));
        assert!(again.find_credential(&house.key_hash).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_changed_byte_leaves_its_record_out_and_never_shows_another_text() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    let (seq, no) =
        house.save_numbered(NewRecord { embedding: vec![1, 2, 3], ..house.sourced("pay 100", "page", "h") }).await;
    let check = async |change: &'static str, is_shown: bool, is_indexed: bool| {
        store.writer.write(move |tx| Ok(tx.conn.execute_batch(change)?)).await.unwrap();
        let load = store.load(house.project, &[seq]).await.unwrap();
        assert_eq!(!load.is_empty(), is_shown, "{change}");
        let tail = crate::Log::tail(&*store, house.project, no, Seq(0), 10).await.unwrap();
        assert_eq!(matches!(tail.changes[..], [crate::Change::Present(_)]), is_indexed, "{change}");
    };
    check("UPDATE record SET confidence = confidence", true, true).await;
    assert_eq!(store.figures().damaged_records, 0);
    // One field after another, each set back with the next.
    check("UPDATE record SET embedding = x'010204'", true, false).await;
    check("UPDATE record SET embedding = x'010203', source_hash = 'g'", false, false).await;
    check("UPDATE record SET source_hash = 'h', source_id = 'pagf'", false, false).await;
    check("UPDATE record SET source_id = 'page', source = ''", false, false).await;
    check("UPDATE record SET source = NULL, is_key_given = 1", false, false).await;
    check("UPDATE record SET is_key_given = 0, valid_until = 7", false, false).await;
    check("UPDATE record SET valid_until = NULL, updated_at = updated_at + 1", false, false).await;
    check("UPDATE record SET updated_at = updated_at - 1", true, true).await;
    check("UPDATE record SET content = 'pay 900'", false, false).await;
    assert_eq!(store.figures().damaged_records, 1);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_as_damaged() {
    let ground = Ground::new();
    let store = ground.open();
    build(&store).await;
    store.close().await;
    drop(store);
    let file = ground.0.join("mnemon.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[..100].fill(0);
    std::fs::write(&file, bytes).unwrap();
    let Err(StoreError::Failed(words)) = SqliteStore::open(&ground.0) else { panic!("it must refuse") };
    assert!(words.contains("damaged") && words.contains("restore a backup"), "{words}");
}

#[tokio::test]
async fn outdated_idempotency_keys_do_not_pile_up() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    for n in 0..100 {
        let record = NewRecord { created_at: at(n), ..house.record(&format!("fact {n}")) };
        let key = crate::Idempotency {
            member: house.ana,
            key: format!("key {n}"),
            arguments_hash: [0; 32],
            valid_since: at(n - 10),
        };
        house.insert_with_key(record, key).await;
    }
    let count =
        |conn: &Connection| Ok(conn.query_row("SELECT COUNT(*) FROM idempotency", [], |row| row.get::<_, i64>(0))?);
    assert_eq!(store.readers.read(count), Ok(11));
    house.store.insert_audit(audit(house.account, 1, "story")).await.unwrap();
}

#[tokio::test]
async fn flipped_bytes_never_show_another_record() {
    let ground = Ground::new();
    let store = ground.open();
    let house = build(&store).await;
    let mut seqs = Vec::new();
    for n in 0..300 {
        let record = NewRecord { embedding: vec![n as u8; 40], ..house.sourced(&format!("fact {n}"), "page", "h") };
        seqs.push(house.save(record).await);
    }
    let before = house.store.load(house.project, &seqs).await.unwrap();
    store.close().await;
    drop(store);
    let file = ground.0.join("mnemon.db");
    let whole = std::fs::read(&file).unwrap();
    let (mut errors, mut missing) = (0, 0);
    for n in 0..200_usize {
        let mut bytes = whole.clone();
        // Spread over the file by a prime, so that every run tests the same positions.
        let at = (n * 104_729 + 17) % bytes.len();
        bytes[at] ^= 1 << (n % 8);
        std::fs::write(&file, bytes).unwrap();
        let Ok(store) = SqliteStore::open(&ground.0) else {
            errors += 1;
            continue;
        };
        let mut is_error = false;
        for record in &before {
            match store.load(house.project, &[record.seq]).await {
                // It is left out, and counted.
                Ok(found) if found.is_empty() && store.figures().damaged_records > 0 => is_error = true,
                Ok(found) if found.is_empty() => missing += 1,
                Ok(found) => assert_eq!(&found[0], record, "byte {at}"),
                Err(_) => is_error = true,
            }
        }
        errors += usize::from(is_error);
        store.close().await;
    }
    assert_eq!(missing, 0, "records missing without an error, beside {errors} errors");
    assert!(errors > 20, "{errors} of 200 were noticed, and the others did not touch a record");
}
