//! Accounts, departments and members. Projects are in `projects.rs`; how a member leaves is in `leaving.rs`.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, MemberId, Project, ProjectId, Subscription,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::account_version::bump_account_version;
use super::audit::{insert_audit, note_if_changed};
use super::batch::Tx;
use super::credentials::insert_key;
use super::projects::{delete_project, find_project, insert_project, list_projects};
use super::remove_member::delete_member;
use super::rows::{AudienceBytes, integer, micros, micros_opt};
use crate::interface::people::{read_account, read_department, read_holdings, read_member, read_project_count};
use crate::{AuditEntry, DepartmentDeleted, Holdings, MemberDeleted, NewKey, People, StoreError};

#[async_trait]
impl People for SqliteStore {
    async fn has_accounts(&self) -> Result<bool, StoreError> {
        self.readers.read(has_accounts)
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
        let act = move |tx: &mut Tx<'_>| {
            if only_first && has_accounts(tx.conn)? {
                return Ok(false);
            }
            tx.touch_people();
            insert_account(tx.conn, &account)?;
            insert_project(tx.conn, &project)?;
            insert_member(tx.conn, &member)?;
            insert_key(tx.conn, &key)?;
            audit.iter().try_for_each(|entry| insert_audit(tx.conn, entry, 1))?;
            Ok(true)
        };
        self.writer.write(act).await
    }

    async fn insert_account(&self, account: Account, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_account(conn, &account)).await
    }

    async fn update_subscription(
        &self,
        account: AccountId,
        subscription: Subscription,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE account SET plan = ?2, paid_until = ?3, is_suspended = ?4 WHERE id = ?1";
        let act = move |tx: &mut Tx<'_>| {
            let changed = tx.conn.prepare_cached(UPDATE)?.execute(params![
                account.to_bytes(),
                subscription.plan.map(|plan| plan.as_str()),
                micros_opt(subscription.paid_until),
                subscription.is_suspended,
            ])?;
            note_if_changed(tx, changed, &audit)
        };
        self.writer.write(act).await
    }

    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
        self.readers.read_long(move |conn| list_accounts(conn, after, rows_max)).await
    }

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.readers.read(|conn| find_account(conn, id))
    }

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_project(conn, &project)).await
    }

    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        self.readers.read_long(move |conn| list_projects(conn, account)).await
    }

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.readers.read(|conn| find_project(conn, id))
    }

    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| delete_project(tx, account, id, &audit)).await
    }

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_department(conn, &department)).await
    }

    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        self.readers.read_long(move |conn| list_departments(conn, account)).await
    }

    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| update_department(tx, &department, &audit)).await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        self.writer.write(move |tx| delete_department(tx, account, id, &audit)).await
    }

    async fn count_projects(&self, account: AccountId) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COALESCE(SUM(live_records), 0)
            FROM project
            WHERE account_id = ?1 AND deleted_at IS NULL";
        self.readers.read(|conn| {
            let mut statement = conn.prepare_cached(SELECT)?;
            let mut rows = statement.query([account.to_bytes()])?;
            rows.next()?.map_or(Ok((0, 0)), |row| read_project_count(row, account))
        })
    }

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_member(conn, &member)).await
    }

    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        self.readers.read_long(move |conn| list_members(conn, account)).await
    }

    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| update_member(tx, &member, &audit)).await
    }

    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COALESCE(SUM(r.audience = ?3), 0),
                (SELECT COUNT(*) FROM session s WHERE s.project_id = ?1 AND s.member_id = ?2)
            FROM record r
            WHERE r.project_id = ?1 AND (r.author_id = ?2 OR r.audience = ?3)";
        self.readers
            .read_long(move |conn| {
                let draft = AudienceBytes::of(Audience::Author(member));
                let mut statement = conn.prepare_cached(SELECT)?;
                let mut rows = statement.query((project.to_bytes(), member.to_bytes(), draft.as_slice()))?;
                rows.next()?.map_or(Ok(Holdings::default()), |row| read_holdings(row, project))
            })
            .await
    }

    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError> {
        self.writer.write(move |tx| delete_member(tx, account, id, hand_over_to, &audit)).await
    }
}

impl SqliteStore {
    /// Makes one change to the people together with its audit row.
    async fn change_people(
        &self,
        audit: AuditEntry,
        change: impl Fn(&Connection) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let act = move |tx: &mut Tx<'_>| {
            tx.touch_people();
            change(tx.conn)?;
            insert_audit(tx.conn, &audit, 1)
        };
        self.writer.write(act).await
    }
}

fn has_accounts(conn: &Connection) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT EXISTS (SELECT 1 FROM account)";
    Ok(conn.prepare_cached(SELECT)?.query_row([], |row| row.get(0))?)
}

fn insert_account(conn: &Connection, account: &Account) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO account (id, plan, paid_until, is_suspended, created_at, name)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    conn.prepare_cached(INSERT)?.execute(params![
        account.id.to_bytes(),
        account.subscription.plan.map(|plan| plan.as_str()),
        micros_opt(account.subscription.paid_until),
        account.subscription.is_suspended,
        micros(account.created_at),
        account.name,
    ])?;
    Ok(())
}

fn list_accounts(conn: &Connection, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
    const SELECT: &str = "
        SELECT id, plan, paid_until, is_suspended, created_at, name
        FROM account
        WHERE id > ?1
        ORDER BY id
        LIMIT ?2";
    // An empty byte string comes before the bytes of every id.
    let after = after.map_or_else(Vec::new, |id| id.to_bytes().to_vec());
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((after, integer(rows_max as u64)))?;
    let mut accounts = Vec::new();
    while let Some(row) = rows.next()? {
        accounts.push(read_account(row)?);
    }
    Ok(accounts)
}

