//! Accounts, departments and members. Projects are in `projects.rs`; how a member is removed is in `remove_member.rs`.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, MemberId, Project, ProjectId, Subscription,
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::audit::{commit_with, insert_audit};
use super::credentials::insert_key;
use super::error::Fault;
use super::project::{self, lock_account};
use super::projects::{FIND, LIST, delete_project, insert_project, list_in_lock_order};
use super::remove_member::delete_member;
use super::rows::{AudienceBytes, integer, micros, micros_opt};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::people::{
    read_account, read_department, read_holdings, read_member, read_project, read_project_count,
};
use crate::{AuditEntry, DepartmentDeleted, Holdings, MemberDeleted, NewKey, People, StoreError};

#[async_trait]
impl People for PostgresStore {
    async fn has_accounts(&self) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT 1 FROM account LIMIT 1";
        Ok(!self.ask(Tenant::for_upkeep(), SELECT, &[]).await?.is_empty())
    }

    async fn insert_first(
        &self,
        account: Account,
        project: Project,
        member: Member,
        key: NewKey,
        audit: Vec<AuditEntry>,
        only_first: bool,
    ) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::new_account(account.id)).await?;
            if only_first && !is_first(&tx).await? {
                return Ok(false);
            }
            insert_account(&tx, &account).await?;
            insert_project(&tx, &project).await?;
            insert_member(&tx, &member).await?;
            insert_key(&tx, &key).await?;
            for entry in &audit {
                insert_audit(&tx, entry, 1).await?;
            }
            tx.commit().await?;
            Ok(true)
        })
        .await
    }

    async fn insert_account(&self, account: Account, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(account.id)).await?;
            insert_account(&tx, &account).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn update_subscription(
        &self,
        account: AccountId,
        subscription: Subscription,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE account
            SET plan = $2, paid_until = $3, is_suspended = $4
            WHERE id = $1
            RETURNING 1";
        let plan = subscription.plan.map(|plan| plan.as_str());
        let (paid_until, is_suspended) = (micros_opt(subscription.paid_until), subscription.is_suspended);
        let values: [&(dyn ToSql + Sync); 4] = [&account.uuid(), &plan, &paid_until, &is_suspended];
        self.change(Tenant::account(account), UPDATE, &values, &audit).await
    }

    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
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

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        const SELECT: &str = "
            SELECT id, plan, paid_until, is_suspended, created_at, name
            FROM account
            WHERE id = $1";
        self.ask(Tenant::account(id), SELECT, &[&id.uuid()]).await?.first().map(read_account).transpose()
    }

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(project.account)).await?;
            insert_project(&tx, &project).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        self.ask(Tenant::account(account), LIST, &[&account.uuid()]).await?.iter().map(read_project).collect()
    }

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.ask(Tenant::project(id), FIND, &[&id.uuid()]).await?.first().map(read_project).transpose()
    }

    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| delete_project(&self.pool, account, id, &audit)).await
    }

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(department.account)).await?;
            insert_department(&tx, &department).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        const SELECT: &str = "
            SELECT id, parent_id, name
            FROM department
            WHERE account_id = $1
            ORDER BY name, id";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        rows.iter().map(|row| read_department(row, account)).collect()
    }

    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE department
            SET parent_id = $3, name = $4
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let (account, id) = (department.account.uuid(), department.id.uuid());
        let parent = department.parent.map(|parent| parent.uuid());
        self.change_shown(UPDATE, &[&account, &id, &parent, &department.name], &audit).await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
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
            commit_with(tx, &audit).await?;
            Ok(DepartmentDeleted::Done)
        })
        .await
    }

    async fn count_projects(&self, account: AccountId) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COALESCE(SUM(live_records), 0)::bigint
            FROM project
            WHERE account_id = $1 AND deleted_at IS NULL";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        rows.first().map_or(Ok((0, 0)), |row| read_project_count(row, account))
    }

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(member.account)).await?;
            insert_member(&tx, &member).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        const SELECT: &str = "
            SELECT id, department_id, role, access_until, created_at, name
            FROM member
            WHERE account_id = $1
            ORDER BY name, id";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        rows.iter().map(|row| read_member(row, account)).collect()
    }

    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE member
            SET department_id = $3, role = $4, access_until = $5, name = $6
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let (account, id, role) = (member.account.uuid(), member.id.uuid(), member.role.as_str());
        let department = member.department.map(|department| department.uuid());
        let access_until = micros_opt(member.access_until);
        self.change_shown(UPDATE, &[&account, &id, &department, &role, &access_until, &member.name], &audit).await
    }

    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COUNT(*) FILTER (WHERE r.audience = $3),
                (SELECT COUNT(*) FROM session s WHERE s.project_id = $1 AND s.member_id = $2)
            FROM record r
            WHERE r.project_id = $1 AND (r.author_id = $2 OR r.audience = $3)";
        let draft = AudienceBytes::of(Audience::Author(member));
        let draft = draft.as_slice();
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &member.uuid(), &draft]).await?;
        rows.first().map_or(Ok(Holdings::default()), |row| read_holdings(row, project))
    }

    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError> {
        self.attempt(|| delete_member(&self.pool, account, id, hand_over_to, &audit)).await
    }
}

