//! Backups that are damaged, cut, changed on purpose, or of damaged data. Commands as a person types them are tested
//! with the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mnemon_core::{NewRecord, Seq};
use rusqlite::Connection;
use tempfile::TempDir;

use super::super::SqliteStore;
use super::{BackupError, Copied, Trust, back_up, restore, seal};
use crate::fixtures::{House, at};
use crate::{Records, Store};

const FLIPS: usize = 200;
const RAW: Trust = Trust { unsealed: true, damaged_records: false };

/// A data directory with a bit of everything, and its backup.
struct Ground {
    dir: TempDir,
    house: House,
    seqs: Vec<Seq>,
}

impl Ground {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&dir.path().join("data")).expect("it opens"));
        let house = House::build(&store).await;
        let mut seqs = Vec::new();
        for n in 0..40_u8 {
            let text = format!("boiler {n} stands in the cellar of the house at the harbour");
            let given = house.sourced(&text, &format!("plan {}", n % 5), &format!("h{n}"));
            seqs.push(house.save(NewRecord { embedding: vec![n; 60], ..given }).await);
        }
        // What happens to records later must leave them provable.
        house.forget(&seqs[..4], 20).await;
        let restored = house.store.load(house.project, &seqs[4..6]).await.expect("storage works");
        house.forget(&seqs[4..6], 21).await;
        house.restore(restored[0].id, 0, 22).await.expect("it was forgotten");
        house.insert(house.sourced("boiler 9 stands in the cellar of the house at the harbour", "plan 4", "new")).await;
        house.delete_workspace("default", 23).await;
        house.restore_workspace("default", 0, 24).await;
        store.close().await;
        Self { dir, house, seqs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn back_up(&self, name: &str, keeps_damaged: bool) -> Result<Copied, BackupError> {
        back_up(&self.path("data"), &self.path(name), None, keeps_damaged, &mut |_, _| {})
    }

    fn restore(&self, from: &str, to: &str, trust: Trust) -> Result<Copied, BackupError> {
        restore(&self.path(from), &self.path(to), trust)
    }

    fn change(&self, file: &str, sql: &str) {
        let conn = Connection::open(self.path(file)).expect("a database");
        conn.execute_batch(sql).expect("a change");
    }

    /// What answers show of a data directory, as far as they come from storage.
    async fn answers(&self, dir: &str) -> String {
        let store = SqliteStore::open(&self.path(dir)).expect("it opens");
        let store: &dyn Store = &store;
        let (account, project) = (self.house.account, self.house.project);
        let sources: Vec<String> = (0..5).map(|n| format!("plan {n}")).collect();
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        let answers = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            store.load(project, &self.seqs).await,
            store.list_sources(project, &sources).await,
            store.list_members(account).await,
            store.list_keys(project).await,
            store.list_projects(account).await,
            store.list_workspaces(project).await,
            store.find_credential(&self.house.key_hash).await,
        );
        store.close().await;
        answers
    }
}

fn refusal(result: Result<Copied, BackupError>) -> String {
    result.expect_err("it must be refused").to_string()
}

/// Whether a folder holds nothing but these.
fn holds(folder: &Path, names: &[&str]) -> bool {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut found: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    found.sort_unstable();
    found == names
}

/// Flips a bit of a file, at places that are the same in every run.
fn flip(whole: &[u8], n: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = (n * 104_729 + 17) % bytes.len();
    bytes[at] ^= 1 << (n % 8);
    bytes
}

#[tokio::test]
async fn a_flipped_byte_anywhere_in_a_backup_is_refused() {
    let ground = Ground::new().await;
    let made = ground.back_up("kept.db", false).unwrap();
    assert_eq!(made.records, 40);
    let whole = fs::read(ground.path("kept.db")).unwrap();
    let before = ground.answers("data").await;
    // Also the seal itself, byte by byte.
    let seal = (whole.len() - 90..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        bytes
    });
    for (n, bytes) in (0..FLIPS).map(|n| flip(&whole, n)).chain(seal).enumerate() {
        fs::write(ground.path("flipped.db"), bytes).unwrap();
        if ground.restore("flipped.db", "new", Trust::default()).is_ok() {
            assert_eq!(ground.answers("new").await, before, "flip {n}");
            panic!("flip {n} was not noticed, and changed nothing");
        }
        assert!(!ground.path("new").exists(), "flip {n} left something");
    }
    ground.restore("kept.db", "new", Trust::default()).unwrap();
    assert_eq!(ground.answers("new").await, before);
    for at in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(ground.path("cut.db"), &whole[..at]).unwrap();
        refusal(ground.restore("cut.db", "never", Trust::default()));
    }
    assert!(!ground.path("never").exists());
}

#[tokio::test]
async fn a_flipped_byte_of_a_plain_copy_never_shows_another_record() {
    let ground = Ground::new().await;
    let whole = fs::read(ground.path("data/mnemon.db")).unwrap();
    fs::write(ground.path("copy.db"), &whole).unwrap();
    let refused = refusal(ground.restore("copy.db", "new", Trust::default()));
    assert!(refused.contains("copy.db has no checksum at its end") && refused.contains("--raw"), "{refused}");
    ground.restore("copy.db", "new", RAW).unwrap();
    let store = SqliteStore::open(&ground.path("new")).unwrap();
    let before = store.load(ground.house.project, &ground.seqs).await.unwrap();
    drop(store);
    let mut refusals = 0;
    for n in 0..FLIPS {
        let _ = fs::remove_dir_all(ground.path("new"));
        fs::write(ground.path("copy.db"), flip(&whole, n)).unwrap();
        if ground.restore("copy.db", "new", RAW).is_err() {
            refusals += 1;
            continue;
        }
        let store = SqliteStore::open(&ground.path("new")).unwrap();
        let found = store.load(ground.house.project, &ground.seqs).await.unwrap();
        for (found, before) in found.iter().zip(&before) {
            // The names of people and places have no checksum.
            assert_eq!((&found.fact, found.id, found.audience), (&before.fact, before.id, before.audience), "flip {n}");
        }
        store.close().await;
    }
    assert!(refusals > 20, "{refusals} of {FLIPS} were noticed");
}

