//! Brings a database to the schema that this program knows, one numbered step at a time.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::StoreError;

/// A step: its number, its name and its statements. An applied one never changes.
struct Migration {
    no: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { no: 1, name: "first_tables", sql: include_str!("../../migrations/sqlite/0001_first_tables.sql") },
    Migration { no: 2, name: "oauth", sql: include_str!("../../migrations/sqlite/0002_oauth.sql") },
    Migration { no: 3, name: "integrations", sql: include_str!("../../migrations/sqlite/0003_integrations.sql") },
    Migration { no: 4, name: "call_window", sql: include_str!("../../migrations/sqlite/0004_call_window.sql") },
    Migration { no: 5, name: "sessions", sql: include_str!("../../migrations/sqlite/0005_sessions.sql") },
    Migration { no: 6, name: "sightings", sql: include_str!("../../migrations/sqlite/0006_sightings.sql") },
    Migration { no: 7, name: "superseding", sql: include_str!("../../migrations/sqlite/0007_superseding.sql") },
    Migration { no: 8, name: "key_makers", sql: include_str!("../../migrations/sqlite/0008_key_makers.sql") },
    Migration { no: 9, name: "caution", sql: include_str!("../../migrations/sqlite/0009_caution.sql") },
    Migration { no: 10, name: "key_workspaces", sql: include_str!("../../migrations/sqlite/0010_key_workspaces.sql") },
    Migration { no: 11, name: "appearance", sql: include_str!("../../migrations/sqlite/0011_appearance.sql") },
    Migration { no: 12, name: "together", sql: include_str!("../../migrations/sqlite/0012_together.sql") },
    Migration { no: 13, name: "spreading", sql: include_str!("../../migrations/sqlite/0013_spreading.sql") },
    Migration { no: 14, name: "endings", sql: include_str!("../../migrations/sqlite/0014_endings.sql") },
    Migration { no: 15, name: "looking", sql: include_str!("../../migrations/sqlite/0015_looking.sql") },
    Migration { no: 16, name: "console", sql: include_str!("../../migrations/sqlite/0016_console.sql") },
    Migration { no: 17, name: "before", sql: include_str!("../../migrations/sqlite/0017_before.sql") },
    Migration { no: 18, name: "overseeing", sql: include_str!("../../migrations/sqlite/0018_overseeing.sql") },
    Migration { no: 19, name: "snapshot_files", sql: include_str!("../../migrations/sqlite/0019_snapshot_files.sql") },
    Migration { no: 20, name: "lean", sql: include_str!("../../migrations/sqlite/0020_lean.sql") },
    Migration { no: 21, name: "look_again", sql: include_str!("../../migrations/sqlite/0021_look_again.sql") },
    Migration { no: 22, name: "look_over", sql: include_str!("../../migrations/sqlite/0022_look_over.sql") },
    Migration { no: 23, name: "snapshot_rows", sql: include_str!("../../migrations/sqlite/0023_snapshot_rows.sql") },
    Migration { no: 24, name: "lists", sql: include_str!("../../migrations/sqlite/0024_lists.sql") },
    Migration { no: 25, name: "counted", sql: include_str!("../../migrations/sqlite/0025_counted.sql") },
    Migration { no: 26, name: "check_saves", sql: include_str!("../../migrations/sqlite/0026_check_saves.sql") },
];

/// Applies the missing steps. Each is one transaction together with the note that it was applied, so a kill at any moment
/// leaves whole steps, and the next start continues from there.
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

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = include_str!("../../schema/sqlite.sql");

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    /// Every table and index with its definition, without comments and layout.
    fn definitions(conn: &Connection) -> Vec<String> {
        let mut statement = conn.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
        let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let strip = |line: &str| line.split("--").next().unwrap_or_default().to_owned();
        let plain = |text: String| text.lines().map(strip).collect::<Vec<_>>().join(" ");
        // SQLite appends a column that was added later right after the last one, in whatever layout that has.
        let tight = |text: String| text.replace(" ,", ",").replace(" )", ")");
        texts.map(|text| tight(plain(text.unwrap()).split_whitespace().collect::<Vec<_>>().join(" "))).collect()
    }

    #[test]
    fn the_migrations_produce_exactly_the_schema() {
        let (mut migrated, whole) = (memory(), memory());
        migrate(&mut migrated).unwrap();
        whole.execute_batch(SCHEMA).unwrap();
        assert_eq!(definitions(&migrated), definitions(&whole));
        assert!(definitions(&whole).len() > 15);
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
        for (before, cut) in MIGRATIONS.iter().enumerate() {
            // A semicolon inside a comment ends no statement: SQLite reads the rest as a comment of the next one.
            let steps: Vec<&str> = cut.sql.split_inclusive(";\n").collect();
            for done in 0..steps.len() {
                let _ = std::fs::remove_file(&path);
                let mut cut_off = Connection::open(&path).unwrap();
                migrate_with(&mut cut_off, &MIGRATIONS[..before]).unwrap();
                cut_off.execute_batch("BEGIN IMMEDIATE").unwrap();
                cut_off.execute_batch(&steps[..done].concat()).unwrap();
                drop(cut_off);
                let mut conn = Connection::open(&path).unwrap();
                migrate(&mut conn).unwrap();
                migrate(&mut conn).unwrap();
                assert_eq!(newest_applied(&conn), Ok(MIGRATIONS.len() as i64));
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_failing_migration_leaves_the_ones_before_it() {
        let mut conn = memory();
        let good = Migration { no: 1, name: "good", sql: "CREATE TABLE a (id INTEGER)" };
        let bad = Migration { no: 2, name: "bad", sql: "CREATE TABLE b (id INTEGER); SELECT nonsense" };
        assert!(migrate_with(&mut conn, &[good, bad]).is_err());
        assert_eq!(newest_applied(&conn), Ok(1));
        assert_eq!(definitions(&conn).len(), 2);
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
