//! Workspaces: lists of them, how they end, and what comes back from them.

use std::collections::{BTreeSet, HashMap};

use mnemon_core::{Audience, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::audit::insert_audit;
use super::log::{changes, find_workspace, insert_change, take_places};
use super::observing::carry;
use super::stored::{Stored, load_stored};
use super::{AuditEntry, DeletedWorkspace, RestoredWorkspace, WorkspaceRow};
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Statement, Transaction, Values, statement};

/// How many records are read and moved at a time.
const PIECE: usize = 500;

/// The active workspaces of a project by name, and their audiences.
pub(crate) fn list_active(project: ProjectId) -> Vec<Statement> {
    const WORKSPACES: &str = "
        SELECT no, name, created_at, deleted_at
        FROM workspace /* INDEXED BY workspace_living */
        WHERE project_id = $1 AND deleted_at IS NULL
        ORDER BY name";
    const AUDIENCES: &str = "
        SELECT a.workspace_no, a.audience
        FROM workspace w
        CROSS JOIN workspace_audience a
        WHERE w.project_id = $1 AND w.deleted_at IS NULL AND a.project_id = w.project_id AND a.workspace_no = w.no
        ORDER BY a.workspace_no, a.audience";
    vec![statement!(WORKSPACES, project), statement!(AUDIENCES, project)]
}

/// The workspaces of a living project that ended at or after a moment, the latest first, their audiences, and how many
/// records of each audience lived in them.
pub(crate) fn list_deleted(project: ProjectId, since: Timestamp) -> Vec<Statement> {
    const WORKSPACES: &str = "
        SELECT no, name, created_at, deleted_at
        FROM workspace
        WHERE project_id = $1 AND deleted_at >= $2
            AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
        ORDER BY deleted_at DESC, no DESC";
    const AUDIENCES: &str = "
        SELECT a.workspace_no, a.audience
        FROM workspace w
        CROSS JOIN workspace_audience a
        WHERE w.project_id = $1 AND w.deleted_at >= $2 AND a.project_id = w.project_id AND a.workspace_no = w.no
        ORDER BY a.workspace_no, a.audience";
    const COUNTS: &str = "
        SELECT r.workspace_no, r.audience, COUNT(*)
        FROM workspace w
        CROSS JOIN record r /* INDEXED BY record_workspace */
        WHERE w.project_id = $1 AND w.deleted_at >= $2 AND r.project_id = w.project_id AND r.workspace_no = w.no
            AND r.forgotten_at IS NULL
        GROUP BY r.workspace_no, r.audience
        ORDER BY r.workspace_no, r.audience";
    [WORKSPACES, AUDIENCES, COUNTS].map(|sql| statement!(sql, project, since)).into()
}

/// Reads the answers to [`list_active`], or the first two to [`list_deleted`].
pub(crate) fn read_workspaces(
    project: ProjectId,
    workspaces: &[Values],
    audiences: &[Values],
) -> Result<Vec<WorkspaceRow>, StoreError> {
    let mut by_workspace: HashMap<u64, Vec<Audience>> = HashMap::new();
    for row in audiences {
        let cells = Cells::new(row, "workspace_audience", || project.to_string());
        by_workspace.entry(cells.count(0, "workspace_no")?).or_default().push(cells.audience(1, "audience")?);
    }
    let read = |row: &Values| {
        let cells = Cells::new(row, "workspace", || project.to_string());
        let no = cells.count(0, "no")?;
        let (name, created_at) = (cells.workspace_name(1, "name")?, cells.time(2, "created_at")?);
        Ok(WorkspaceRow {
            no: WorkspaceNo(no),
            name,
            created_at,
            audiences: by_workspace.remove(&no).unwrap_or_default(),
        })
    };
    workspaces.iter().map(read).collect()
}

/// Reads the answers to [`list_deleted`], without workspaces of which nothing is left.
pub(crate) fn read_deleted(project: ProjectId, answers: &[Vec<Values>]) -> Result<Vec<DeletedWorkspace>, StoreError> {
    let [workspaces, audiences, counts] = answers else { return Ok(Vec::new()) };
    let mut by_workspace: HashMap<u64, Vec<(Audience, u64)>> = HashMap::new();
    for row in counts {
        let cells = Cells::new(row, "record", || project.to_string());
        let counted = (cells.audience(1, "audience")?, cells.count(2, "seq")?);
        by_workspace.entry(cells.count(0, "workspace_no")?).or_default().push(counted);
    }
    let mut deleted = Vec::new();
    for (workspace, row) in read_workspaces(project, workspaces, audiences)?.into_iter().zip(workspaces) {
        let deleted_at = Cells::new(row, "workspace", || project.to_string()).time(3, "deleted_at")?;
        if let Some(living) = by_workspace.remove(&workspace.no.0) {
            deleted.push(DeletedWorkspace { workspace, deleted_at, living });
        }
    }
    Ok(deleted)
}

