//! What an account's admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use std::borrow::Cow;

use async_trait::async_trait;
use mnemon_core::{AccountId, Audience, AuditId, KeyId, MemberId, ProjectId, Timestamp};

use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Audit: Send + Sync {
    /// Adds an audit row that belongs to no other act.
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError>;

    /// The audit log of an account, newest first.
    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        self.search_audit(account, AuditFilter::default(), rows_max).await
    }

    /// The rows of an account's audit log that fit, newest first.
    async fn search_audit(
        &self,
        account: AccountId,
        filter: AuditFilter,
        rows_max: usize,
    ) -> Result<Vec<(AuditEntry, u64)>, StoreError>;

    /// Adds to the usage figures, and records when the keys were last used and how many records the projects have.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError>;

    /// The figures of a project between two days, inclusive, oldest first, per key.
    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError>;

    /// How many records a project had at the end of each day between two, inclusive, oldest first, and of the last day
    /// before them. Days without figures are left out.
    async fn list_record_days(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StoreError>;

    /// How much a project stores now, by audience.
    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError>;

    /// An account's guard mode; absent means the default.
    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError>;

    /// Sets an account's guard mode. `false` if there is no such account.
    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Lets a text with this hash pass the guard in a project from now on, and takes the guard's mark off the records
    /// that hold it. `false` when it may already.
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
    /// The name of the member who acted, at that time. Storage fills it in.
    pub actor_name: Option<String>,
    /// The name of the subject at that time, if it has one.
    pub subject_name: Option<String>,
}

impl AuditEntry {
    /// The same, with the name that the subject has now.
    #[must_use]
    pub fn about(self, name: &str) -> Self {
        Self { subject_name: Some(name.to_owned()), ..self }
    }
}

/// Which audit rows to list. All that is given must fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Only rows before this one, in the order of the list.
    pub before: Option<(Timestamp, AuditId)>,
    pub actor: Option<ActorKind>,
    /// Only what this member did.
    pub member: Option<MemberId>,
    /// Only these: `key.revoke`, or `key` for everything that is done to keys.
    pub actions: Option<Vec<String>>,
    /// None of these.
    pub except: Option<Vec<String>>,
    pub project: Option<ProjectId>,
    pub subject: Option<String>,
    /// At or after this moment.
    pub from: Option<Timestamp>,
    /// Before this moment.
    pub to: Option<Timestamp>,
}

/// What kind of caller acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    Member,
    Operator,
    Service,
}

impl ActorKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Operator => "operator",
            Self::Service => "service",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Member, Self::Operator, Self::Service].into_iter().find(|kind| kind.as_str() == word)
    }
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
    /// Calls that were refused because this connection made too many.
    pub refused_by_connection: u64,
    /// Calls that were refused because the project made too many.
    pub refused_by_project: u64,
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
        actor_name: cells.text_opt(8, "actor_name")?,
        subject_name: cells.text_opt(9, "subject_name")?,
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
        refused_by_connection: cells.count(8, "refused_by_connection")?,
        refused_by_project: cells.count(9, "refused_by_project")?,
    })
}

pub(crate) fn read_record_day<R: Row>(row: &R, project: ProjectId) -> Result<(Day, u64), StoreError> {
    let cells = Cells::new(row, "record_day", || project.to_string());
    let day = Day(i32::try_from(cells.integer(0, "day")?).map_err(|_| cells.broken("day"))?);
    Ok((day, cells.count(1, "records")?))
}

pub(crate) fn read_size<R: Row>(row: &R, project: ProjectId) -> Result<Size, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Size {
        audience: cells.audience(0, "audience")?,
        records: cells.count(1, "seq")?,
        bytes: cells.count(2, "content")?,
    })
}
