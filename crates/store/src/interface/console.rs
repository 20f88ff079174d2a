//! Sessions of the console: a random value in a browser that leads to the credential it was made from.

use async_trait::async_trait;
use mnemon_core::{ConsoleSessionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Touches, statement};
use crate::tenant::Tenant;
use crate::{AuditEntry, StoreError};

#[async_trait]
pub trait Console: Sql {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO console_session (hash, key_hash, created_at, expires_at, id, project_id, member_id, key_id,
                browser)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            RETURNING 1";
        let holder = session.holder.as_ref();
        let insert = statement!(
            INSERT,
            &session.hash,
            &session.key_hash,
            session.created_at,
            session.expires_at,
            holder.map(|holder| holder.id),
            holder.map(|holder| holder.project),
            holder.map(|holder| holder.member),
            holder.map(|holder| holder.key),
            holder.map(|holder| &holder.browser),
        );
        self.write(Tenant::credential(&session.hash), insert).await.map(|_| ())
    }

    /// The session with this hash, whether or not its time has passed.
    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError> {
        const SELECT: &str = "
            SELECT key_hash, created_at, expires_at, id, project_id, member_id, key_id, browser, acting_hash
            FROM console_session
            WHERE hash = $1";
        let row = self.select_one(Tenant::credential(hash), statement!(SELECT, hash)).await?;
        row.map(|row| read_console_session(&row, hash)).transpose()
    }

    /// Lets a session go on with another key, in that key's project. `false` if there is no such session.
    async fn turn_console_session(&self, hash: &CredentialHash, to: TurnedSession) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE console_session
            SET acting_hash = $2, project_id = $3, key_id = $4
            WHERE hash = $1 AND id IS NOT NULL
            RETURNING 1";
        let update = statement!(UPDATE, hash, &to.acting_hash, to.project, to.key);
        Ok(self.write(Tenant::credential(hash), update).await? > 0)
    }

    /// Ends a session. `false` if there is none.
    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE hash = $1 RETURNING 1";
        Ok(self.write(Tenant::credential(hash), statement!(DELETE, hash)).await? > 0)
    }

    /// The sessions of a project that are open now, oldest first: their time has not passed, and their key is accepted.
    async fn list_console_sessions(&self, project: ProjectId, now: Timestamp) -> Result<Vec<OpenSession>, StoreError> {
        const SELECT: &str = "
            SELECT s.created_at, s.expires_at, s.id, s.project_id, s.member_id, s.key_id, s.browser
            FROM console_session s
            JOIN api_key k ON k.id = s.key_id
            WHERE s.project_id = $1 AND s.expires_at > $2 AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > $2)
            ORDER BY s.created_at, s.id";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, now)).await?;
        rows.iter().map(read_open_session).collect()
    }

    /// Ends a session of a project by its id. `false` if there is none.
    async fn end_console_session(
        &self,
        project: ProjectId,
        id: ConsoleSessionId,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE project_id = $1 AND id = $2 RETURNING 1";
        let (tenant, delete) = (Tenant::project_of(project, audit.account), statement!(DELETE, project, id));
        Ok(self.change(Change::of(tenant, Touches::Nothing, delete, audit)).await? > 0)
    }

    /// Removes the sessions whose time had passed before this one. Returns how many.
    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError> {
        const DELETE: &str = "DELETE FROM console_session WHERE expires_at < $1 RETURNING 1";
        self.write(Tenant::for_upkeep(), statement!(DELETE, ended_before)).await
    }
}

impl<S: Sql> Console for S {}

/// A person in the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The hash of the value that the browser keeps.
    pub hash: CredentialHash,
    /// The hash of the key, or of the operator's token, that it was made from.
    pub key_hash: CredentialHash,
    pub created_at: Timestamp,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// The hash of the key that it acts with, if that is another one by now.
    pub acting_hash: Option<CredentialHash>,
    /// Whose it is; `None` for the operator.
    pub holder: Option<SessionHolder>,
}

/// The key that a session goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnedSession {
    pub acting_hash: CredentialHash,
    pub project: ProjectId,
    pub key: KeyId,
}

/// Whose a session of the console is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHolder {
    pub id: ConsoleSessionId,
    pub project: ProjectId,
    pub member: MemberId,
    pub key: KeyId,
    /// What the browser calls itself, in words of ours.
    pub browser: String,
}

/// An open session of a project, without what leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    pub holder: SessionHolder,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

pub(crate) fn read_console_session<R: Row>(row: &R, hash: &CredentialHash) -> Result<ConsoleSession, StoreError> {
    let cells = Cells::new(row, "console_session", String::new);
    Ok(ConsoleSession {
        hash: *hash,
        key_hash: CredentialHash::from_bytes(cells.bytes(0, "key_hash")?),
        created_at: cells.time(1, "created_at")?,
        expires_at: cells.time(2, "expires_at")?,
        holder: match cells.id_opt(3, "id")? {
            Some(id) => Some(read_holder(row, id, 4)?),
            None => None,
        },
        acting_hash: cells.bytes_opt(8, "acting_hash")?.map(CredentialHash::from_bytes),
    })
}

/// Reads created_at, expires_at, id, project_id, member_id, key_id and browser.
pub(crate) fn read_open_session<R: Row>(row: &R) -> Result<OpenSession, StoreError> {
    let cells = Cells::new(row, "console_session", String::new);
    Ok(OpenSession {
        created_at: cells.time(0, "created_at")?,
        expires_at: cells.time(1, "expires_at")?,
        holder: read_holder(row, cells.id(2, "id")?, 3)?,
    })
}

/// Reads project_id, member_id, key_id and browser, from this place on.
fn read_holder<R: Row>(row: &R, id: ConsoleSessionId, from: usize) -> Result<SessionHolder, StoreError> {
    let cells = Cells::new(row, "console_session", || id.to_string());
    Ok(SessionHolder {
        id,
        project: cells.id(from, "project_id")?,
        member: cells.id(from + 1, "member_id")?,
        key: cells.id(from + 2, "key_id")?,
        browser: cells.text(from + 3, "browser")?,
    })
}
