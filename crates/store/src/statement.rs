//! Statements that both engines understand word for word, and what an engine does with them. An act that takes no more
//! than a few of these is written once, in its trait; the engines have files for the others.
//!
//! Values are `$1`, `$2` and so on. A value that may be absent comes first where its type shows: `(id = $2 OR $2 IS
//! NULL)`, because PostgreSQL takes the type from there. A sum is `CAST(... AS BIGINT)`. Three things are written as
//! PostgreSQL has them and put into SQLite's words when they run: a list of values is `= ANY($2)`, rows are locked by
//! `FOR UPDATE` at the end, and what stands between
//! `/*` and `*/` is only for SQLite: the index that it would not find by itself.

use async_trait::async_trait;
use mnemon_core::{
    AccountId, Audience, AuditId, ConnectionId, ConsoleSessionId, ContentHash, CredentialHash, DepartmentId, KeyId,
    MemberId, ProjectId, RecordId, Seq, SessionId, Timestamp, WorkspaceNo,
};
use uuid::Uuid;

use crate::damaged::Damaged;
use crate::encoding::{integer, micros};
use crate::interface::AuditEntry;
use crate::rows::{Row, Unreadable};
use crate::tenant::Tenant;
use crate::{StoreError, encoding::AudienceBytes};

/// A value as both engines have it. An id is 16 bytes, a time or a flag a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Values of one kind, for `= ANY(...)`.
    List(Vec<Self>),
}

impl Cell {
    pub(crate) fn list<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// A row, column by column.
pub(crate) type Values = Vec<Cell>;

/// A statement with its values.
#[derive(Debug, Clone)]
pub struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Cell>,
}

macro_rules! statement {
    ($sql:expr $(, $value:expr)* $(,)?) => {
        $crate::statement::Statement { sql: $sql, values: vec![$($crate::statement::Cell::from($value)),*] }
    };
}
pub(crate) use statement;

/// What a change touches beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touches {
    Nothing,
    /// What keys stand for.
    People,
    /// The same, by what may be the first account. The nodes look one after the other whether it is.
    FirstAccount,
    /// The same as by people, and what the account's records show besides themselves.
    Shown,
    /// Texts that must be gone for good.
    Purged,
}

/// A change in one transaction. The rows that the first statements return count what was changed: if there are none,
/// the rest is left out. The audit rows say how many there were.
#[derive(Debug, Clone)]
pub struct Change {
    pub(crate) tenant: Tenant,
    pub(crate) first: Vec<Statement>,
    pub(crate) then: Vec<Statement>,
    pub(crate) audit: Vec<AuditEntry>,
    pub(crate) touches: Touches,
}

impl Change {
    pub(crate) fn new(tenant: Tenant, first: Vec<Statement>) -> Self {
        Self { tenant, first, then: Vec::new(), audit: Vec::new(), touches: Touches::Nothing }
    }

    pub(crate) fn of(tenant: Tenant, touches: Touches, first: Statement, audit: AuditEntry) -> Self {
        Self { touches, audit: vec![audit], ..Self::new(tenant, vec![first]) }
    }
}

/// What an engine does with statements.
#[async_trait]
pub trait Sql: Send + Sync {
    /// The rows of several statements that see the same moment.
    async fn select_together(&self, tenant: Tenant, statements: Vec<Statement>)
    -> Result<Vec<Vec<Values>>, StoreError>;

    /// The rows of a short read.
    async fn select_few(&self, tenant: Tenant, statement: Statement) -> Result<Vec<Values>, StoreError>;

    /// The only row of a short read.
    async fn select_one(&self, tenant: Tenant, statement: Statement) -> Result<Option<Values>, StoreError> {
        Ok(self.select_few(tenant, statement).await?.into_iter().next())
    }

    /// The rows of a read that may take long.
    async fn select(&self, tenant: Tenant, statement: Statement) -> Result<Vec<Values>, StoreError> {
        Ok(self.select_together(tenant, vec![statement]).await?.pop().unwrap_or_default())
    }

    /// Damaged records that were left out of answers.
    fn damaged(&self) -> &Damaged;

    /// Makes a change, and returns how many rows its first statements returned.
    async fn change(&self, change: Change) -> Result<u64, StoreError>;

    /// A change without an audit row.
    async fn write(&self, tenant: Tenant, statement: Statement) -> Result<u64, StoreError> {
        self.change(Change::new(tenant, vec![statement])).await
    }
}

