//! Removing records for good.
//!
//! What is freed in the file is overwritten (`files.rs`), and the WAL is emptied before the answer (`writer.rs`). The
//! files of snapshots that knew the record are removed. Out of reach are copies in the unused parts of pages, which
//! SQLite leaves when it splits a page, for about one record in a hundred: only rewriting the file takes those away.

use async_trait::async_trait;
use mnemon_core::{ProjectId, RecordId, Seq, Timestamp};

use super::SqliteStore;
use super::batch::Tx;
use super::log::list_snapshot_files;
use super::rows::{Cells, list, micros};
use super::statement::at_once;
use crate::interface::retention;
use crate::{AuditEntry, Retention, StoreError};

#[async_trait]
impl Retention for SqliteStore {
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.purging(project, move |tx| at_once(retention::purge(tx, project, id, &audit))).await
    }

    /// In all projects: upkeep is the one act that belongs to no tenant. Reads the index of the forgotten records and
    /// the tables of workspaces and projects from end to end.
    async fn list_doomed(&self, before: Timestamp) -> Result<Vec<ProjectId>, StoreError> {
        const SELECT: &str = "
            SELECT project_id
            FROM record INDEXED BY record_forgotten
            WHERE forgotten_at IS NOT NULL AND forgotten_at < ?1
            UNION
            SELECT project_id
            FROM workspace
            WHERE deleted_at < ?1
            UNION
            SELECT p.id
            FROM project p
            WHERE p.deleted_at < ?1 AND (
                EXISTS (SELECT 1 FROM source s WHERE s.project_id = p.id)
                OR EXISTS (SELECT 1 FROM idempotency i WHERE i.project_id = p.id)
                OR EXISTS (SELECT 1 FROM guard_release g WHERE g.project_id = p.id)
                OR EXISTS (SELECT 1 FROM session s WHERE s.project_id = p.id))";
        let read = |row: &rusqlite::Row<'_>| Cells::new(row, "project", String::new).id(0, "id");
        self.readers.read_long(move |conn| list(conn, SELECT, [micros(before)], read)).await
    }

    async fn purge_ended(
        &self,
        project: ProjectId,
        seqs: Vec<Seq>,
        before: Timestamp,
        is_rest: bool,
    ) -> Result<u64, StoreError> {
        let act = move |tx: &mut Tx<'_>| at_once(retention::purge_ended(tx, project, &seqs, before, is_rest));
        self.purging(project, act).await
    }

    async fn compact(&self) -> Result<(), StoreError> {
        self.writer.compact().await
    }
}

impl SqliteStore {
    /// Runs an act that purges, and removes the files of the snapshots that lost their rows.
    async fn purging<T: Send + 'static>(
        &self,
        project: ProjectId,
        act: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let act = move |tx: &mut Tx<'_>| {
            let mut files = list_snapshot_files(tx.conn, Some(project))?;
            let done = act(tx)?;
            let kept = list_snapshot_files(tx.conn, Some(project))?;
            files.retain(|file| !kept.contains(file));
            Ok((done, files))
        };
        let (done, files) = self.writer.write(act).await?;
        files.iter().for_each(|file| self.snapshot_files.remove(file));
        Ok(done)
    }
}
