//! What admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::{AccountId, ProjectId};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::account_version::bump_account_version;
use super::error::Fault;
use super::rows::{Cells, integer, micros};
use super::transaction::{Tenant, Tx};
use super::usage;
use crate::interface::audit::{read_audit, read_record_day, read_size, read_usage};
use crate::{ActorKind, Audit, AuditEntry, AuditFilter, Day, Size, StoreError, Usage};

#[async_trait]
impl Audit for PostgresStore {
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(audit.account)).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn search_audit(
        &self,
        account: AccountId,
        filter: AuditFilter,
        rows_max: usize,
    ) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        const SELECT: &str = "
            SELECT at, id, project_id, actor, member_id, affected, action, subject, actor_name, subject_name
            FROM audit
            WHERE account_id = $1 AND (at, id) < ($3, $4) AND at >= $5 AND at < $6
                AND ($7::text IS NULL OR actor = $7)
                AND ($8::uuid IS NULL OR member_id = $8)
                AND ($9::uuid IS NULL OR project_id = $9)
                AND ($10::text IS NULL OR subject = $10)
                AND ($11::text[] IS NULL OR action = ANY($11) OR split_part(action, '.', 1) = ANY($11))
                AND ($12::text[] IS NULL OR NOT (action = ANY($12) OR split_part(action, '.', 1) = ANY($12)))
            ORDER BY at DESC, id DESC
            LIMIT $2";
        let (at, id) = filter.before.map_or((i64::MAX, Uuid::max()), |(at, id)| (micros(at), id.uuid()));
        let (from, to) = (filter.from.map_or(i64::MIN, micros), filter.to.map_or(i64::MAX, micros));
        let actor = filter.actor.map(ActorKind::as_str);
        let (member, project) = (filter.member.map(|id| id.uuid()), filter.project.map(|id| id.uuid()));
        let values: [&(dyn ToSql + Sync); 12] = [
            &account.uuid(),
            &integer(rows_max as u64),
            &at,
            &id,
            &from,
            &to,
            &actor,
            &member,
            &project,
            &filter.subject,
            &filter.actions,
            &filter.except,
        ];
        let rows = self.ask(Tenant::account(account), SELECT, &values).await?;
        rows.iter().map(|row| read_audit(row, account)).collect()
    }

    /// Adds to the figures of keys that belong to their project; others leave nothing. Nodes add at the same time: all
    /// go through projects, keys and days in one order, so that none waits for one that waits for it.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        usage::add(self, rows).await
    }

    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        const SELECT: &str = "
            SELECT day, key_id, calls, saves, searches, rejections, bytes, last_used_at, refused_by_connection,
                refused_by_project
            FROM usage
            WHERE project_id = $1 AND day BETWEEN $2 AND $3
            ORDER BY day, key_id";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &from.0, &to.0]).await?;
        rows.iter().map(|row| read_usage(row, project)).collect()
    }

    async fn list_record_days(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StoreError> {
        const SELECT: &str = "
            SELECT day, records
            FROM record_day
            WHERE project_id = $1 AND day <= $3
                AND day >= COALESCE((SELECT MAX(day) FROM record_day WHERE project_id = $1 AND day < $2), $2)
            ORDER BY day";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &from.0, &to.0]).await?;
        rows.iter().map(|row| read_record_day(row, project)).collect()
    }

    /// Scans the whole project, but detoasts no text: the length is stored in front of it.
    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError> {
        const SELECT: &str = "
            SELECT r.audience, COUNT(*), SUM(octet_length(r.content))::bigint
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            GROUP BY r.audience
            ORDER BY r.audience";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?;
        rows.iter().map(|row| read_size(row, project)).collect()
    }

    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT guard_mode FROM account WHERE id = $1";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Cells::new(row, "account", || account.to_string()).text_opt(0, "guard_mode")
    }

    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE account SET guard_mode = $2 WHERE id = $1 RETURNING 1";
        self.change(Tenant::account(account), UPDATE, &[&account.uuid(), &mode], &audit).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError> {
        const INSERT: &str = "
            INSERT INTO guard_release (project_id, hash, released_at)
            SELECT id, $2, $3
            FROM project
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT DO NOTHING
            RETURNING 1";
        // Takes the mark off the records whose text is released.
        const CLEAR_CAUTIONS: &str = "
            UPDATE record
            SET is_cautioned = FALSE
            WHERE project_id = $1 AND is_cautioned AND sha256(convert_to(content, 'UTF8')) = $2
            RETURNING 1";
        let hash = hash.as_slice();
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(project, audit.account)).await?;
            bump_account_version(&tx, audit.account).await?;
            let changed = tx.count(INSERT, &[&project.uuid(), &hash, &micros(audit.at)]).await?;
            tx.count(CLEAR_CAUTIONS, &[&project.uuid(), &hash]).await?;
            commit_if_changed(tx, changed, &audit).await
        })
        .await
    }

    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = $1 AND hash = $2";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &hash.as_slice()]).await?;
        Ok(!rows.is_empty())
    }
}

/// Adds an audit row, with how many things it affected.
pub(super) async fn insert_audit(tx: &Tx, audit: &AuditEntry, affected: u64) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject, actor_name,
            subject_name)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
            COALESCE($10, (SELECT name FROM member WHERE account_id = $1 AND id = $6)), $11)";
    let (actor, member) = audit.actor.to_columns();
    let member = member.map(|member| member.uuid());
    let (account, at, id) = (audit.account.uuid(), micros(audit.at), audit.id.uuid());
    let (project, affected) = (audit.project.map(|project| project.uuid()), integer(affected));
    let action: &str = &audit.action;
    let values: [&(dyn ToSql + Sync); 11] = [
        &account,
        &at,
        &id,
        &project,
        &actor,
        &member,
        &affected,
        &action,
        &audit.subject,
        &audit.actor_name,
        &audit.subject_name,
    ];
    tx.rows(INSERT, &values).await?;
    Ok(())
}

/// Ends an act with its audit row.
pub(super) async fn commit_with(tx: Tx, audit: &AuditEntry) -> Result<(), Fault> {
    insert_audit(&tx, audit, 1).await?;
    tx.commit().await
}

/// Ends an act on an account: with its audit row if something changed, without a trace if nothing did.
pub(super) async fn commit_if_changed(tx: Tx, changed: u64, audit: &AuditEntry) -> Result<bool, Fault> {
    if changed > 0 {
        commit_with(tx, audit).await?;
    }
    Ok(changed > 0)
}
