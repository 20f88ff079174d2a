//! What an operator and an account's admins look at and change: each act, handed to the file that does it.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, CredentialHash, Department, DepartmentId, KeyId, Member, MemberId, Project, ProjectId,
    RecordId, Seq, Timestamp, WorkspaceNo,
};

use super::PostgresStore;
use crate::{
    Administration, AuditEntry, Day, DepartmentDeleted, KeyRow, Listed, MemberDeleted, RecordFilter, Size, Snapshot,
    StoreError, Usage, WorkspaceRow,
};

#[async_trait]
impl Administration for PostgresStore {
    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        self.load_operator_token().await
    }

    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        self.keep_operator_token(&hash, at).await
    }

    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
        self.load_accounts(after, rows_max).await
    }

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.load_account(id).await
    }

    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        self.load_projects(account).await
    }

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.load_project(id).await
    }

    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.end_project(account, id, &audit).await
    }

    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        self.load_departments(account).await
    }

    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError> {
        self.change_department(&department, &audit).await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        self.end_department(account, id, &audit).await
    }

    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        self.load_members(account).await
    }

    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError> {
        self.change_member(&member, &audit).await
    }

    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError> {
        self.attempt(|| self.end_member(account, id, hand_over_to, &audit)).await
    }

    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        self.load_keys(project).await
    }

    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        self.load_key(id).await
    }

    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
        self.attempt(|| self.load_workspaces(project)).await
    }

    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        rows_max: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.attempt(|| self.load_records(project, &filter, before, rows_max)).await
    }

    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
        self.load_any(project, id).await
    }

    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| self.purge_record(project, id, &audit)).await
    }

    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError> {
        self.purge_ended(before, rows_max).await
    }

    async fn compact(&self) -> Result<(), StoreError> {
        self.rewrite().await
    }

    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        self.insert_usage(&rows).await
    }

    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        self.load_usage(project, from, to).await
    }

    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError> {
        self.load_sizes(project).await
    }

    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        self.load_guard_mode(account).await
    }

    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        self.update_guard_mode(account, mode, &audit).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError> {
        self.insert_release(project, &hash, &audit).await
    }

    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError> {
        self.has_release(project, &hash).await
    }

    async fn save_snapshot(&self, project: ProjectId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.keep_snapshot(project, &snapshot).await
    }

    async fn find_snapshot(&self, project: ProjectId, workspace: WorkspaceNo) -> Result<Option<Snapshot>, StoreError> {
        self.load_snapshot(project, workspace).await
    }
}
