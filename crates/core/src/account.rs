//! Who there is: accounts, their projects, their tree of departments and their members.

use crate::{AccountId, DepartmentId, MemberId, PlanName, ProjectId, Subscription, Timestamp};

/// A customer organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id; answers call it `tenant_id`.
    pub id: AccountId,
    /// What people call it.
    pub name: String,
    /// The three facts from which access by payment follows.
    pub subscription: Subscription,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Account {
    /// The plan in force, if one was ever activated.
    pub const fn plan(&self) -> Option<PlanName> {
        self.subscription.plan
    }
}

/// The unit of memory isolation inside an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// The account it belongs to.
    pub account: AccountId,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A department; departments form a tree inside their account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Department {
    /// Its id.
    pub id: DepartmentId,
    /// The account it belongs to.
    pub account: AccountId,
    /// The department above it; none for one at the top.
    pub parent: Option<DepartmentId>,
    /// What people call it.
    pub name: String,
}

/// A person or a service that acts through keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: MemberId,
    /// The account it belongs to.
    pub account: AccountId,
    /// The department it works in.
    pub department: Option<DepartmentId>,
    /// What people call it; results show it as `author`.
    pub name: String,
    /// What it may administer.
    pub role: Role,
    /// From this moment on its keys are no longer accepted.
    pub access_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a member may administer. It does not widen what the member may read, but for heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Runs the account.
    Admin,
    /// Runs a department: its members and keys, and sees what the departments below share among themselves.
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

    /// The role that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Admin, Self::Head, Self::Member].into_iter().find(|role| role.as_str() == word)
    }
}

/// What a key may do to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Search and validate.
    Read,
    /// All of it.
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

    /// The access that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|access| access.as_str() == word)
    }
}
