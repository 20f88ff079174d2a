//! Lists of what a project holds: its workspaces and its records, page by page.

use std::collections::HashMap;

use mnemon_core::{Audience, ProjectId, RecordId, Seq, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, Row, Rows};

use super::batch::{find_living, is_living};
use super::bodies::{Bodies, find_seq};
use super::log::list_audiences;
use super::rows::{Cells, integer};
use crate::{Listed, RecordFilter, StoreError, WorkspaceRow};

pub(super) fn list_workspaces(conn: &Connection, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
    const SELECT: &str = "
        SELECT no, name, created_at, deleted_at
        FROM workspace INDEXED BY workspace_living
        WHERE project_id = ?1 AND deleted_at IS NULL
        ORDER BY name";
    let mut living = count_living_by_audience(conn, project)?;
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        workspaces.push(read_workspace(conn, row, project, &mut living)?);
    }
    Ok(workspaces)
}

/// Reads no, name, created_at and deleted_at, and takes the workspace's count.
pub(super) fn read_workspace(
    conn: &Connection,
    row: &Row<'_>,
    project: ProjectId,
    living: &mut HashMap<WorkspaceNo, Vec<(Audience, u64)>>,
) -> Result<WorkspaceRow, StoreError> {
    let cells = Cells::new(row, "workspace", || project.to_string());
    let no = WorkspaceNo(cells.count(0, "no")?);
    Ok(WorkspaceRow {
        no,
        name: cells.workspace_name(1, "name")?,
        created_at: cells.time(2, "created_at")?,
        deleted_at: cells.time_opt(3, "deleted_at")?,
        audiences: list_audiences(conn, project, no)?,
        living: living.remove(&no).unwrap_or_default(),
    })
}

pub(super) fn count_living_by_audience(
    conn: &Connection,
    project: ProjectId,
) -> Result<HashMap<WorkspaceNo, Vec<(Audience, u64)>>, StoreError> {
    const SELECT: &str = "
        SELECT workspace_no, audience, COUNT(*)
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND forgotten_at IS NULL
        GROUP BY workspace_no, audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut counts: HashMap<_, Vec<_>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "record", || project.to_string());
        let no = WorkspaceNo(cells.count(0, "workspace_no")?);
        counts.entry(no).or_default().push((cells.audience(1, "audience")?, cells.count(2, "seq")?));
    }
    Ok(counts)
}

pub(super) fn list_records(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Listed>, StoreError> {
    if !is_living(conn, project)? {
        return Ok(Vec::new());
    }
    let seqs = if filter.is_forgotten {
        list_gone(conn, project, filter, before, rows_max)?
    } else {
        list_living(conn, project, filter, before, rows_max)?
    };
    let mut bodies = Bodies::new(conn, project);
    let found = seqs.into_iter().map(|seq| Ok(bodies.find(seq)?.map(Listed::from)));
    found.filter_map(Result::transpose).collect()
}

/// The positions of the living records, newest first, by the index that leads to them directly.
fn list_living(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Seq>, StoreError> {
    const OF_SOURCE: &str = "
        SELECT r.seq
        FROM record r INDEXED BY record_source
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.source_id = ?5 AND r.seq < ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND (?4 IS NULL OR r.workspace_no = ?4)
        ORDER BY r.seq DESC
        LIMIT ?3";
    const OF_WORKSPACE: &str = "
        SELECT seq
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND workspace_no = ?4 AND seq < ?2 AND forgotten_at IS NULL AND ?5 IS NULL
        ORDER BY seq DESC
        LIMIT ?3";
    const ALL: &str = "
        SELECT r.seq
        FROM record r
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq < ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND ?4 IS NULL AND ?5 IS NULL
        ORDER BY r.seq DESC
        LIMIT ?3";
    let workspace = match &filter.workspace {
        Some(name) => match find_living(conn, project, name)? {
            Some(no) => Some(no),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let select = match (&filter.source_id, workspace) {
        (Some(_), _) => OF_SOURCE,
        (None, Some(_)) => OF_WORKSPACE,
        (None, None) => ALL,
    };
    let workspace = workspace.map(|no| integer(no.0));
    let values = (project.to_bytes(), upper_bound(before), integer(rows_max as u64), workspace, &filter.source_id);
    let mut statement = conn.prepare_cached(select)?;
    read_seqs(statement.query(values)?, project)
}

/// The positions of the records that were forgotten, or that ended with their workspace, newest first.
fn list_gone(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Seq>, StoreError> {
    const FORGOTTEN: &str = "
        SELECT r.seq
        FROM record r INDEXED BY record_forgotten
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq < ?2 AND r.forgotten_at IS NOT NULL
            AND (?4 IS NULL OR w.name = ?4) AND (?5 IS NULL OR r.source_id = ?5)
        ORDER BY r.seq DESC
        LIMIT ?3";
    const OF_DELETED: &str = "
        SELECT r.seq
        FROM workspace w
        CROSS JOIN record r INDEXED BY record_workspace ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.project_id = ?1 AND w.deleted_at IS NOT NULL AND r.seq < ?2 AND r.forgotten_at IS NULL
            AND (?4 IS NULL OR w.name = ?4) AND (?5 IS NULL OR r.source_id = ?5)
        ORDER BY r.seq DESC
        LIMIT ?3";
    let name = filter.workspace.as_ref().map(WorkspaceName::as_str);
    let values = (project.to_bytes(), upper_bound(before), integer(rows_max as u64), name, &filter.source_id);
    let mut seqs = Vec::new();
    for select in [FORGOTTEN, OF_DELETED] {
        let mut statement = conn.prepare_cached(select)?;
        seqs.extend(read_seqs(statement.query(values)?, project)?);
    }
    seqs.sort_unstable_by(|a, b| b.cmp(a));
    seqs.truncate(rows_max);
    Ok(seqs)
}

fn upper_bound(before: Option<Seq>) -> i64 {
    before.map_or(i64::MAX, |seq| integer(seq.0))
}

fn read_seqs(mut rows: Rows<'_>, project: ProjectId) -> Result<Vec<Seq>, StoreError> {
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        seqs.push(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    }
    Ok(seqs)
}

pub(super) fn find_any(conn: &Connection, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
    if !is_living(conn, project)? {
        return Ok(None);
    }
    let Some(seq) = find_seq(conn, project, id)? else { return Ok(None) };
    Ok(Bodies::new(conn, project).find(seq)?.map(Listed::from))
}