#[tokio::test]
async fn a_restored_file_has_exactly_our_schema() {
    let ground = Ground::new().await;
    ground.back_up("kept.db", false).unwrap();
    fs::copy(ground.path("data/mnemon.db"), ground.path("hostile.db")).unwrap();
    ground.change(
        "hostile.db",
        "CREATE TRIGGER spy AFTER INSERT ON record BEGIN DELETE FROM audit; END;
         CREATE VIEW shown AS SELECT content FROM record;
         CREATE TABLE \"loot \"\" box\" (id INTEGER PRIMARY KEY, of BLOB UNIQUE);
         CREATE INDEX slow ON member (name, hex(id));
         INSERT INTO snapshot (project_id, workspace_no, seq, file)
             SELECT id, 1, 1, '../../victim' FROM project;
         ANALYZE;",
    );
    seal::close(&ground.path("hostile.db")).unwrap();
    let restored = ground.restore("hostile.db", "new", Trust::default()).unwrap();
    let dropped: Vec<&str> = restored.dropped.iter().map(String::as_str).collect();
    let expected =
        ["trigger spy", "view shown", "index slow", "table loot \" box", "table sqlite_stat1", "table sqlite_stat4"];
    assert_eq!(dropped, expected);
    assert_eq!(ground.answers("new").await, ground.answers("data").await);
    let conn = Connection::open(ground.path("new/mnemon.db")).unwrap();
    let count =
        |of: &str| conn.query_row(&format!("SELECT COUNT(*) FROM {of}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count("snapshot"), count("record")), (0, 40));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&ground.path("new")).unwrap());
    let house = House { store, ..ground.house.clone() };
    house.save(NewRecord { created_at: at(30), ..house.record("life goes on") }).await;
    assert!(count("audit") > 0, "the trigger is gone");
}

#[tokio::test]
async fn a_table_that_another_program_changed_is_refused() {
    let ground = Ground::new().await;
    let changes = [
        ("ALTER TABLE member ADD COLUMN colour TEXT", "the table member in "),
        ("DROP INDEX record_source", "the index record_source in "),
        ("DROP TABLE usage; CREATE VIEW usage AS SELECT 1", "the table usage in "),
    ];
    for (change, told) in changes {
        fs::copy(ground.path("data/mnemon.db"), ground.path("changed.db")).unwrap();
        ground.change("changed.db", change);
        seal::close(&ground.path("changed.db")).unwrap();
        let refused = refusal(ground.restore("changed.db", "new", Trust::default()));
        assert!(refused.starts_with(told) && refused.contains("another program changed"), "{refused}");
    }
    ground.change("changed.db", "DROP TABLE migration");
    let refused = refusal(ground.restore("changed.db", "new", RAW));
    assert!(refused.contains("changed.db is not a backup made by mnemon"), "{refused}");
    fs::copy(ground.path("data/mnemon.db"), ground.path("newer.db")).unwrap();
    ground.change("newer.db", "INSERT INTO migration (no, name) VALUES (99, 'later')");
    let refused = refusal(ground.restore("newer.db", "new", RAW));
    assert!(refused.contains("written by a newer mnemon"), "{refused}");
    assert!(!ground.path("new").exists());
}

#[tokio::test]
async fn damaged_records_are_named_and_kept_only_if_asked() {
    let ground = Ground::new().await;
    fs::copy(ground.path("data/mnemon.db"), ground.path("whole.db")).unwrap();
    ground.change("data/mnemon.db", "UPDATE record SET content = replace(content, 'boiler 1', 'toaster 1')");
    ground.change("data/mnemon.db", "PRAGMA wal_checkpoint(TRUNCATE)");
    let refused = refusal(ground.back_up("kept.db", false));
    assert!(refused.starts_with("the checksum does not match in 10 of 40 records: 01900000-"), "{refused}");
    assert_eq!(refused.matches("01900000-").count(), 5, "the first five are named: {refused}");
    assert!(refused.contains("--keep-damaged"), "{refused}");
    assert!(holds(ground.dir.path(), &["data", "whole.db"]), "a refused backup leaves nothing");
    assert_eq!(ground.back_up("kept.db", true).unwrap().records, 40);
    let refused = refusal(ground.restore("kept.db", "new", Trust::default()));
    assert!(refused.starts_with("the checksum does not match in 10 of 40 records: "), "{refused}");
    assert!(!ground.path("new").exists());
    ground.restore("kept.db", "new", Trust { damaged_records: true, ..Trust::default() }).unwrap();
    let store = SqliteStore::open(&ground.path("new")).unwrap();
    let found = store.load(ground.house.project, &ground.seqs).await.unwrap();
    assert!(!found.is_empty() && found.iter().all(|record| record.fact.content.starts_with("boiler")));
    assert!(store.figures().damaged_records > 0);
}
