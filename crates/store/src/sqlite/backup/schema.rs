//! Makes the schema of a restored file exactly the one that the migrations make. A stranger's trigger would run with
//! every save, and a view or an expression in an index with every read.

use std::path::Path;

use rusqlite::Connection;

use super::super::migrate::{newest_applied, schema_at};
use super::BackupError;

/// A row of `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    kind: String,
    name: String,
    of_table: String,
    /// Absent in the indexes that SQLite makes by itself.
    sql: Option<String>,
}

impl Part {
    fn is_same_place(&self, other: &Self) -> bool {
        (&self.kind, &self.name) == (&other.kind, &other.name)
    }
}

/// Drops what our schema does not know, and the rows of snapshots, whose files are not part of a backup. Returns what
/// was dropped, as "trigger x". A part of ours that differs is refused: its content is unknown.
pub(super) fn make_ours(conn: &Connection, from: &Path) -> Result<Vec<String>, BackupError> {
    let not_ours = |why: &str| BackupError::Refused(format!("{} is not a backup made by mnemon{why}", from.display()));
    let found = list_parts(conn).map_err(|error| not_ours(&format!(": {error}")))?;
    let applied = newest_applied(conn).map_err(|error| not_ours(&format!(": {error}")))?;
    if applied < 1 {
        return Err(not_ours(""));
    }
    let expected = list_parts(&schema_at(applied)?)?;
    if let Some(part) = expected.iter().find(|part| !found.contains(part)) {
        let is_there = found.iter().any(|other| other.is_same_place(part));
        let what = if is_there { "is not the one that mnemon makes" } else { "is missing" };
        return Err(BackupError::Refused(format!(
            "the {} {} in {} {what}: another program changed the file. Use another backup",
            part.kind,
            part.name,
            from.display(),
        )));
    }
    let foreign: Vec<&Part> = found.iter().filter(|part| !expected.contains(part)).collect();
    let dropped = drop_parts(conn, &foreign)?;
    let left = list_parts(conn)?;
    if left != expected {
        return Err(not_ours(": its schema has parts that can't be removed"));
    }
    conn.execute("DELETE FROM snapshot", [])?;
    Ok(dropped)
}

fn list_parts(conn: &Connection) -> Result<Vec<Part>, rusqlite::Error> {
    const SELECT: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name, sql";
    let mut statement = conn.prepare(SELECT)?;
    let parts = statement.query_map([], |row| {
        Ok(Part { kind: row.get(0)?, name: row.get(1)?, of_table: row.get(2)?, sql: row.get(3)? })
    })?;
    parts.collect()
}

/// Drops parts, dependent ones first.
fn drop_parts(conn: &Connection, parts: &[&Part]) -> Result<Vec<String>, BackupError> {
    let mut dropped = Vec::new();
    for kind in ["trigger", "view", "index", "table"] {
        // The indexes that SQLite makes by itself go with their tables.
        for part in parts.iter().filter(|part| part.kind == kind && (kind != "index" || part.sql.is_some())) {
            let name = part.name.replace('"', "\"\"");
            conn.execute_batch(&format!("DROP {kind} IF EXISTS \"{name}\""))?;
            dropped.push(format!("{kind} {}", part.name));
        }
    }
    Ok(dropped)
}
