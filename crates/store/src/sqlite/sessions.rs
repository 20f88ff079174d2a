//! Uploaded session histories: a row with counts, and parts with the text.

use async_trait::async_trait;
use mnemon_core::{MemberId, ProjectId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::audit::insert_audit;
use super::batch::Tx;
use super::rows::{Cells, integer, micros};
use crate::interface::sessions::{read_session, read_session_part, read_sum};
use crate::{AuditEntry, Session, SessionAppend, SessionAppended, SessionPart, Sessions, StoreError};

#[async_trait]
impl Sessions for SqliteStore {
    async fn find_session(
        &self,
        project: ProjectId,
        member: MemberId,
        client: &str,
        name: &str,
    ) -> Result<Option<Session>, StoreError> {
        self.readers.read(|conn| find_session(conn, project, member, client, name))
    }

    async fn list_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        self.readers.read_long(move |conn| list_sessions(conn, project, member, after, rows_max)).await
    }

    async fn list_latest_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        self.readers.read_long(move |conn| list_latest_sessions(conn, project, member, after, rows_max)).await
    }

    async fn sum_sessions(&self, project: ProjectId, member: Option<MemberId>) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COALESCE(SUM(kept_bytes), 0)
            FROM session
            WHERE project_id = ?1 AND (?2 IS NULL OR member_id = ?2)";
        let member = member.map(|member| member.to_bytes());
        let read = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(SELECT)?;
            let mut rows = statement.query(params![project.to_bytes(), member])?;
            rows.next()?.map_or(Ok((0, 0)), |row| read_sum(row, project))
        };
        self.readers.read_long(read).await
    }

    async fn append_session(&self, append: SessionAppend) -> Result<SessionAppended, StoreError> {
        self.writer.write(move |tx| append_session(tx, &append)).await
    }

    async fn find_session_part(
        &self,
        project: ProjectId,
        session: SessionId,
        at: u64,
    ) -> Result<Option<SessionPart>, StoreError> {
        self.readers.read_long(move |conn| find_session_part(conn, project, session, at)).await
    }

    async fn delete_session(&self, project: ProjectId, id: SessionId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| delete_session(tx, project, id, &audit)).await
    }
}

fn find_session(
    conn: &Connection,
    project: ProjectId,
    member: MemberId,
    client: &str,
    name: &str,
) -> Result<Option<Session>, StoreError> {
    const SELECT: &str = "
        SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
            updated_at, client, name
        FROM session
        WHERE project_id = ?1 AND member_id = ?2 AND client = ?3 AND name = ?4";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), member.to_bytes(), client, name))?;
    rows.next()?.map(|row| read_session(row, project)).transpose()
}

fn list_sessions(
    conn: &Connection,
    project: ProjectId,
    member: Option<MemberId>,
    after: Option<SessionId>,
    rows_max: usize,
) -> Result<Vec<Session>, StoreError> {
    const SELECT: &str = "
        SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
            updated_at, client, name
        FROM session
        WHERE project_id = ?1 AND id > ?2 AND (?3 IS NULL OR member_id = ?3)
        ORDER BY id
        LIMIT ?4";
    let after = after.map_or_else(Vec::new, |id| id.to_bytes().to_vec());
    let member = member.map(|member| member.to_bytes());
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query(params![project.to_bytes(), after, member, integer(rows_max as u64)])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(read_session(row, project)?);
    }
    Ok(sessions)
}

fn list_latest_sessions(
    conn: &Connection,
    project: ProjectId,
    member: Option<MemberId>,
    after: Option<SessionId>,
    rows_max: usize,
) -> Result<Vec<Session>, StoreError> {
    const SELECT: &str = "
        SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
            updated_at, client, name
        FROM session
        WHERE project_id = ?1 AND (?3 IS NULL OR member_id = ?3) AND (?2 IS NULL OR (updated_at, id) < (
            SELECT updated_at, id
            FROM session
            WHERE project_id = ?1 AND id = ?2))
        ORDER BY updated_at DESC, id DESC
        LIMIT ?4";
    let (after, member) = (after.map(|id| id.to_bytes()), member.map(|member| member.to_bytes()));
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query(params![project.to_bytes(), after, member, integer(rows_max as u64)])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(read_session(row, project)?);
    }
    Ok(sessions)
}

fn append_session(tx: &mut Tx<'_>, append: &SessionAppend) -> Result<SessionAppended, StoreError> {
    if !belongs(tx.conn, append.project, append.member)? {
        let (project, member) = (append.project, append.member);
        return Err(StoreError::Failed(format!("no project {project} with a member {member}")));
    }
    let found = find_session(tx.conn, append.project, append.member, &append.client, &append.name)?;
    if !append.fits(found.as_ref()) {
        return Ok(SessionAppended::Elsewhere(found));
    }
    let replaced = match &found {
        Some(session) => take_part(tx.conn, append.project, session.id, append.part.start)?,
        None => 0,
    };
    let session = append.grown(found, replaced);
    upsert_session(tx.conn, append.project, &session)?;
    insert_part(tx.conn, append.project, session.id, &append.part)?;
    if let Some(volume_bytes_max) = append.volume_bytes_max {
        shrink(tx.conn, append.project, volume_bytes_max)?;
    }
    let now = find_session(tx.conn, append.project, append.member, &append.client, &append.name)?;
    let broken = || StoreError::Broken { table: "session", column: "id", row: session.id.to_string() };
    now.map(SessionAppended::Done).ok_or_else(broken)
}

fn belongs(conn: &Connection, project: ProjectId, member: MemberId) -> Result<bool, StoreError> {
    const SELECT: &str = "
        SELECT 1
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = ?2
        WHERE p.id = ?1 AND p.deleted_at IS NULL";
    let values = (project.to_bytes(), member.to_bytes());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}

