//! What ends projects, departments and memberships.

use async_trait::async_trait;
use mnemon_core::{AccountId, DepartmentId, MemberId, ProjectId};

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use crate::interface::{deletions, remove_member};
use crate::{AuditEntry, DepartmentDeleted, MemberDeleted, People, StoreError};

#[async_trait]
impl People for PostgresStore {
    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(id, account)).await?;
            let done = deletions::delete_project(&mut act, account, id, &audit).await?;
            act.end(done).await
        })
        .await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::account(account)).await?;
            let done = deletions::delete_department(&mut act, account, id, &audit).await?;
            act.end(done).await
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
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::account(account)).await?;
            let done = remove_member::delete_member(&mut act, account, id, hand_over_to, &audit).await?;
            act.end(done).await
        })
        .await
    }
}
