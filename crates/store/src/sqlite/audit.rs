//! What admins see and decide: the audit log, usage, sizes, and the guard's mode and exceptions.

use async_trait::async_trait;
use mnemon_core::{AccountId, ProjectId};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::SqliteStore;
use super::account_version::bump_account_version;
use super::batch::Tx;
use super::rows::{Cells, integer, micros};
use crate::interface::audit::{read_audit, read_record_day, read_size, read_usage};
use crate::{ActorKind, Audit, AuditEntry, AuditFilter, Day, Size, StoreError, Usage};

#[async_trait]
impl Audit for SqliteStore {
    async fn insert_audit(&self, audit: AuditEntry) -> Result<(), StoreError> {
        self.writer.write(move |tx| insert_audit(tx.conn, &audit, 1)).await
    }

    async fn search_audit(
        &self,
        account: AccountId,
        filter: AuditFilter,
        rows_max: usize,
    ) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
        self.readers.read_long(move |conn| search_audit(conn, account, &filter, rows_max)).await
    }

    async fn add_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        self.writer.write(move |tx| add_usage(tx, &rows)).await
    }

    async fn list_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        self.readers.read_long(move |conn| list_usage(conn, project, from, to)).await
    }

    async fn list_record_days(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StoreError> {
        self.readers.read_long(move |conn| list_record_days(conn, project, from, to)).await
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
        INSERT INTO audit (account_id, at, id, project_id, actor, member_id, affected, action, subject, actor_name,
            subject_name)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
            COALESCE(?10, (SELECT name FROM member WHERE account_id = ?1 AND id = ?6)), ?11)";
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
        audit.actor_name,
        audit.subject_name,
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

fn search_audit(
    conn: &Connection,
    account: AccountId,
    filter: &AuditFilter,
    rows_max: usize,
) -> Result<Vec<(AuditEntry, u64)>, StoreError> {
    const SELECT: &str = "
        SELECT at, id, project_id, actor, member_id, affected, action, subject, actor_name, subject_name
        FROM audit
        WHERE account_id = ?1 AND (at, id) < (?3, ?4) AND at >= ?5 AND at < ?6
            AND (?7 IS NULL OR actor = ?7)
            AND (?8 IS NULL OR member_id = ?8)
            AND (?9 IS NULL OR project_id = ?9)
            AND (?10 IS NULL OR subject = ?10)
            AND (?11 IS NULL OR action IN (SELECT value FROM json_each(?11))
                OR SUBSTR(action, 1, INSTR(action, '.') - 1) IN (SELECT value FROM json_each(?11)))
            AND (?12 IS NULL OR NOT (action IN (SELECT value FROM json_each(?12))
                OR SUBSTR(action, 1, INSTR(action, '.') - 1) IN (SELECT value FROM json_each(?12))))
        ORDER BY at DESC, id DESC
        LIMIT ?2";
    let (at, id) = filter.before.map_or((i64::MAX, vec![0xFF; 16]), |(at, id)| (micros(at), id.to_bytes().to_vec()));
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query(params![
        account.to_bytes(),
        integer(rows_max as u64),
        at,
        id,
        filter.from.map_or(i64::MIN, micros),
        filter.to.map_or(i64::MAX, micros),
        filter.actor.map(ActorKind::as_str),
        filter.member.map(|member| member.to_bytes()),
        filter.project.map(|project| project.to_bytes()),
        filter.subject,
        filter.actions.as_deref().map(json_words),
        filter.except.as_deref().map(json_words),
    ])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read_audit(row, account)?);
    }
    Ok(entries)
}

/// A JSON array of words. An action has no character that JSON would escape; a word that has one names no action.
fn json_words(words: &[String]) -> String {
    let is_plain = |word: &&String| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let quoted: Vec<String> = words.iter().filter(is_plain).map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", quoted.join(","))
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

fn list_usage(conn: &Connection, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
    const SELECT: &str = "
        SELECT day, key_id, calls, saves, searches, rejections, bytes, last_used_at, refused_by_connection,
            refused_by_project
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

fn list_record_days(conn: &Connection, project: ProjectId, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StoreError> {
    const SELECT: &str = "
        SELECT day, records
        FROM record_day
        WHERE project_id = ?1 AND day <= ?3
            AND day >= COALESCE((SELECT MAX(day) FROM record_day WHERE project_id = ?1 AND day < ?2), ?2)
        ORDER BY day";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), from.0, to.0))?;
    let mut days = Vec::new();
    while let Some(row) = rows.next()? {
        days.push(read_record_day(row, project)?);
    }
    Ok(days)
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
        bump_account_version(tx, audit.account)?;
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_new)
}

/// Takes the mark off the records whose text was released. Few have one.
fn clear_cautions(conn: &Connection, project: ProjectId, hash: &[u8; 32]) -> Result<(), StoreError> {
    const SELECT: &str = "SELECT seq, content FROM record WHERE project_id = ?1 AND is_cautioned = 1";
    const UPDATE: &str = "UPDATE record SET is_cautioned = 0 WHERE project_id = ?1 AND seq = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let rows =
        statement.query_map([project.to_bytes()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let cautioned = rows.collect::<Result<Vec<_>, _>>()?;
    let is_released = |text: &str| Sha256::digest(text.as_bytes()).as_slice() == hash;
    for (seq, _) in cautioned.iter().filter(|(_, text)| is_released(text)) {
        conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), seq))?;
    }
    Ok(())
}

fn is_released(conn: &Connection, project: ProjectId, hash: &[u8; 32]) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM guard_release WHERE project_id = ?1 AND hash = ?2";
    let values = (project.to_bytes(), hash);
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}
