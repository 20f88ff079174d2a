//! The reading connections. Each read borrows one; there are as many as reads ever ran at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::closed;
use super::files::{Files, READER_CACHE_BYTES};
use crate::StoreError;

/// How many connections are kept for the next read. Short reads run on the callers' own threads, so more than this are
/// in use at once only on machines with more cores.
const IDLE_MAX: usize = 16;
/// How many long reads run at once; the others wait, so that they exhaust neither memory nor threads.
const LONG_MAX: usize = 4;

pub(super) struct Readers {
    files: Files,
    idle: Mutex<Vec<Connection>>,
    /// The idle ones and those in use.
    open: AtomicU64,
    is_closed: AtomicBool,
    long: Semaphore,
}

impl Readers {
    pub(super) fn new(files: Files) -> Self {
        Self {
            files,
            idle: Mutex::default(),
            open: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            long: Semaphore::new(LONG_MAX),
        }
    }

    /// Runs a short read on the caller's thread, even inside an async task.
    ///
    /// A hop to another thread and back takes 6 to 13 µs. A workspace, a source, an unknown credential or an unchanged
    /// log take 3 to 8 µs of CPU time, so for them the hop would be the larger part. One record takes 10 to 20 µs and
    /// ten take about 100: those cost more than a hop, and stay here because they hold a thread for less than a
    /// millisecond and answer sooner this way.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let conn = self.borrow()?;
        let answer = work(&conn);
        // A connection that just failed may fail again; the next read opens a new one.
        if matches!(answer, Err(StoreError::Away(_) | StoreError::Failed(_))) {
            self.drop_one(conn);
        } else {
            self.give_back(conn);
        }
        answer
    }

    /// Runs a read of several statements that must see the same moment.
    pub(super) fn read_at_once<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("BEGIN DEFERRED")?.execute([])?;
            let answer = work(conn);
            conn.prepare_cached("COMMIT")?.execute([])?;
            answer
        })
    }

    /// Runs a read that may take long, on its own thread. The pages it read are given back: the next long read is of
    /// another workspace, and a page cache for each connection would be half of a small machine's memory.
    pub(super) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self.long.acquire().await.map_err(|_| closed())?;
        let readers = Arc::clone(self);
        let read = move |conn: &Connection| {
            let answer = work(conn);
            conn.release_memory()?;
            answer
        };
        let answer = tokio::task::spawn_blocking(move || readers.read_at_once(read)).await;
        answer.map_err(|error| StoreError::Failed(format!("a read ended early: {error}")))?
    }

    /// Refuses every later read and closes idle connections.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.long.close();
        self.idle.lock().clear();
    }

    /// What the page caches of all connections may take.
    pub(super) fn page_cache_bytes_max(&self) -> u64 {
        self.open.load(Ordering::Relaxed) * READER_CACHE_BYTES
    }

    fn borrow(&self) -> Result<Connection, StoreError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(closed());
        }
        if let Some(idle) = self.idle.lock().pop() {
            return Ok(idle);
        }
        let conn = self.files.open_reader()?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(conn)
    }

    fn drop_one(&self, conn: Connection) {
        drop(conn);
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn give_back(&self, conn: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX && !self.is_closed.load(Ordering::SeqCst) {
            idle.push(conn);
        } else {
            drop(idle);
            self.drop_one(conn);
        }
    }
}
