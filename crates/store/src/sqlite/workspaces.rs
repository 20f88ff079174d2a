//! Workspaces that end, and what comes back from them.

use mnemon_core::{ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, params};

use super::audit::insert_audit;
use super::batch::{Tx, is_living};
use super::bodies::Bodies;
use super::listing::{count_living_in, read_workspace};
use super::log::{insert_change, write_change};
use super::rows::{Cells, integer, micros};
use super::sources::carry_source;
use crate::interface::stored::{Stored, broken};
use crate::{AuditEntry, DeletedWorkspace, RestoredWorkspace, StoreError};

pub(super) fn delete_workspace(
    tx: &mut Tx<'_>,
    project: ProjectId,
    name: &WorkspaceName,
    audit: &AuditEntry,
) -> Result<Option<u64>, StoreError> {
    const UPDATE: &str = "UPDATE workspace SET deleted_at = ?3 WHERE project_id = ?1 AND no = ?2";
    let Some(no) = tx.find_workspace(project, name)? else { return Ok(None) };
    let count = count_living(tx.conn, project, no)?;
    tx.conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), integer(no.0), micros(audit.at)))?;
    tx.drop_workspace(project, name)?;
    insert_change(tx, project, no, "workspace.delete", None, audit.at)?;
    let state = tx.project(project)?;
    state.live_records = state.live_records.saturating_sub(count);
    // One workspace was affected. The number of its records may include drafts that the reader of the log can't see.
    insert_audit(tx.conn, audit, 1)?;
    Ok(Some(count))
}

fn count_living(conn: &Connection, project: ProjectId, no: WorkspaceNo) -> Result<u64, StoreError> {
    const SELECT: &str = "
        SELECT COUNT(*)
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND workspace_no = ?2 AND forgotten_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let count: i64 = statement.query_row((project.to_bytes(), integer(no.0)), |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

pub(super) fn list_deleted_workspaces(
    conn: &Connection,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<DeletedWorkspace>, StoreError> {
    const SELECT: &str = "
        SELECT no, name, created_at, deleted_at
        FROM workspace
        WHERE project_id = ?1 AND deleted_at >= ?2
        ORDER BY deleted_at DESC, no DESC";
    if !is_living(conn, project)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), micros(since)))?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        let workspace = read_workspace(conn, row, project)?;
        let deleted_at = Cells::new(row, "workspace", || project.to_string()).time(3, "deleted_at")?;
        let living = count_living_in(conn, project, workspace.no)?;
        if !living.is_empty() {
            workspaces.push(DeletedWorkspace { workspace, deleted_at, living });
        }
    }
    Ok(workspaces)
}

pub(super) fn restore_workspace(
    tx: &mut Tx<'_>,
    project: ProjectId,
    no: WorkspaceNo,
    deleted_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<RestoredWorkspace, StoreError> {
    const REVIVE: &str = "UPDATE workspace SET deleted_at = NULL WHERE project_id = ?1 AND no = ?2";
    if !is_living(tx.conn, project)? {
        return Ok(RestoredWorkspace::Absent);
    }
    let Some(name) = find_ended(tx.conn, project, no, deleted_since)? else {
        return Ok(RestoredWorkspace::Absent);
    };
    let seqs = list_left(tx.conn, project, no)?;
    if seqs.is_empty() {
        return Ok(RestoredWorkspace::Absent);
    }
    let count = seqs.len() as u64;
    let live_records = tx.project(project)?.live_records;
    if records_max.is_some_and(|max| live_records + count > max) {
        return Ok(RestoredWorkspace::Full);
    }
    if tx.find_workspace(project, &name)?.is_none() {
        tx.conn.prepare_cached(REVIVE)?.execute((project.to_bytes(), integer(no.0)))?;
        insert_change(tx, project, no, "restore", None, audit.at)?;
    } else {
        let mut bodies = Bodies::new(tx.conn, project);
        for seq in seqs {
            let stored = bodies.find(seq)?.ok_or_else(|| broken(project, seq, "seq"))?;
            bring_back(tx, project, &stored, audit.at)?;
        }
    }
    tx.project(project)?.live_records += count;
    insert_audit(tx.conn, audit, 1)?;
    Ok(RestoredWorkspace::Done(count))
}

/// Makes a record live again. One whose workspace ended joins the workspace that has the name now; if none has, the
/// name comes back with it.
pub(super) fn bring_back(
    tx: &mut Tx<'_>,
    project: ProjectId,
    stored: &Stored,
    at: Timestamp,
) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE record
        SET forgotten_at = NULL, superseded_by = NULL, workspace_no = ?3, checksum = ?4
        WHERE project_id = ?1 AND seq = ?2";
    let record = &stored.record;
    let place = tx.take_seq(project)?;
    let no = match stored.ended_at {
        None => record.workspace_no,
        Some(_) => {
            let no = tx.find_workspace(project, &record.workspace)?.unwrap_or(WorkspaceNo(place.0));
            if no.0 == place.0 {
                tx.insert_workspace(project, &record.workspace, no, at)?;
            }
            tx.note_audience(project, no, record.audience)?;
            if let Some(source_id) = &record.fact.source_id {
                carry_source(tx.conn, project, source_id, record.workspace_no, no, place)?;
            }
            no
        }
    };
    let moved = stored.moved(project, no);
    let values = params![project.to_bytes(), integer(record.seq.0), integer(no.0), moved.checksum];
    tx.conn.prepare_cached(UPDATE)?.execute(values)?;
    write_change(tx.conn, project, place, no, "restore", Some(record.seq), at)
}

/// The name of a workspace whose life ended at or after a moment.
fn find_ended(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    since: Timestamp,
) -> Result<Option<WorkspaceName>, StoreError> {
    const SELECT: &str = "SELECT name FROM workspace WHERE project_id = ?1 AND no = ?2 AND deleted_at >= ?3";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0), micros(since)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Cells::new(row, "workspace", || format!("{project}/{}", no.0)).workspace_name(0, "name").map(Some)
}

/// The records that were live when the workspace was deleted, oldest first.
fn list_left(conn: &Connection, project: ProjectId, no: WorkspaceNo) -> Result<Vec<Seq>, StoreError> {
    const SELECT: &str = "
        SELECT seq
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND workspace_no = ?2 AND forgotten_at IS NULL
        ORDER BY seq";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0)))?;
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        seqs.push(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    }
    Ok(seqs)
}