/// A transaction that writes, for acts that decide by what they read in it. Each takes a project's lock before it reads
/// or changes what is in the project.
pub(crate) trait Transaction {
    type Error: From<StoreError>;

    /// Runs statements one after the other, and returns the rows of each.
    async fn run_all(&mut self, statements: Vec<Statement>) -> Result<Vec<Vec<Values>>, Self::Error>;

    async fn run(&mut self, statement: Statement) -> Result<Vec<Values>, Self::Error> {
        Ok(self.run_all(vec![statement]).await?.pop().unwrap_or_default())
    }

    /// Runs a statement whose rows nobody needs: at the latest with the commit, so that it costs no round trip.
    async fn put(&mut self, statement: Statement) -> Result<(), Self::Error>;

    /// Uses another tenant's rows from now on.
    async fn turn(&mut self, tenant: Tenant) -> Result<(), Self::Error>;

    /// Locks a living project and then runs statements. `None` if there is no such project.
    async fn lock(
        &mut self,
        project: ProjectId,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Vec<Values>>>, Self::Error>;

    /// Takes the next place in the log of a locked project.
    fn take_seq(&mut self, project: ProjectId) -> Result<Seq, Self::Error>;

    /// How many live records a locked project has. It may be changed by acts that take a place in the log.
    fn live_records(&mut self, project: ProjectId) -> Result<&mut u64, Self::Error>;

    /// Says that workspaces, audiences or authors of a locked project ended, or the project itself.
    fn renew(&mut self, _project: ProjectId) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Says what is touched beside the rows.
    fn touch(&mut self, _touches: Touches) {}
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl From<$id> for Cell {
            fn from(id: $id) -> Self {
                Self::Bytes(id.to_bytes().to_vec())
            }
        }
    )*};
}

ids!(AccountId AuditId ConnectionId ConsoleSessionId DepartmentId KeyId MemberId ProjectId RecordId SessionId);

macro_rules! cells {
    ($($of:ty: $value:ident => $cell:expr;)*) => {$(
        impl From<$of> for Cell {
            fn from($value: $of) -> Self {
                $cell
            }
        }
    )*};
}

cells! {
    i64: number => Self::Integer(number);
    i32: number => Self::Integer(number.into());
    u64: count => Self::Integer(integer(count));
    usize: count => Self::Integer(integer(count as u64));
    f64: number => Self::Real(number);
    Seq: seq => Self::Integer(integer(seq.0));
    WorkspaceNo: no => Self::Integer(integer(no.0));
    bool: flag => Self::Integer(flag.into());
    Timestamp: at => Self::Integer(micros(at));
    Uuid: id => Self::Bytes(id.as_bytes().to_vec());
    String: text => Self::Text(text);
    &String: text => Self::Text(text.clone());
    &str: text => Self::Text(text.to_owned());
    &Vec<u8>: bytes => Self::Bytes(bytes.clone());
    &[u8; 32]: bytes => Self::Bytes(bytes.to_vec());
    &CredentialHash: hash => Self::Bytes(hash.as_bytes().to_vec());
    &ContentHash: hash => Self::Bytes(hash.as_bytes().to_vec());
    Audience: audience => Self::Bytes(AudienceBytes::of(audience).as_slice().to_vec());
    AudienceBytes: audience => Self::Bytes(audience.as_slice().to_vec());
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! cell {
    ($row:ident[$at:ident], $kind:ident($value:ident) => $read:expr) => {
        match $row.get($at) {
            Some(Cell::Null) => Ok(None),
            Some(Cell::$kind($value)) => $read.map(Some),
            _ => Err(Unreadable),
        }
    };
}

impl Row for Values {
    fn uuid(&self, at: usize) -> Result<Option<Uuid>, Unreadable> {
        cell!(self[at], Bytes(bytes) => Uuid::from_slice(bytes).map_err(|_| Unreadable))
    }

    fn integer(&self, at: usize) -> Result<Option<i64>, Unreadable> {
        cell!(self[at], Integer(number) => Ok(*number))
    }

    fn flag(&self, at: usize) -> Result<Option<bool>, Unreadable> {
        cell!(self[at], Integer(number) => match number {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Unreadable),
        })
    }

    fn real(&self, at: usize) -> Result<Option<f64>, Unreadable> {
        cell!(self[at], Real(number) => Ok(*number))
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Unreadable> {
        cell!(self[at], Text(text) => Ok(text.as_str()))
    }

    fn blob(&self, at: usize) -> Result<Option<&[u8]>, Unreadable> {
        cell!(self[at], Bytes(bytes) => Ok(bytes.as_slice()))
    }
}
