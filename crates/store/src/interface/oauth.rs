//! OAuth access: clients, codes and connections. Secrets are stored as hashes.

use async_trait::async_trait;
use mnemon_core::{AccountId, AuditId, ConnectionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use super::{Actor, AuditEntry};
use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Oauth: Send + Sync {
    /// Stores what is known about a client, and replaces what was known before.
    async fn save_client(&self, client: OauthClient) -> Result<(), StoreError>;

    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError>;

    async fn insert_code(&self, code: NewCode) -> Result<(), StoreError>;

    /// Exchanges a code for a connection, once. Whatever the outcome, the code is used up; a second use ends the
    /// connection that the first one created. Of several simultaneous uses, one is the first.
    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError>;

    /// The connection with this hash, whatever its state. A change to it takes effect on the next call.
    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError>;

    /// The connections of a project, oldest first, including ended ones while they are kept.
    async fn list_connections(&self, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError>;

    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError>;

    /// Revokes a connection. `false` if there is no such live one.
    async fn revoke_connection(&self, id: ConnectionId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Records when connections were last used. A late report does not move the time back.
    async fn note_connections(&self, uses: Vec<(ConnectionId, Timestamp)>) -> Result<(), StoreError>;

    /// Removes connections that ended, and codes that were created, before one time, and clients that have not been
    /// used since another. Returns the number of rows removed.
    async fn purge_oauth(&self, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError>;
}

/// Where a client's metadata comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// It registered itself.
    Registered,
    /// Its id is the URL of a document.
    Document,
}

impl ClientKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Document => "document",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Registered, Self::Document].into_iter().find(|kind| kind.as_str() == word)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthClient {
    pub id: String,
    /// Where the rest comes from.
    pub kind: ClientKind,
    pub name: Option<String>,
    /// Without line breaks.
    pub redirect_uris: Vec<String>,
    /// When this was learned.
    pub known_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewCode {
    pub hash: CredentialHash,
    pub client: String,
    /// The client's name when the person agreed.
    pub client_name: Option<String>,
    pub redirect_uri: String,
    /// What the verifier must hash to.
    pub challenge: String,
    pub resource: String,
    pub key: KeyId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A use of a code, with everything it is compared with, and the connection it creates.
#[derive(Debug, Clone)]
pub struct Redemption {
    pub code: CredentialHash,
    pub client: String,
    /// The redirect URI that the client claims, if any.
    pub redirect_uri: Option<String>,
    /// What the verifier hashes to.
    pub challenge: String,
    pub now: Timestamp,
    pub id: ConnectionId,
    pub hash: CredentialHash,
    pub expires_at: Timestamp,
    /// The ids of the audit rows: for creating this connection, and for ending another.
    pub audit: [AuditId; 2],
}

/// The outcome of using a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    Done,
    /// Unknown, too late, for another client, or its key is gone.
    Refused,
    /// It was used before. The connection it created was ended.
    Replayed,
}

/// The connection behind a token. Whether it is accepted now is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub id: ConnectionId,
    /// The hash of its key, for [`crate::Credentials::find_credential`].
    pub key_hash: CredentialHash,
    pub client: String,
    pub resource: String,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    pub is_revoked: bool,
}

/// A connection without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRow {
    pub id: ConnectionId,
    pub project: ProjectId,
    pub account: AccountId,
    pub member: MemberId,
    /// The key it was granted by.
    pub key: KeyId,
    pub client: String,
    pub client_name: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// Accurate to a few seconds.
    pub last_used_at: Option<Timestamp>,
    /// Where the client had the person sent back to; unknown for connections of before it was noted.
    pub redirect_uri: Option<String>,
}

/// A stored code, with the key that granted it.
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

    /// Whether a first use creates a connection: in time, by the client that the code was issued for, with the redirect
    /// URI it was sent to and the verifier of its challenge (PKCE), while its key is live.
    pub(crate) fn admits(&self, redemption: &Redemption) -> bool {
        self.expires_at > redemption.now
            && self.client == redemption.client
            && redemption.redirect_uri.as_ref().is_none_or(|uri| *uri == self.redirect_uri)
            && self.challenge == redemption.challenge
            && !self.key_revoked
    }

    /// The audit row for the connection that a first use created.
    pub(crate) fn created(&self, redemption: &Redemption) -> AuditEntry {
        let [id, _] = redemption.audit;
        self.audit(redemption, id, Actor::Member(self.member), "connection.create", redemption.id)
    }

    /// The audit row for the connection that ended because its code was used again.
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
            actor_name: None,
            subject_name: None,
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

/// Reads a grant, starting at column `first`.
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
        redirect_uri: cells.text_opt(11, "redirect_uri")?,
    })
}
