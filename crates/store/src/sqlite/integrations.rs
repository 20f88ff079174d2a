//! Replacing the sealed credentials of integrations.

use async_trait::async_trait;

use super::SqliteStore;
use super::statement::at_once;
use crate::interface::integrations;
use crate::{AuditEntry, Integrations, Resealed, StoreError};

#[async_trait]
impl Integrations for SqliteStore {
    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError> {
        self.writer.write(move |tx| at_once(integrations::replace_sealed(tx, &rows, &audit))).await
    }
}
