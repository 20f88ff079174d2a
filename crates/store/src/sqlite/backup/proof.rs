//! Reads every record of a copy and compares it with its checksum. SQLite does not notice a flipped bit inside a text.

use mnemon_core::{ProjectId, RecordId, Seq};
use rusqlite::{Connection, Row};

use super::super::rows::Cells;
use super::BackupError;
use crate::StoreError;
use crate::interface::log::read_present;

/// How many damaged records are named.
const NAMED_MAX: usize = 5;

/// Counts the records. Damaged ones are a reason to refuse, unless they are kept, or forgotten: those are in no answer,
/// and once damaged records are forgotten, backups must work again.
pub(super) fn check_records(conn: &Connection, keeps_damaged: bool) -> Result<u64, BackupError> {
    const SELECT: &str = "
        SELECT project_id, seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence,
            valid_until, created_at, updated_at, fact_key, source, source_id, source_hash, source_revision, content,
            checksum, is_cautioned, tags, occurred_at, embedding, forgotten_at IS NOT NULL
        FROM record";
    let mut statement = conn.prepare(SELECT)?;
    let mut rows = statement.query([])?;
    let (mut records, mut damaged, mut named) = (0, 0, Vec::new());
    while let Some(row) = rows.next()? {
        records += 1;
        if !is_sound(row) && !row.get::<_, bool>(23)? {
            damaged += 1;
            if named.len() < NAMED_MAX {
                named.push(name(row));
            }
        }
    }
    if damaged == 0 || keeps_damaged {
        return Ok(records);
    }
    let more = if damaged > named.len() { " and others" } else { "" };
    Err(BackupError::Refused(format!(
        "the checksum does not match in {damaged} of {records} records: {}{more}. Use an earlier backup, in which they are \
         whole; or forget them; or pass --keep-damaged to copy them as they are, and answers go on leaving them out",
        named.join(", "),
    )))
}

fn is_sound(row: &Row<'_>) -> bool {
    let project: Result<ProjectId, StoreError> = Cells::new(row, "record", String::new).id(0, "project_id");
    project.and_then(|project| read_present(row, 1, project)).is_ok()
}

/// The record's id, or its place if the id can't be read.
fn name(row: &Row<'_>) -> String {
    let cells = Cells::new(row, "record", String::new);
    if let Ok(id) = cells.id::<RecordId>(2, "id") {
        return id.to_string();
    }
    let seq = cells.count(1, "seq").map_or_else(|_| "?".to_owned(), |seq| Seq(seq).to_string());
    match cells.id::<ProjectId>(0, "project_id") {
        Ok(project) => format!("{project}/{seq}"),
        Err(_) => format!("?/{seq}"),
    }
}
