//! What each key did on each day.

use mnemon_core::{KeyId, ProjectId};
use rusqlite::{Connection, Row, params};

use super::batch::Tx;
use super::known_records::Touched;
use super::rows::{Cells, integer, micros};
use crate::{Day, StoreError, Usage};

/// Adds to the figures of keys that belong to their project; others leave nothing.
pub(super) fn add_usage(tx: &mut Tx<'_>, rows: &[Usage]) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO usage (project_id, day, key_id, calls, saves, searches, rejections, bytes, last_used_at)
        SELECT project_id, ?2, id, ?4, ?5, ?6, ?7, ?8, ?9
        FROM api_key
        WHERE project_id = ?1 AND id = ?3
        ON CONFLICT (project_id, day, key_id) DO UPDATE
        SET calls = calls + excluded.calls, saves = saves + excluded.saves, searches = searches + excluded.searches,
            rejections = rejections + excluded.rejections, bytes = bytes + excluded.bytes,
            last_used_at = MAX(last_used_at, excluded.last_used_at)";
    tx.touch_records(Touched::Nothing);
    for row in rows {
        tx.conn.prepare_cached(UPSERT)?.execute(params![
            row.project.to_bytes(),
            row.day.0,
            row.key.to_bytes(),
            integer(row.calls),
            integer(row.saves),
            integer(row.searches),
            integer(row.rejections),
            integer(row.bytes),
            micros(row.last_used_at),
        ])?;
        note_use(tx, row)?;
    }
    Ok(())
}

/// A row that comes late does not set the last use back.
fn note_use(tx: &Tx<'_>, row: &Usage) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE api_key
        SET last_used_at = ?3
        WHERE project_id = ?1 AND id = ?2 AND (last_used_at IS NULL OR last_used_at < ?3)";
    let values = (row.project.to_bytes(), row.key.to_bytes(), micros(row.last_used_at));
    tx.conn.prepare_cached(UPDATE)?.execute(values)?;
    Ok(())
}

pub(super) fn list_usage(conn: &Connection, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
    const SELECT: &str = "
        SELECT day, key_id, calls, saves, searches, rejections, bytes, last_used_at
        FROM usage
        WHERE project_id = ?1 AND day BETWEEN ?2 AND ?3
        ORDER BY day, key_id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), from.0, to.0))?;
    let mut figures = Vec::new();
    while let Some(row) = rows.next()? {
        figures.push(read_usage(row, project)?);
    }
    Ok(figures)
}

fn read_usage(row: &Row<'_>, project: ProjectId) -> Result<Usage, StoreError> {
    let cells = Cells::new(row, "usage", || project.to_string());
    Ok(Usage {
        project,
        day: Day(i32::try_from(cells.integer(0, "day")?).map_err(|_| cells.broken("day"))?),
        key: KeyId::from_bytes(cells.bytes(1, "key_id")?),
        calls: cells.count(2, "calls")?,
        saves: cells.count(3, "saves")?,
        searches: cells.count(4, "searches")?,
        rejections: cells.count(5, "rejections")?,
        bytes: cells.count(6, "bytes")?,
        last_used_at: cells.time(7, "last_used_at")?,
    })
}
