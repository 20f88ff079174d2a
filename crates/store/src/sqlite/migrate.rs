//! Brings a database to the schema that this program knows, one numbered step at a time.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::StoreError;

/// A step: its number, its name and its statements. An applied one never changes.
struct Migration {
    no: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] =
    &[Migration { no: 1, name: "first_tables", sql: include_str!("../../migrations/sqlite/0001_first_tables.sql") }];

/// Applies what is missing. Each step is its own transaction together with the note that it was applied, so a kill at
/// any moment leaves whole steps, and the next start goes on from there.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    migrate_with(conn, MIGRATIONS)
}

fn migrate_with(conn: &mut Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    let known = migrations.last().map_or(0, |newest| newest.no);
    let applied = newest_applied(conn)?;
    if applied > known {
        return Err(StoreError::Failed(format!(
            "the database has schema {applied}, and this program knows schemas up to {known}: it was written by a newer \
             mnemon; start that one, or restore a backup made before the upgrade"
        )));
    }
    for migration in migrations.iter().filter(|migration| migration.no > applied) {
        apply(conn, migration)?;
        tracing::info!(migration.no, migration.name, "applied migration {} ({})", migration.no, migration.name);
    }
    Ok(())
}

fn newest_applied(conn: &Connection) -> Result<i64, StoreError> {
    const HAS_TABLE: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'";
    const NEWEST: &str = "SELECT COALESCE(MAX(no), 0) FROM migration";
    let has_table = conn.query_row(HAS_TABLE, [], |_| Ok(())).optional()?.is_some();
    if has_table { Ok(conn.query_row(NEWEST, [], |row| row.get(0))?) } else { Ok(0) }
}

fn apply(conn: &mut Connection, migration: &Migration) -> Result<(), StoreError> {
    const TABLE: &str =
        "CREATE TABLE IF NOT EXISTS migration (no INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT";
    const NOTE: &str = "INSERT INTO migration (no, name) VALUES (?1, ?2)";
    let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    step.execute_batch(TABLE)?;
    step.execute_batch(migration.sql)?;
    step.execute(NOTE, (migration.no, migration.name))?;
    Ok(step.commit()?)
}
