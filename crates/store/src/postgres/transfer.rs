//! A PostgreSQL database as one end of a transfer.
//!
//! It works as the owner of the tables, who is bound by row-level security like everybody else: each tenant's rows are
//! read and written under that tenant's setting, so that a transfer can't mix them either.

use async_trait::async_trait;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::connect::{PostgresConfig, connect_as_owner};
use super::error::Fault;
use super::migrate::migrate;
use super::statement::read_values;
use crate::StoreError;
use crate::transfer::{Cell, Dialect, LEFT_BEHIND, NOTES_TABLE, Note, Order, Row, Side, Table, Tenant, unfinished};

const DIALECT: Dialect = Dialect('$');

/// Maximum number of values in one statement.
const VALUES_MAX: usize = 60_000;

/// A connection, and the tenant that it may see.
pub(crate) struct PostgresSide {
    client: Client,
    tenant: Option<Tenant>,
    types: Vec<(String, Vec<Type>)>,
}

impl PostgresSide {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(config: &PostgresConfig) -> Result<Self, StoreError> {
        migrate(config).await?;
        Ok(Self { client: connect_as_owner(config).await?, tenant: None, types: Vec::new() })
    }

    /// Shows this connection only one tenant's rows.
    async fn enter(&mut self, tenant: Tenant) -> Result<(), Fault> {
        const ENTER: &str = "
            SELECT set_config('mnemon.account', $1, false), set_config('mnemon.project', $2, false),
                set_config('mnemon.pass', $3, false)";
        if self.tenant == Some(tenant) {
            return Ok(());
        }
        let text = |id: [u8; 16]| Uuid::from_bytes(id).to_string();
        let (account, project, pass) = match tenant {
            // The service's own rows have no tenant; the lists of accounts and projects are opened for maintenance.
            Tenant::Service => (String::new(), String::new(), "upkeep"),
            // Opens nothing more. Triggers that note changes let this pass (`0001_schema.sql`): a copy is no change.
            Tenant::Account(id) => (text(id), String::new(), "copy"),
            Tenant::Project(id) => (String::new(), text(id), "copy"),
        };
        self.client.execute(ENTER, &[&account, &project, &pass]).await?;
        self.tenant = Some(tenant);
        Ok(())
    }

    fn types(&self, table: &Table) -> Result<&[Type], Fault> {
        let known = self.types.iter().find(|(name, _)| *name == table.name);
        let missing = || StoreError::Failed(format!("there is no table {}", table.name));
        Ok(&known.ok_or_else(missing)?.1)
    }

    /// Rows of a tenant in key order.
    async fn select(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        order: Order,
        rows_max: usize,
    ) -> Result<Vec<Row>, Fault> {
        self.enter(tenant).await?;
        let (mut values, mut kinds) = (Vec::new(), Vec::new());
        if let (Some(_), Tenant::Account(id) | Tenant::Project(id)) = (table.scope_column(), tenant) {
            values.push(Cell::Bytes(id.to_vec()));
            kinds.push(Type::UUID);
        }
        if let Some(row) = after {
            values.extend(table.key_of(row).into_iter().cloned());
            let types = self.types(table)?;
            kinds.extend(table.key.iter().map(|&at| types[at].clone()));
        }
        let sql = DIALECT.select(table, tenant, after.is_some(), order, rows_max);
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let statement = self.client.prepare_typed(&sql, &kinds).await?;
        let rows = self.client.query(&statement, &values).await?;
        rows.iter().map(read_values).collect()
    }

    async fn store(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), Fault> {
        self.enter(tenant).await?;
        let types = self.types(table)?.to_vec();
        let upsert = format!(
            "INSERT INTO {NOTES_TABLE} (tenant, name, rows, is_done, source) VALUES ($1, $2, $3, $4, '')
             ON CONFLICT (tenant, name) DO UPDATE SET rows = excluded.rows, is_done = excluded.is_done"
        );
        let step = self.client.transaction().await?;
        for rows in rows.chunks(VALUES_MAX / types.len().max(1)) {
            let kinds: Vec<Type> = types.iter().cloned().cycle().take(rows.len() * types.len()).collect();
            let statement = step.prepare_typed(&DIALECT.insert(table, rows.len()), &kinds).await?;
            let values: Vec<&(dyn ToSql + Sync)> = rows.iter().flatten().map(|value| value as _).collect();
            step.execute(&statement, &values).await?;
        }
        let count = i64::try_from(note.rows).unwrap_or(i64::MAX);
        step.execute(&upsert, &[&tenant.name(), &table.name, &count, &note.is_done]).await?;
        Ok(step.commit().await?)
    }

