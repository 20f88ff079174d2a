//! What ends projects, departments and memberships.

use async_trait::async_trait;
use mnemon_core::{AccountId, DepartmentId, MemberId, ProjectId};

use super::SqliteStore;
use super::statement::at_once;
use crate::interface::{deletions, remove_member};
use crate::{AuditEntry, DepartmentDeleted, MemberDeleted, People, StoreError};

#[async_trait]
impl People for SqliteStore {
    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| at_once(deletions::delete_project(tx, account, id, &audit))).await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        self.writer.write(move |tx| at_once(deletions::delete_department(tx, account, id, &audit))).await
    }

    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError> {
        self.writer.write(move |tx| at_once(remove_member::delete_member(tx, account, id, hand_over_to, &audit))).await
    }
}
