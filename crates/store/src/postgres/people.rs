//! The accounts, departments and members that there are, and changing them. How a member leaves is in `leaving.rs`.

use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, MemberId, PlanName, ProjectId, Role, Subscription,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::accounts::{commit_if_changed, insert_audit};
use super::error::Fault;
use super::project;
use super::projects::list_in_lock_order;
use super::rows::{AudienceBytes, Cells, integer, micros_opt};
use super::transaction::{Tenant, Tx, ask};
use crate::{AuditEntry, DepartmentDeleted, StoreError};

impl PostgresStore {
    pub(super) async fn load_accounts(
        &self,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<Account>, StoreError> {
        const SELECT: &str = "
            SELECT id, plan, paid_until, is_suspended, created_at, name
            FROM account
            WHERE ($1::uuid IS NULL OR id > $1)
            ORDER BY id
            LIMIT $2";
        let after: Option<Uuid> = after.map(|id| id.uuid());
        let rows = self.ask(Tenant::for_upkeep(), SELECT, &[&after, &integer(rows_max as u64)]).await?;
        rows.iter().map(read_account).collect()
    }

    pub(super) async fn load_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        const SELECT: &str = "
            SELECT id, plan, paid_until, is_suspended, created_at, name
            FROM account
            WHERE id = $1";
        self.ask(Tenant::account(id), SELECT, &[&id.uuid()]).await?.first().map(read_account).transpose()
    }

    pub(super) async fn load_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        const SELECT: &str = "
            SELECT id, parent_id, name
            FROM department
            WHERE account_id = $1
            ORDER BY name, id";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        let read = |row| {
            let cells = Cells::new(row, "department", || account.to_string());
            Ok(Department {
                id: DepartmentId::new(cells.uuid(0, "id")?),
                account,
                parent: cells.uuid_opt(1, "parent_id")?.map(DepartmentId::new),
                name: cells.text(2, "name")?,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(super) async fn change_department(
        &self,
        department: &Department,
        audit: &AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE department
            SET parent_id = $3, name = $4
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let (account, id) = (department.account.uuid(), department.id.uuid());
        let parent = department.parent.map(|parent| parent.uuid());
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(department.account)).await?;
            let changed = tx.count(UPDATE, &[&account, &id, &parent, &department.name]).await?;
            commit_if_changed(tx, changed, audit).await
        })
        .await
    }

    pub(super) async fn end_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: &AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        const DELETE: &str = "DELETE FROM department WHERE account_id = $1 AND id = $2";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(account)).await?;
            lock_account(&tx, account).await?;
            if !has_department(&tx, account, id).await? {
                return Ok(DepartmentDeleted::Absent);
            }
            if is_people_in(&tx, account, id).await? || is_memory_of(&tx, account, id).await? {
                return Ok(DepartmentDeleted::InUse);
            }
            tx.rows(DELETE, &[&account.uuid(), &id.uuid()]).await?;
            insert_audit(&tx, audit, 1).await?;
            tx.commit().await?;
            Ok(DepartmentDeleted::Done)
        })
        .await
    }

    pub(super) async fn load_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        const SELECT: &str = "
            SELECT id, department_id, role, access_until, created_at, name
            FROM member
            WHERE account_id = $1
            ORDER BY name, id";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        rows.iter().map(|row| read_member(row, account)).collect()
    }

    pub(super) async fn change_member(&self, member: &Member, audit: &AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE member
            SET department_id = $3, role = $4, access_until = $5, name = $6
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let (account, id, role) = (member.account.uuid(), member.id.uuid(), member.role.as_str());
        let department = member.department.map(|department| department.uuid());
        let access_until = micros_opt(member.access_until);
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(member.account)).await?;
            let changed = tx.count(UPDATE, &[&account, &id, &department, &role, &access_until, &member.name]).await?;
            commit_if_changed(tx, changed, audit).await
        })
        .await
    }
}

/// Keeps new projects, members and departments from coming into an account until the transaction ends.
pub(super) async fn lock_account(tx: &Tx, account: AccountId) -> Result<(), Fault> {
    const LOCK: &str = "SELECT 1 FROM account WHERE id = $1 FOR UPDATE";
    tx.rows(LOCK, &[&account.uuid()]).await?;
    Ok(())
}

fn read_account(row: &Row) -> Result<Account, StoreError> {
    let id = AccountId::new(Cells::new(row, "account", String::new).uuid(0, "id")?);
    let cells = Cells::new(row, "account", || id.to_string());
    Ok(Account {
        id,
        name: cells.text(5, "name")?,
        subscription: Subscription {
            plan: cells.word_opt(1, "plan", PlanName::parse)?,
            paid_until: cells.time_opt(2, "paid_until")?,
            is_suspended: cells.flag(3, "is_suspended")?,
        },
        created_at: cells.time(4, "created_at")?,
    })
}

async fn has_department(tx: &Tx, account: AccountId, id: DepartmentId) -> Result<bool, Fault> {
    const SELECT: &str = "SELECT 1 FROM department WHERE account_id = $1 AND id = $2";
    Ok(tx.row(SELECT, &[&account.uuid(), &id.uuid()]).await?.is_some())
}

/// Whether a member or another department belongs to this one.
async fn is_people_in(tx: &Tx, account: AccountId, id: DepartmentId) -> Result<bool, Fault> {
    const SELECT: &str = "
        SELECT 1 FROM member WHERE account_id = $1 AND department_id = $2
        UNION ALL
        SELECT 1 FROM department WHERE account_id = $1 AND parent_id = $2
        LIMIT 1";
    Ok(tx.row(SELECT, &[&account.uuid(), &id.uuid()]).await?.is_some())
}

/// Whether a record that may still be read, or restored, names this department. Locks and looks through all of the
/// account's projects: an index for it would cost every save, and departments end rarely.
async fn is_memory_of(tx: &Tx, account: AccountId, id: DepartmentId) -> Result<bool, Fault> {
    for project in list_in_lock_order(tx, account).await? {
        if is_memory_in(tx, account, project, id).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn is_memory_in(tx: &Tx, account: AccountId, project: ProjectId, id: DepartmentId) -> Result<bool, Fault> {
    const SELECT: &str = "
        SELECT 1
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND (r.department_id = $2 OR r.audience = $3) AND w.deleted_at IS NULL
        LIMIT 1";
    let tenant = Tenant::project_of(project, account);
    let audience = AudienceBytes::of(Audience::Department(id));
    let (project, id, audience) = (project.uuid(), id.uuid(), audience.as_slice());
    let asks = vec![tenant.turn(), ask(project::LOCK, &[&project]), ask(SELECT, &[&project, &id, &audience])];
    Ok(tx.flight(asks).await?.last().is_some_and(|rows| !rows.is_empty()))
}

fn read_member(row: &Row, account: AccountId) -> Result<Member, StoreError> {
    let id = MemberId::new(Cells::new(row, "member", || account.to_string()).uuid(0, "id")?);
    let cells = Cells::new(row, "member", || format!("{account}/{id}"));
    Ok(Member {
        id,
        account,
        department: cells.uuid_opt(1, "department_id")?.map(DepartmentId::new),
        name: cells.text(5, "name")?,
        role: cells.word(2, "role", Role::parse)?,
        access_until: cells.time_opt(3, "access_until")?,
        created_at: cells.time(4, "created_at")?,
    })
}