pub(crate) async fn delete<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    name: &WorkspaceName,
    audit: &AuditEntry,
) -> Result<Option<u64>, T::Error> {
    const COUNT: &str = "
        SELECT COUNT(*)
        FROM record /* INDEXED BY record_workspace */
        WHERE project_id = $1 AND workspace_no = $2 AND forgotten_at IS NULL";
    const UPDATE: &str = "UPDATE workspace SET deleted_at = $3 WHERE project_id = $1 AND no = $2";
    tx.lock(project, Vec::new()).await?.ok_or_else(|| StoreError::no_project(project))?;
    let Some(no) = find_workspace(tx, project, name).await? else { return Ok(None) };
    let rows = tx.run(statement!(COUNT, project, no)).await?;
    let read = |row: &Values| Cells::new(row, "record", || project.to_string()).count(0, "seq");
    let count = rows.first().map(read).transpose()?.unwrap_or(0);
    tx.put(statement!(UPDATE, project, no, audit.at)).await?;
    insert_change(tx, project, no, "workspace.delete", None, audit.at).await?;
    let live_records = tx.live_records(project)?;
    *live_records = live_records.saturating_sub(count);
    tx.renew(project)?;
    // One workspace was affected. The number of its records may include drafts that the reader of the log can't see.
    tx.put(insert_audit(audit, 1)).await?;
    Ok(Some(count))
}

pub(crate) async fn restore<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    no: WorkspaceNo,
    deleted_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<RestoredWorkspace, T::Error> {
    const ENDED: &str = "SELECT name FROM workspace WHERE project_id = $1 AND no = $2 AND deleted_at >= $3";
    const REVIVE: &str = "UPDATE workspace SET deleted_at = NULL WHERE project_id = $1 AND no = $2";
    let ended = tx.lock(project, vec![statement!(ENDED, project, no, deleted_since)]).await?;
    let Some(row) = ended.and_then(|mut answers| answers.pop()?.pop()) else { return Ok(RestoredWorkspace::Absent) };
    let name = Cells::new(&row, "workspace", || format!("{project}/{}", no.0)).workspace_name(0, "name")?;
    let seqs = list_left(tx, project, no).await?;
    if seqs.is_empty() {
        return Ok(RestoredWorkspace::Absent);
    }
    let count = seqs.len() as u64;
    if records_max.is_some_and(|max| tx.live_records(project).is_ok_and(|live| *live + count > max)) {
        return Ok(RestoredWorkspace::Full);
    }
    if find_workspace(tx, project, &name).await?.is_none() {
        tx.put(statement!(REVIVE, project, no)).await?;
        insert_change(tx, project, no, "restore", None, audit.at).await?;
    } else {
        for piece in seqs.chunks(PIECE) {
            let stored = load_stored(tx, project, piece).await?;
            bring_back(tx, project, &stored, audit.at).await?;
        }
    }
    *tx.live_records(project)? += count;
    tx.put(insert_audit(audit, 1)).await?;
    Ok(RestoredWorkspace::Done(count))
}

/// The records that lived in a workspace when it ended, oldest first.
async fn list_left<T: Transaction>(tx: &mut T, project: ProjectId, no: WorkspaceNo) -> Result<Vec<Seq>, T::Error> {
    const SELECT: &str = "
        SELECT seq
        FROM record /* INDEXED BY record_workspace */
        WHERE project_id = $1 AND workspace_no = $2 AND forgotten_at IS NULL
        ORDER BY seq";
    let rows = tx.run(statement!(SELECT, project, no)).await?;
    let read = |row: &Values| Cells::new(row, "record", || project.to_string()).count(0, "seq").map(Seq);
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

/// Makes records of one workspace live again. Those whose workspace ended join the workspace that has the name now; if
/// none has, the name comes back with them. Answers where they are.
pub(crate) async fn bring_back<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    stored: &[Stored],
    at: Timestamp,
) -> Result<Option<WorkspaceNo>, T::Error> {
    const UPDATE: &str = "
        UPDATE record
        SET forgotten_at = NULL, superseded_by = NULL, workspace_no = $3, checksum = $4
        WHERE project_id = $1 AND seq = $2";
    let Some(place) = take_places(tx, project, stored.len())? else { return Ok(None) };
    let no = match &stored[0] {
        Stored { ended_at: None, record, .. } => record.workspace_no,
        _ => join_living(tx, project, stored, place, at).await?,
    };
    for stored in stored {
        tx.put(statement!(UPDATE, project, stored.record.seq, no, stored.moved(project, no).checksum)).await?;
    }
    let seqs: Vec<Seq> = stored.iter().map(|stored| stored.record.seq).collect();
    tx.put(changes(project, place, "restore", &seqs, at)).await?;
    Ok(Some(no))
}

/// The active workspace of the records' name, made under a place of the log if there is none; it knows their audiences
/// and sources.
async fn join_living<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    stored: &[Stored],
    place: Seq,
    at: Timestamp,
) -> Result<WorkspaceNo, T::Error> {
    const INSERT: &str = "
        INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
        VALUES ($1, $2, $3, NULL, $4)";
    const AUDIENCE: &str = "
        INSERT INTO workspace_audience (project_id, workspace_no, audience)
        VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING";
    let (name, from) = (&stored[0].record.workspace, stored[0].record.workspace_no);
    let no = match find_workspace(tx, project, name).await? {
        Some(no) => no,
        None => {
            tx.put(statement!(INSERT, project, WorkspaceNo(place.0), at, name.as_str())).await?;
            WorkspaceNo(place.0)
        }
    };
    for audience in stored.iter().map(|stored| stored.record.audience).collect::<BTreeSet<_>>() {
        tx.put(statement!(AUDIENCE, project, no, audience)).await?;
    }
    let sources = stored.iter().filter_map(|stored| stored.record.fact.source_id.as_deref());
    tx.put(carry(project, sources, from, no, place)).await?;
    Ok(no)
}
