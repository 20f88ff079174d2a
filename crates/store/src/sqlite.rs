//! SQLite behind the traits: one file, one process, one writing thread, many readers.
//!
//! A write is answered after its commit was synced (`writer.rs`). A read sees every answered write: short reads run on
//! the caller's thread, long ones on their own (`readers.rs`). What only this process can change is kept in memory
//! (`memory.rs`). Every statement names its tenant, except for finding a credential.
//!
//! `INDEXED BY` and `CROSS JOIN` are used where the planner would otherwise guess: without statistics it prefers an
//! order that is free over a better index, which made each save read its whole project. A statement whose index is
//! missing then fails instead of crawling.

mod audit;
mod backup;
mod batch;
mod bodies;
mod commit_delay;
mod credentials;
mod error;
#[cfg(all(test, feature = "testing"))]
mod faults;
mod files;
mod insert;
mod inspect;
mod integrations;
mod log;
mod memory;
mod migrate;
mod nodes;
mod oauth;
mod people;
mod rates;
mod readers;
mod records;
mod retention;
mod rows;
mod sessions;
mod snapshot_files;
mod sources;
mod statement;
mod summaries;
mod trail;
mod transfer;
mod wal;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

pub use self::backup::{BackupError, Copied, Trust, back_up, restore};
use self::batch::Tx;
use self::error::closed;
use self::files::{Files, WRITER_CACHE_BYTES};
pub use self::inspect::{Inspection, inspect};
use self::memory::Memory;
use self::readers::Readers;
use self::snapshot_files::SnapshotFiles;
pub(crate) use self::transfer::SqliteSide;
use self::writer::Writer;
use crate::damaged::Damaged;
use crate::{NodeRow, Store, StoreError, StoreFigures};

/// How long [`Store::check`] waits for the writer before it reports that writing does not work.
const HEARTBEAT_MAX: Duration = Duration::from_secs(2);

/// A data directory, locked by this process.
pub struct SqliteStore {
    files: Files,
    memory: Arc<Memory>,
    readers: Arc<Readers>,
    writer: Writer,
    snapshot_files: SnapshotFiles,
    nodes: Mutex<Vec<NodeRow>>,
    damaged: Arc<Damaged>,
}

impl SqliteStore {
    /// Opens the database `mnemon.db` in a directory, creating both if missing, and brings its schema up to date.
    /// Blocks for as long as that takes.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let (files, lock) = Files::take(dir)?;
        let memory = Arc::new(Memory::default());
        let writer = Writer::start(files.clone(), lock, Arc::clone(&memory))?;
        let readers = Arc::new(Readers::new(files.clone()));
        let snapshot_files = SnapshotFiles::take(dir)?;
        sweep_snapshots(&snapshot_files, &readers);
        Ok(Self { files, memory, readers, writer, snapshot_files, nodes: Mutex::default(), damaged: Arc::default() })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn check_reads(&self) -> Result<(), StoreError> {
        const READ: &str = "SELECT COUNT(*) FROM migration";
        self.readers.read(|conn| Ok(conn.prepare_cached(READ)?.query_row([], |_| Ok(()))?))
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        let files = self.files.clone();
        let write = async {
            tokio::task::spawn_blocking(move || files.check_room()).await.map_err(|_| closed())??;
            self.writer.write(beat).await
        };
        let beat = tokio::time::timeout(HEARTBEAT_MAX, write).await;
        beat.unwrap_or_else(|_| Err(StoreError::Away(format!("no write completed within {HEARTBEAT_MAX:?}"))))
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures {
            commits: self.writer.commits(),
            waiting_writes: self.writer.waiting(),
            damaged_records: self.damaged.count(),
            page_cache_bytes_max: WRITER_CACHE_BYTES + self.readers.page_cache_bytes_max(),
            ..StoreFigures::default()
        }
    }

    async fn close(&self) {
        self.readers.close();
        self.writer.close().await;
    }
}

/// Removes the files that a crash has left, on a thread of its own: no start waits for it.
fn sweep_snapshots(files: &SnapshotFiles, readers: &Arc<Readers>) {
    let (files, readers) = (files.clone(), Arc::clone(readers));
    std::thread::spawn(move || {
        if let Err(error) = files.sweep(|| readers.read(|conn| log::list_snapshot_files(conn, None))) {
            tracing::warn!(%error, "could not look for index snapshots that nobody needs any more");
        }
    });
}

/// A write that changes nothing visible: only writing shows whether writing works.
fn beat(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO heartbeat (id, beats) VALUES (1, 1)
        ON CONFLICT (id) DO UPDATE SET beats = beats + 1";
    tx.conn.prepare_cached(UPSERT)?.execute([])?;
    Ok(())
}
