//! Brings a database to the schema that this program knows, one numbered step at a time.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::StoreError;

/// A step: its number, its name and its statements. An applied one never changes.
#[derive(Clone, Copy)]
struct Migration {
    no: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] =
    &[Migration { no: 1, name: "schema", sql: include_str!("../../migrations/sqlite/0001_schema.sql") }];

/// Applies the missing steps. Each is one transaction together with the note that it was applied, so a kill at any
/// moment leaves whole steps, and the next start continues from there.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    migrate_with(conn, MIGRATIONS)
}

fn migrate_with(conn: &mut Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    let applied = newest_applied(conn)?;
    refuse_newer(applied, migrations)?;
    for migration in migrations.iter().filter(|migration| migration.no > applied) {
        apply(conn, migration)?;
        // A new database has nothing to migrate.
        if applied > 0 {
            tracing::info!(migration.no, migration.name, "applied migration {} ({})", migration.no, migration.name);
        }
    }
    Ok(())
}

/// A database in memory with the schema after this step.
pub(super) fn schema_at(no: i64) -> Result<Connection, StoreError> {
    refuse_newer(no, MIGRATIONS)?;
    let mut conn = Connection::open_in_memory()?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.no <= no) {
        apply(&mut conn, migration)?;
    }
    Ok(conn)
}

fn refuse_newer(applied: i64, migrations: &[Migration]) -> Result<(), StoreError> {
    let known = migrations.last().map_or(0, |newest| newest.no);
    if applied <= known {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "the database has schema {applied}, and this program knows schemas up to {known}: it was written by a newer \
         mnemon; start that one, or restore a backup made before the upgrade"
    )))
}

pub(super) fn newest_applied(conn: &Connection) -> Result<i64, StoreError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Not in the product: shows that a step reaches a database that is in use.
    const ADDED: Migration = Migration {
        no: 2,
        name: "added",
        sql: "-- Why: a test.\nALTER TABLE workspace ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';\nCREATE INDEX coloured ON workspace (colour);\n",
    };

    fn with(added: Migration) -> Vec<Migration> {
        MIGRATIONS.iter().copied().chain([added]).collect()
    }

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn numbers_are_consecutive_and_every_migration_says_why() {
        for (at, migration) in (1..).zip(MIGRATIONS) {
            assert_eq!(migration.no, at);
            assert!(migration.sql.starts_with("-- Why: "), "{}", migration.name);
        }
    }

    #[test]
    fn a_migration_cut_off_at_any_statement_is_completed_by_the_next_start() {
        let path = std::env::temp_dir().join(format!("mnemon-migrate-{}.db", std::process::id()));
        let migrations = with(ADDED);
        for (before, cut) in migrations.iter().enumerate() {
            // A semicolon inside a comment ends no statement: SQLite reads the rest as a comment of the next one.
            let steps: Vec<&str> = cut.sql.split_inclusive(";\n").collect();
            for done in 0..steps.len() {
                let _ = std::fs::remove_file(&path);
                let mut cut_off = Connection::open(&path).unwrap();
                migrate_with(&mut cut_off, &migrations[..before]).unwrap();
                cut_off.execute_batch("BEGIN IMMEDIATE").unwrap();
                cut_off.execute_batch(&steps[..done].concat()).unwrap();
                drop(cut_off);
                let mut conn = Connection::open(&path).unwrap();
                migrate_with(&mut conn, &migrations).unwrap();
                migrate_with(&mut conn, &migrations).unwrap();
                assert_eq!(newest_applied(&conn), Ok(2));
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_later_step_is_applied_to_what_is_there_and_a_failing_one_not_at_all() {
        let mut conn = memory();
        migrate(&mut conn).unwrap();
        let insert = "INSERT INTO workspace (project_id, no, created_at, name) VALUES (X'01', 1, 0, 'default')";
        conn.execute(insert, []).unwrap();
        let bad = Migration { sql: "-- Why: a test.\nDROP TABLE workspace; SELECT nonsense", ..ADDED };
        assert!(migrate_with(&mut conn, &with(bad)).is_err());
        assert_eq!(newest_applied(&conn), Ok(1));
        migrate_with(&mut conn, &with(ADDED)).unwrap();
        let shown = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found: (String, String) = conn.query_row("SELECT name, colour FROM workspace", [], shown).unwrap();
        assert_eq!(found, ("default".to_owned(), "grey".to_owned()));
    }

    #[test]
    fn a_database_of_a_newer_program_is_refused() {
        let mut conn = memory();
        migrate(&mut conn).unwrap();
        conn.execute("INSERT INTO migration (no, name) VALUES (99, 'later')", []).unwrap();
        let error = migrate(&mut conn).unwrap_err().to_string();
        let newest = MIGRATIONS.len();
        let expected = format!(
            "storage failed: the database has schema 99, and this program knows schemas up to {newest}: it was written by \
             a newer mnemon; start that one, or restore a backup made before the upgrade"
        );
        assert_eq!(error, expected);
    }
}
