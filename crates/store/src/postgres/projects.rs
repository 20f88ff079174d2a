//! Projects, and their deletion.

use std::sync::Arc;

use mnemon_core::{AccountId, Project, ProjectId, WorkspaceNo};

use super::audit::insert_audit;
use super::connect::Pool;
use super::error::Fault;
use super::integrations;
use super::project;
use super::rows::{Cells, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::people::read_project;
use crate::{AuditEntry, StoreError};

pub(super) const LIST: &str = "
    SELECT id, account_id, created_at, name
    FROM project
    WHERE account_id = $1 AND deleted_at IS NULL
    ORDER BY created_at, id";

pub(super) const FIND: &str = "
    SELECT id, account_id, created_at, name
    FROM project
    WHERE id = $1 AND deleted_at IS NULL";

pub(super) async fn insert_project(tx: &Tx, project: &Project) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO project (id, account_id, seq, live_records, created_at, deleted_at, name)
        VALUES ($1, $2, 0, 0, $3, NULL, $4)";
    let created_at = micros(project.created_at);
    tx.rows(INSERT, &[&project.id.uuid(), &project.account.uuid(), &created_at, &project.name]).await?;
    Ok(())
}

/// Deletes a project and every workspace in it. Readers check the workspace of a record anyway: with the workspaces
/// gone, they find nothing, and none has to check the project.
pub(super) async fn delete_project(
    pool: &Arc<Pool>,
    account: AccountId,
    id: ProjectId,
    audit: &AuditEntry,
) -> Result<bool, Fault> {
    const UPDATE: &str = "UPDATE project SET deleted_at = $2 WHERE id = $1";
    const END_WORKSPACES: &str = "UPDATE workspace SET deleted_at = $2 WHERE project_id = $1 AND deleted_at IS NULL";
    let tx = Tx::write(pool, Tenant::project_of(id, account)).await?;
    let row = tx.row(FIND, &[&id.uuid()]).await?;
    if row.as_ref().map(read_project).transpose()?.is_none_or(|project| project.account != account) {
        return Ok(false);
    }
    let row = tx.row(project::LOCK, &[&id.uuid()]).await?;
    let Some(mut project) = project::read(row.as_ref(), id)? else { return Ok(false) };
    for no in list_active(&tx, id).await? {
        project.insert_change(&tx, no, "workspace.delete", None, audit.at).await?;
    }
    integrations::delete_all(&tx, id).await?;
    insert_audit(&tx, audit, std::mem::take(&mut project.live_records)).await?;
    let (id, at) = (id.uuid(), micros(audit.at));
    let last = vec![ask(END_WORKSPACES, &[&id, &at]), ask(UPDATE, &[&id, &at]), project.flush()];
    tx.finish(last).await?;
    Ok(true)
}

async fn list_active(tx: &Tx, project: ProjectId) -> Result<Vec<WorkspaceNo>, Fault> {
    const SELECT: &str = "SELECT no FROM workspace WHERE project_id = $1 AND deleted_at IS NULL ORDER BY no";
    let rows = tx.rows(SELECT, &[&project.uuid()]).await?;
    let read = |row| Ok(WorkspaceNo(Cells::new(row, "workspace", || project.to_string()).count(0, "no")?));
    rows.iter().map(read).collect()
}

/// The live projects of an account, in locking order.
pub(super) async fn list_in_lock_order(tx: &Tx, account: AccountId) -> Result<Vec<ProjectId>, Fault> {
    let rows = tx.rows(LIST, &[&account.uuid()]).await?;
    let mut ids = rows.iter().map(|row| Ok(read_project(row)?.id)).collect::<Result<Vec<_>, StoreError>>()?;
    ids.sort_unstable();
    Ok(ids)
}
