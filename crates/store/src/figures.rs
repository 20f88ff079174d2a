//! What a store has counted since it was opened, for the operator. Nothing in here names a tenant.

use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the classes that [`CommitSizes`] counts in; larger commits are counted after the last one.
pub const COMMIT_SIZE_BOUNDS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// How many writes the commits had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitSizes {
    /// Commits per class, not added up.
    pub counts: [u64; COMMIT_SIZE_BOUNDS.len() + 1],
    /// Writes of all commits together.
    pub writes: u64,
}

/// Connections to a database server. A data directory has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseConnections {
    pub idle: u64,
    pub busy: u64,
    pub max: u64,
    /// Callers that wait for one.
    pub waiting: u64,
    /// How often the server was asked and waited for. Preparing a statement for the first time is not counted.
    pub round_trips: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreFigures {
    pub commits: CommitSizes,
    /// Writes that wait for their turn.
    pub waiting_writes: u64,
    pub connections: DatabaseConnections,
    /// Records that were found damaged, and are left out of answers.
    pub damaged_records: u64,
    /// Bytes that the page caches of open connections to a file may take.
    pub page_cache_bytes_max: u64,
}

/// Counts commits where they happen.
#[derive(Debug, Default)]
pub(crate) struct CommitCounter {
    counts: [AtomicU64; COMMIT_SIZE_BOUNDS.len() + 1],
    writes: AtomicU64,
}

impl CommitCounter {
    pub(crate) fn note(&self, writes: usize) {
        let writes = writes as u64;
        let class = COMMIT_SIZE_BOUNDS.partition_point(|bound| *bound < writes);
        self.counts[class].fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> CommitSizes {
        CommitSizes {
            counts: std::array::from_fn(|class| self.counts[class].load(Ordering::Relaxed)),
            writes: self.writes.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_counted_in_the_first_class_that_holds_it() {
        let counter = CommitCounter::default();
        for writes in [1, 1, 2, 3, 4, 5, 512, 513] {
            counter.note(writes);
        }
        let read = counter.read();
        assert_eq!(read.counts, [2, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(read.writes, 1 + 1 + 2 + 3 + 4 + 5 + 512 + 513);
    }
}
