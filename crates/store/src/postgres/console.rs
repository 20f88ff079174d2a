//! Sessions of the console.

use async_trait::async_trait;
use mnemon_core::{CredentialHash, Timestamp};

use super::PostgresStore;
use super::rows::micros;
use super::transaction::{Tenant, Tx, ask};
use crate::acts::console::read_console_session;
use crate::{Console, ConsoleSession, StoreError};

#[async_trait]
impl Console for PostgresStore {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError> {
        const INSERT: &str =
            "INSERT INTO console_session (hash, key_hash, created_at, expires_at) VALUES ($1, $2, $3, $4)";
        let (hash, key_hash) = (session.hash.as_bytes().as_slice(), session.key_hash.as_bytes().as_slice());
        let (created_at, expires_at) = (micros(session.created_at), micros(session.expires_at));
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::credential(&session.hash)).await?;
            tx.finish(vec![ask(INSERT, &[&hash, &key_hash, &created_at, &expires_at])]).await.map(|_| ())
        })
        .await
    }

    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
        const SELECT: &str = "SELECT key_hash, created_at, expires_at FROM console_session WHERE hash = $1";
        let bytes = hash.as_bytes().as_slice();
        let rows = self.ask(Tenant::credential(hash), SELECT, &[&bytes]).await?;
        rows.first().map(|row| read_console_session(row, hash)).transpose()
    }

    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE hash = $1 RETURNING 1";
        let bytes = hash.as_bytes().as_slice();
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::credential(hash)).await?;
            let answers = tx.finish(vec![ask(DELETE, &[&bytes])]).await?;
            Ok(answers.iter().any(|rows| !rows.is_empty()))
        })
        .await
    }

    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE expires_at < $1 RETURNING 1";
        let before = micros(ended_before);
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::for_upkeep()).await?;
            Ok(tx.finish(vec![ask(DELETE, &[&before])]).await?.iter().map(|rows| rows.len() as u64).sum())
        })
        .await
    }
}
