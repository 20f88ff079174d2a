//! What this node has counted since it started, and what it holds: for the operator, never about one tenant.

use std::sync::atomic::{AtomicU64, Ordering};

use mnemon_store::ReplicaReads;

use crate::Engine;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
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
}

/// Counted by the indexes.
#[derive(Debug, Default)]
pub(crate) struct IndexCounts {
    /// Searches that found the index in memory.
    pub(crate) hits: Count,
    /// Indexes loaded from a snapshot or built from the log.
    pub(crate) loads: Count,
    /// Indexes dropped to make room.
    pub(crate) evictions: Count,
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
    pub index_loads: u64,
    pub index_evictions: u64,
    /// Indexes in memory.
    pub indexes: u64,
    pub index_bytes: u64,
    pub index_bytes_max: u64,
    /// Reads of searches that went to a replica.
    pub replica_reads: ReplicaReads,
}

impl Engine {
    pub fn figures(&self) -> Figures {
        let counted = self.indexes.counts();
        let (indexes, index_bytes, index_bytes_max) = self.indexes.size();
        Figures {
            refused_texts: self.counts.refused_texts.get(),
            reported_texts: self.counts.reported_texts.get(),
            cautioned_texts: self.counts.cautioned_texts.get(),
            redacted_secrets: self.counts.redacted_secrets.get(),
            index_hits: counted.hits.get(),
            index_loads: counted.loads.get(),
            index_evictions: counted.evictions.get(),
            indexes: indexes as u64,
            index_bytes: index_bytes as u64,
            index_bytes_max: index_bytes_max as u64,
            replica_reads: self.store.replica_reads(),
        }
    }
}
