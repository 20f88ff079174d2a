//! The people, what they own, and the log of what they did.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, AuditId, Department, KeyId, Member, MemberId, Project, ProjectId, Subscription, Timestamp,
};
use tokio_postgres::Row;

use super::PostgresStore;
use super::error::Fault;
use super::rows::{Cells, integer, micros, micros_opt};
use super::transaction::{Tenant, Tx};
use crate::{Accounts, Actor, AuditEntry, NewKey, StoreError};

#[async_trait]
impl Accounts for PostgresStore {
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
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
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
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(account)).await?;
            let paid_until = micros_opt(subscription.paid_until);
            let changed = tx.count(UPDATE, &[&account.uuid(), &plan, &paid_until, &subscription.is_suspended]).await?;
            commit_if_changed(tx, changed, &audit).await
        })
        .await
    }

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(project.account)).await?;
            insert_project(&tx, &project).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(department.account)).await?;
            insert_department(&tx, &department).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(member.account)).await?;
            insert_member(&tx, &member).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_and_people(key.project)).await?;
            insert_key(&tx, &key).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET revoked_at = $3
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING 1";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(audit.account)).await?;
            let changed = tx.count(UPDATE, &[&audit.account.uuid(), &key.uuid(), &micros(at)]).await?;
            commit_if_changed(tx, changed, &audit).await
        })
        .await
    }

    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(audit.account)).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        const SELECT: &str = "
            SELECT at, id, project_id, actor, member_id, affected, action, subject
            FROM audit
            WHERE account_id = $1
            ORDER BY at DESC, id DESC
            LIMIT $2";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid(), &integer(rows_max as u64)]).await?;
        rows.iter().map(|row| read_audit(row, account)).collect()
    }
}

/// Whether there is no account yet. The lock lets one node after the other look, until each has made what it wants.
async fn is_first(tx: &Tx) -> Result<bool, Fault> {
    const LOCK: &str = "LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE";
    const SELECT: &str = "SELECT 1 FROM account LIMIT 1";
    tx.rows(LOCK, &[]).await?;
    Ok(tx.row(SELECT, &[]).await?.is_none())
}

/// Ends an act on an account: with its audit line where something changed, without a trace where nothing did.
pub(super) async fn commit_if_changed(tx: Tx, changed: u64, audit: &AuditEntry) -> Result<bool, Fault> {
    if changed > 0 {
        insert_audit(&tx, audit, 1).await?;
        tx.commit().await?;
    }
    Ok(changed > 0)
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

async fn insert_project(tx: &Tx, project: &Project) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO project (id, account_id, seq, live_records, created_at, deleted_at, name)
        VALUES ($1, $2, 0, 0, $3, NULL, $4)";
    let created_at = micros(project.created_at);
    tx.rows(INSERT, &[&project.id.uuid(), &project.account.uuid(), &created_at, &project.name]).await?;
    Ok(())
}

async fn insert_department(tx: &Tx, department: &Department) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO department (account_id, id, parent_id, name) VALUES ($1, $2, $3, $4)";
    let parent = department.parent.map(|parent| parent.uuid());
    tx.rows(INSERT, &[&department.account.uuid(), &department.id.uuid(), &parent, &department.name]).await?;
    Ok(())
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

async fn insert_key(tx: &Tx, key: &NewKey) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label)
        SELECT $1, $2, p.id, p.account_id, m.id, $5, $6, $7, NULL, $8
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $4
        WHERE p.id = $3 AND p.deleted_at IS NULL
        RETURNING 1";
    let (id, hash, project, member) =
        (key.id.uuid(), key.hash.as_bytes().as_slice(), key.project.uuid(), key.member.uuid());
    let (access, expires_at, created_at) = (key.access.as_str(), micros_opt(key.expires_at), micros(key.created_at));
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
        [&id, &hash, &project, &member, &access, &expires_at, &created_at, &key.label];
    let inserted = tx.count(INSERT, &values).await?;
    let absent = || StoreError::Failed(format!("there is no project {} with a member {}", key.project, key.member));
    if inserted == 1 { Ok(()) } else { Err(absent().into()) }
}

/// Adds a line to the audit log, with how many things it was about.
pub(super) async fn insert_audit(tx: &Tx, audit: &AuditEntry, affected: u64) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let (actor, member) = match audit.actor {
        Actor::Member(member) => ("member", Some(member.uuid())),
        Actor::Operator => ("operator", None),
        Actor::Service => ("service", None),
    };
    let (account, at, id) = (audit.account.uuid(), micros(audit.at), audit.id.uuid());
    let (project, affected) = (audit.project.map(|project| project.uuid()), integer(affected));
    let action: &str = &audit.action;
    tx.rows(INSERT, &[&account, &at, &id, &project, &actor, &member, &affected, &action, &audit.subject]).await?;
    Ok(())
}

fn read_audit(row: &Row, account: AccountId) -> Result<(AuditEntry, u64), StoreError> {
    let id = AuditId::new(Cells::new(row, "audit", || account.to_string()).uuid(1, "id")?);
    let cells = Cells::new(row, "audit", || format!("{account}/{id}"));
    let member = cells.uuid_opt(4, "member_id")?.map(MemberId::new);
    let actor = cells.word(3, "actor", |word| match (word, member) {
        ("member", Some(member)) => Some(Actor::Member(member)),
        ("operator", None) => Some(Actor::Operator),
        ("service", None) => Some(Actor::Service),
        _ => None,
    })?;
    let entry = AuditEntry {
        id,
        account,
        project: cells.uuid_opt(2, "project_id")?.map(ProjectId::new),
        at: cells.time(0, "at")?,
        actor,
        action: cells.text(6, "action")?.into(),
        subject: cells.text(7, "subject")?,
    };
    Ok((entry, cells.count(5, "affected")?))
}
