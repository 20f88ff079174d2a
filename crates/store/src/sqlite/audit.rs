//! What admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::ProjectId;
use rusqlite::params;

use super::SqliteStore;
use super::batch::Tx;
use super::rows::{integer, micros};
use super::statement::at_once;
use crate::interface::audit;
use crate::{Audit, AuditEntry, StoreError, Usage};

#[async_trait]
impl Audit for SqliteStore {
    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        self.writer.write(move |tx| add_usage(tx, &rows)).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], row: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| at_once(audit::release_text(tx, project, &hash, &row))).await
    }
}

/// Adds to the figures of keys that belong to their project; others leave nothing.
fn add_usage(tx: &mut Tx<'_>, rows: &[Usage]) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO usage (project_id, day, key_id, calls, saves, searches, rejections, bytes, last_used_at,
            refused_by_connection, refused_by_project)
        SELECT project_id, ?2, id, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
        FROM api_key
        WHERE project_id = ?1 AND id = ?3
        ON CONFLICT (project_id, day, key_id) DO UPDATE
        SET calls = calls + excluded.calls, saves = saves + excluded.saves, searches = searches + excluded.searches,
            rejections = rejections + excluded.rejections, bytes = bytes + excluded.bytes,
            refused_by_connection = refused_by_connection + excluded.refused_by_connection,
            refused_by_project = refused_by_project + excluded.refused_by_project,
            last_used_at = MAX(last_used_at, excluded.last_used_at)";
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
            integer(row.refused_by_connection),
            integer(row.refused_by_project),
        ])?;
        note_use(tx, row)?;
        note_records(tx, row)?;
    }
    Ok(())
}

/// The day's last figures count.
fn note_records(tx: &Tx<'_>, row: &Usage) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO record_day (project_id, day, records)
        SELECT id, ?2, live_records
        FROM project
        WHERE id = ?1
        ON CONFLICT (project_id, day) DO UPDATE
        SET records = excluded.records";
    tx.conn.prepare_cached(UPSERT)?.execute((row.project.to_bytes(), row.day.0))?;
    Ok(())
}

/// A late row does not move the last use back.
fn note_use(tx: &Tx<'_>, row: &Usage) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE api_key
        SET last_used_at = ?3
        WHERE project_id = ?1 AND id = ?2 AND (last_used_at IS NULL OR last_used_at < ?3)";
    let values = (row.project.to_bytes(), row.key.to_bytes(), micros(row.last_used_at));
    tx.conn.prepare_cached(UPDATE)?.execute(values)?;
    Ok(())
}
