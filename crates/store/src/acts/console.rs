//! Sessions of the console: a random value in a browser that leads to the credential it was made from.

use async_trait::async_trait;
use mnemon_core::{CredentialHash, Timestamp};

use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Console: Send + Sync {
    async fn insert_console_session(&self, session: ConsoleSession) -> Result<(), StoreError>;

    /// The session with this hash, whether or not its time has passed.
    async fn find_console_session(&self, hash: &CredentialHash) -> Result<Option<ConsoleSession>, StoreError>;

    /// Ends a session. `false` if there is none.
    async fn delete_console_session(&self, hash: &CredentialHash) -> Result<bool, StoreError>;

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
}

pub(crate) fn read_console_session<R: Row>(row: &R, hash: &CredentialHash) -> Result<ConsoleSession, StoreError> {
    let cells = Cells::new(row, "console_session", String::new);
    Ok(ConsoleSession {
        hash: *hash,
        key_hash: CredentialHash::from_bytes(cells.bytes(0, "key_hash")?),
        created_at: cells.time(1, "created_at")?,
        expires_at: cells.time(2, "expires_at")?,
    })
}
