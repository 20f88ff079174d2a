//! Accounts, their projects, their tree of departments and their members.

use crate::{AccountId, DepartmentId, MemberId, PlanName, ProjectId, Subscription, Timestamp};

/// A customer organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id; answers call it `tenant_id`.
    pub id: AccountId,
    pub name: String,
    /// The three stored facts that decide the subscription state.
    pub subscription: Subscription,
    pub created_at: Timestamp,
}

impl Account {
    /// The active plan, if one was ever activated.
    pub const fn plan(&self) -> Option<PlanName> {
        self.subscription.plan
    }
}

/// The unit of memory isolation inside an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub account: AccountId,
    pub name: String,
    pub created_at: Timestamp,
}

/// A department; departments form a tree inside their account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Department {
    pub id: DepartmentId,
    pub account: AccountId,
    /// The parent department; none at the top level.
    pub parent: Option<DepartmentId>,
    pub name: String,
}

/// A person or a service that acts through keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub account: AccountId,
    pub department: Option<DepartmentId>,
    /// Results show it as `author`.
    pub name: String,
    pub role: Role,
    /// From then on its keys are refused.
    pub access_until: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// What a member may administer. It does not widen what the member may read, except for heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Manages the account.
    Admin,
    /// Manages the members and keys of a department, and sees what the departments below share among themselves.
    Head,
    /// Uses the memory.
    Member,
}

impl Role {
    /// The word used in storage and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Head => "head",
            Self::Member => "member",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Admin, Self::Head, Self::Member].into_iter().find(|role| role.as_str() == word)
    }
}

/// What a key may do to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Search and validate.
    Read,
    Write,
}

impl Access {
    /// The word used in storage and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|access| access.as_str() == word)
    }
}
