//! What an account decided about the guard: its mode, and the texts that may pass.

use mnemon_core::{AccountId, ProjectId};
use rusqlite::{Connection, OptionalExtension};

use super::accounts::insert_audit;
use super::batch::Tx;
use super::rows::{Cells, micros};
use crate::{AuditEntry, StoreError};

pub(super) fn find_guard_mode(conn: &Connection, account: AccountId) -> Result<Option<String>, StoreError> {
    const SELECT: &str = "SELECT guard_mode FROM account WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Cells::new(row, "account", || account.to_string()).text_opt(0, "guard_mode")
}

pub(super) fn set_guard_mode(
    tx: &Tx<'_>,
    account: AccountId,
    mode: &str,
    audit: &AuditEntry,
) -> Result<bool, StoreError> {
    const UPDATE: &str = "UPDATE account SET guard_mode = ?2 WHERE id = ?1";
    let is_changed = tx.conn.prepare_cached(UPDATE)?.execute((account.to_bytes(), mode))? > 0;
    if is_changed {
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_changed)
}

pub(super) fn release_text(
    tx: &Tx<'_>,
    project: ProjectId,
    hash: &[u8; 32],
    audit: &AuditEntry,
) -> Result<bool, StoreError> {
    const INSERT: &str = "
        INSERT INTO guard_release (project_id, hash, released_at)
        SELECT id, ?2, ?3
        FROM project
        WHERE id = ?1 AND deleted_at IS NULL
        ON CONFLICT DO NOTHING";
    let is_new = tx.conn.prepare_cached(INSERT)?.execute((project.to_bytes(), hash, micros(audit.at)))? > 0;
    if is_new {
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_new)
}

pub(super) fn is_released(conn: &Connection, project: ProjectId, hash: &[u8; 32]) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = ?1 AND hash = ?2";
    let values = (project.to_bytes(), hash);
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}