/// Whether there is no account yet. The lock lets the nodes look one after the other, until each has created what it
/// wants.
async fn is_first(tx: &Tx) -> Result<bool, Fault> {
    const LOCK: &str = "LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE";
    const SELECT: &str = "SELECT 1 FROM account LIMIT 1";
    tx.rows(LOCK, &[]).await?;
    Ok(tx.row(SELECT, &[]).await?.is_none())
}

async fn insert_account(tx: &Tx, account: &Account) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO account (id, plan, paid_until, is_suspended, created_at, name)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let subscription = &account.subscription;
    let plan = subscription.plan.map(|plan| plan.as_str());
    let paid_until = micros_opt(subscription.paid_until);
    let is_suspended = subscription.is_suspended;
    let created_at = micros(account.created_at);
    tx.rows(INSERT, &[&account.id.uuid(), &plan, &paid_until, &is_suspended, &created_at, &account.name]).await?;
    Ok(())
}

async fn insert_department(tx: &Tx, department: &Department) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO department (account_id, id, parent_id, name) VALUES ($1, $2, $3, $4)";
    let parent = department.parent.map(|parent| parent.uuid());
    tx.rows(INSERT, &[&department.account.uuid(), &department.id.uuid(), &parent, &department.name]).await?;
    Ok(())
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

/// Whether a record that may still be read, or restored, names this department. Locks and scans all of the account's
/// projects: an index for it would cost every save, and departments are deleted rarely.
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
        WHERE r.project_id = $1 AND (r.department_id = $2 OR r.audience = $3)
        LIMIT 1";
    let tenant = Tenant::project_of(project, account);
    let audience = AudienceBytes::of(Audience::Department(id));
    let (project, id, audience) = (project.uuid(), id.uuid(), audience.as_slice());
    let asks = vec![tenant.turn(), ask(project::LOCK, &[&project]), ask(SELECT, &[&project, &id, &audience])];
    Ok(tx.ask_all(asks).await?.last().is_some_and(|rows| !rows.is_empty()))
}

async fn insert_member(tx: &Tx, member: &Member) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO member (account_id, id, department_id, role, access_until, created_at, name)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let department = member.department.map(|department| department.uuid());
    let (account, id, role) = (member.account.uuid(), member.id.uuid(), member.role.as_str());
    let (access_until, created_at) = (micros_opt(member.access_until), micros(member.created_at));
    tx.rows(INSERT, &[&account, &id, &department, &role, &access_until, &created_at, &member.name]).await?;
    Ok(())
}
