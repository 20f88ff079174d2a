//! People and what they own: accounts, projects, departments and members.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, Department, DepartmentId, Member, MemberId, PlanName, Project, ProjectId, Role, Subscription,
};

use super::{AuditEntry, NewKey};
use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait People: Send + Sync {
    /// Whether there is any account yet.
    async fn has_accounts(&self) -> Result<bool, StoreError>;

    /// Creates an account, its first project, its first member and that member's key, all or nothing. With
    /// `only_first`, it creates them only if there is no account yet, and returns whether it did: of several nodes that
    /// start together on an empty database, one does.
    async fn insert_first(
        &self,
        account: Account,
        project: Project,
        member: Member,
        key: NewKey,
        audit: Vec<AuditEntry>,
        only_first: bool,
    ) -> Result<bool, StoreError>;

    async fn insert_account(&self, account: Account, audit: AuditEntry) -> Result<(), StoreError>;

    /// Changes an account's subscription.
    async fn update_subscription(
        &self,
        account: AccountId,
        subscription: Subscription,
        audit: AuditEntry,
    ) -> Result<bool, StoreError>;

    /// Accounts by id, after the given one.
    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError>;

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError>;

    /// The live projects of an account, oldest first.
    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError>;

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError>;

    /// Deletes a project: its keys are refused, and no reader sees its records. `false` if absent.
    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError>;

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError>;

    /// The departments of an account, by name.
    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError>;

    /// Changes a department's name and parent. `false` if absent. The caller has made sure that there is no cycle.
    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Deletes a department that nothing refers to: no member, no sub-department, no record.
    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError>;

    /// How many projects an account has, and how many records live in them.
    async fn count_projects(&self, account: AccountId) -> Result<(u64, u64), StoreError>;

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError>;

    /// The members of an account, by name.
    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError>;

    /// Changes a member's name, role, department and end of access. `false` if absent.
    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError>;

    /// What a member has in a project: what removing it would hand over or delete. Scans the project.
    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError>;

    /// Deletes a member: its keys are revoked, and its records, including drafts, go to the heir, all or nothing. A
    /// record whose audience changes takes a seq, so that every index follows.
    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError>;
}

/// The outcome of deleting a department.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepartmentDeleted {
    Done,
    Absent,
    /// Something refers to it. Nothing was changed.
    InUse,
}

/// What a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holdings {
    /// Records that can still be read or restored.
    pub records: u64,
    /// How many of them only the member sees.
    pub drafts: u64,
    /// Uploaded session histories.
    pub sessions: u64,
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

pub(crate) fn read_account<R: Row>(row: &R) -> Result<Account, StoreError> {
    let id: AccountId = Cells::new(row, "account", String::new).id(0, "id")?;
    let cells = Cells::new(row, "account", || id.to_string());
    Ok(Account {
        id,
        name: cells.text(5, "name")?,
        subscription: Subscription {
            plan: cells.word_opt(1, "plan", PlanName::parse)?,
            paid_until: cells.time_opt(2, "paid_until")?,
            is_suspended: cells.flag(3, "is_suspended")?,
        },
        created_at: cells.time(4, "created_at")?,
    })
}

pub(crate) fn read_project<R: Row>(row: &R) -> Result<Project, StoreError> {
    let id: ProjectId = Cells::new(row, "project", String::new).id(0, "id")?;
    let cells = Cells::new(row, "project", || id.to_string());
    Ok(Project {
        id,
        account: cells.id(1, "account_id")?,
        name: cells.text(3, "name")?,
        created_at: cells.time(2, "created_at")?,
    })
}

pub(crate) fn read_project_count<R: Row>(row: &R, account: AccountId) -> Result<(u64, u64), StoreError> {
    let cells = Cells::new(row, "project", || account.to_string());
    Ok((cells.count(0, "id")?, cells.count(1, "live_records")?))
}

pub(crate) fn read_holdings<R: Row>(row: &R, project: ProjectId) -> Result<Holdings, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Holdings {
        records: cells.count(0, "author_id")?,
        drafts: cells.count(1, "audience")?,
        sessions: cells.count(2, "session")?,
    })
}

pub(crate) fn read_department<R: Row>(row: &R, account: AccountId) -> Result<Department, StoreError> {
    let cells = Cells::new(row, "department", || account.to_string());
    Ok(Department {
        id: cells.id(0, "id")?,
        account,
        parent: cells.id_opt(1, "parent_id")?,
        name: cells.text(2, "name")?,
    })
}

pub(crate) fn read_member<R: Row>(row: &R, account: AccountId) -> Result<Member, StoreError> {
    let id: MemberId = Cells::new(row, "member", || account.to_string()).id(0, "id")?;
    let cells = Cells::new(row, "member", || format!("{account}/{id}"));
    Ok(Member {
        id,
        account,
        department: cells.id_opt(1, "department_id")?,
        name: cells.text(5, "name")?,
        role: cells.word(2, "role", Role::parse)?,
        access_until: cells.time_opt(3, "access_until")?,
        created_at: cells.time(4, "created_at")?,
    })
}
