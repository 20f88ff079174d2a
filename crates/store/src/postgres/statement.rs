//! How PostgreSQL runs the statements that both engines understand.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::connect::Pool;
use super::error::Fault;
use super::project::{self, LOCK, Locked};
use super::transaction::{Ask, Tx, ask};
use super::{PostgresStore, attempt, read_together};
use crate::StoreError;
use crate::damaged::Damaged;
use crate::interface::audit::{bump_account_version, insert_audit};
use crate::statement::{Cell, Change, Sql, Statement, Touches, Transaction, Values, statement};
use crate::tenant::Tenant;

/// How many statements wait to be sent together.
const WAITING_MAX: usize = 1_000;

/// Lets the nodes look one after the other whether there is an account.
const LOCK_ACCOUNTS: &str = "LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE";

#[async_trait]
impl Sql for PostgresStore {
    async fn select_together(
        &self,
        tenant: Tenant,
        statements: Vec<Statement>,
    ) -> Result<Vec<Vec<Values>>, StoreError> {
        let asks = || statements.iter().map(Ask::from).collect();
        let answers = read_together(&self.pool, tenant, asks).await?;
        answers
            .iter()
            .map(|rows| rows.iter().map(|row| read_values(row).map_err(|fault| fault.error)).collect())
            .collect()
    }

    async fn select_few(&self, tenant: Tenant, statement: Statement) -> Result<Vec<Values>, StoreError> {
        self.select(tenant, statement).await
    }

    fn damaged(&self) -> &Damaged {
        &self.pool.damaged
    }

    async fn change(&self, change: Change) -> Result<u64, StoreError> {
        attempt(|| self.make(&change)).await
    }
}

impl PostgresStore {
    async fn make(&self, Change { tenant, first, then, audit, touches }: &Change) -> Result<u64, Fault> {
        let tx = Tx::write(&self.pool, tenant.clone()).await?;
        // It locks the account, so it comes before any change to its keys and people: removing a member locks in that
        // order too.
        let bumped = audit.iter().filter(|_| *touches == Touches::Shown).map(|audit| audit.account);
        let bumped: Vec<Statement> = bumped.map(bump_account_version).collect();
        let mut asks: Vec<Ask<'_>> = bumped.iter().map(Ask::from).collect();
        if *touches == Touches::FirstAccount {
            asks.push(ask(LOCK_ACCOUNTS, &[]));
        }
        let before = asks.len();
        asks.extend(first.iter().map(Ask::from));
        let count = |answers: &[Vec<_>]| answers.iter().skip(before).map(Vec::len).sum::<usize>() as u64;
        if then.is_empty() && audit.is_empty() {
            return Ok(count(&tx.finish(asks).await?));
        }
        let count = count(&tx.ask_all(asks).await?);
        if count > 0 {
            let audit: Vec<Statement> = audit.iter().map(|audit| insert_audit(audit, count)).collect();
            tx.finish(then.iter().chain(&audit).map(Ask::from).collect()).await?;
        }
        Ok(count)
    }
}

/// An act that is written once for both engines, in its transaction.
pub(super) struct Act {
    tx: Tx,
    /// What goes out with the next statements or with the commit.
    waiting: Vec<Statement>,
    locked: Vec<Locked>,
}

impl Act {
    pub(super) async fn begin(pool: &Arc<Pool>, tenant: Tenant) -> Result<Self, Fault> {
        Ok(Self { tx: Tx::write(pool, tenant).await?, waiting: Vec::new(), locked: Vec::new() })
    }

    /// Commits what the act did, and gives its answer.
    pub(super) async fn end<T>(mut self, answer: T) -> Result<T, Fault> {
        let mut asks: Vec<Ask<'_>> = self.waiting.iter().map(Ask::from).collect();
        asks.extend(self.locked.iter_mut().filter(|project| project.is_changed()).map(Locked::flush));
        self.tx.finish(asks).await?;
        Ok(answer)
    }

    fn project(&mut self, id: ProjectId) -> Result<&mut Locked, Fault> {
        let locked = self.locked.iter_mut().find(|project| project.id == id);
        Ok(locked.ok_or_else(|| StoreError::no_project(id))?)
    }
}

impl Transaction for Act {
    type Error = Fault;

