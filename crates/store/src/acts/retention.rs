//! Removing records for good, and giving their room back.

use async_trait::async_trait;
use mnemon_core::{ProjectId, RecordId, Seq, Timestamp, WorkspaceNo};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Removing for good.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Removes a record for good: row, snapshot of its workspace, and everything that points to it. What is freed is
    /// overwritten. `false` when absent.
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Removes for good what was forgotten, or whose workspace or project was deleted, before a moment: at most so many
    /// records at once. Answers how many it were; fewer than `rows_max` means that nothing is left.
    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError>;

    /// Rewrites storage without its free space.
    async fn compact(&self) -> Result<(), StoreError>;
}

/// A record that is to be removed for good, and whether it is alive until then.
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
