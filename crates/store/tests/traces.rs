//! What a purge leaves in the files of a data directory: nothing, once they were compacted.

use std::path::PathBuf;
use std::sync::Arc;

use mnemon_core::{NewRecord, RecordId, Seq};
use mnemon_store::Store;
use mnemon_store::sqlite::SqliteStore;
use mnemon_store_conformance::{House, at, audit, save_snapshot, with_fact, workspace};

/// A directory that goes when its test does.
struct Ground(PathBuf);

impl Ground {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("mnemon-traces-{name}-{}", std::process::id())))
    }

    fn wal_bytes(&self) -> u64 {
        std::fs::metadata(self.0.join("mnemon.db-wal")).expect("a WAL").len()
    }

    /// How often these bytes occur, file by file.
    fn find(&self, needle: &str) -> Vec<(String, usize)> {
        let list = |dir: PathBuf| std::fs::read_dir(dir).expect("the directory is there");
        let files = list(self.0.clone()).chain(list(self.0.join("snapshots"))).map(|file| file.expect("a file").path());
        let files = files.filter(|path| path.is_file());
        let read = |path: &PathBuf| std::fs::read(path).expect("a file can be read");
        let count = |path: &PathBuf| String::from_utf8_lossy(&read(path)).matches(needle).count();
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.map(|path| (name(&path), count(&path))).filter(|(_, count)| *count > 0).collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Texts that occur nowhere else: a short one, and one of 16 KiB that repeats the same few words.
const SHORT: &str = "canary-Zwitscherling";
const LONG: &str = "canary-Langschnabel";
const MOVED: &str = "canary-Zugvogel";
const ENDED: &str = "canary-Standvogel";

struct Scene {
    ground: Ground,
    house: House,
    ids: Vec<RecordId>,
}

impl Scene {
    /// Saves the canaries among neighbours, so that rows move from page to page before anything is purged, and lets
    /// everything happen to them that rewrites a row.
    async fn build(name: &str) -> Self {
        let ground = Ground::new(name);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&ground.0).expect("a store"));
        let house = House::build(&store).await;
        // A second project whose rows come before the first's: alternating saves then split pages in the middle of the
        // tables.
        let other = House { project: house.add_project().await, ..house.clone() };
        let long = format!("{LONG} ").repeat(16 * 1024 / (LONG.len() + 1));
        let mut canaries = vec![SHORT.to_owned(), long];
        canaries.extend((0..20).map(|n| format!("{MOVED} number {n} {}", "x".repeat(n * 40))));
        let mut ids = Vec::new();
        for (n, text) in canaries.into_iter().enumerate() {
            let record = NewRecord { embedding: text.as_bytes().to_vec(), ..house.sourced(&text, "a page", "h") };
            ids.push(record.id);
            let seq = house.save(record.clone()).await;
            touch(&house, &record, seq, n).await;
            save_neighbours([&house, &other], n).await;
        }
        let bytes = format!("{SHORT} {LONG} {MOVED}").repeat(1_000).into_bytes();
        let found = house.store.find_workspace(house.project, &workspace("default")).await.expect("storage works");
        let no = found.expect("it is active").no;
        save_snapshot(&house, no, house.last_seq().await, bytes).await;
        Self { ground, house, ids }
    }

    async fn purge(&self) {
        for id in &self.ids {
            let line = audit(self.house.account, 50, "record.purge");
            assert_eq!(self.house.store.purge(self.house.project, *id, line).await, Ok(true));
        }
    }
}

async fn save_neighbours(houses: [&House; 2], round: usize) {
    let mut saves = tokio::task::JoinSet::new();
    for n in 0..100 {
        for house in houses.map(House::clone) {
            let text = format!("neighbour {round} {n}: {}", "words ".repeat(n * 2));
            saves.spawn(async move { house.save_text(&text).await });
        }
    }
    saves.join_all().await;
}

/// Forgets, restores and refreshes the record: each rewrites its row.
async fn touch(house: &House, record: &NewRecord, seq: Seq, n: usize) {
    if n.is_multiple_of(2) {
        house.forget(&[seq], 20).await;
        house.restore(record.id, 0, 21).await.expect("it comes back");
    }
    let again = with_fact(record.clone(), |fact| {
        fact.source_hash = Some(format!("hash-{n}"));
        fact.confidence = Some(0.5);
    });
    house.insert(again).await;
}

fn assert_no_trace(ground: &Ground) {
    for needle in [SHORT, LONG, MOVED, ENDED, "canary-", "Zugvogel"] {
        assert_eq!(ground.find(needle), [], "{needle}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_purged_text_is_left_after_compacting() {
    let scene = Scene::build("purge").await;
    assert!(scene.ground.find(SHORT).iter().map(|found| found.1).sum::<usize>() > 1, "the search finds what is there");
    let in_snapshots = || std::fs::read_dir(scene.ground.0.join("snapshots")).expect("it is there").count();
    assert_eq!(in_snapshots(), 1);
    scene.purge().await;
    assert_eq!(in_snapshots(), 0, "a snapshot that knows a purged text goes with it");
    assert_eq!(scene.ground.wal_bytes(), 0, "the WAL holds nothing when a purge is answered");
    scene.house.store.compact().await.unwrap();
    assert_no_trace(&scene.ground);
    scene.house.save_text("and life goes on").await;
    scene.house.store.close().await;
    assert_no_trace(&scene.ground);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_what_ended_long_ago_is_left_after_compacting() {
    let scene = Scene::build("ended").await;
    let (house, store) = (&scene.house, &scene.house.store);
    let seqs: Vec<Seq> = (1..=house.last_seq().await.0).map(Seq).collect();
    let records = store.load(house.project, &seqs).await.unwrap();
    let canaries: Vec<Seq> =
        records.iter().filter(|record| record.fact.content.starts_with("canary-")).map(|record| record.seq).collect();
    house.forget(&canaries, 30).await;
    house.save(NewRecord { workspace: workspace("over"), ..house.record(ENDED) }).await;
    house.delete_workspace("over", 30).await;
    assert_eq!(store.purge_forgotten(at(40), 10_000).await, Ok(canaries.len() as u64 + 1));
    assert_eq!(scene.ground.wal_bytes(), 0);
    store.compact().await.unwrap();
    assert_no_trace(&scene.ground);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stays_holds_up_the_wal_and_not_the_purge() {
    let ground = Ground::new("reader");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&ground.0).expect("a store"));
    let house = House::build(&store).await;
    let record = house.record(SHORT);
    house.save(record.clone()).await;
    let reader = rusqlite::Connection::open(ground.0.join("mnemon.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM record;").unwrap();
    let line = audit(house.account, 50, "record.purge");
    assert_eq!(store.purge(house.project, record.id, line).await, Ok(true));
    assert!(ground.wal_bytes() > 0 && !ground.find(SHORT).is_empty(), "the reader still sees the record");
    reader.execute_batch("COMMIT").unwrap();
    store.check().await.unwrap();
    // The heartbeat is answered before the WAL is emptied; what comes after it finds it empty.
    store.check().await.unwrap();
    assert_eq!(ground.find(SHORT), []);
}
