//! A data directory as one end of a transfer. It is locked meanwhile: no service runs on it.

use std::fs::File;
use std::path::Path;

use async_trait::async_trait;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::files::Files;
use super::migrate::migrate;
use super::rows::integer;
use crate::StoreError;
use crate::transfer::{
    Cell, Dialect, LEFT_BEHIND, NOTES_TABLE, Note, Order, Row, Side, Table, Tenant, quoted, unfinished,
};

const DIALECT: Dialect = Dialect('?');

/// The open file, and its lock.
pub(crate) struct SqliteSide {
    conn: Connection,
    _lock: File,
}

impl SqliteSide {
    /// Opens an existing data directory.
    pub(crate) fn open_source(dir: &Path) -> Result<Self, StoreError> {
        if !dir.join("mnemon.db").is_file() {
            return Err(StoreError::Failed(format!("there is no mnemon.db in {}", dir.display())));
        }
        Self::open_target(dir)
    }

    /// Opens a data directory, created if missing, and brings its schema up to date.
    pub(crate) fn open_target(dir: &Path) -> Result<Self, StoreError> {
        let (files, lock) = Files::take(dir)?;
        let mut conn = files.open_writer()?;
        migrate(&mut conn)?;
        Ok(Self { conn, _lock: lock })
    }

    fn ids(&self, sql: &'static str, of: &[[u8; 16]]) -> Result<Vec<[u8; 16]>, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let ids = statement.query_map(params_from_iter(of.iter()), |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    fn names(&self, sql: &str, table: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.conn.prepare(sql)?;
        let names = statement.query_map([table], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Rows of a tenant in key order.
    fn select(
        &self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        order: Order,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let mut values = Vec::new();
        if let (Some(_), Tenant::Account(id) | Tenant::Project(id)) = (table.scope_column(), tenant) {
            values.push(Cell::Bytes(id.to_vec()));
        }
        values.extend(after.into_iter().flat_map(|row| table.key_of(row)).cloned());
        let sql = DIALECT.select(table, tenant, after.is_some(), order, rows_max);
        let mut statement = self.conn.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..table.columns.len()).map(|at| cell(table, row.get_ref(at)?));
            read.push(cells.collect::<Result<Row, StoreError>>()?);
        }
        Ok(read)
    }
}

#[async_trait]
impl Side for SqliteSide {
    async fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        const TABLES: &str =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND ?1 = ''";
        const COLUMNS: &str = "SELECT name FROM pragma_table_info(?1)";
        const KEY: &str = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
        const REFERENCES: &str = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)";
        let names = self.names(TABLES, "")?;
        let moved = names.into_iter().filter(|name| !LEFT_BEHIND.contains(&name.as_str()));
        let table = |name: String| {
            let (columns, key) = (self.names(COLUMNS, &name)?, self.names(KEY, &name)?);
            Ok(Table::new(&name, columns, &key, self.names(REFERENCES, &name)?))
        };
        moved.map(table).collect()
    }

    async fn accounts(&mut self) -> Result<Vec<[u8; 16]>, StoreError> {
        self.ids("SELECT id FROM account ORDER BY id", &[])
    }

    async fn projects(&mut self, account: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError> {
        self.ids("SELECT id FROM project WHERE account_id = ?1 ORDER BY id", &[account])
    }

    async fn read(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        self.select(table, tenant, after, Order::First, rows_max)
    }

    async fn count(&mut self, table: &Table) -> Result<Option<u64>, StoreError> {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(&table.name));
        let count: i64 = self.conn.query_row(&sql, [], |row| row.get(0))?;
        Ok(u64::try_from(count).ok())
    }

    async fn begun(&mut self) -> Result<Option<String>, StoreError> {
        if !is_unfinished(&self.conn)? {
            return Ok(None);
        }
        let sql = format!("SELECT source FROM {NOTES_TABLE} WHERE tenant = '' AND name = ''");
        Ok(Some(self.conn.query_row(&sql, [], |row| row.get(0)).optional()?.unwrap_or_default()))
    }

    async fn begin(&mut self, source: &str) -> Result<(), StoreError> {
        let step = self.conn.transaction()?;
        step.execute_batch(&format!(
            "CREATE TABLE {NOTES_TABLE} (tenant TEXT NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL,
                is_done INTEGER NOT NULL, source TEXT NOT NULL, PRIMARY KEY (tenant, name)) STRICT, WITHOUT ROWID"
        ))?;
        step.execute(&format!("INSERT INTO {NOTES_TABLE} VALUES ('', '', 0, 0, ?1)"), [source])?;
        Ok(step.commit()?)
    }

    async fn note(&mut self, table: &Table, tenant: Tenant) -> Result<Note, StoreError> {
        let sql = format!("SELECT rows, is_done FROM {NOTES_TABLE} WHERE tenant = ?1 AND name = ?2");
        let found: Option<(i64, bool)> =
            self.conn.query_row(&sql, (tenant.name(), &table.name), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (rows, is_done) = found.unwrap_or_default();
        Ok(Note { rows: u64::try_from(rows).unwrap_or(0), is_done })
    }

    async fn write(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), StoreError> {
        let step = self.conn.transaction()?;
        {
            let mut statement = step.prepare_cached(&DIALECT.insert(table, 1))?;
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
        }
        step.execute(
            &format!("INSERT OR REPLACE INTO {NOTES_TABLE} VALUES (?1, ?2, ?3, ?4, '')"),
            (tenant.name(), &table.name, integer(note.rows), note.is_done),
        )?;
        Ok(step.commit()?)
    }

    async fn last(&mut self, table: &Table, tenant: Tenant) -> Result<Option<Row>, StoreError> {
        Ok(self.select(table, tenant, None, Order::Last, 1)?.pop())
    }

    async fn finish(&mut self) -> Result<(), StoreError> {
        Ok(self.conn.execute_batch(&format!("DROP TABLE {NOTES_TABLE}"))?)
    }
}

/// Refuses a file that a transfer has not filled completely.
pub(super) fn check_finished(conn: &Connection) -> Result<(), StoreError> {
    if is_unfinished(conn)? { Err(unfinished()) } else { Ok(()) }
}

/// Whether a transfer into this file was started and not finished.
fn is_unfinished(conn: &Connection) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    Ok(conn.query_row(SELECT, [NOTES_TABLE], |_| Ok(())).optional()?.is_some())
}

fn cell(table: &Table, value: ValueRef<'_>) -> Result<Cell, StoreError> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).map_err(|_| {
            StoreError::Failed(format!("table {} contains text that is not UTF-8; restore a backup first", table.name))
        })?),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    })
}