fn find_account(conn: &Connection, id: AccountId) -> Result<Option<Account>, StoreError> {
    const SELECT: &str = "
        SELECT id, plan, paid_until, is_suspended, created_at, name
        FROM account
        WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_account).transpose()
}

fn insert_department(conn: &Connection, department: &Department) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO department (account_id, id, parent_id, name) VALUES (?1, ?2, ?3, ?4)";
    let parent = department.parent.map(|parent| parent.to_bytes());
    let values = (department.account.to_bytes(), department.id.to_bytes(), parent, &department.name);
    conn.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

fn list_departments(conn: &Connection, account: AccountId) -> Result<Vec<Department>, StoreError> {
    const SELECT: &str = "
        SELECT id, parent_id, name
        FROM department
        WHERE account_id = ?1
        ORDER BY name, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut departments = Vec::new();
    while let Some(row) = rows.next()? {
        departments.push(read_department(row, account)?);
    }
    Ok(departments)
}

fn update_department(tx: &mut Tx<'_>, department: &Department, audit: &AuditEntry) -> Result<bool, StoreError> {
    const UPDATE: &str = "UPDATE department SET parent_id = ?3, name = ?4 WHERE account_id = ?1 AND id = ?2";
    let parent = department.parent.map(|parent| parent.to_bytes());
    let values = (department.account.to_bytes(), department.id.to_bytes(), parent, &department.name);
    let changed = tx.conn.prepare_cached(UPDATE)?.execute(values)?;
    bump_account_version(tx, department.account)?;
    note_if_changed(tx, changed, audit)
}

fn delete_department(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: DepartmentId,
    audit: &AuditEntry,
) -> Result<DepartmentDeleted, StoreError> {
    const DELETE: &str = "DELETE FROM department WHERE account_id = ?1 AND id = ?2";
    if !has_department(tx.conn, account, id)? {
        return Ok(DepartmentDeleted::Absent);
    }
    if is_people_in(tx.conn, account, id)? || is_memory_of(tx.conn, account, id)? {
        return Ok(DepartmentDeleted::InUse);
    }
    tx.conn.prepare_cached(DELETE)?.execute((account.to_bytes(), id.to_bytes()))?;
    tx.touch_people();
    insert_audit(tx.conn, audit, 1)?;
    Ok(DepartmentDeleted::Done)
}

fn has_department(conn: &Connection, account: AccountId, id: DepartmentId) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM department WHERE account_id = ?1 AND id = ?2";
    let values = (account.to_bytes(), id.to_bytes());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}

/// Whether a member or another department belongs to this one.
fn is_people_in(conn: &Connection, account: AccountId, id: DepartmentId) -> Result<bool, StoreError> {
    const SELECT: &str = "
        SELECT EXISTS (SELECT 1 FROM member WHERE account_id = ?1 AND department_id = ?2)
            OR EXISTS (SELECT 1 FROM department WHERE account_id = ?1 AND parent_id = ?2)";
    let values = (account.to_bytes(), id.to_bytes());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |row| row.get(0))?)
}

/// Whether a record that may still be read, or restored, names this department. Scans all of the account's records: an
/// index for it would cost every save, and departments are deleted rarely.
fn is_memory_of(conn: &Connection, account: AccountId, id: DepartmentId) -> Result<bool, StoreError> {
    const SELECT: &str = "
        SELECT EXISTS (
            SELECT 1
            FROM project p INDEXED BY project_account
            CROSS JOIN record r ON r.project_id = p.id
            WHERE p.account_id = ?1 AND p.deleted_at IS NULL AND (r.department_id = ?2 OR r.audience = ?3))";
    let audience = AudienceBytes::of(Audience::Department(id));
    let values = (account.to_bytes(), id.to_bytes(), audience.as_slice());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |row| row.get(0))?)
}

fn insert_member(conn: &Connection, member: &Member) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO member (account_id, id, department_id, role, access_until, created_at, name)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    conn.prepare_cached(INSERT)?.execute(params![
        member.account.to_bytes(),
        member.id.to_bytes(),
        member.department.map(|department| department.to_bytes()),
        member.role.as_str(),
        micros_opt(member.access_until),
        micros(member.created_at),
        member.name,
    ])?;
    Ok(())
}

fn list_members(conn: &Connection, account: AccountId) -> Result<Vec<Member>, StoreError> {
    const SELECT: &str = "
        SELECT id, department_id, role, access_until, created_at, name
        FROM member
        WHERE account_id = ?1
        ORDER BY name, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut members = Vec::new();
    while let Some(row) = rows.next()? {
        members.push(read_member(row, account)?);
    }
    Ok(members)
}

fn update_member(tx: &mut Tx<'_>, member: &Member, audit: &AuditEntry) -> Result<bool, StoreError> {
    const UPDATE: &str = "
        UPDATE member
        SET department_id = ?3, role = ?4, access_until = ?5, name = ?6
        WHERE account_id = ?1 AND id = ?2";
    let changed = tx.conn.prepare_cached(UPDATE)?.execute(params![
        member.account.to_bytes(),
        member.id.to_bytes(),
        member.department.map(|department| department.to_bytes()),
        member.role.as_str(),
        micros_opt(member.access_until),
        member.name,
    ])?;
    bump_account_version(tx, member.account)?;
    note_if_changed(tx, changed, audit)
}
