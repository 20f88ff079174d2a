//! How long the acts of storage take: `cargo bench -p mnemon-store -- [records] [callers] [projects]`.
//!
//! Saves run durably with many concurrent callers and are reported with the CPU time of the writing thread; reads run
//! one after another on what was saved.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mnemon_core::{FactKey, NewRecord, Seq, WorkspaceName};
use mnemon_store::sqlite::SqliteStore;
use mnemon_store::{Insert, Inserted, Store};
use mnemon_store_conformance::House;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |at: usize, default: usize| numbers.get(at).copied().unwrap_or(default);
    let (records, callers, projects) = (number(0, 20_000), number(1, 64), number(2, 1));
    let dir = std::env::temp_dir().join(format!("mnemon-bench-{}", std::process::id()));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&dir).expect("a store"));
    let mut houses = Vec::new();
    for _ in 0..projects {
        houses.push(House::build(&store).await);
    }
    println!("{records} records, {callers} callers, {projects} projects");
    for round in 0..3 {
        save(&houses, records, callers, round).await;
    }
    read(&houses[0]).await;
    store.close().await;
    let _ = std::fs::remove_dir_all(&dir);
}

async fn save(houses: &[House], records: usize, callers: usize, round: usize) {
    let (cpu, started) = (writer_cpu_us(), Instant::now());
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let house = houses[caller % houses.len()].clone();
            let count = records / callers;
            tokio::spawn(async move {
                for n in 0..count {
                    let record = text(&house, round, caller, n);
                    let insert = Insert {
                        record,
                        records_max: Some(u64::MAX),
                        workspaces_max: None,
                        idempotency: None,
                        supersede: None,
                    };
                    let inserted = house.store.insert(insert).await.expect("a save");
                    assert!(matches!(inserted, Inserted::New { .. }));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller");
    }
    let done = (records / callers * callers) as f64;
    let (elapsed, cpu) = (started.elapsed(), writer_cpu_us() - cpu);
    let rate = done / elapsed.as_secs_f64();
    println!("save: {rate:.0}/s, {:.1} µs of the writer's CPU time each", cpu / done);
}

/// A record of ordinary size: about 300 bytes of text and a vector of 260 bytes; every fifth has a source and a key.
fn text(house: &House, round: usize, caller: usize, n: usize) -> NewRecord {
    let content = format!("fact {round} {caller} {n}: ").repeat(15);
    let mut record = NewRecord { embedding: vec![n as u8; 260], ..house.record(&content) };
    record.id = mnemon_core::RecordId::new(house.record("").id.uuid());
    if n.is_multiple_of(5) {
        record.fact.source_id = Some(format!("file-{}.md", n % 100));
        record.fact.source_hash = Some(format!("{n:064}"));
        record.fact_key = FactKey { text: format!("key-{caller}-{n}"), is_given: true };
    }
    record
}

async fn read(house: &House) {
    let (store, project) = (&house.store, house.project);
    let last = house.last_seq().await.0;
    let spread =
        |n: u64, count: u64| -> Vec<Seq> { (0..count).map(|i| Seq(1 + (n * 7919 + i * 104_729) % last)).collect() };
    measure("load of 10 records", 2_000, async |n| drop(store.load(project, &spread(n, 10)).await)).await;
    measure("load of 1 record", 5_000, async |n| drop(store.load(project, &spread(n, 1)).await)).await;
    measure("find_credential, known", 50_000, async |_| drop(store.find_credential(&house.key_hash).await)).await;
    let absent = mnemon_core::CredentialHash::of("absent");
    measure("find_credential, absent", 10_000, async |_| drop(store.find_credential(&absent).await)).await;
    let name = WorkspaceName::default();
    measure("find_workspace", 5_000, async |_| drop(store.find_workspace(project, &name).await)).await;
    measure("list_sources of 1", 5_000, async |_| drop(store.list_sources(project, &["file-5.md"]).await)).await;
    let no = store.find_workspace(project, &name).await.expect("a read").expect("a workspace").no;
    let end = Seq(last);
    measure("tail, nothing new", 5_000, async |_| drop(store.tail(project, no, end, 1000).await)).await;
    let near = Seq(last.saturating_sub(5));
    measure("tail, 5 places", 5_000, async |_| drop(store.tail(project, no, near, 1000).await)).await;
    measure("tail, 1000 from 0", 50, async |_| drop(store.tail(project, no, Seq(0), 1000).await)).await;
    measure("a hop to a blocking thread", 2_000, async |_| drop(tokio::task::spawn_blocking(|| ()).await)).await;
}

async fn measure(what: &str, times: u64, work: impl AsyncFn(u64)) {
    for n in 0..times / 10 + 1 {
        work(n).await;
    }
    let (cpu, started) = (cpu_us(Path::new("/proc/thread-self")), Instant::now());
    for n in 0..times {
        work(n).await;
    }
    let (elapsed, cpu) = (started.elapsed().as_secs_f64() * 1e6, cpu_us(Path::new("/proc/thread-self")) - cpu);
    println!("{what}: {:.2} µs, {:.2} µs of CPU time", elapsed / times as f64, cpu / times as f64);
}

/// The CPU time of the writing thread so far.
fn writer_cpu_us() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let name = |task: &Path| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
    let of_writer = tasks.flatten().map(|task| task.path()).find(|task| name(task).trim() == "mnemon-writer");
    of_writer.map_or(0.0, |task| cpu_us(&task))
}

fn cpu_us(task: &Path) -> f64 {
    let stat = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
}
