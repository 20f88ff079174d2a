//! Sessions of the console.

use async_trait::async_trait;
use mnemon_core::{ConsoleSessionId, CredentialHash, ProjectId, Timestamp};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::audit::note_if_changed;
use super::rows::micros;
use crate::interface::console::{read_console_session, read_open_session};
use crate::{AuditEntry, Console, ConsoleSession, OpenSession, StoreError};

#[async_trait]
impl Console for SqliteStore {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError> {
        self.writer.write(move |tx| insert(tx.conn, &session)).await
    }

    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
        self.readers.read(|conn| find(conn, hash))
    }

    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE hash = ?1";
        let hash = *hash;
        let delete = move |conn: &Connection| Ok(conn.prepare_cached(DELETE)?.execute([hash.as_bytes()])? > 0);
        self.writer.write(move |tx| delete(tx.conn)).await
    }

    async fn list_console_sessions(&self, project: ProjectId, now: Timestamp) -> Result<Vec<OpenSession>, StoreError> {
        self.readers.read(|conn| list_open(conn, project, now))
    }

    async fn end_console_session(
        &self,
        project: ProjectId,
        id: ConsoleSessionId,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE project_id = ?1 AND id = ?2";
        self.writer
            .write(move |tx| {
                let changed = tx.conn.prepare_cached(DELETE)?.execute((project.to_bytes(), id.to_bytes()))?;
                note_if_changed(tx, changed, &audit)
            })
            .await
    }

    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE expires_at < ?1";
        let purge = move |conn: &Connection| Ok(conn.prepare_cached(DELETE)?.execute([micros(ended_before)])? as u64);
        self.writer.write(move |tx| purge(tx.conn)).await
    }
}

fn insert(conn: &Connection, session: &ConsoleSession) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO console_session (hash, key_hash, created_at, expires_at, id, project_id, member_id, key_id, browser)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let holder = session.holder.as_ref();
    conn.prepare_cached(INSERT)?.execute(params![
        session.hash.as_bytes(),
        session.key_hash.as_bytes(),
        micros(session.created_at),
        micros(session.expires_at),
        holder.map(|holder| holder.id.to_bytes()),
        holder.map(|holder| holder.project.to_bytes()),
        holder.map(|holder| holder.member.to_bytes()),
        holder.map(|holder| holder.key.to_bytes()),
        holder.map(|holder| &holder.browser),
    ])?;
    Ok(())
}

fn list_open(conn: &Connection, project: ProjectId, now: Timestamp) -> Result<Vec<OpenSession>, StoreError> {
    const SELECT: &str = "
        SELECT s.created_at, s.expires_at, s.id, s.project_id, s.member_id, s.key_id, s.browser
        FROM console_session s INDEXED BY console_session_project
        CROSS JOIN api_key k ON k.id = s.key_id
        WHERE s.project_id = ?1 AND s.expires_at > ?2 AND k.revoked_at IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > ?2)
        ORDER BY s.created_at, s.id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), micros(now)))?;
    let mut open = Vec::new();
    while let Some(row) = rows.next()? {
        open.push(read_open_session(row)?);
    }
    Ok(open)
}

fn find(conn: &Connection, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
    const SELECT: &str = "
        SELECT key_hash, created_at, expires_at, id, project_id, member_id, key_id, browser
        FROM console_session
        WHERE hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    rows.next()?.map(|row| read_console_session(row, hash)).transpose()
}
