//! Indexes as bytes. Everything here is derived and may be missing at any time.

use mnemon_core::{ProjectId, Seq, WorkspaceNo};
use rusqlite::{Connection, params};

use super::batch::Tx;
use super::known_records::Touched;
use super::rows::{Cells, integer};
use crate::{Snapshot, StoreError};

/// Keeps a snapshot of an active workspace unless a newer one is there.
///
/// One that was taken before a purge and arrives after it is dropped: it holds the very text that was to be gone.
pub(super) fn save_snapshot(tx: &mut Tx<'_>, project: ProjectId, snapshot: &Snapshot) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO snapshot (project_id, workspace_no, seq, bytes)
        SELECT w.project_id, w.no, ?3, ?4
        FROM workspace w
        WHERE w.project_id = ?1 AND w.no = ?2 AND w.deleted_at IS NULL AND NOT EXISTS (
            SELECT 1
            FROM change c
            WHERE c.project_id = ?1 AND c.workspace_no = ?2 AND c.seq > ?3 AND c.kind = 'purge')
        ON CONFLICT (project_id, workspace_no) DO UPDATE
        SET seq = excluded.seq, bytes = excluded.bytes
        WHERE excluded.seq >= seq";
    tx.touch_records(Touched::Nothing);
    // Overwriting the old bytes would double the writing, of megabytes. They hold words at most, and compacting takes
    // them away.
    tx.conn.execute_batch("PRAGMA secure_delete = FAST")?;
    let saved = tx.conn.prepare_cached(UPSERT)?.execute(params![
        project.to_bytes(),
        integer(snapshot.workspace.0),
        integer(snapshot.seq.0),
        snapshot.bytes,
    ]);
    tx.conn.execute_batch("PRAGMA secure_delete = ON")?;
    saved?;
    Ok(())
}

pub(super) fn find_snapshot(
    conn: &Connection,
    project: ProjectId,
    workspace: WorkspaceNo,
) -> Result<Option<Snapshot>, StoreError> {
    const SELECT: &str = "SELECT seq, bytes FROM snapshot WHERE project_id = ?1 AND workspace_no = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(workspace.0)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "snapshot", || format!("{project}/{}", workspace.0));
    Ok(Some(Snapshot { workspace, seq: Seq(cells.count(0, "seq")?), bytes: cells.blob(1, "bytes")?.to_vec() }))
}

pub(super) fn delete_snapshot(conn: &Connection, project: ProjectId, workspace: WorkspaceNo) -> Result<(), StoreError> {
    const DELETE: &str = "DELETE FROM snapshot WHERE project_id = ?1 AND workspace_no = ?2";
    conn.prepare_cached(DELETE)?.execute((project.to_bytes(), integer(workspace.0)))?;
    Ok(())
}
