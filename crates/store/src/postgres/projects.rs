//! The projects of an account, and the end of one.

use mnemon_core::{AccountId, Project, ProjectId, WorkspaceNo};
use tokio_postgres::Row;

use super::PostgresStore;
use super::accounts::insert_audit;
use super::error::Fault;
use super::integrations;
use super::project;
use super::rows::{Cells, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::{AuditEntry, StoreError};

impl PostgresStore {
    pub(super) async fn load_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        self.ask(Tenant::account(account), LIST, &[&account.uuid()]).await?.iter().map(read_project).collect()
    }

    pub(super) async fn load_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.ask(Tenant::project(id), FIND, &[&id.uuid()]).await?.first().map(read_project).transpose()
    }

    /// Ends a project and every workspace in it. Readers look at the workspace of a record anyway: with those ended, each
    /// of them finds nothing, and none has to ask for the project.
    pub(super) async fn end_project(
        &self,
        account: AccountId,
        id: ProjectId,
        audit: &AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE project SET deleted_at = $2 WHERE id = $1";
        const END_WORKSPACES: &str =
            "UPDATE workspace SET deleted_at = $2 WHERE project_id = $1 AND deleted_at IS NULL";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(id, account)).await?;
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
        })
        .await
    }
}

const LIST: &str = "
    SELECT id, account_id, created_at, name
    FROM project
    WHERE account_id = $1 AND deleted_at IS NULL
    ORDER BY created_at, id";

const FIND: &str = "
    SELECT id, account_id, created_at, name
    FROM project
    WHERE id = $1 AND deleted_at IS NULL";

/// The living projects of an account, in the order in which they are locked.
pub(super) async fn list_in_lock_order(tx: &Tx, account: AccountId) -> Result<Vec<ProjectId>, Fault> {
    let rows = tx.rows(LIST, &[&account.uuid()]).await?;
    let mut ids = rows.iter().map(|row| Ok(read_project(row)?.id)).collect::<Result<Vec<_>, StoreError>>()?;
    ids.sort_unstable();
    Ok(ids)
}

fn read_project(row: &Row) -> Result<Project, StoreError> {
    let id = ProjectId::new(Cells::new(row, "project", String::new).uuid(0, "id")?);
    let cells = Cells::new(row, "project", || id.to_string());
    Ok(Project {
        id,
        account: AccountId::new(cells.uuid(1, "account_id")?),
        name: cells.text(3, "name")?,
        created_at: cells.time(2, "created_at")?,
    })
}

async fn list_active(tx: &Tx, project: ProjectId) -> Result<Vec<WorkspaceNo>, Fault> {
    const SELECT: &str = "SELECT no FROM workspace WHERE project_id = $1 AND deleted_at IS NULL ORDER BY no";
    let rows = tx.rows(SELECT, &[&project.uuid()]).await?;
    let read = |row| Ok(WorkspaceNo(Cells::new(row, "workspace", || project.to_string()).count(0, "no")?));
    rows.iter().map(read).collect()
}
