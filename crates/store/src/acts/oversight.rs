//! What an account's admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use std::borrow::Cow;

use async_trait::async_trait;
use mnemon_core::{AccountId, Audience, AuditId, KeyId, MemberId, ProjectId, Timestamp};

use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Oversight: Send + Sync {
    /// Adds an audit row that belongs to no other act.
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError>;

    /// The audit log of an account, newest first.
    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError>;

    /// Adds to the usage figures, and records when the keys were last used.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError>;

    /// The figures of a project between two days, inclusive, oldest first, per key.
    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError>;

    /// How much a project stores now, by audience.
    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError>;

    /// An account's guard mode; absent means the default.
    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError>;

    /// Sets an account's guard mode. `false` if there is no such account.
    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Lets a text with this hash pass the guard in a project from now on, and takes the guard's mark off the records that
    /// hold it. `false` when it may already.
    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError>;

    /// Whether a text with this hash is released.
    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError>;
}

/// Who did something that the audit log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A member, through a key.
    Member(MemberId),
    Operator,
    Service,
}

/// An audit row: who, what, when. It never contains record text, queries or secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: AuditId,
    pub account: AccountId,
    /// The project, if one is concerned.
    pub project: Option<ProjectId>,
    pub at: Timestamp,
    pub actor: Actor,
    /// What, as `thing.verb`: `record.forget`, `key.revoke`.
    pub action: Cow<'static, str>,
    /// To what: an id, or a source's id.
    pub subject: String,
}

/// A day, counted from 1970-01-01 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(pub i32);

/// What one key did on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub project: ProjectId,
    pub day: Day,
    pub key: KeyId,
    /// Calls admitted.
    pub calls: u64,
    /// Records saved, without duplicates.
    pub saves: u64,
    pub searches: u64,
    /// Texts that the guard rejected.
    pub rejections: u64,
    /// Bytes of text saved.
    pub bytes: u64,
    /// The last use within this row.
    pub last_used_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    pub audience: Audience,
    /// Live records.
    pub records: u64,
    pub bytes: u64,
}

impl Actor {
    /// The stored word, and the member if it is one.
    pub(crate) fn to_columns(self) -> (&'static str, Option<MemberId>) {
        match self {
            Self::Member(member) => ("member", Some(member)),
            Self::Operator => ("operator", None),
            Self::Service => ("service", None),
        }
    }

    fn from_columns(word: &str, member: Option<MemberId>) -> Option<Self> {
        match (word, member) {
            ("member", Some(member)) => Some(Self::Member(member)),
            ("operator", None) => Some(Self::Operator),
            ("service", None) => Some(Self::Service),
            _ => None,
        }
    }
}

/// Reads an audit row, and how many things it affected.
pub(crate) fn read_audit<R: Row>(row: &R, account: AccountId) -> Result<(AuditEntry, u64), StoreError> {
    let id: AuditId = Cells::new(row, "audit", || account.to_string()).id(1, "id")?;
    let cells = Cells::new(row, "audit", || format!("{account}/{id}"));
    let member = cells.id_opt(4, "member_id")?;
    let entry = AuditEntry {
        id,
        account,
        project: cells.id_opt(2, "project_id")?,
        at: cells.time(0, "at")?,
        actor: cells.word(3, "actor", |word| Actor::from_columns(word, member))?,
        action: cells.text(6, "action")?.into(),
        subject: cells.text(7, "subject")?,
    };
    Ok((entry, cells.count(5, "affected")?))
}

pub(crate) fn read_usage<R: Row>(row: &R, project: ProjectId) -> Result<Usage, StoreError> {
    let cells = Cells::new(row, "usage", || project.to_string());
    Ok(Usage {
        project,
        day: Day(i32::try_from(cells.integer(0, "day")?).map_err(|_| cells.broken("day"))?),
        key: cells.id(1, "key_id")?,
        calls: cells.count(2, "calls")?,
        saves: cells.count(3, "saves")?,
        searches: cells.count(4, "searches")?,
        rejections: cells.count(5, "rejections")?,
        bytes: cells.count(6, "bytes")?,
        last_used_at: cells.time(7, "last_used_at")?,
    })
}

pub(crate) fn read_size<R: Row>(row: &R, project: ProjectId) -> Result<Size, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Size {
        audience: cells.audience(0, "audience")?,
        records: cells.count(1, "seq")?,
        bytes: cells.count(2, "content")?,
    })
}
