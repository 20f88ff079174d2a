//! Projects, and their deletion.

use mnemon_core::{AccountId, Project, ProjectId, WorkspaceNo};
use rusqlite::Connection;

use super::audit::insert_audit;
use super::batch::Tx;
use super::integrations;
use super::log::insert_change;
use super::rows::{Cells, micros};
use crate::interface::people::read_project;
use crate::{AuditEntry, StoreError};

pub(super) fn insert_project(conn: &Connection, project: &Project) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO project (id, account_id, seq, live_records, created_at, deleted_at, name)
        VALUES (?1, ?2, 0, 0, ?3, NULL, ?4)";
    let values = (project.id.to_bytes(), project.account.to_bytes(), micros(project.created_at), &project.name);
    conn.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

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

/// Deletes a project and every workspace in it. Readers check the workspace of a record anyway: with the workspaces
/// gone, they find nothing, and none has to check the project.
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
