//! What an account's admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::{AccountId, Audience, AuditId, KeyId, MemberId, ProjectId, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::audit_entry::{Actor, AuditEntry};
use crate::StoreError;
use crate::encoding::micros;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Change, Sql, Statement, Touches, Transaction, statement};
use crate::tenant::Tenant;

#[async_trait]
pub trait Audit: Sql {
    /// Adds an audit row that belongs to no other act.
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.write(Tenant::account(audit.account), insert_audit(&audit, 1)).await.map(|_| ())
    }

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
    ) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        let rows = self.select(Tenant::account(account), search(account, &filter, rows_max)).await?;
        rows.iter().map(|row| read_audit(row, account)).collect()
    }

    /// Adds to the usage figures, and records when the keys were last used and how many records the projects have.
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError>;

    /// The figures of a project between two days, inclusive, oldest first, per key.
    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        const SELECT: &str = "
            SELECT day, key_id, calls, saves, searches, rejections, bytes, last_used_at, refused_by_connection,
                refused_by_project
            FROM usage
            WHERE project_id = $1 AND day BETWEEN $2 AND $3
            ORDER BY day, key_id";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, from.0, to.0)).await?;
        rows.iter().map(|row| read_usage(row, project)).collect()
    }

    /// How many records a project had at the end of each day between two, inclusive, oldest first, and of the last day
    /// before them. Days without figures are left out.
    async fn list_record_days(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StoreError> {
        const SELECT: &str = "
            SELECT day, records
            FROM record_day
            WHERE project_id = $1 AND day <= $3
                AND day >= COALESCE((SELECT MAX(day) FROM record_day WHERE project_id = $1 AND day < $2), $2)
            ORDER BY day";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, from.0, to.0)).await?;
        rows.iter().map(|row| read_record_day(row, project)).collect()
    }

    /// How much a project stores now, by audience. Scans the whole project, but no text: the length of a text is stored
    /// in front of it.
    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError> {
        const SELECT: &str = "
            SELECT r.audience, COUNT(*), CAST(SUM(octet_length(r.content)) AS BIGINT)
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            GROUP BY r.audience
            ORDER BY r.audience";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project)).await?;
        rows.iter().map(|row| read_size(row, project)).collect()
    }

    /// An account's guard mode; absent means the default.
    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT guard_mode FROM account WHERE id = $1";
        let Some(row) = self.select_one(Tenant::account(account), statement!(SELECT, account)).await? else {
            return Ok(None);
        };
        Cells::new(&row, "account", || account.to_string()).text_opt(0, "guard_mode")
    }

    /// Sets an account's guard mode. `false` if there is no such account.
    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE account SET guard_mode = $2 WHERE id = $1 RETURNING 1";
        let update = statement!(UPDATE, account, mode);
        Ok(self.change(Change::of(Tenant::account(account), Touches::Nothing, update, audit)).await? > 0)
    }

    /// Lets a text with this hash pass the guard in a project from now on, and takes the guard's mark off the records
    /// that hold it. `false` when it may already.
    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError>;

    /// Whether a text with this hash is released.
    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = $1 AND hash = $2";
        Ok(self.select_one(Tenant::project(project), statement!(SELECT, project, &hash)).await?.is_some())
    }
}

