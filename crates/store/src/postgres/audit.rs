//! What admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::ProjectId;

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use super::usage;
use crate::interface::audit;
use crate::{Audit, AuditEntry, StoreError, Usage};

#[async_trait]
impl Audit for PostgresStore {
    /// Adds to the figures of keys that belong to their project; others leave nothing. Nodes add at the same time: all
    /// go through projects, keys and days in one order, so that none waits for one that waits for it.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        usage::add(self, rows).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], row: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, row.account)).await?;
            let is_new = audit::release_text(&mut act, project, &hash, &row).await?;
            act.end(is_new).await
        })
        .await
    }
}
