//! Access by OAuth: clients, codes and connections, and the acts on them. Secrets are kept as hashes.

use async_trait::async_trait;
use mnemon_core::{AccountId, ConnectionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use crate::{AuditEntry, StoreError};

/// Clients, codes and connections.
#[async_trait]
pub trait Oauth: Send + Sync {
    /// Keeps what is known of a client; what was known of it before is replaced.
    async fn save_client(&self, client: OauthClient) -> Result<(), StoreError>;

    /// The client with this id.
    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError>;

    /// Keeps a code that was just made.
    async fn insert_code(&self, code: NewCode) -> Result<(), StoreError>;

    /// Turns a code into a connection, once. Whatever comes of it, the code is used up by this; a second use ends the
    /// connection that the first one made. Of several uses at the same moment one is the first.
    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError>;

    /// The connection with this hash, whatever its state. A change to it shows on the next call.
    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError>;

    /// The connections of a project, oldest first, ended ones included while they are kept.
    async fn list_connections(&self, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError>;

    /// One connection.
    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError>;

    /// Ends a connection for good. `false` when there is no such living one.
    async fn revoke_connection(&self, id: ConnectionId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Notes when connections were last used. One that comes late does not set it back.
    async fn note_connections(&self, uses: Vec<(ConnectionId, Timestamp)>) -> Result<(), StoreError>;

    /// Removes connections that ended, and codes that were made, before one moment, and clients that nobody has used since
    /// another. Answers how many rows it were.
    async fn purge_oauth(&self, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError>;
}

/// Where a client's description comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// It registered itself.
    Registered,
    /// Its id is the address of a document.
    Document,
}

impl ClientKind {
    /// The word that storage keeps.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Document => "document",
        }
    }

    /// The kind of a stored word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Registered, Self::Document].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A program that people may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthClient {
    /// Its id.
    pub id: String,
    /// Where the rest comes from.
    pub kind: ClientKind,
    /// What it calls itself.
    pub name: Option<String>,
    /// Where it may be returned to, each without a line break.
    pub redirect_uris: Vec<String>,
    /// When this was learnt.
    pub known_at: Timestamp,
}

/// A code to be made.
#[derive(Debug, Clone)]
pub struct NewCode {
    /// Its hash.
    pub hash: CredentialHash,
    /// The client it was made for.
    pub client: String,
    /// What that client called itself when the person agreed.
    pub client_name: Option<String>,
    /// Where it was sent.
    pub redirect_uri: String,
    /// What the verifier must hash to.
    pub challenge: String,
    /// The resource it opens.
    pub resource: String,
    /// The key it stands for.
    pub key: KeyId,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this moment on it is worth nothing.
    pub expires_at: Timestamp,
}

/// A use of a code, with everything that it is compared with, and the connection that it makes.
#[derive(Debug, Clone)]
pub struct Redemption {
    /// The code's hash.
    pub code: CredentialHash,
    /// Who uses it.
    pub client: String,
    /// Where they say that it was sent, if they say so.
    pub redirect_uri: Option<String>,
    /// What their verifier hashes to.
    pub challenge: String,
    /// The moment.
    pub now: Timestamp,
    /// The id of the connection.
    pub id: ConnectionId,
    /// The hash of its token.
    pub hash: CredentialHash,
    /// When it ends.
    pub expires_at: Timestamp,
    /// The ids of the audit rows: of making this connection, and of ending another.
    pub audit: [mnemon_core::AuditId; 2],
}

/// What became of using a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// A connection was made.
    Done,
    /// There is no such code, or too late, or for somebody else, or its key is no more.
    Refused,
    /// It was used before. What that gave was ended.
    Replayed,
}

/// What a token stands for, but for the judgement whether it is accepted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The connection.
    pub id: ConnectionId,
    /// The key that it stands for, as [`crate::Credentials::find_credential`] wants it.
    pub key_hash: CredentialHash,
    /// The client it was given to.
    pub client: String,
    /// The resource it opens.
    pub resource: String,
    /// From this moment on it is not accepted.
    pub expires_at: Timestamp,
    /// Whether it was ended.
    pub is_revoked: bool,
}

/// A connection without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Its id.
    pub id: ConnectionId,
    /// The project it opens.
    pub project: ProjectId,
    /// The account of that project.
    pub account: AccountId,
    /// The member it acts for.
    pub member: MemberId,
    /// The key it stands for.
    pub key: KeyId,
    /// The client it was given to.
    pub client: String,
    /// What that client called itself.
    pub client_name: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to within a few seconds.
    pub last_used_at: Option<Timestamp>,
}