    async fn run_all(&mut self, statements: Vec<Statement>) -> Result<Vec<Vec<Values>>, Fault> {
        let waiting = std::mem::take(&mut self.waiting);
        let answers = self.tx.ask_all(waiting.iter().chain(&statements).map(Ask::from).collect()).await?;
        answers.iter().skip(waiting.len()).map(|rows| rows.iter().map(read_values).collect()).collect()
    }

    async fn put(&mut self, statement: Statement) -> Result<(), Fault> {
        self.waiting.push(statement);
        // Enough to be worth a round trip, and few enough for the buffers between here and the server.
        if self.waiting.len() >= WAITING_MAX { self.run_all(Vec::new()).await.map(|_| ()) } else { Ok(()) }
    }

    async fn turn(&mut self, tenant: Tenant) -> Result<(), Fault> {
        const TURN: &str = "
            SELECT set_config('mnemon.project', $1, true), set_config('mnemon.account', $2, true),
                set_config('mnemon.key', $3, true)";
        self.put(statement!(TURN, tenant.project, tenant.account, tenant.key)).await
    }

    async fn lock(&mut self, id: ProjectId, mut statements: Vec<Statement>) -> Result<Option<Vec<Vec<Values>>>, Fault> {
        statements.insert(0, statement!(LOCK, id));
        let mut answers = self.run_all(statements).await?;
        let Some(locked) = project::read(answers.remove(0).first(), id)? else { return Ok(None) };
        self.locked.push(locked);
        Ok(Some(answers))
    }

    fn take_seq(&mut self, project: ProjectId) -> Result<Seq, Fault> {
        Ok(self.project(project)?.take_seq())
    }

    fn live_records(&mut self, project: ProjectId) -> Result<&mut u64, Fault> {
        Ok(&mut self.project(project)?.live_records)
    }
}

impl<'a> From<&'a Statement> for Ask<'a> {
    fn from(statement: &'a Statement) -> Self {
        let values: Vec<&(dyn ToSql + Sync)> = statement.values.iter().map(|value| value as _).collect();
        ask(statement.sql, &values)
    }
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let misfit = || format!("a value does not fit its column of type {kind}: {}", self.describe());
        match (kind, self) {
            (_, Self::Null) => Ok(IsNull::Yes),
            (&Type::UUID, Self::Bytes(bytes)) => Uuid::from_slice(bytes).map_err(|_| misfit())?.to_sql(kind, out),
            (&Type::INT8, Self::Integer(number)) => number.to_sql(kind, out),
            (&Type::INT4, Self::Integer(number)) => i32::try_from(*number).map_err(|_| misfit())?.to_sql(kind, out),
            (&Type::BOOL, Self::Integer(number @ (0 | 1))) => (*number == 1).to_sql(kind, out),
            (&Type::FLOAT8, Self::Real(number)) => number.to_sql(kind, out),
            (&Type::TEXT, Self::Text(text)) => text.to_sql(kind, out),
            (&Type::BYTEA, Self::Bytes(bytes)) => bytes.to_sql(kind, out),
            (_, Self::List(values)) if matches!(kind.kind(), Kind::Array(_)) => values.to_sql(kind, out),
            _ => Err(misfit().into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl Cell {
    /// The kind of a value; never the value, which may be somebody's memory.
    fn describe(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) => "a whole number",
            Self::Real(_) => "a number",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
        }
    }
}

pub(super) fn read_values(row: &tokio_postgres::Row) -> Result<Values, Fault> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| {
        Ok(match *column.type_() {
            Type::UUID => row.try_get::<_, Option<Uuid>>(at)?.map(|id| Cell::Bytes(id.into_bytes().to_vec())),
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(Cell::Integer),
            Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map(|number| Cell::Integer(i64::from(number))),
            Type::BOOL => row.try_get::<_, Option<bool>>(at)?.map(|flag| Cell::Integer(i64::from(flag))),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.map(Cell::Real),
            Type::TEXT => row.try_get::<_, Option<String>>(at)?.map(Cell::Text),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Cell::Bytes),
            _ => {
                let (name, kind) = (column.name(), column.type_());
                return Err(Fault::from(StoreError::Failed(format!("column {name} has the unknown type {kind}"))));
            }
        }
        .unwrap_or(Cell::Null))
    });
    cells.collect()
}
