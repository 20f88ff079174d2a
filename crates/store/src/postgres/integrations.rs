//! Replacing the sealed credentials of integrations.

use async_trait::async_trait;

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use crate::interface::integrations;
use crate::{AuditEntry, Integrations, Resealed, StoreError};

#[async_trait]
impl Integrations for PostgresStore {
    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::nobody()).await?;
            let replaced = integrations::replace_sealed(&mut act, &rows, &audit).await?;
            act.end(replaced).await
        })
        .await
    }
}
