//! Workspaces that end, and what comes back from them.

use std::collections::BTreeSet;
use std::sync::Arc;

use mnemon_core::{Audience, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::audit::insert_audit;
use super::bodies::{BY_SEQ, read_stored};
use super::connect::Pool;
use super::error::Fault;
use super::listing::{read_counts, read_workspace};
use super::project::{self, Locked};
use super::rows::{Cells, integer, micros, places};
use super::sources::carry_sources;
use super::transaction::{Tenant, Tx, ask};
use crate::encoding::AudienceBytes;
use crate::interface::stored::Stored;
use crate::{AuditEntry, DeletedWorkspace, RestoredWorkspace, StoreError};

/// How many records are moved by one statement.
const PIECE: usize = 500;

pub(super) async fn delete_workspace(
    pool: &Arc<Pool>,
    project: ProjectId,
    name: &WorkspaceName,
    audit: &AuditEntry,
) -> Result<Option<u64>, Fault> {
    const UPDATE: &str = "
        UPDATE workspace
        SET deleted_at = $3
        WHERE project_id = $1 AND name = $2 AND deleted_at IS NULL
        RETURNING no";
    const COUNT: &str = "
        SELECT COUNT(*)
        FROM record
        WHERE project_id = $1 AND workspace_no = $2 AND forgotten_at IS NULL";
    let tx = Tx::write(pool, Tenant::project_of(project, audit.account)).await?;
    let row = tx.row(project::LOCK, &[&project.uuid()]).await?;
    let mut locked = project::read(row.as_ref(), project)?.ok_or_else(|| super::error::no_such_project(project))?;
    let ended = tx.row(UPDATE, &[&project.uuid(), &name.as_str(), &micros(audit.at)]).await?;
    let Some(row) = ended else { return Ok(None) };
    let no = WorkspaceNo(Cells::new(&row, "workspace", || format!("{project}/{name}")).count(0, "no")?);
    let rows = tx.rows(COUNT, &[&project.uuid(), &integer(no.0)]).await?;
    let counted = rows.first().map(|row| Cells::new(row, "record", || project.to_string()).count(0, "seq"));
    let count = counted.transpose()?.unwrap_or(0);
    locked.insert_change(&tx, no, "workspace.delete", None, audit.at).await?;
    locked.live_records = locked.live_records.saturating_sub(count);
    // One workspace was affected. The number of its records may include drafts that the reader of the log can't see.
    insert_audit(&tx, audit, 1).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(Some(count))
}

pub(super) async fn list_deleted_workspaces(
    pool: &Arc<Pool>,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<DeletedWorkspace>, Fault> {
    const SELECT: &str = "
        SELECT w.no, w.name, w.created_at, ARRAY(
            SELECT a.audience
            FROM workspace_audience a
            WHERE a.project_id = w.project_id AND a.workspace_no = w.no
            ORDER BY a.audience), w.deleted_at
        FROM workspace w
        WHERE w.project_id = $1 AND w.deleted_at >= $2
            AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
        ORDER BY w.deleted_at DESC, w.no DESC";
    const COUNT: &str = "
        SELECT r.workspace_no, r.audience, COUNT(*)
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.forgotten_at IS NULL AND w.deleted_at >= $2
        GROUP BY r.workspace_no, r.audience
        ORDER BY r.workspace_no, r.audience";
    let (id, since) = (project.uuid(), micros(since));
    let tx = Tx::read(pool, Tenant::project(project)).await?;
    let answers = tx.finish(vec![ask(SELECT, &[&id, &since]), ask(COUNT, &[&id, &since])]).await?;
    let [workspaces, counts] = answers.as_slice() else {
        return Err(Fault::away("PostgreSQL left an answer out"));
    };
    let mut left = read_counts(counts, project)?;
    let read = |row| {
        let workspace = read_workspace(row, project)?;
        let deleted_at = Cells::new(row, "workspace", || project.to_string()).time(4, "deleted_at")?;
        let living = left.remove(&workspace.no).unwrap_or_default();
        Ok(DeletedWorkspace { workspace, deleted_at, living })
    };
    let mut deleted = workspaces.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    deleted.retain(|deleted| !deleted.living.is_empty());
    Ok(deleted)
}

pub(super) async fn restore_workspace(
    pool: &Arc<Pool>,
    project: ProjectId,
    no: WorkspaceNo,
    deleted_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<RestoredWorkspace, Fault> {
    const REVIVE: &str = "UPDATE workspace SET deleted_at = NULL WHERE project_id = $1 AND no = $2";
    let tx = Tx::write(pool, Tenant::project_of(project, audit.account)).await?;
    let row = tx.row(project::LOCK, &[&project.uuid()]).await?;
    let Some(mut locked) = project::read(row.as_ref(), project)? else { return Ok(RestoredWorkspace::Absent) };
    let Some(name) = find_ended(&tx, project, no, deleted_since).await? else {
        return Ok(RestoredWorkspace::Absent);
    };
    let seqs = list_left(&tx, project, no).await?;
    if seqs.is_empty() {
        return Ok(RestoredWorkspace::Absent);
    }
    let count = seqs.len() as u64;
    if records_max.is_some_and(|max| locked.live_records + count > max) {
        return Ok(RestoredWorkspace::Full);
    }
    if project::find_workspace(&tx, project, &name).await?.is_none() {
        tx.rows(REVIVE, &[&project.uuid(), &integer(no.0)]).await?;
        locked.insert_change(&tx, no, "restore", None, audit.at).await?;
    } else {
        for piece in seqs.chunks(PIECE) {
            let rows = tx.rows(BY_SEQ, &[&project.uuid(), &places(piece)]).await?;
            let mut stored =
                rows.iter().map(|row| read_stored(row, project)).collect::<Result<Vec<_>, StoreError>>()?;
            stored.sort_unstable_by_key(|stored| stored.record.seq);
            bring_back(&tx, &mut locked, &stored, audit.at).await?;
        }
    }
    locked.live_records += count;
    insert_audit(&tx, audit, 1).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(RestoredWorkspace::Done(count))
}

/// Makes records of one workspace live again. Those whose workspace ended join the workspace that has the name now; if
/// none has, the name comes back with them. Answers where they are.
pub(super) async fn bring_back(
    tx: &Tx,
    locked: &mut Locked,
    stored: &[Stored],
    at: Timestamp,
) -> Result<Option<WorkspaceNo>, Fault> {
    const UPDATE: &str = "
        UPDATE record r
        SET forgotten_at = NULL, superseded_by = NULL, workspace_no = $2, checksum = g.checksum
        FROM unnest($3::bigint[], $4::bigint[]) AS g (seq, checksum)
        WHERE r.project_id = $1 AND r.seq = g.seq";
    let Some(first) = stored.first() else { return Ok(None) };
    let no = match first.ended_at {
        None => first.record.workspace_no,
        Some(_) => join_living(tx, locked, stored, &first.record.workspace, at).await?,
    };
    let seqs: Vec<i64> = stored.iter().map(|stored| integer(stored.record.seq.0)).collect();
    let checksums: Vec<i64> = stored.iter().map(|stored| stored.moved(locked.id, no).checksum).collect();
    tx.rows(UPDATE, &[&locked.id.uuid(), &integer(no.0), &seqs, &checksums]).await?;
    let touched: Vec<_> = stored.iter().map(|stored| (no, Some(stored.record.seq))).collect();
    locked.insert_changes(tx, &touched, "restore", at).await?;
    Ok(Some(no))
}

/// The active workspace of this name, made under the next place of the log if there is none; it knows the records'
/// audiences.
async fn join_living(
    tx: &Tx,
    locked: &Locked,
    stored: &[Stored],
    name: &WorkspaceName,
    at: Timestamp,
) -> Result<WorkspaceNo, Fault> {
    const INSERT: &str = "
        INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
        VALUES ($1, $2, $3, NULL, $4)";
    const AUDIENCES: &str = "
        INSERT INTO workspace_audience (project_id, workspace_no, audience)
        SELECT $1, $2, g.audience
        FROM unnest($3::bytea[]) AS g (audience)
        ON CONFLICT DO NOTHING";
    let id = locked.id.uuid();
    let no = match project::find_workspace(tx, locked.id, name).await? {
        Some(no) => no,
        None => {
            let no = WorkspaceNo(locked.seq + 1);
            tx.rows(INSERT, &[&id, &integer(no.0), &micros(at), &name.as_str()]).await?;
            no
        }
    };
    let audiences: BTreeSet<Audience> = stored.iter().map(|stored| stored.record.audience).collect();
    let audiences: Vec<AudienceBytes> = audiences.into_iter().map(AudienceBytes::of).collect();
    let audiences: Vec<&[u8]> = audiences.iter().map(AudienceBytes::as_slice).collect();
    tx.rows(AUDIENCES, &[&id, &integer(no.0), &audiences]).await?;
    if let Some(from) = stored.first().map(|stored| stored.record.workspace_no) {
        let sources: Vec<&str> = stored.iter().filter_map(|stored| stored.record.fact.source_id.as_deref()).collect();
        carry_sources(tx, locked.id, &sources, from, no, Seq(locked.seq + 1)).await?;
    }
    Ok(no)
}

/// The name of a workspace whose life ended at or after a moment.
async fn find_ended(
    tx: &Tx,
    project: ProjectId,
    no: WorkspaceNo,
    since: Timestamp,
) -> Result<Option<WorkspaceName>, Fault> {
    const SELECT: &str = "SELECT name FROM workspace WHERE project_id = $1 AND no = $2 AND deleted_at >= $3";
    let Some(row) = tx.row(SELECT, &[&project.uuid(), &integer(no.0), &micros(since)]).await? else { return Ok(None) };
    Ok(Some(Cells::new(&row, "workspace", || format!("{project}/{}", no.0)).workspace_name(0, "name")?))
}

/// The records that were live when the workspace was deleted, oldest first.
async fn list_left(tx: &Tx, project: ProjectId, no: WorkspaceNo) -> Result<Vec<Seq>, Fault> {
    const SELECT: &str = "
        SELECT seq
        FROM record
        WHERE project_id = $1 AND workspace_no = $2 AND forgotten_at IS NULL
        ORDER BY seq";
    let rows = tx.rows(SELECT, &[&project.uuid(), &integer(no.0)]).await?;
    let read = |row| Ok(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    Ok(rows.iter().map(read).collect::<Result<_, StoreError>>()?)
}
