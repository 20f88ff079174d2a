//! Indexes as bytes. Everything here is derived and may be missing at any time.

use mnemon_core::{ProjectId, Seq, WorkspaceNo};

use super::PostgresStore;
use super::rows::{Cells, integer};
use super::transaction::{Tenant, Tx, ask};
use crate::{Snapshot, StoreError};

impl PostgresStore {
    /// Keeps a snapshot of an active workspace unless a newer one is there.
    ///
    /// One that was taken before a purge and arrives after it is dropped: it holds the very text that was to be gone. The
    /// project's lock orders the two.
    pub(super) async fn keep_snapshot(&self, project: ProjectId, snapshot: &Snapshot) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO snapshot (project_id, workspace_no, seq, bytes)
            SELECT w.project_id, w.no, $3, $4
            FROM workspace w
            WHERE w.project_id = $1 AND w.no = $2 AND w.deleted_at IS NULL AND NOT EXISTS (
                SELECT 1
                FROM change c
                WHERE c.project_id = $1 AND c.workspace_no = $2 AND c.seq > $3 AND c.kind = 'purge')
            ON CONFLICT (project_id, workspace_no) DO UPDATE
            SET seq = excluded.seq, bytes = excluded.bytes
            WHERE excluded.seq >= snapshot.seq";
        let (id, no, seq) = (project.uuid(), integer(snapshot.workspace.0), integer(snapshot.seq.0));
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project(project)).await?;
            let lock = ask(super::project::LOCK, &[&id]);
            tx.finish(vec![lock, ask(UPSERT, &[&id, &no, &seq, &snapshot.bytes])]).await.map(|_| ())
        })
        .await
    }

    pub(super) async fn load_snapshot(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
    ) -> Result<Option<Snapshot>, StoreError> {
        const SELECT: &str = "SELECT seq, bytes FROM snapshot WHERE project_id = $1 AND workspace_no = $2";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &integer(workspace.0)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let cells = Cells::new(row, "snapshot", || format!("{project}/{}", workspace.0));
        Ok(Some(Snapshot { workspace, seq: Seq(cells.count(0, "seq")?), bytes: cells.blob(1, "bytes")?.to_vec() }))
    }
}

pub(super) const DELETE: &str = "DELETE FROM snapshot WHERE project_id = $1 AND workspace_no = $2";
