//! What admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::{AccountId, CONTENT_HASH_BYTES, ProjectId};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::appearance::change_appearance;
use super::batch::Tx;
use super::known_records::Touched;
use super::rows::{Cells, integer, micros};
use crate::acts::oversight::{read_audit, read_size, read_usage};
use crate::{AuditEntry, Day, Oversight, Size, StoreError, Usage};

#[async_trait]
impl Oversight for SqliteStore {
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.writer.write_beside_records(move |tx| insert_audit(tx.conn, &audit, 1)).await
    }

    async fn list_audit(&self, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        self.readers.read_long(move |conn| list_audit(conn, account, rows_max)).await
    }

    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        self.writer.write(move |tx| add_usage(tx, &rows)).await
    }

    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        self.readers.read_long(move |conn| list_usage(conn, project, from, to)).await
    }

    async fn list_sizes(&self, project: ProjectId) -> Result<Vec<Size>, StoreError> {
        self.readers.read_long(move |conn| list_sizes(conn, project)).await
    }

    async fn find_guard_mode(&self, account: AccountId) -> Result<Option<String>, StoreError> {
        self.readers.read(|conn| find_guard_mode(conn, account))
    }

    async fn set_guard_mode(&self, account: AccountId, mode: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        let mode = mode.to_owned();
        self.writer.write(move |tx| set_guard_mode(tx, account, &mode, &audit)).await
    }

    async fn release_text(&self, project: ProjectId, hash: [u8; 32], audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| release_text(tx, project, &hash, &audit)).await
    }

    async fn is_released(&self, project: ProjectId, hash: [u8; 32]) -> Result<bool, StoreError> {
        self.readers.read(|conn| is_released(conn, project, &hash))
    }
}

/// Adds an audit row, with how many things it affected.
pub(super) fn insert_audit(conn: &Connection, audit: &AuditEntry, affected: u64) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let (actor, member) = audit.actor.to_columns();
    conn.prepare_cached(INSERT)?.execute(params![
        audit.account.to_bytes(),
        micros(audit.at),
        audit.id.to_bytes(),
        audit.project.map(|project| project.to_bytes()),
        actor,
        member.map(|member| member.to_bytes()),
        integer(affected),
        audit.action,
        audit.subject,
    ])?;
    Ok(())
}

pub(super) fn note_if_changed(tx: &mut Tx<'_>, changed: usize, audit: &AuditEntry) -> Result<bool, StoreError> {
    if changed > 0 {
        tx.touch_people();
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(changed > 0)
}

fn list_audit(conn: &Connection, account: AccountId, rows_max: usize) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
    const SELECT: &str = "
        SELECT at, id, project_id, actor, member_id, affected, action, subject
        FROM audit
        WHERE account_id = ?1
        ORDER BY at DESC, id DESC
        LIMIT ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((account.to_bytes(), integer(rows_max as u64)))?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read_audit(row, account)?);
    }
    Ok(entries)
}

/// Adds to the figures of keys that belong to their project; others leave nothing.
fn add_usage(tx: &mut Tx<'_>, rows: &[Usage]) -> Result<(), StoreError> {
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

fn list_usage(conn: &Connection, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
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

/// Scans the whole project, but no text: the length of a text is stored in front of it.
fn list_sizes(conn: &Connection, project: ProjectId) -> Result<Vec<Size>, StoreError> {
    const SELECT: &str = "
        SELECT r.audience, COUNT(*), SUM(OCTET_LENGTH(r.content))
        FROM record r
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
        GROUP BY r.audience
        ORDER BY r.audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut sizes = Vec::new();
    while let Some(row) = rows.next()? {
        sizes.push(read_size(row, project)?);
    }
    Ok(sizes)
}

fn find_guard_mode(conn: &Connection, account: AccountId) -> Result<Option<String>, StoreError> {
    const SELECT: &str = "SELECT guard_mode FROM account WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Cells::new(row, "account", || account.to_string()).text_opt(0, "guard_mode")
}

fn set_guard_mode(tx: &Tx<'_>, account: AccountId, mode: &str, audit: &AuditEntry) -> Result<bool, StoreError> {
    const UPDATE: &str = "UPDATE account SET guard_mode = ?2 WHERE id = ?1";
    let is_changed = tx.conn.prepare_cached(UPDATE)?.execute((account.to_bytes(), mode))? > 0;
    if is_changed {
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_changed)
}

fn release_text(tx: &mut Tx<'_>, project: ProjectId, hash: &[u8; 32], audit: &AuditEntry) -> Result<bool, StoreError> {
    const INSERT: &str = "
        INSERT INTO guard_release (project_id, hash, released_at)
        SELECT id, ?2, ?3
        FROM project
        WHERE id = ?1 AND deleted_at IS NULL
        ON CONFLICT DO NOTHING";
    let is_new = tx.conn.prepare_cached(INSERT)?.execute((project.to_bytes(), hash, micros(audit.at)))? > 0;
    if is_new {
        clear_cautions(tx.conn, project, hash)?;
        change_appearance(tx, audit.account)?;
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_new)
}

/// Takes the mark off the records whose text was released; a record is found by the first half of its text's hash.
fn clear_cautions(conn: &Connection, project: ProjectId, hash: &[u8; 32]) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE record
        SET is_cautioned = 0
        WHERE project_id = ?1 AND content_hash = ?2 AND is_cautioned = 1";
    conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), &hash[..CONTENT_HASH_BYTES]))?;
    Ok(())
}

fn is_released(conn: &Connection, project: ProjectId, hash: &[u8; 32]) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = ?1 AND hash = ?2";
    let values = (project.to_bytes(), hash);
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}
