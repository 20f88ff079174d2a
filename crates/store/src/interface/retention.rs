//! Permanent deletion of records, and reclaiming their space.

use async_trait::async_trait;
use mnemon_core::{ProjectId, RecordId, Seq, Timestamp, WorkspaceNo};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// How many records a purge at once takes away: few enough to let saves through in between.
pub(crate) const PURGE_AT_ONCE: u64 = 500;

/// What a limit on forgotten records took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgedBeyond {
    pub purged: u64,
    /// How many forgotten records are left.
    pub kept: u64,
}

#[async_trait]
pub trait Retention: Send + Sync {
    /// Purges a record: its row, its workspace's snapshot, and everything that points to it. Freed space is
    /// overwritten. `false` if absent.
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Purges what was forgotten, or whose workspace or project was deleted, before a given time, up to `rows_max`
    /// records. Returns the number of records removed; fewer than `rows_max` means that nothing is left.
    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError>;

    /// Purges the oldest forgotten records of a project, and those of its deleted workspaces, until at most `keep` are
    /// left. Nothing that ended after `now` is touched.
    async fn purge_beyond(&self, project: ProjectId, keep: u64, now: Timestamp) -> Result<PurgedBeyond, StoreError>;

    /// Rewrites storage without its free space.
    async fn compact(&self) -> Result<(), StoreError>;
}

/// A record to purge, and whether it is live until then.
pub(crate) struct Place {
    pub(crate) seq: Seq,
    pub(crate) no: WorkspaceNo,
    pub(crate) is_alive: bool,
}

impl Place {
    pub(crate) fn read<R: Row>(row: &R, project: ProjectId, id: RecordId) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "record", || format!("{project}/{id}"));
        Ok(Self {
            seq: Seq(cells.count(0, "seq")?),
            no: WorkspaceNo(cells.count(1, "workspace_no")?),
            is_alive: cells.flag(2, "forgotten_at")?,
        })
    }
}
