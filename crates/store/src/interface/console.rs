//! Sessions of the console: a random value in a browser that leads to the credential it was made from.

use async_trait::async_trait;
use mnemon_core::{ConsoleSessionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use crate::rows::{Cells, Row};
use crate::{AuditEntry, StoreError};

#[async_trait]
pub trait Console: Send + Sync {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError>;

    /// The session with this hash, whether or not its time has passed.
    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError>;

    /// Ends a session. `false` if there is none.
    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError>;

    /// The sessions of a project that are open now, oldest first: their time has not passed, and their key is accepted.
    async fn list_console_sessions(&self, project: ProjectId, now: Timestamp) -> Result<Vec<OpenSession>, StoreError>;

    /// Ends a session of a project by its id. `false` if there is none.
    async fn end_console_session(
        &self,
        project: ProjectId,
        id: ConsoleSessionId,
        audit: AuditEntry,
    ) -> Result<bool, StoreError>;

    /// Removes the sessions whose time had passed before this one. Returns how many.
    async fn purge_console_sessions(&self, ended_before: Timestamp) -> Result<u64, StoreError>;
}

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
    /// Whose it is; `None` for the operator.
    pub holder: Option<SessionHolder>,
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
