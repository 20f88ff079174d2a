//! Sessions of the console.

use async_trait::async_trait;
use mnemon_core::{CredentialHash, Timestamp};
use rusqlite::Connection;

use super::SqliteStore;
use super::rows::micros;
use crate::acts::console::read_console_session;
use crate::{Console, ConsoleSession, StoreError};

#[async_trait]
impl Console for SqliteStore {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError> {
        self.writer.write_beside_records(move |tx| insert(tx.conn, &session)).await
    }

    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
        self.readers.read(|conn| find(conn, hash))
    }

    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE hash = ?1";
        let hash = *hash;
        let delete = move |conn: &Connection| Ok(conn.prepare_cached(DELETE)?.execute([hash.as_bytes()])? > 0);
        self.writer.write_beside_records(move |tx| delete(tx.conn)).await
    }

    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE expires_at < ?1";
        let purge = move |conn: &Connection| Ok(conn.prepare_cached(DELETE)?.execute([micros(ended_before)])? as u64);
        self.writer.write_beside_records(move |tx| purge(tx.conn)).await
    }
}

fn insert(conn: &Connection, session: &ConsoleSession) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO console_session (hash, key_hash, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
    let (created_at, expires_at) = (micros(session.created_at), micros(session.expires_at));
    let values = (session.hash.as_bytes(), session.key_hash.as_bytes(), created_at, expires_at);
    conn.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

fn find(conn: &Connection, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
    const SELECT: &str = "SELECT key_hash, created_at, expires_at FROM console_session WHERE hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    rows.next()?.map(|row| read_console_session(row, hash)).transpose()
}
