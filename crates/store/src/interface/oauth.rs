//! OAuth access: clients, codes and connections. Secrets are stored as hashes.

use async_trait::async_trait;
use mnemon_core::{AccountId, AuditId, ConnectionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Statement, Touches, statement};
use crate::tenant::Tenant;

/// The columns that [`read_connection`] reads.
macro_rules! connection_columns {
    () => {
        "SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at, client_id,
            client_name, redirect_uri
        FROM connection
        "
    };
}
#[async_trait]
pub trait Oauth: Sql {
    /// Stores what is known about a client, and replaces what was known before.
    async fn save_client(&self, client: OauthClient) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO oauth_client (id, kind, known_at, name, redirect_uris)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (id) DO UPDATE
            SET kind = excluded.kind, known_at = excluded.known_at, name = excluded.name,
                redirect_uris = excluded.redirect_uris
            RETURNING 1";
        let OauthClient { id, kind, name, redirect_uris, known_at } = client;
        let upsert = statement!(UPSERT, id, kind.as_str(), known_at, name, redirect_uris.join("\n"));
        self.write(Tenant::nobody(), upsert).await.map(|_| ())
    }

    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError> {
        const SELECT: &str = "SELECT kind, known_at, name, redirect_uris FROM oauth_client WHERE id = $1";
        // PostgreSQL stores no NUL, so no client has one in its id.
        if id.contains('\0') {
            return Ok(None);
        }
        let row = self.select_one(Tenant::nobody(), statement!(SELECT, id)).await?;
        row.map(|row| read_client(&row, id)).transpose()
    }

    async fn insert_code(&self, code: NewCode) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO oauth_code (hash, key_id, created_at, expires_at, used_at, connection_id, challenge, client_id,
                client_name, redirect_uri, resource)
            VALUES ($1, $2, $3, $4, NULL, NULL, $5, $6, $7, $8, $9)
            RETURNING 1";
        let NewCode { hash, client, client_name, redirect_uri, challenge, resource, key, created_at, expires_at } =
            code;
        let insert = statement!(
            INSERT,
            &hash,
            key,
            created_at,
            expires_at,
            challenge,
            client,
            client_name,
            redirect_uri,
            resource
        );
        self.write(Tenant::credential(&hash), insert).await.map(|_| ())
    }

    /// Exchanges a code for a connection, once. Whatever the outcome, the code is used up; a second use ends the
    /// connection that the first one created. Of several simultaneous uses, one is the first.
    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError>;

    /// The connection with this hash, whatever its state. A change to it takes effect on the next call.
    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError>;

    /// The connections of a project, oldest first, including ended ones while they are kept.
    async fn list_connections(&self, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError> {
        const SELECT: &str = concat!(connection_columns!(), "WHERE project_id = $1 ORDER BY created_at, id");
        let rows = self.select(Tenant::project(project), statement!(SELECT, project)).await?;
        rows.iter().map(read_connection).collect()
    }

    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError> {
        const SELECT: &str = concat!(connection_columns!(), "WHERE id = $1");
        self.select_one(Tenant::connection(id), statement!(SELECT, id)).await?.as_ref().map(read_connection).transpose()
    }

    /// Revokes a connection. `false` if there is no such live one.
    async fn revoke_connection(&self, id: ConnectionId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        let (tenant, revoke) = (Tenant::account(audit.account), revoke_connection(audit.account, id, at));
        Ok(self.change(Change::of(tenant, Touches::People, revoke, audit)).await? > 0)
    }

    /// Records when connections were last used. A late report does not move the time back.
    async fn note_connections(&self, mut uses: Vec<(ConnectionId, Timestamp)>) -> Result<(), StoreError> {
        const UPDATE: &str = "
            UPDATE connection
            SET last_used_at = $2
            WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
        // In the order of ids: nodes write at the same time, and none may wait for one that waits for it.
        uses.sort_unstable();
        let updates = uses.into_iter().map(|(id, at)| statement!(UPDATE, id, at)).collect();
        self.change(Change::new(Tenant::for_upkeep(), updates)).await.map(|_| ())
    }

    /// Removes connections that ended, and codes that were created, before one time, and clients that have not been
    /// used since another. Returns the number of rows removed. A client counts as used while one of its connections is
    /// kept.
    async fn purge_oauth(&self, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError> {
        const CONNECTIONS: &str = "DELETE FROM connection WHERE expires_at < $1 OR revoked_at < $1 RETURNING 1";
        const CODES: &str = "DELETE FROM oauth_code WHERE created_at < $1 RETURNING 1";
        const CLIENTS: &str = "
            DELETE FROM oauth_client
            WHERE known_at < $1 AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.client_id = oauth_client.id)
            RETURNING 1";
        let deletes = vec![
            statement!(CONNECTIONS, ended_before),
            statement!(CODES, ended_before),
            statement!(CLIENTS, unused_since),
        ];
        let touches = Touches::People;
        self.change(Change { touches, ..Change::new(Tenant::for_upkeep(), deletes) }).await
    }
}

/// A connection by its token's hash.
pub(crate) fn find_grant(hash: &CredentialHash) -> Statement {
    const SELECT: &str = "
        SELECT c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL
        FROM connection c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1";
    statement!(SELECT, hash)
}

pub(crate) fn revoke_connection(account: AccountId, id: ConnectionId, at: Timestamp) -> Statement {
    const UPDATE: &str = "
        UPDATE connection
        SET revoked_at = $3
        WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
        RETURNING 1";
    statement!(UPDATE, account, id, at)
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
