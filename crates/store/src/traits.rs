//! The acts of storage.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, CredentialHash, Department, KeyId, Member, MemberId, Project, ProjectId, Record, RecordId, Seq,
    Subscription, Timestamp, WorkspaceName, WorkspaceNo,
};

use crate::{
    Administration, AuditEntry, Brief, Grant, Insert, Inserted, Integrations, NewKey, Oauth, Presented, Sessions,
    SourcePart, StoreError, Tail, Workspace,
};

/// Saving, reading and forgetting records.
#[async_trait]
pub trait Records: Send + Sync {
    /// Saves a record. Answers only when it is durable.
    ///
    /// In this order, inside one transaction: the idempotency key, the duplicate, the project's limit, the save. A save
    /// with a `source_hash` makes that hash the newest known of its source for the record's audience; so does a
    /// duplicate, which then takes a seq as well.
    async fn insert(&self, insert: Insert) -> Result<Inserted, StoreError>;

    /// Keeps what the first call with an idempotency key was answered, without any record text.
    async fn save_answer(
        &self,
        project: ProjectId,
        member: MemberId,
        key: &str,
        answer: String,
    ) -> Result<(), StoreError>;

    /// The living records at these places of the log, in the order asked for; others are left out.
    async fn load(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError>;

    /// The living record with this id.
    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError>;

    /// The living records of a source, oldest first; of one active workspace, or of all.
    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<Brief>, StoreError>;

    /// The living records that carry one of these caller-given keys in its workspace, oldest first.
    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<Brief>, StoreError>;

    /// Soft-deletes those of the records that are alive, and answers with their ids, oldest first. Leaves the audit row
    /// (with the count) if there was anything to forget. Answers only when it is durable.
    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError>;

    /// Brings a forgotten record back, if it was forgotten at or after `forgotten_since`, its workspace's life goes on
    /// and the project has room. `None` when there is no such record. The restored record keeps its place in the log;
    /// the restoring itself takes a seq.
    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError>;

    /// Ends the life of an active workspace and soft-deletes its records. Answers how many there were; `None` when
    /// there is no such active workspace. A later save brings the name back, empty, under a new number.
    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError>;
}

/// Reading a project's change log.
#[async_trait]
pub trait Log: Send + Sync {
    /// The active workspace of this name.
    async fn find_workspace(&self, project: ProjectId, name: &WorkspaceName) -> Result<Option<Workspace>, StoreError>;

    /// What happened in one life of a workspace after a place of the log, at most about `rows_max` records at once. The
    /// answer is one consistent view: `upto` and the changes belong together.
    async fn tail(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
    ) -> Result<Tail, StoreError>;

    /// Which past the logs belong to. It changes when a database takes over that may have lost their ends: what was derived
    /// from a log before is then worth nothing, whatever its seq says.
    fn epoch(&self) -> u64;

    /// How far the project's log has come.
    async fn last_seq(&self, project: ProjectId) -> Result<Option<Seq>, StoreError>;
}

/// What is known of sources.
#[async_trait]
pub trait Sources: Send + Sync {
    /// What each audience knows of these sources.
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError>;

    /// Notes that a source was seen with this hash: for everybody the newest known one, and confirmed.
    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Seq, StoreError>;
}

/// Finding out who calls.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The credential with this hash, whatever its state. A change to it shows on the next call.
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError>;

    /// The credential that the token with this hash stands for, and the connection by which it does, whatever the state of
    /// both. Calls elsewhere are those of the connection, not of the key.
    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError>;
}

/// The people and what they own.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Whether there is any account yet.
    async fn has_accounts(&self) -> Result<bool, StoreError>;

    /// Makes an account, its first project, its first member and that member's key at once, or nothing. With `only_first`
    /// it makes them only where there is no account yet, and answers whether it did: of nodes that start together on an
    /// empty database, one does.
    async fn insert_first(
        &self,
        account: Account,
        project: Project,
        member: Member,
        key: NewKey,
        audit: Vec<AuditEntry>,
        only_first: bool,
    ) -> Result<bool, StoreError>;

    /// Makes an account.
    async fn insert_account(&self, account: Account, audit: AuditEntry) -> Result<(), StoreError>;

    /// Changes an account's subscription.
    async fn update_subscription(
        &self,
        account: AccountId,
        subscription: Subscription,
        audit: AuditEntry,
    ) -> Result<bool, StoreError>;

    /// Makes a project.
    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError>;

    /// Makes a department.
    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError>;

    /// Makes a member.
    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError>;

    /// Makes a key.
    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError>;

    /// Revokes a key for good. `false` when there is no such living key.
    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Adds a line to the audit log that belongs to no other act.
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError>;

    /// The audit log of an account, newest first.
    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError>;
}

/// Everything together.
#[async_trait]
pub trait Store:
    Records + Log + Sources + Credentials + Accounts + Administration + Oauth + Integrations + crate::Rates + Sessions
{
    /// Whether reading and writing would work now; said in words for the operator when not.
    async fn check(&self) -> Result<(), StoreError>;

    /// Finishes what was begun and closes. Later calls fail.
    async fn close(&self);
}
