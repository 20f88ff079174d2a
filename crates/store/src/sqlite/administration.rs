//! What an operator and an account's admins look at and change: each act, handed to the file that does it.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, CredentialHash, Department, DepartmentId, KeyId, Member, MemberId, Project, ProjectId,
    RecordId, Seq, Timestamp, WorkspaceNo,
};

use super::{SqliteStore, guarding, keys, leaving, listing, people, projects, purging, snapshots, usage};
use crate::{
    Administration, AuditEntry, Day, DepartmentDeleted, KeyRow, Listed, MemberDeleted, RecordFilter, Size, Snapshot,
    StoreError, Usage, WorkspaceRow,
};

#[async_trait]
impl Administration for SqliteStore {
    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        self.readers.read(keys::find_operator_token)
    }

    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        self.writer.write(move |tx| keys::insert_operator_token(tx, &hash, at)).await
    }

    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
        self.readers.read_long(move |conn| people::list_accounts(conn, after, rows_max)).await
    }

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.readers.read(|conn| people::find_account(conn, id))
    }

    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        self.readers.read_long(move |conn| projects::list_projects(conn, account)).await
    }

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.readers.read(|conn| projects::find_project(conn, id))
    }

    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| projects::delete_project(tx, account, id, &audit)).await
    }

    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        self.readers.read_long(move |conn| people::list_departments(conn, account)).await
    }

    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| people::update_department(tx, &department, &audit)).await
    }

    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError> {
        self.writer.write(move |tx| people::delete_department(tx, account, id, &audit)).await
    }

    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        self.readers.read_long(move |conn| people::list_members(conn, account)).await
    }

    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| people::update_member(tx, &member, &audit)).await
    }

    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError> {
        self.writer.write(move |tx| leaving::delete_member(tx, account, id, hand_over_to, &audit)).await
    }

    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        self.readers.read_long(move |conn| keys::list_keys(conn, project)).await
    }

    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        self.readers.read(|conn| keys::find_key(conn, id))
    }

    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
        self.readers.read_long(move |conn| listing::list_workspaces(conn, project)).await
    }

    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        rows_max: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.readers.read_long(move |conn| listing::list_records(conn, project, &filter, before, rows_max)).await
    }

    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
        self.readers.read_at_once(|conn| listing::find_any(conn, project, id))
    }

    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| purging::purge(tx, project, id, &audit)).await
    }

    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError> {
        let mut purged = 0;
        loop {
            // Found by a reader: looking through everything must not hold up those who save.
            let rest = rows_max.max(1) - purged as usize;
            let doomed = self.readers.read_long(move |conn| purging::list_doomed(conn, before, rest)).await?;
            if doomed.is_nothing() {
                return Ok(purged);
            }
            let found = doomed.records.len();
            let count = self.writer.write(move |tx| purging::purge_doomed(tx, &doomed, before)).await?;
            purged += count;
            // Where something came back between finding and removing, others take its place.
            if found < rest || count == 0 || count as usize == rest {
                return Ok(purged);
            }
        }
    }

    async fn compact(&self) -> Result<(), StoreError> {
        self.writer.compact().await
    }

    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        self.writer.write(move |tx| usage::add_usage(tx, &rows)).await
    }

    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        self.readers.read_long(move |conn| usage::list_usage(conn, project, from, to)).await
    }

    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError> {
        self.readers.read_long(move |conn| listing::list_sizes(conn, project)).await
    }

    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        self.readers.read(|conn| guarding::find_guard_mode(conn, account))
    }

    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        let mode = mode.to_owned();
        self.writer.write(move |tx| guarding::set_guard_mode(tx, account, &mode, &audit)).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| guarding::release_text(tx, project, &hash, &audit)).await
    }

    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError> {
        self.readers.read(|conn| guarding::is_released(conn, project, &hash))
    }

    async fn save_snapshot(&self, project: ProjectId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.writer.write(move |tx| snapshots::save_snapshot(tx, project, &snapshot)).await
    }

    async fn find_snapshot(&self, project: ProjectId, workspace: WorkspaceNo) -> Result<Option<Snapshot>, StoreError> {
        self.readers.read_long(move |conn| snapshots::find_snapshot(conn, project, workspace)).await
    }
}
