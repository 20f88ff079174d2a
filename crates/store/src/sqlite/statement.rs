//! How SQLite runs the statements that both engines understand.

use std::borrow::Cow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq, to_hex};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use super::SqliteStore;
use super::batch::{Tx, is_living};
use crate::StoreError;
use crate::damaged::Damaged;
use crate::interface::audit::{bump_account_version, insert_audit};
use crate::statement::{Cell, Change, Sql, Statement, Touches, Transaction, Values};
use crate::tenant::Tenant;

#[async_trait]
impl Sql for SqliteStore {
    async fn select_together(&self, _: Tenant, statements: Vec<Statement>) -> Result<Vec<Vec<Values>>, StoreError> {
        self.readers.read_long(move |conn| statements.iter().map(|statement| run(conn, statement)).collect()).await
    }

    async fn select_few(&self, _: Tenant, statement: Statement) -> Result<Vec<Values>, StoreError> {
        self.readers.read(|conn| run(conn, &statement))
    }

    fn damaged(&self) -> &Damaged {
        &self.damaged
    }

    async fn change(&self, change: Change) -> Result<u64, StoreError> {
        self.writer.write(move |tx| make(tx, &change)).await
    }
}

fn make(tx: &mut Tx<'_>, Change { first, then, audit, touches, tenant: _ }: &Change) -> Result<u64, StoreError> {
    let mut count = 0;
    for statement in first {
        count += run(tx.conn, statement)?.len() as u64;
    }
    if count == 0 {
        return Ok(0);
    }
    for statement in then {
        run(tx.conn, statement)?;
    }
    for audit in audit {
        run(tx.conn, &insert_audit(audit, count))?;
    }
    match touches {
        Touches::Shown => {
            for audit in audit {
                run(tx.conn, &bump_account_version(audit.account))?;
            }
            tx.touch_people();
        }
        touches => tx.touch(*touches),
    }
    Ok(count)
}

pub(super) fn run(conn: &Connection, statement: &Statement) -> Result<Vec<Values>, StoreError> {
    let mut prepared = conn.prepare_cached(&in_own_words(statement))?;
    for (n, value) in (1..).zip(&statement.values) {
        // To SQLite, `$1` is a name.
        if let Some(at) = prepared.parameter_index(&format!("${n}"))? {
            prepared.raw_bind_parameter(at, value)?;
        }
    }
    let columns = prepared.column_count();
    let (mut rows, mut read) = (prepared.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|at| Ok(Cell::from(row.get_ref(at)?)));
        read.push(cells.collect::<Result<Values, rusqlite::Error>>()?);
    }
    Ok(read)
}

/// Says what PostgreSQL's words for lists, locks and hints are here. Lists are JSON, in which texts and bytes
/// are hexadecimal.
fn in_own_words(statement: &Statement) -> Cow<'_, str> {
    let mut sql = Cow::Borrowed(statement.sql);
    // There is one writer, so nothing needs a lock.
    if let Some(unlocked) = statement.sql.find("FOR UPDATE").map(|at| &statement.sql[..at]) {
        sql = Cow::Borrowed(unlocked);
    }
    if sql.contains("/*") {
        sql = Cow::Owned(sql.replace("/*", "").replace("*/", ""));
    }
    if sql.contains("= ANY(") {
        let mut own = sql.into_owned();
        for (n, value) in (1..).zip(&statement.values) {
            let first = if let Cell::List(list) = value { list.first() } else { None };
            let item = match first {
                Some(Cell::Bytes(_)) => "unhex(value)",
                Some(Cell::Text(_)) => "CAST(unhex(value) AS TEXT)",
                _ => "value",
            };
            own = own.replace(&format!("= ANY(${n})"), &format!("IN (SELECT {item} FROM json_each(${n}))"));
        }
        sql = Cow::Owned(own);
    }
    sql
}

impl Transaction for Tx<'_> {
    type Error = StoreError;

    async fn run_all(&mut self, statements: Vec<Statement>) -> Result<Vec<Vec<Values>>, StoreError> {
        statements.iter().map(|statement| run(self.conn, statement)).collect()
    }

    async fn put(&mut self, statement: Statement) -> Result<(), StoreError> {
        run(self.conn, &statement).map(|_| ())
    }

    async fn turn(&mut self, _: Tenant) -> Result<(), StoreError> {
        Ok(())
    }

    async fn lock(
        &mut self,
        project: ProjectId,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Vec<Values>>>, StoreError> {
        if is_living(self.conn, project)? { self.run_all(statements).await.map(Some) } else { Ok(None) }
    }

    fn take_seq(&mut self, project: ProjectId) -> Result<Seq, StoreError> {
        Tx::take_seq(self, project)
    }

    fn live_records(&mut self, project: ProjectId) -> Result<&mut u64, StoreError> {
        Ok(&mut self.project(project)?.live_records)
    }

    fn renew(&mut self, project: ProjectId) -> Result<(), StoreError> {
        let is_deleted = !is_living(self.conn, project)?;
        self.projects.renew(project, is_deleted);
        Ok(())
    }

    fn touch(&mut self, touches: Touches) {
        match touches {
            Touches::Nothing => {}
            Touches::People | Touches::FirstAccount | Touches::Shown => self.touch_people(),
            Touches::Purged => self.touch_purged(),
        }
    }
}

/// The answer of an act whose statements have run when they return.
pub(super) fn at_once<T>(act: impl Future<Output = T>) -> T {
    match pin!(act).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("no statement waits"),
    }
}

impl From<ValueRef<'_>> for Cell {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            // What is no text is not read as one.
            ValueRef::Text(text) => {
                String::from_utf8(text.to_vec()).map_or_else(|_| Self::Bytes(text.to_vec()), Self::Text)
            }
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::List(values) => return Ok(ToSqlOutput::from(to_json(values))),
        }))
    }
}

/// A list as [`in_own_words`] reads it.
fn to_json(values: &[Cell]) -> String {
    let item = |value: &Cell| match value {
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => format!("\"{}\"", to_hex(text)),
        Cell::Bytes(bytes) => format!("\"{}\"", to_hex(bytes)),
        Cell::Null | Cell::Real(_) | Cell::List(_) => "null".to_owned(),
    };
    format!("[{}]", values.iter().map(item).collect::<Vec<_>>().join(","))
}
