//! What an account decided about the guard: its mode, and the texts that may pass.

use mnemon_core::{AccountId, ProjectId};

use super::PostgresStore;
use super::accounts::commit_if_changed;
use super::rows::{Cells, micros};
use super::transaction::{Tenant, Tx};
use crate::{AuditEntry, StoreError};

impl PostgresStore {
    pub(super) async fn load_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT guard_mode FROM account WHERE id = $1";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Cells::new(row, "account", || account.to_string()).text_opt(0, "guard_mode")
    }

    pub(super) async fn update_guard_mode(
        &self,
        account: AccountId,
        mode: &str,
        audit: &AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE account SET guard_mode = $2 WHERE id = $1 RETURNING 1";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(account)).await?;
            let changed = tx.count(UPDATE, &[&account.uuid(), &mode]).await?;
            commit_if_changed(tx, changed, audit).await
        })
        .await
    }

    pub(super) async fn insert_release(
        &self,
        project: ProjectId,
        hash: &[u8; 32],
        audit: &AuditEntry,
    ) -> Result<bool, StoreError> {
        const INSERT: &str = "
            INSERT INTO guard_release (project_id, hash, released_at)
            SELECT id, $2, $3
            FROM project
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT DO NOTHING
            RETURNING 1";
        let hash = hash.as_slice();
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let changed = tx.count(INSERT, &[&project.uuid(), &hash, &micros(audit.at)]).await?;
            commit_if_changed(tx, changed, audit).await
        })
        .await
    }

    pub(super) async fn has_release(&self, project: ProjectId, hash: &[u8; 32]) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = $1 AND hash = $2";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &hash.as_slice()]).await?;
        Ok(!rows.is_empty())
    }
}
