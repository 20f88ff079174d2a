//! Snapshots of indexes, each in a row of its own. The farthest one of a workspace counts.

use std::sync::Arc;

use mnemon_core::{ProjectId, Seq, WorkspaceNo};
use tokio_postgres::Row;
use uuid::Uuid;

use super::attempt;
use super::connect::Pool;
use super::error::Fault;
use super::project::LOCK;
use super::rows::{Cells, integer};
use super::transaction::{Tenant, Tx, ask};
use crate::{KeptImage, Snapshot, SnapshotImage, StoreError};

pub(super) const SELECT: &str = "
    SELECT seq, bytes
    FROM snapshot
    WHERE project_id = $1 AND workspace_no = $2
    ORDER BY seq DESC
    LIMIT 1";

/// Stores a snapshot of an active workspace unless there is a newer one.
pub(super) async fn save(
    pool: &Arc<Pool>,
    project: ProjectId,
    snapshot: Snapshot<Arc<dyn SnapshotImage>>,
) -> Result<(), StoreError> {
    let Snapshot { workspace, seq, image } = snapshot;
    // A copy of many megabytes, which must not hold up those who share this thread.
    let bytes = tokio::task::spawn_blocking(move || image.to_bytes()).await;
    let image = bytes.map_err(|error| StoreError::Failed(format!("a snapshot could not be read: {error}")))?;
    let snapshot = Snapshot { workspace, seq, image };
    attempt(|| write(pool, project, &snapshot)).await?;
    if let Err(error) = attempt(|| remove_older(pool, project, &snapshot)).await {
        tracing::debug!(%error, "an older snapshot stays until the next one is written");
    }
    Ok(())
}

/// Writes the row first, and takes the project's lock only to see whether it may stay: saves into the project would
/// wait for that lock while megabytes are sent and written.
///
/// One that was taken before a purge and arrives after it does not stay: it still contains the purged text. The lock
/// orders the two. A purge does not wait for a row that is not there yet, so neither waits for the other in a circle.
async fn write(pool: &Arc<Pool>, project: ProjectId, snapshot: &Snapshot<Vec<u8>>) -> Result<(), Fault> {
    const INSERT: &str =
        "INSERT INTO snapshot (project_id, workspace_no, seq, bytes) VALUES ($1, $2, $3, $4) RETURNING id";
    // One that goes as far may have been written by a program that had another format.
    const SETTLE: &str = "
        DELETE FROM snapshot s
        WHERE s.project_id = $1 AND s.workspace_no = $2 AND s.seq = $3 AND (
            s.id <> $4
            OR EXISTS (
                SELECT 1
                FROM snapshot n
                WHERE n.project_id = $1 AND n.workspace_no = $2 AND n.seq > $3)
            OR EXISTS (
                SELECT 1
                FROM change c
                WHERE c.project_id = $1 AND c.workspace_no = $2 AND c.seq > $3 AND c.kind = 'purge')
            OR NOT EXISTS (
                SELECT 1
                FROM workspace w
                WHERE w.project_id = $1 AND w.no = $2 AND w.deleted_at IS NULL))";
    let (id, no, seq) = (project.uuid(), integer(snapshot.workspace.0), integer(snapshot.seq.0));
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let row = tx.row(INSERT, &[&id, &no, &seq, &snapshot.image]).await?;
    let own: Uuid = row.ok_or_else(|| Fault::away("PostgreSQL left an answer out"))?.get(0);
    tx.finish(vec![ask(LOCK, &[&id]), ask(SETTLE, &[&id, &no, &seq, &own])]).await.map(|_| ())
}

/// After the lock was released: removing megabytes takes a while too.
async fn remove_older(pool: &Arc<Pool>, project: ProjectId, snapshot: &Snapshot<Vec<u8>>) -> Result<(), Fault> {
    const DELETE_OLDER: &str = "DELETE FROM snapshot WHERE project_id = $1 AND workspace_no = $2 AND seq < $3";
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let (id, no, seq) = (project.uuid(), integer(snapshot.workspace.0), integer(snapshot.seq.0));
    tx.finish(vec![ask(DELETE_OLDER, &[&id, &no, &seq])]).await.map(|_| ())
}

pub(super) fn read(row: &Row, project: ProjectId, workspace: WorkspaceNo) -> Result<Snapshot<KeptImage>, StoreError> {
    let cells = Cells::new(row, "snapshot", || format!("{project}/{}", workspace.0));
    let image = KeptImage::Bytes(cells.blob(1, "bytes")?.to_vec());
    Ok(Snapshot { workspace, seq: Seq(cells.count(0, "seq")?), image })
}
