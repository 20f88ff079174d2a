//! The people, what they own, and the log of what they did.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, AuditId, Department, KeyId, Member, MemberId, Project, ProjectId, Subscription, Timestamp,
};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::batch::Tx;
use super::rows::{Cells, integer, micros, micros_opt};
use crate::{Accounts, Actor, AuditEntry, NewKey, StoreError};

#[async_trait]
impl Accounts for SqliteStore {
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

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_project(conn, &project)).await
    }

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_department(conn, &department)).await
    }

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_member(conn, &member)).await
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        self.change_people(audit, move |conn| insert_key(conn, &key)).await
    }

    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE api_key SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        let act = move |tx: &mut Tx<'_>| {
            let changed = tx.conn.prepare_cached(UPDATE)?.execute((key.to_bytes(), micros(at)))?;
            note_if_changed(tx, changed, &audit)
        };
        self.writer.write(act).await
    }

    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.writer.write_beside_records(move |tx| insert_audit(tx.conn, &audit, 1)).await
    }

    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        self.readers.read_long(move |conn| list_audit(conn, account, rows_max)).await
    }
}

impl SqliteStore {
    /// Does one change to the people together with its audit row.
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

pub(super) fn note_if_changed(tx: &mut Tx<'_>, changed: usize, audit: &AuditEntry) -> Result<bool, StoreError> {
    if changed > 0 {
        tx.touch_people();
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(changed > 0)
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

fn insert_project(conn: &Connection, project: &Project) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO project (id, account_id, seq, live_records, created_at, deleted_at, name)
        VALUES (?1, ?2, 0, 0, ?3, NULL, ?4)";
    let values = (project.id.to_bytes(), project.account.to_bytes(), micros(project.created_at), &project.name);
    conn.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

fn insert_department(conn: &Connection, department: &Department) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO department (account_id, id, parent_id, name) VALUES (?1, ?2, ?3, ?4)";
    let parent = department.parent.map(|parent| parent.to_bytes());
    let values = (department.account.to_bytes(), department.id.to_bytes(), parent, &department.name);
    conn.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
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

fn insert_key(conn: &Connection, key: &NewKey) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label)
        SELECT ?1, ?2, p.id, p.account_id, m.id, ?5, ?6, ?7, NULL, ?8
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = ?4
        WHERE p.id = ?3 AND p.deleted_at IS NULL";
    let inserted = conn.prepare_cached(INSERT)?.execute(params![
        key.id.to_bytes(),
        key.hash.as_bytes(),
        key.project.to_bytes(),
        key.member.to_bytes(),
        key.access.as_str(),
        micros_opt(key.expires_at),
        micros(key.created_at),
        key.label,
    ])?;
    let absent = || StoreError::Failed(format!("there is no project {} with a member {}", key.project, key.member));
    if inserted == 1 { Ok(()) } else { Err(absent()) }
}

/// Adds a line to the audit log, with how many things it was about.
pub(super) fn insert_audit(conn: &Connection, audit: &AuditEntry, affected: u64) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let (actor, member) = match audit.actor {
        Actor::Member(member) => ("member", Some(member.to_bytes())),
        Actor::Operator => ("operator", None),
        Actor::Service => ("service", None),
    };
    conn.prepare_cached(INSERT)?.execute(params![
        audit.account.to_bytes(),
        micros(audit.at),
        audit.id.to_bytes(),
        audit.project.map(|project| project.to_bytes()),
        actor,
        member,
        integer(affected),
        audit.action,
        audit.subject,
    ])?;
    Ok(())
}

fn list_audit(conn: &Connection, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
    const SELECT: &str = "
        SELECT at, id, project_id, actor, member_id, affected, action, subject
        FROM audit
        WHERE account_id = ?1
        ORDER BY at DESC, id DESC
        LIMIT ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((account.to_bytes(), integer(rows_max as u64)))?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read_audit(row, account)?);
    }
    Ok(entries)
}

fn read_audit(row: &Row<'_>, account: AccountId) -> Result<(AuditEntry, u64), StoreError> {
    let id = AuditId::from_bytes(Cells::new(row, "audit", || account.to_string()).bytes(1, "id")?);
    let cells = Cells::new(row, "audit", || format!("{account}/{id}"));
    let member = cells.bytes_opt(4, "member_id")?.map(MemberId::from_bytes);
    let actor = cells.word(3, "actor", |word| match (word, member) {
        ("member", Some(member)) => Some(Actor::Member(member)),
        ("operator", None) => Some(Actor::Operator),
        ("service", None) => Some(Actor::Service),
        _ => None,
    })?;
    let entry = AuditEntry {
        id,
        account,
        project: cells.bytes_opt(2, "project_id")?.map(ProjectId::from_bytes),
        at: cells.time(0, "at")?,
        actor,
        action: cells.text(6, "action")?.into(),
        subject: cells.text(7, "subject")?,
    };
    Ok((entry, cells.count(5, "affected")?))
}