fn upsert_session(conn: &Connection, project: ProjectId, session: &Session) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO session (project_id, id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain,
            modified_at, created_at, updated_at, client, name)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
        ON CONFLICT (project_id, id) DO UPDATE
        SET bytes = excluded.bytes, kept_bytes = excluded.kept_bytes, redacted = excluded.redacted,
            chain = excluded.chain, last_start = excluded.last_start, last_chain = excluded.last_chain,
            modified_at = excluded.modified_at, updated_at = excluded.updated_at";
    conn.prepare_cached(UPSERT)?.execute(params![
        project.to_bytes(),
        session.id.to_bytes(),
        session.member.to_bytes(),
        integer(session.bytes),
        integer(session.kept_bytes),
        integer(session.redacted),
        session.chain,
        integer(session.last_start),
        session.last_chain,
        micros(session.modified_at),
        micros(session.created_at),
        micros(session.updated_at),
        session.client,
        session.name,
    ])?;
    Ok(())
}

/// Removes the part that another replaces, and returns how much text was in it.
fn take_part(conn: &Connection, project: ProjectId, session: SessionId, start: u64) -> Result<u64, StoreError> {
    const DELETE: &str = "
        DELETE FROM session_part
        WHERE project_id = ?1 AND session_id = ?2 AND start = ?3
        RETURNING kept_bytes";
    let mut statement = conn.prepare_cached(DELETE)?;
    let mut rows = statement.query((project.to_bytes(), session.to_bytes(), integer(start)))?;
    let mut kept = 0;
    while let Some(row) = rows.next()? {
        kept += Cells::new(row, "session_part", || format!("{project}/{session}/{start}")).count(0, "kept_bytes")?;
    }
    Ok(kept)
}

fn insert_part(
    conn: &Connection,
    project: ProjectId,
    session: SessionId,
    part: &SessionPart,
) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO session_part (project_id, session_id, start, size, kept_bytes, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    conn.prepare_cached(INSERT)?.execute(params![
        project.to_bytes(),
        session.to_bytes(),
        integer(part.start),
        integer(part.size),
        integer(part.kept_bytes),
        part.body,
    ])?;
    Ok(())
}

/// Drops the oldest parts of the least recently used sessions until the rest fits.
fn shrink(conn: &Connection, project: ProjectId, volume_bytes_max: u64) -> Result<(), StoreError> {
    const KEPT: &str = "SELECT COALESCE(SUM(kept_bytes), 0) FROM session WHERE project_id = ?1";
    const OLDEST: &str = "
        SELECT p.session_id, p.start
        FROM session s
        CROSS JOIN session_part p ON p.project_id = s.project_id AND p.session_id = s.id
        WHERE s.project_id = ?1 AND s.kept_bytes > 0
        ORDER BY s.modified_at, s.id, p.start
        LIMIT 1";
    const UPDATE: &str = "UPDATE session SET kept_bytes = MAX(kept_bytes - ?3, 0) WHERE project_id = ?1 AND id = ?2";
    let kept: i64 = conn.prepare_cached(KEPT)?.query_row([project.to_bytes()], |row| row.get(0))?;
    let mut over = u64::try_from(kept).unwrap_or_default().saturating_sub(volume_bytes_max);
    while over > 0 {
        let mut statement = conn.prepare_cached(OLDEST)?;
        let mut rows = statement.query([project.to_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let cells = Cells::new(row, "session_part", || project.to_string());
        let session = cells.id(0, "session_id")?;
        let freed = take_part(conn, project, session, cells.count(1, "start")?)?;
        conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), session.to_bytes(), integer(freed)))?;
        over = over.saturating_sub(freed);
    }
    Ok(())
}

fn find_session_part(
    conn: &Connection,
    project: ProjectId,
    session: SessionId,
    at: u64,
) -> Result<Option<SessionPart>, StoreError> {
    const SELECT: &str = "
        SELECT start, size, kept_bytes, body
        FROM session_part
        WHERE project_id = ?1 AND session_id = ?2 AND start + size > ?3
        ORDER BY start
        LIMIT 1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), session.to_bytes(), integer(at)))?;
    rows.next()?.map(|row| read_session_part(row, project, session, at)).transpose()
}

fn delete_session(tx: &mut Tx<'_>, project: ProjectId, id: SessionId, audit: &AuditEntry) -> Result<bool, StoreError> {
    const DELETE_PARTS: &str = "DELETE FROM session_part WHERE project_id = ?1 AND session_id = ?2";
    const DELETE: &str = "DELETE FROM session WHERE project_id = ?1 AND id = ?2";
    let values = (project.to_bytes(), id.to_bytes());
    if tx.conn.prepare_cached(DELETE)?.execute(values)? == 0 {
        return Ok(false);
    }
    tx.conn.prepare_cached(DELETE_PARTS)?.execute(values)?;
    tx.touch_purged();
    insert_audit(tx.conn, audit, 1)?;
    Ok(true)
}

/// Removes all sessions of a member who leaves.
pub(super) fn drop_sessions(tx: &mut Tx<'_>, project: ProjectId, member: MemberId) -> Result<(), StoreError> {
    const DELETE_PARTS: &str = "
        DELETE FROM session_part
        WHERE project_id = ?1 AND session_id IN (
            SELECT id
            FROM session INDEXED BY session_name
            WHERE project_id = ?1 AND member_id = ?2)";
    const DELETE: &str = "DELETE FROM session WHERE project_id = ?1 AND member_id = ?2";
    let values = (project.to_bytes(), member.to_bytes());
    tx.conn.prepare_cached(DELETE_PARTS)?.execute(values)?;
    if tx.conn.prepare_cached(DELETE)?.execute(values)? > 0 {
        tx.touch_purged();
    }
    Ok(())
}
