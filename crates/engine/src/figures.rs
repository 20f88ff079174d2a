//! What this node has counted since it started, and what it holds: for the operator, never about one tenant.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mnemon_core::Timestamp;
use mnemon_gateway::BreakerCounts;
use mnemon_store::{ReplicaReads, StoreFigures};

use crate::Engine;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counted where it happens.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) refused_texts: Count,
    pub(crate) reported_texts: Count,
    pub(crate) cautioned_texts: Count,
    pub(crate) redacted_secrets: Count,
    /// Calls refused because their connection made too many.
    pub(crate) connection_limits: Count,
    /// Calls refused because their project made too many.
    pub(crate) project_limits: Count,
    /// Pieces of session histories that were stored, and their bytes as received.
    pub(crate) session_appends: Count,
    pub(crate) session_bytes: Count,
}

/// Counted by the indexes.
#[derive(Debug, Default)]
pub(crate) struct IndexCounts {
    /// Searches that found the index in memory.
    pub(crate) hits: Count,
    /// Indexes loaded from a snapshot.
    pub(crate) loads_from_snapshot: Count,
    /// Indexes built from the log alone.
    pub(crate) loads_from_log: Count,
    /// Indexes dropped to make room.
    pub(crate) evictions: Count,
}

/// Counted while snapshots are written.
#[derive(Debug, Default)]
pub(crate) struct SnapshotCounts {
    pub(crate) written: Count,
    pub(crate) failed: Count,
    pub(crate) bytes: Count,
    /// When the last one was written, in seconds since 1970; 0 before the first.
    last_at: AtomicU64,
}

impl SnapshotCounts {
    pub(crate) fn note_written(&self, bytes: usize, at: Timestamp) {
        self.written.add(1);
        self.bytes.add(bytes as u64);
        self.last_at.store(u64::try_from(at.as_second()).unwrap_or(0), Ordering::Relaxed);
    }
}

/// Whether storage worked when it was last tried. It did when the service started.
#[derive(Debug)]
pub(crate) struct StorageWorks {
    pub(crate) reads: AtomicBool,
    pub(crate) writes: AtomicBool,
}

impl Default for StorageWorks {
    fn default() -> Self {
        Self { reads: AtomicBool::new(true), writes: AtomicBool::new(true) }
    }
}

/// A look at all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Texts that the guard refused.
    pub refused_texts: u64,
    /// Texts that the guard found and that were stored, because the account's mode is `report`.
    pub reported_texts: u64,
    /// Texts that were stored with a mark.
    pub cautioned_texts: u64,
    pub redacted_secrets: u64,
    pub index_hits: u64,
    pub index_loads_from_snapshot: u64,
    pub index_loads_from_log: u64,
    pub index_evictions: u64,
    /// Indexes in memory.
    pub indexes: u64,
    pub index_bytes: u64,
    pub index_bytes_max: u64,
    /// Texts that answers showed, kept for the next ones.
    pub text_bytes: u64,
    pub text_bytes_max: u64,
    /// Reads of searches that went to a replica.
    pub replica_reads: ReplicaReads,
    pub snapshots_written: u64,
    pub snapshots_failed: u64,
    pub snapshot_bytes: u64,
    /// When the last snapshot was written, in seconds since 1970; 0 before the first.
    pub snapshot_last_at: u64,
    pub connection_limits: u64,
    pub project_limits: u64,
    pub session_appends: u64,
    pub session_bytes: u64,
    pub breakers: BreakerCounts,
    /// Whether storage could be read, and written, when it was last tried.
    pub reads_work: bool,
    pub writes_work: bool,
    pub store: StoreFigures,
}

impl Engine {
    /// Tries storage, so that figures show an outage while nobody calls.
    pub(crate) async fn try_storage(&self) {
        let (reads, writes) = tokio::join!(self.store.check_reads(), self.store.check_writes());
        for (operation, outcome, works) in [("read", reads, &self.works.reads), ("write", writes, &self.works.writes)] {
            let did_work = works.swap(outcome.is_ok(), Ordering::Relaxed);
            match outcome {
                Err(error) if did_work => tracing::error!(operation, %error, "storage stopped working"),
                Ok(()) if !did_work => tracing::info!(operation, "storage works again"),
                _ => {}
            }
        }
    }

    pub fn figures(&self) -> Figures {
        let (counted, snapshots) = (self.indexes.counts(), self.indexes.snapshot_counts());
        let (indexes, index_bytes, index_bytes_max) = self.indexes.size();
        let (text_bytes, text_bytes_max) = self.indexes.text_size();
        Figures {
            refused_texts: self.counts.refused_texts.get(),
            reported_texts: self.counts.reported_texts.get(),
            cautioned_texts: self.counts.cautioned_texts.get(),
            redacted_secrets: self.counts.redacted_secrets.get(),
            index_hits: counted.hits.get(),
            index_loads_from_snapshot: counted.loads_from_snapshot.get(),
            index_loads_from_log: counted.loads_from_log.get(),
            index_evictions: counted.evictions.get(),
            indexes: indexes as u64,
            index_bytes: index_bytes as u64,
            index_bytes_max: index_bytes_max as u64,
            text_bytes: text_bytes as u64,
            text_bytes_max: text_bytes_max as u64,
            replica_reads: self.store.replica_reads(),
            snapshots_written: snapshots.written.get(),
            snapshots_failed: snapshots.failed.get(),
            snapshot_bytes: snapshots.bytes.get(),
            snapshot_last_at: snapshots.last_at.load(Ordering::Relaxed),
            connection_limits: self.counts.connection_limits.get(),
            project_limits: self.counts.project_limits.get(),
            session_appends: self.counts.session_appends.get(),
            session_bytes: self.counts.session_bytes.get(),
            breakers: self.integrations.gateway.breakers(self.clock.now()),
            reads_work: self.works.reads.load(Ordering::Relaxed),
            writes_work: self.works.writes.load(Ordering::Relaxed),
            store: self.store.figures(),
        }
    }
}