fn search(account: AccountId, filter: &AuditFilter, rows_max: usize) -> Statement {
    // Without its last letters, `key.revoke` is `key.`: what is done to keys.
    const SELECT: &str = "
        SELECT at, id, project_id, actor, member_id, affected, action, subject, actor_name, subject_name, key_id
        FROM audit
        WHERE account_id = $1 AND (at, id) < ($3, $4) AND at >= $5 AND at < $6
            AND (actor = $7 OR $7 IS NULL)
            AND (member_id = $8 OR $8 IS NULL)
            AND (project_id = $9 OR $9 IS NULL)
            AND (subject = $10 OR $10 IS NULL)
            AND (action = ANY($11) OR RTRIM(action, 'abcdefghijklmnopqrstuvwxyz_') = ANY($11) OR $11 IS NULL)
            AND NOT (action = ANY($12) OR RTRIM(action, 'abcdefghijklmnopqrstuvwxyz_') = ANY($12))
        ORDER BY at DESC, id DESC
        LIMIT $2";
    let (at, id) = filter.before.map_or((i64::MAX, Uuid::max()), |(at, id)| (micros(at), id.uuid()));
    let words = |words: &Vec<String>| {
        Cell::list(words.iter().flat_map(|word| [word.clone(), format!("{word}.")]).filter(|word| !word.contains('\0')))
    };
    statement!(
        SELECT,
        account,
        rows_max,
        at,
        id,
        filter.from.map_or(i64::MIN, micros),
        filter.to.map_or(i64::MAX, micros),
        filter.actor.map(ActorKind::as_str),
        filter.member,
        filter.project,
        filter.subject.as_ref(),
        filter.actions.as_ref().map(words),
        filter.except.as_ref().map_or(Cell::List(Vec::new()), words)
    )
}

/// Says that the account's records show something new that is not in their log. It locks the account, so it comes
/// before any change to its keys and people.
pub(crate) fn bump_account_version(account: AccountId) -> Statement {
    statement!("UPDATE account SET account_version = account_version + 1 WHERE id = $1", account)
}

/// Adds an audit row, with how many things it affected.
pub(crate) fn insert_audit(audit: &AuditEntry, affected: u64) -> Statement {
    const INSERT: &str = "
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject, actor_name,
            subject_name, key_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
            COALESCE($10, (SELECT name FROM member WHERE account_id = $1 AND id = $6)), $11, $12)";
    let (actor, member) = audit.actor.to_columns();
    statement!(
        INSERT,
        audit.account,
        audit.at,
        audit.id,
        audit.project,
        actor,
        member,
        affected,
        &*audit.action,
        &audit.subject,
        audit.actor_name.as_ref(),
        audit.subject_name.as_ref(),
        audit.key,
    )
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
        key: cells.id_opt(10, "key_id")?,
    };
    Ok((entry, cells.count(5, "affected")?))
}

impl Usage {
    /// Adds the figures of another row about the same key and day.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.saves += other.saves;
        self.searches += other.searches;
        self.rejections += other.rejections;
        self.bytes += other.bytes;
        self.refused_by_connection += other.refused_by_connection;
        self.refused_by_project += other.refused_by_project;
        self.last_used_at = self.last_used_at.max(other.last_used_at);
    }
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

/// Lets a text pass the guard, and takes the mark off the records that hold it. Few records have one.
pub(crate) async fn release_text<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    hash: &[u8; 32],
    audit: &AuditEntry,
) -> Result<bool, T::Error> {
    const INSERT: &str = "
        INSERT INTO guard_release (project_id, hash, released_at)
        SELECT id, $2, $3
        FROM project
        WHERE id = $1 AND deleted_at IS NULL
        ON CONFLICT DO NOTHING
        RETURNING 1";
    const CAUTIONED: &str = "SELECT seq, content FROM record WHERE project_id = $1 AND is_cautioned";
    const CLEAR: &str = "UPDATE record SET is_cautioned = FALSE WHERE project_id = $1 AND seq = ANY($2)";
    tx.put(bump_account_version(audit.account)).await?;
    if tx.run(statement!(INSERT, project, hash, audit.at)).await?.is_empty() {
        return Ok(false);
    }
    let mut released = Vec::new();
    for row in tx.run(statement!(CAUTIONED, project)).await? {
        let cells = Cells::new(&row, "record", || project.to_string());
        if Sha256::digest(cells.text(1, "content")?).as_slice() == hash {
            released.push(cells.integer(0, "seq")?);
        }
    }
    tx.put(statement!(CLEAR, project, Cell::list(released))).await?;
    tx.touch(Touches::Shown);
    tx.put(insert_audit(audit, 1)).await?;
    Ok(true)
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
