//! Lists of what a project holds: its workspaces and its records, page by page.

use std::collections::HashMap;

use mnemon_core::{Audience, ProjectId, RecordId, Seq, WorkspaceNo};
use rusqlite::Connection;

use super::batch::find_living;
use super::bodies::{Bodies, find_seq};
use super::log::list_audiences;
use super::rows::{Cells, integer};
use crate::{Listed, RecordFilter, StoreError, WorkspaceRow};

pub(super) fn list_workspaces(conn: &Connection, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
    const SELECT: &str = "
        SELECT no, name, created_at
        FROM workspace INDEXED BY workspace_living
        WHERE project_id = ?1 AND deleted_at IS NULL
        ORDER BY name";
    let mut living = count_living_by_audience(conn, project)?;
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "workspace", || project.to_string());
        let no = WorkspaceNo(cells.count(0, "no")?);
        workspaces.push(WorkspaceRow {
            no,
            name: cells.workspace_name(1, "name")?,
            created_at: cells.time(2, "created_at")?,
            audiences: list_audiences(conn, project, no)?,
            living: living.remove(&no).unwrap_or_default(),
        });
    }
    Ok(workspaces)
}

fn count_living_by_audience(
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
    let workspace = match &filter.workspace {
        Some(name) => match find_living(conn, project, name)? {
            Some(no) => Some(no),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let seqs = list_places(conn, project, filter, workspace, before, rows_max)?;
    let mut bodies = Bodies::new(conn, project);
    let found = seqs.into_iter().map(|seq| Ok(bodies.find(seq)?.map(Listed::from)));
    found.filter_map(Result::transpose).collect()
}

/// The positions of the records, newest first, by the index that leads to them directly.
fn list_places(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    workspace: Option<WorkspaceNo>,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Seq>, StoreError> {
    const FORGOTTEN: &str = "
        SELECT r.seq
        FROM record r INDEXED BY record_forgotten
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq < ?2 AND r.forgotten_at IS NOT NULL AND w.deleted_at IS NULL
            AND (?4 IS NULL OR r.workspace_no = ?4) AND (?5 IS NULL OR r.source_id = ?5)
        ORDER BY r.seq DESC
        LIMIT ?3";
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
    let select = match (filter.is_forgotten, &filter.source_id, workspace) {
        (true, _, _) => FORGOTTEN,
        (false, Some(_), _) => OF_SOURCE,
        (false, None, Some(_)) => OF_WORKSPACE,
        (false, None, None) => ALL,
    };
    let before = before.map_or(i64::MAX, |seq| integer(seq.0));
    let workspace = workspace.map(|no| integer(no.0));
    let mut statement = conn.prepare_cached(select)?;
    let values = (project.to_bytes(), before, integer(rows_max as u64), workspace, &filter.source_id);
    let mut rows = statement.query(values)?;
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        seqs.push(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    }
    Ok(seqs)
}

pub(super) fn find_any(conn: &Connection, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
    let Some(seq) = find_seq(conn, project, id)? else { return Ok(None) };
    let stored = Bodies::new(conn, project).find(seq)?;
    Ok(stored.filter(|stored| stored.is_within_reach).map(Listed::from))
}
