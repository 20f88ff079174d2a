//! Access by OAuth: clients, codes and connections, and the acts on them. Secrets are kept as hashes.

use async_trait::async_trait;
use mnemon_core::{AccountId, AuditId, ConnectionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use super::{Actor, AuditEntry};
use crate::StoreError;
use crate::rows::{Cells, Row};

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
    pub audit: [AuditId; 2],
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

/// A stored code, with the key that it stands for.
pub(crate) struct Code {
    pub(crate) is_used: bool,
    pub(crate) connection: Option<ConnectionId>,
    expires_at: Timestamp,
    challenge: String,
    client: String,
    redirect_uri: String,
    key_revoked: bool,
    pub(crate) account: AccountId,
    pub(crate) project: ProjectId,
    member: MemberId,
}

impl Code {
    pub(crate) fn read<R: Row>(row: &R) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "oauth_code", String::new);
        Ok(Self {
            is_used: cells.flag(0, "used_at")?,
            connection: cells.id_opt(1, "connection_id")?,
            expires_at: cells.time(2, "expires_at")?,
            challenge: cells.text(3, "challenge")?,
            client: cells.text(4, "client_id")?,
            redirect_uri: cells.text(5, "redirect_uri")?,
            key_revoked: cells.flag(6, "revoked_at")?,
            account: cells.id(7, "account_id")?,
            project: cells.id(8, "project_id")?,
            member: cells.id(9, "member_id")?,
        })
    }

    /// Whether a first use makes a connection: in time, by the client that the code was made for, at the place it was sent
    /// to, with the verifier that belongs to its challenge (PKCE), while its key lives.
    pub(crate) fn admits(&self, redemption: &Redemption) -> bool {
        self.expires_at > redemption.now
            && self.client == redemption.client
            && redemption.redirect_uri.as_ref().is_none_or(|uri| *uri == self.redirect_uri)
            && self.challenge == redemption.challenge
            && !self.key_revoked
    }

    /// The audit row of the connection that a first use made.
    pub(crate) fn created(&self, redemption: &Redemption) -> AuditEntry {
        let [id, _] = redemption.audit;
        self.audit(redemption, id, Actor::Member(self.member), "connection.create", redemption.id)
    }

    /// The audit row of the connection that ended because its code was used again.
    pub(crate) fn revoked(&self, redemption: &Redemption, connection: ConnectionId) -> AuditEntry {
        let [_, id] = redemption.audit;
        self.audit(redemption, id, Actor::Service, "connection.revoke", connection)
    }

    fn audit(
        &self,
        redemption: &Redemption,
        id: AuditId,
        actor: Actor,
        action: &'static str,
        subject: ConnectionId,
    ) -> AuditEntry {
        AuditEntry {
            id,
            account: self.account,
            project: Some(self.project),
            at: redemption.now,
            actor,
            action: action.into(),
            subject: subject.to_string(),
        }
    }
}

pub(crate) fn read_client<R: Row>(row: &R, id: &str) -> Result<OauthClient, StoreError> {
    let cells = Cells::new(row, "oauth_client", || id.to_owned());
    Ok(OauthClient {
        id: id.to_owned(),
        kind: cells.word(0, "kind", ClientKind::parse)?,
        name: cells.text_opt(2, "name")?,
        redirect_uris: cells.lines(3, "redirect_uris")?,
        known_at: cells.time(1, "known_at")?,
    })
}

/// Reads a grant from column `first` on.
pub(crate) fn read_grant<R: Row>(row: &R, first: usize) -> Result<Grant, StoreError> {
    let id: ConnectionId = Cells::new(row, "connection", String::new).id(first, "id")?;
    let cells = Cells::new(row, "connection", || id.to_string());
    Ok(Grant {
        id,
        key_hash: CredentialHash::from_bytes(cells.bytes(first + 1, "hash")?),
        client: cells.text(first + 2, "client_id")?,
        resource: cells.text(first + 3, "resource")?,
        expires_at: cells.time(first + 4, "expires_at")?,
        is_revoked: cells.flag(first + 5, "revoked_at")?,
    })
}

pub(crate) fn read_connection<R: Row>(row: &R) -> Result<ConnectionRow, StoreError> {
    let id: ConnectionId = Cells::new(row, "connection", String::new).id(0, "id")?;
    let cells = Cells::new(row, "connection", || id.to_string());
    Ok(ConnectionRow {
        id,
        project: cells.id(1, "project_id")?,
        account: cells.id(2, "account_id")?,
        member: cells.id(3, "member_id")?,
        key: cells.id(4, "key_id")?,
        client: cells.text(9, "client_id")?,
        client_name: cells.text_opt(10, "client_name")?,
        created_at: cells.time(5, "created_at")?,
        expires_at: cells.time(6, "expires_at")?,
        revoked_at: cells.time_opt(7, "revoked_at")?,
        last_used_at: cells.time_opt(8, "last_used_at")?,
    })
}
