//! The projects of an account, and the end of one.

use mnemon_core::{AccountId, Project, ProjectId, WorkspaceNo};
use rusqlite::{Connection, Row};

use super::accounts::insert_audit;
use super::batch::Tx;
use super::integrations;
use super::records::insert_change;
use super::rows::{Cells, micros};
use crate::{AuditEntry, StoreError};

pub(super) fn list_projects(conn: &Connection, account: AccountId) -> Result<Vec<Project>, StoreError> {
    const SELECT: &str = "
        SELECT id, account_id, created_at, name
        FROM project
        WHERE account_id = ?1 AND deleted_at IS NULL
        ORDER BY created_at, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut projects = Vec::new();
    while let Some(row) = rows.next()? {
        projects.push(read_project(row)?);
    }
    Ok(projects)
}

pub(super) fn find_project(conn: &Connection, id: ProjectId) -> Result<Option<Project>, StoreError> {
    const SELECT: &str = "
        SELECT id, account_id, created_at, name
        FROM project
        WHERE id = ?1 AND deleted_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_project).transpose()
}

fn read_project(row: &Row<'_>) -> Result<Project, StoreError> {
    let id = ProjectId::from_bytes(Cells::new(row, "project", String::new).bytes(0, "id")?);
    let cells = Cells::new(row, "project", || id.to_string());
    Ok(Project {
        id,
        account: AccountId::from_bytes(cells.bytes(1, "account_id")?),
        name: cells.text(3, "name")?,
        created_at: cells.time(2, "created_at")?,
    })
}

/// Ends a project and every workspace in it. Readers look at the workspace of a record anyway: with those ended, each of
/// them finds nothing, and none has to ask for the project.
pub(super) fn delete_project(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: ProjectId,
    audit: &AuditEntry,
) -> Result<bool, StoreError> {
    const UPDATE: &str = "UPDATE project SET deleted_at = ?2 WHERE id = ?1";
    const END_WORKSPACES: &str = "UPDATE workspace SET deleted_at = ?2 WHERE project_id = ?1 AND deleted_at IS NULL";
    if find_project(tx.conn, id)?.is_none_or(|project| project.account != account) {
        return Ok(false);
    }
    for no in list_active(tx.conn, id)? {
        insert_change(tx, id, no, "workspace.delete", None, audit.at)?;
    }
    let count = tx.end_project(id)?;
    tx.conn.prepare_cached(END_WORKSPACES)?.execute((id.to_bytes(), micros(audit.at)))?;
    tx.conn.prepare_cached(UPDATE)?.execute((id.to_bytes(), micros(audit.at)))?;
    integrations::delete_all(tx.conn, id)?;
    tx.touch_people();
    insert_audit(tx.conn, audit, count)?;
    Ok(true)
}

fn list_active(conn: &Connection, project: ProjectId) -> Result<Vec<WorkspaceNo>, StoreError> {
    const SELECT: &str = "SELECT no FROM workspace WHERE project_id = ?1 AND deleted_at IS NULL ORDER BY no";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut active = Vec::new();
    while let Some(row) = rows.next()? {
        active.push(WorkspaceNo(Cells::new(row, "workspace", || project.to_string()).count(0, "no")?));
    }
    Ok(active)
}
