//! What an operator and an account's admins look at and change: the acts, and their values.

use async_trait::async_trait;
use mnemon_core::{
    Access, Account, AccountId, Audience, CredentialHash, Department, DepartmentId, KeyId, Member, MemberId, Project,
    ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};

use crate::{AuditEntry, StoreError};

/// Running accounts.
#[async_trait]
pub trait Administration: Send + Sync {
    /// The hash of the operator's token, if one was made.
    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError>;

    /// Keeps the operator's token, if there is none yet. `false` when there is.
    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError>;

    /// Accounts by id, those after one.
    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError>;

    /// One account.
    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    /// The living projects of an account, oldest first.
    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError>;

    /// One living project.
    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError>;

    /// Ends a project: its keys are no longer accepted, its records are gone for every reader. `false` when absent.
    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError>;

    /// The departments of an account, by name.
    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError>;

    /// Changes a department's name and parent. `false` when absent. The caller has made sure that it is no cycle.
    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Removes a department that nothing refers to: no member, no department below, no record.
    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError>;

    /// The members of an account, by name.
    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError>;

    /// Changes a member's name, role, department and end of access. `false` when absent.
    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Removes a member: its keys are revoked, and its records, drafts included, become the heir's. Everything happens
    /// or nothing. A record whose audience changes takes a seq, so that every index follows.
    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError>;

    /// The keys of a project, oldest first, revoked ones included; never the secret.
    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError>;

    /// One key.
    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError>;

    /// The active workspaces of a project, by name.
    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError>;

    /// Records of a project, newest first, those before a place of the log.
    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        rows_max: usize,
    ) -> Result<Vec<Listed>, StoreError>;

    /// A record, alive or forgotten, as long as its workspace's life goes on.
    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError>;

    /// Removes a record for good: row, snapshot of its workspace, and everything that points to it. What is freed is
    /// overwritten. `false` when absent.
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Removes for good what was forgotten, or whose workspace or project was deleted, before a moment: at most so many
    /// records at once. Answers how many it were; fewer than `rows_max` means that nothing is left.
    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError>;

    /// Rewrites storage without its free space.
    async fn compact(&self) -> Result<(), StoreError>;

    /// Adds to the figures, and notes when the keys were last used.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError>;

    /// The figures of a project from one day to another, both included, oldest first, per key.
    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError>;

    /// How much a project holds now, by audience.
    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError>;

    /// The mode of the guard for an account; absent means the default.
    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError>;

    /// Sets the mode of the guard for an account. `false` when there is no such account.
    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Lets a text with this hash pass the guard in a project from now on. `false` when it may already.
    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError>;

    /// Whether a text with this hash was let pass.
    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError>;

    /// Keeps an index's bytes; an older snapshot of the workspace is replaced, a newer one stays.
    async fn save_snapshot(&self, project: ProjectId, snapshot: Snapshot) -> Result<(), StoreError>;

    /// The snapshot of a workspace, if there is one.
    async fn find_snapshot(&self, project: ProjectId, workspace: WorkspaceNo) -> Result<Option<Snapshot>, StoreError>;
}

/// What became of removing a department.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepartmentDeleted {
    /// It is gone.
    Done,
    /// There is none.
    Absent,
    /// Something refers to it. Nothing was changed.
    InUse,
}

/// What became of removing a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberDeleted {
    /// It is gone.
    Done {
        /// How many keys were revoked.
        keys: u64,
        /// How many records, forgotten ones included, were handed over.
        records: u64,
    },
    /// There is none, or no such heir in the account.
    Absent,
    /// It has records and no heir was named. Nothing was changed.
    NeedsHeir {
        /// How many.
        records: u64,
    },
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Its id.
    pub id: KeyId,
    /// The project it opens.
    pub project: ProjectId,
    /// The account of that project.
    pub account: AccountId,
    /// The member it acts for.
    pub member: MemberId,
    /// What it may do.
    pub access: Access,
    /// What people call it.
    pub label: Option<String>,
    /// From this moment on it is no longer accepted.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to within a few seconds.
    pub last_used_at: Option<Timestamp>,
}

/// An active workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Names this life of it.
    pub no: WorkspaceNo,
    /// What people call it.
    pub name: WorkspaceName,
    /// When it came into being.
    pub created_at: Timestamp,
    /// Every audience that something was ever saved for in it.
    pub audiences: Vec<Audience>,
    /// How many living records there are for each audience.
    pub living: Vec<(Audience, u64)>,
}

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// Only of this active workspace.
    pub workspace: Option<WorkspaceName>,
    /// Only of this source.
    pub source_id: Option<String>,
    /// The forgotten ones instead of the living.
    pub is_forgotten: bool,
}

/// A record in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The record.
    pub record: Record,
    /// When it was forgotten, if it was.
    pub forgotten_at: Option<Timestamp>,
}

/// A day, counted from 1970-01-01 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(pub i32);

/// What one key did on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The project.
    pub project: ProjectId,
    /// The day.
    pub day: Day,
    /// The key.
    pub key: KeyId,
    /// Calls let through.
    pub calls: u64,
    /// Records saved, duplicates not counted.
    pub saves: u64,
    /// Searches answered.
    pub searches: u64,
    /// Texts that the guard rejected.
    pub rejections: u64,
    /// Bytes of text saved.
    pub bytes: u64,
    /// The last use within this row.
    pub last_used_at: Timestamp,
}

/// How much there is for one audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// For whom.
    pub audience: Audience,
    /// Living records.
    pub records: u64,
    /// Bytes of their text.
    pub bytes: u64,
}

/// An index as bytes, and the place of the log it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The workspace.
    pub workspace: WorkspaceNo,
    /// Everything up to here is in it.
    pub seq: Seq,
    /// The bytes; what they mean is the ranking's business.
    pub bytes: Vec<u8>,
}
