//! How projects and departments are deleted. Members have a file of their own.

use mnemon_core::{AccountId, Audience, DepartmentId, ProjectId, WorkspaceNo};

use super::audit::insert_audit;
use super::integrations::delete_integrations;
use super::log::insert_change;
use super::people::{FIND_PROJECT, LIST_PROJECTS, read_project};
use super::{AuditEntry, DepartmentDeleted};
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Touches, Transaction, statement};
use crate::tenant::Tenant;

/// Deletes a project and every workspace in it. Readers check the workspace of a record anyway: with the workspaces
/// gone, they find nothing, and none has to check the project.
pub(crate) async fn delete_project<T: Transaction>(
    tx: &mut T,
    account: AccountId,
    id: ProjectId,
    audit: &AuditEntry,
) -> Result<bool, T::Error> {
    const ACTIVE: &str = "SELECT no FROM workspace WHERE project_id = $1 AND deleted_at IS NULL ORDER BY no";
    const END_WORKSPACES: &str = "UPDATE workspace SET deleted_at = $2 WHERE project_id = $1 AND deleted_at IS NULL";
    const UPDATE: &str = "UPDATE project SET deleted_at = $2 WHERE id = $1";
    let found = tx.run(statement!(FIND_PROJECT, id)).await?.first().map(read_project).transpose()?;
    if found.is_none_or(|project| project.account != account) {
        return Ok(false);
    }
    let Some(answers) = tx.lock(id, vec![statement!(ACTIVE, id)]).await? else { return Ok(false) };
    for row in answers.iter().flatten() {
        let no = WorkspaceNo(Cells::new(row, "workspace", || id.to_string()).count(0, "no")?);
        insert_change(tx, id, no, "workspace.delete", None, audit.at).await?;
    }
    let count = std::mem::take(tx.live_records(id)?);
    let ends = [statement!(END_WORKSPACES, id, audit.at), statement!(UPDATE, id, audit.at), insert_audit(audit, count)];
    for statement in delete_integrations(id).into_iter().chain(ends) {
        tx.put(statement).await?;
    }
    tx.touch(Touches::People);
    tx.renew(id)?;
    Ok(true)
}

pub(crate) async fn delete_department<T: Transaction>(
    tx: &mut T,
    account: AccountId,
    id: DepartmentId,
    audit: &AuditEntry,
) -> Result<DepartmentDeleted, T::Error> {
    const FIND: &str = "SELECT 1 FROM department WHERE account_id = $1 AND id = $2";
    const USED: &str = "
        SELECT 1 FROM member WHERE account_id = $1 AND department_id = $2
        UNION ALL
        SELECT 1 FROM department WHERE account_id = $1 AND parent_id = $2
        LIMIT 1";
    const DELETE: &str = "DELETE FROM department WHERE account_id = $1 AND id = $2";
    lock_account(tx, account).await?;
    let answers = tx.run_all([FIND, USED].map(|sql| statement!(sql, account, id)).into()).await?;
    let [is_there, is_used] = [0, 1].map(|at| answers.get(at).is_some_and(|rows| !rows.is_empty()));
    if !is_there {
        return Ok(DepartmentDeleted::Absent);
    }
    if is_used || names_memory(tx, account, id).await? {
        return Ok(DepartmentDeleted::InUse);
    }
    tx.turn(Tenant::account(account)).await?;
    tx.put(statement!(DELETE, account, id)).await?;
    tx.touch(Touches::People);
    tx.put(insert_audit(audit, 1)).await?;
    Ok(DepartmentDeleted::Done)
}

/// Whether a record that may still be read, or restored, names this department. Locks and scans all of the account's
/// projects: an index for it would cost every save, and departments are deleted rarely.
async fn names_memory<T: Transaction>(tx: &mut T, account: AccountId, id: DepartmentId) -> Result<bool, T::Error> {
    const SELECT: &str = "
        SELECT 1
        FROM record r
        WHERE r.project_id = $1 AND (r.department_id = $2 OR r.audience = $3)
        LIMIT 1";
    for project in list_in_lock_order(tx, account).await? {
        tx.turn(Tenant::project_of(project, account)).await?;
        let select = statement!(SELECT, project, id, Audience::Department(id));
        if tx.lock(project, vec![select]).await?.is_some_and(|answers| answers.iter().any(|rows| !rows.is_empty())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps new projects, members and departments from coming into an account until the transaction ends.
pub(crate) async fn lock_account<T: Transaction>(tx: &mut T, account: AccountId) -> Result<(), T::Error> {
    tx.put(statement!("SELECT 1 FROM account WHERE id = $1 FOR UPDATE", account)).await
}

/// The live projects of an account, in locking order.
pub(crate) async fn list_in_lock_order<T: Transaction>(
    tx: &mut T,
    account: AccountId,
) -> Result<Vec<ProjectId>, T::Error> {
    let rows = tx.run(statement!(LIST_PROJECTS, account)).await?;
    let mut ids = rows.iter().map(|row| Ok(read_project(row)?.id)).collect::<Result<Vec<_>, StoreError>>()?;
    ids.sort_unstable();
    Ok(ids)
}
