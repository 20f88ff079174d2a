//! The audit log.

use mnemon_core::AccountId;
use mnemon_store::AuditEntry;

use super::{AdminContext, AdminError};
use crate::Engine;

/// An audit row, with how many things it affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    pub entry: AuditEntry,
    /// How many records or keys were affected.
    pub affected: u64,
}

impl Engine {
    /// The newest rows of an account's audit log.
    pub async fn list_audit(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        limit: usize,
    ) -> Result<Vec<AuditLine>, AdminError> {
        self.admin_account(ctx, account).await?;
        let rows = self.store.list_audit(account, limit).await?;
        Ok(rows.into_iter().map(|(entry, affected)| AuditLine { entry, affected }).collect())
    }
}
