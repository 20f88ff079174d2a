//! Sessions of the console.

use async_trait::async_trait;
use mnemon_core::{ConsoleSessionId, CredentialHash, ProjectId, Timestamp};
use uuid::Uuid;

use super::PostgresStore;
use super::rows::micros;
use super::transaction::Tenant;
use crate::interface::console::{read_console_session, read_open_session};
use crate::{AuditEntry, Console, ConsoleSession, OpenSession, SessionHolder, StoreError};

#[async_trait]
impl Console for PostgresStore {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO console_session (hash, key_hash, created_at, expires_at, id, project_id, member_id, key_id, browser)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let (hash, key_hash) = (session.hash.as_bytes().as_slice(), session.key_hash.as_bytes().as_slice());
        let (created_at, expires_at) = (micros(session.created_at), micros(session.expires_at));
        let holder = session.holder.as_ref();
        let told = |pick: fn(&SessionHolder) -> Uuid| holder.map(pick);
        let (id, project) = (told(|holder| holder.id.uuid()), told(|holder| holder.project.uuid()));
        let (member, key) = (told(|holder| holder.member.uuid()), told(|holder| holder.key.uuid()));
        let browser = holder.map(|holder| holder.browser.as_str());
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [&hash, &key_hash, &created_at, &expires_at, &id, &project, &member, &key, &browser];
        self.write(Tenant::credential(&session.hash), INSERT, &values).await.map(|_| ())
    }

    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
        const SELECT: &str = "
            SELECT key_hash, created_at, expires_at, id, project_id, member_id, key_id, browser
            FROM console_session
            WHERE hash = $1";
        let bytes = hash.as_bytes().as_slice();
        let rows = self.ask(Tenant::credential(hash), SELECT, &[&bytes]).await?;
        rows.first().map(|row| read_console_session(row, hash)).transpose()
    }

    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE hash = $1 RETURNING 1";
        let bytes = hash.as_bytes().as_slice();
        Ok(self.write(Tenant::credential(hash), DELETE, &[&bytes]).await? > 0)
    }

    async fn list_console_sessions(&self, project: ProjectId, now: Timestamp) -> Result<Vec<OpenSession>, StoreError> {
        const SELECT: &str = "
            SELECT s.created_at, s.expires_at, s.id, s.project_id, s.member_id, s.key_id, s.browser
            FROM console_session s
            JOIN api_key k ON k.id = s.key_id
            WHERE s.project_id = $1 AND s.expires_at > $2 AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > $2)
            ORDER BY s.created_at, s.id";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &micros(now)]).await?;
        rows.iter().map(read_open_session).collect()
    }

    async fn end_console_session(
        &self,
        project: ProjectId,
        id: ConsoleSessionId,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE project_id = $1 AND id = $2 RETURNING 1";
        self.change(Tenant::project_of(project, audit.account), DELETE, &[&project.uuid(), &id.uuid()], &audit).await
    }

    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE expires_at < $1 RETURNING 1";
        self.write(Tenant::for_upkeep(), DELETE, &[&micros(ended_before)]).await
    }
}