    async fn describe(&mut self) -> Result<Vec<Table>, Fault> {
        const COLUMNS: &str = "
            SELECT c.relname::text, a.attname::text, a.atttypid
            FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
            ORDER BY 1, 2";
        const KEYS: &str = "
            SELECT c.relname::text, a.attname::text
            FROM pg_index i
            JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = current_schema()::regnamespace
            CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
            WHERE i.indisprimary
            ORDER BY 1, k.place";
        const REFERENCES: &str = "
            SELECT DISTINCT c.relname::text, o.relname::text
            FROM pg_constraint f
            JOIN pg_class c ON c.oid = f.conrelid AND c.relnamespace = current_schema()::regnamespace
            JOIN pg_class o ON o.oid = f.confrelid
            WHERE f.contype = 'f'";
        let columns = self.client.query(COLUMNS, &[]).await?;
        let (keys, references) = (self.client.query(KEYS, &[]).await?, self.client.query(REFERENCES, &[]).await?);
        let of = |rows: &[tokio_postgres::Row], name: &str| -> Vec<String> {
            rows.iter().filter(|row| row.get::<_, &str>(0) == name).map(|row| row.get(1)).collect()
        };
        let mut names: Vec<String> = columns.iter().map(|row| row.get(0)).collect();
        names.dedup();
        names.retain(|name| !LEFT_BEHIND.contains(&name.as_str()));
        let table = |name: &String| Table::new(name, of(&columns, name), &of(&keys, name), of(&references, name));
        let tables: Vec<Table> = names.iter().map(table).collect();
        self.types.clear();
        for table in &tables {
            let mut kinds = Vec::new();
            for column in &table.columns {
                let described =
                    columns.iter().find(|row| row.get::<_, &str>(0) == table.name && row.get::<_, &str>(1) == column);
                let kind = described.and_then(|row| Type::from_oid(row.get(2)));
                kinds.push(kind.ok_or_else(|| unknown(&table.name, column))?);
            }
            self.types.push((table.name.clone(), kinds));
        }
        Ok(tables)
    }

    async fn ids(&mut self, sql: &str, of: &[&(dyn ToSql + Sync)]) -> Result<Vec<[u8; 16]>, Fault> {
        self.enter(Tenant::Service).await?;
        let rows = self.client.query(sql, of).await?;
        Ok(rows.iter().map(|row| row.get::<_, Uuid>(0).into_bytes()).collect())
    }
}

#[async_trait]
impl Side for PostgresSide {
    async fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        self.describe().await.map_err(told)
    }

    async fn accounts(&mut self) -> Result<Vec<[u8; 16]>, StoreError> {
        self.ids("SELECT id FROM account ORDER BY id", &[]).await.map_err(told)
    }

    async fn projects(&mut self, account: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError> {
        let account = Uuid::from_bytes(account);
        self.ids("SELECT id FROM project WHERE account_id = $1 ORDER BY id", &[&account]).await.map_err(told)
    }

    async fn read(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        self.select(table, tenant, after, Order::First, rows_max).await.map_err(told)
    }

    /// Under row-level security no role can count the rows of all tenants.
    async fn count(&mut self, _table: &Table) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    async fn begun(&mut self) -> Result<Option<String>, StoreError> {
        if !is_unfinished(&self.client).await.map_err(told)? {
            return Ok(None);
        }
        let sql = format!("SELECT source FROM {NOTES_TABLE} WHERE tenant = '' AND name = ''");
        let found = self.client.query_opt(&sql, &[]).await.map_err(refused)?;
        Ok(Some(found.map(|row| row.get(0)).unwrap_or_default()))
    }

    async fn begin(&mut self, source: &str) -> Result<(), StoreError> {
        let table = format!(
            "CREATE TABLE {NOTES_TABLE} (tenant TEXT NOT NULL, name TEXT NOT NULL, rows BIGINT NOT NULL,
                is_done BOOLEAN NOT NULL, source TEXT NOT NULL, PRIMARY KEY (tenant, name))"
        );
        let insert = format!("INSERT INTO {NOTES_TABLE} VALUES ('', '', 0, false, $1)");
        let step = self.client.transaction().await.map_err(refused)?;
        step.batch_execute(&table).await.map_err(refused)?;
        step.execute(&insert, &[&source]).await.map_err(refused)?;
        Ok(step.commit().await.map_err(refused)?)
    }

    async fn note(&mut self, table: &Table, tenant: Tenant) -> Result<Note, StoreError> {
        let sql = format!("SELECT rows, is_done FROM {NOTES_TABLE} WHERE tenant = $1 AND name = $2");
        let found = self.client.query_opt(&sql, &[&tenant.name(), &table.name]).await.map_err(refused)?;
        let read = |row: tokio_postgres::Row| Note {
            rows: u64::try_from(row.get::<_, i64>(0)).unwrap_or(0),
            is_done: row.get(1),
        };
        Ok(found.map_or(Note { rows: 0, is_done: false }, read))
    }

    async fn write(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), StoreError> {
        self.store(table, tenant, rows, note).await.map_err(told)
    }

    async fn last(&mut self, table: &Table, tenant: Tenant) -> Result<Option<Row>, StoreError> {
        Ok(self.select(table, tenant, None, Order::Last, 1).await.map_err(told)?.pop())
    }

    async fn finish(&mut self) -> Result<(), StoreError> {
        Ok(self.client.batch_execute(&format!("DROP TABLE {NOTES_TABLE}")).await.map_err(refused)?)
    }
}

/// Refuses a database that a transfer has not filled completely.
pub(super) async fn check_finished(config: &PostgresConfig) -> Result<(), StoreError> {
    let client = connect_as_owner(config).await?;
    if is_unfinished(&client).await.map_err(|fault| fault.error)? { Err(unfinished()) } else { Ok(()) }
}

/// Whether a transfer into this database was started and not finished.
async fn is_unfinished(client: &Client) -> Result<bool, Fault> {
    Ok(client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&NOTES_TABLE]).await?.get(0))
}

fn told(fault: Fault) -> StoreError {
    fault.error
}

fn refused(error: tokio_postgres::Error) -> StoreError {
    Fault::from(error).error
}

fn unknown(table: &str, column: &str) -> StoreError {
    StoreError::Failed(format!("column {column} of table {table} has a type that can't be moved"))
}
