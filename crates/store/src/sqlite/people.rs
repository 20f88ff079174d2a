//! The accounts, departments and members that there are, and changing them. How a member leaves is in `leaving.rs`.

use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, MemberId, PlanName, Role, Subscription,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::accounts::{insert_audit, note_if_changed};
use super::batch::Tx;
use super::rows::{AudienceBytes, Cells, integer, micros_opt};
use crate::{AuditEntry, DepartmentDeleted, StoreError};

pub(super) fn list_accounts(
    conn: &Connection,
    after: Option<AccountId>,
    rows_max: usize,
) -> Result<Vec<Account>, StoreError> {
    const SELECT: &str = "
        SELECT id, plan, paid_until, is_suspended, created_at, name
        FROM account
        WHERE id > ?1
        ORDER BY id
        LIMIT ?2";
    // No bytes at all come before the bytes of every id.
    let after = after.map_or_else(Vec::new, |id| id.to_bytes().to_vec());
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((after, integer(rows_max as u64)))?;
    let mut accounts = Vec::new();
    while let Some(row) = rows.next()? {
        accounts.push(read_account(row)?);
    }
    Ok(accounts)
}

pub(super) fn find_account(conn: &Connection, id: AccountId) -> Result<Option<Account>, StoreError> {
    const SELECT: &str = "
        SELECT id, plan, paid_until, is_suspended, created_at, name
        FROM account
        WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_account).transpose()
}

fn read_account(row: &Row<'_>) -> Result<Account, StoreError> {
    let id = AccountId::from_bytes(Cells::new(row, "account", String::new).bytes(0, "id")?);
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

pub(super) fn list_departments(conn: &Connection, account: AccountId) -> Result<Vec<Department>, StoreError> {
    const SELECT: &str = "
        SELECT id, parent_id, name
        FROM department
        WHERE account_id = ?1
        ORDER BY name, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut departments = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "department", || account.to_string());
        departments.push(Department {
            id: DepartmentId::from_bytes(cells.bytes(0, "id")?),
            account,
            parent: cells.bytes_opt(1, "parent_id")?.map(DepartmentId::from_bytes),
            name: cells.text(2, "name")?,
        });
    }
    Ok(departments)
}

pub(super) fn update_department(
    tx: &mut Tx<'_>,
    department: &Department,
    audit: &AuditEntry,
) -> Result<bool, StoreError> {
    const UPDATE: &str = "UPDATE department SET parent_id = ?3, name = ?4 WHERE account_id = ?1 AND id = ?2";
    let parent = department.parent.map(|parent| parent.to_bytes());
    let values = (department.account.to_bytes(), department.id.to_bytes(), parent, &department.name);
    let changed = tx.conn.prepare_cached(UPDATE)?.execute(values)?;
    note_if_changed(tx, changed, audit)
}

pub(super) fn delete_department(
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

/// Whether a record that may still be read, or restored, names this department. Looks through all of the account's
/// records: an index for it would cost every save, and departments end rarely.
fn is_memory_of(conn: &Connection, account: AccountId, id: DepartmentId) -> Result<bool, StoreError> {
    const SELECT: &str = "
        SELECT EXISTS (
            SELECT 1
            FROM project p INDEXED BY project_account
            CROSS JOIN record r ON r.project_id = p.id
            CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE p.account_id = ?1 AND p.deleted_at IS NULL AND (r.department_id = ?2 OR r.audience = ?3)
                AND w.deleted_at IS NULL)";
    let audience = AudienceBytes::of(Audience::Department(id));
    let values = (account.to_bytes(), id.to_bytes(), audience.as_slice());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |row| row.get(0))?)
}

pub(super) fn list_members(conn: &Connection, account: AccountId) -> Result<Vec<Member>, StoreError> {
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

fn read_member(row: &Row<'_>, account: AccountId) -> Result<Member, StoreError> {
    let id = MemberId::from_bytes(Cells::new(row, "member", || account.to_string()).bytes(0, "id")?);
    let cells = Cells::new(row, "member", || format!("{account}/{id}"));
    Ok(Member {
        id,
        account,
        department: cells.bytes_opt(1, "department_id")?.map(DepartmentId::from_bytes),
        name: cells.text(5, "name")?,
        role: cells.word(2, "role", Role::parse)?,
        access_until: cells.time_opt(3, "access_until")?,
        created_at: cells.time(4, "created_at")?,
    })
}

pub(super) fn update_member(tx: &mut Tx<'_>, member: &Member, audit: &AuditEntry) -> Result<bool, StoreError> {
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
    note_if_changed(tx, changed, audit)
}
