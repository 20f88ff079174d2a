//! Clients, codes and connections.

use async_trait::async_trait;
use mnemon_core::{AccountId, ConnectionId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::accounts::{commit_if_changed, insert_audit};
use super::error::{Again, Fault};
use super::rows::{Cells, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::{
    Actor, AuditEntry, ClientKind, ConnectionRow, Grant, NewCode, Oauth, OauthClient, Redeemed, Redemption, StoreError,
};

#[async_trait]
impl Oauth for PostgresStore {
    async fn save_client(&self, client: OauthClient) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO oauth_client (id, kind, known_at, name, redirect_uris)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (id) DO UPDATE
            SET kind = excluded.kind, known_at = excluded.known_at, name = excluded.name,
                redirect_uris = excluded.redirect_uris";
        let (kind, known_at) = (client.kind.as_str(), micros(client.known_at));
        let redirect_uris = client.redirect_uris.join("\n");
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            let upsert = ask(UPSERT, &[&client.id, &kind, &known_at, &client.name, &redirect_uris]);
            tx.finish(vec![upsert]).await.map(|_| ())
        })
        .await
    }

    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError> {
        const SELECT: &str = "SELECT kind, known_at, name, redirect_uris FROM oauth_client WHERE id = $1";
        // PostgreSQL keeps no NUL, so no client has one in its id.
        if id.contains('\0') {
            return Ok(None);
        }
        let rows = self.ask(Tenant::nobody(), SELECT, &[&id]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let cells = Cells::new(row, "oauth_client", || id.to_owned());
        Ok(Some(OauthClient {
            id: id.to_owned(),
            kind: cells.word(0, "kind", ClientKind::parse)?,
            name: cells.text_opt(2, "name")?,
            redirect_uris: cells.text(3, "redirect_uris")?.lines().map(str::to_owned).collect(),
            known_at: cells.time(1, "known_at")?,
        }))
    }

    async fn insert_code(&self, code: NewCode) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO oauth_code (hash, key_id, created_at, expires_at, used_at, connection_id, challenge, client_id,
                client_name, redirect_uri, resource)
            VALUES ($1, $2, $3, $4, NULL, NULL, $5, $6, $7, $8, $9)";
        let (hash, key) = (code.hash.as_bytes().as_slice(), code.key.uuid());
        let (created_at, expires_at) = (micros(code.created_at), micros(code.expires_at));
        let values: [&(dyn ToSql + Sync); 9] = [
            &hash,
            &key,
            &created_at,
            &expires_at,
            &code.challenge,
            &code.client,
            &code.client_name,
            &code.redirect_uri,
            &code.resource,
        ];
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::credential(&code.hash)).await?;
            tx.finish(vec![ask(INSERT, &values)]).await.map(|_| ())
        })
        .await
    }

    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError> {
        self.attempt(|| self.redeem(&redemption)).await
    }

    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError> {
        let found = match self.load_grant(hash).await {
            Err(Fault { again: Again::Lost, .. }) => self.load_grant(hash).await,
            found => found,
        };
        found.map_err(|fault| fault.error)
    }

    async fn list_connections(&self, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at,
                client_id, client_name
            FROM connection
            WHERE project_id = $1
            ORDER BY created_at, id";
        self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?.iter().map(read_connection).collect()
    }

    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at,
                client_id, client_name
            FROM connection
            WHERE id = $1";
        self.ask(Tenant::connection(id), SELECT, &[&id.uuid()]).await?.first().map(read_connection).transpose()
    }

    async fn revoke_connection(&self, id: ConnectionId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(audit.account)).await?;
            let changed = revoke(&tx, audit.account, id, at).await?;
            commit_if_changed(tx, changed, &audit).await
        })
        .await
    }

    async fn note_connections(&self, uses: Vec<(ConnectionId, Timestamp)>) -> Result<(), StoreError> {
        // In the order of ids: nodes note at the same time, and none may wait for one that waits for it.
        const UPDATE: &str = "
            UPDATE connection c
            SET last_used_at = g.at
            FROM (
                SELECT k.id, t.at
                FROM (SELECT id, MAX(at) AS at FROM unnest($1::uuid[], $2::bigint[]) AS u (id, at) GROUP BY id) AS t
                JOIN connection k ON k.id = t.id AND (k.last_used_at IS NULL OR k.last_used_at < t.at)
                ORDER BY k.id
                FOR UPDATE OF k) AS g
            WHERE c.id = g.id";
        let ids: Vec<Uuid> = uses.iter().map(|(id, _)| id.uuid()).collect();
        let moments: Vec<i64> = uses.iter().map(|(_, at)| micros(*at)).collect();
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::for_upkeep()).await?;
            tx.finish(vec![ask(UPDATE, &[&ids, &moments])]).await.map(|_| ())
        })
        .await
    }

    /// A client counts as used while a connection of it is kept.
    async fn purge_oauth(&self, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError> {
        const CONNECTIONS: &str = "DELETE FROM connection WHERE expires_at < $1 OR revoked_at < $1 RETURNING 1";
        const CODES: &str = "DELETE FROM oauth_code WHERE created_at < $1 RETURNING 1";
        const CLIENTS: &str = "
            DELETE FROM oauth_client o
            WHERE o.known_at < $1 AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.client_id = o.id)
            RETURNING 1";
        let (ended, unused) = (micros(ended_before), micros(unused_since));
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::for_upkeep()).await?;
            let asks = vec![ask(CONNECTIONS, &[&ended]), ask(CODES, &[&ended]), ask(CLIENTS, &[&unused])];
            Ok(tx.finish(asks).await?.iter().map(|rows| rows.len() as u64).sum())
        })
        .await
    }
}

/// A stored code, with the key that it stands for.
struct Code {
    is_used: bool,
    connection: Option<ConnectionId>,
    expires_at: Timestamp,
    challenge: String,
    client: String,
    redirect_uri: String,
    key_revoked: bool,
    account: AccountId,
    project: ProjectId,
    member: MemberId,
}

impl PostgresStore {
    async fn redeem(&self, redemption: &Redemption) -> Result<Redeemed, Fault> {
        const USE: &str = "UPDATE oauth_code SET used_at = $2, connection_id = $3 WHERE hash = $1";
        let tx = Tx::write(&self.pool, Tenant::credential(&redemption.code)).await?;
        let Some(code) = find_code(&tx, &redemption.code).await? else { return Ok(Redeemed::Refused) };
        let tenant = Tenant::project_of(code.project, code.account);
        tx.flight(vec![tenant.turn()]).await?;
        if code.is_used {
            return end_replayed(tx, &code, redemption).await;
        }
        let is_right = code.expires_at > redemption.now
            && code.client == redemption.client
            && redemption.redirect_uri.as_ref().is_none_or(|uri| *uri == code.redirect_uri)
            && code.challenge == redemption.challenge
            && !code.key_revoked;
        let made = is_right.then(|| redemption.id.uuid());
        let hash = redemption.code.as_bytes().as_slice();
        tx.rows(USE, &[&hash, &micros(redemption.now), &made]).await?;
        if is_right {
            insert_connection(&tx, redemption).await?;
            let actor = Actor::Member(code.member);
            insert_audit(&tx, &line(&code, redemption, 0, actor, "connection.create", redemption.id), 1).await?;
        }
        tx.commit().await?;
        Ok(if is_right { Redeemed::Done } else { Redeemed::Refused })
    }

    async fn load_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, Fault> {
        const SELECT: &str = "
            SELECT c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL
            FROM connection c
            JOIN api_key k ON k.id = c.key_id
            WHERE c.hash = $1";
        let bytes = hash.as_bytes().as_slice();
        let tx = Tx::read_latest(&self.pool, Tenant::credential(hash)).await?;
        let answers = tx.finish(vec![ask(OPEN_KEY, &[&bytes]), ask(SELECT, &[&bytes])]).await?;
        let [_, found] = answers.as_slice() else { return Err(Fault::away("PostgreSQL left an answer out")) };
        Ok(found.first().map(|row| read_grant(row, 0)).transpose()?)
    }
}

/// Whoever has the token may see its connection; that opens the row of its key.
pub(super) const OPEN_KEY: &str = "
    SELECT set_config('mnemon.key', c.key_id::text, true)
    FROM connection c
    WHERE c.hash = $1";

/// The code, locked: of several uses at the same moment one is the first.
async fn find_code(tx: &Tx, hash: &CredentialHash) -> Result<Option<Code>, Fault> {
    const OPEN: &str = "SELECT set_config('mnemon.key', c.key_id::text, true) FROM oauth_code c WHERE c.hash = $1";
    const SELECT: &str = "
        SELECT c.used_at IS NOT NULL, c.connection_id, c.expires_at, c.challenge, c.client_id, c.redirect_uri,
            k.revoked_at IS NOT NULL, k.account_id, k.project_id, k.member_id
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1
        FOR UPDATE OF c";
    let bytes = hash.as_bytes().as_slice();
    let answers = tx.flight(vec![ask(OPEN, &[&bytes]), ask(SELECT, &[&bytes])]).await?;
    let Some(row) = answers.get(1).and_then(|rows| rows.first()) else { return Ok(None) };
    let cells = Cells::new(row, "oauth_code", String::new);
    Ok(Some(Code {
        is_used: cells.flag(0, "used_at")?,
        connection: cells.uuid_opt(1, "connection_id")?.map(ConnectionId::new),
        expires_at: cells.time(2, "expires_at")?,
        challenge: cells.text(3, "challenge")?,
        client: cells.text(4, "client_id")?,
        redirect_uri: cells.text(5, "redirect_uri")?,
        key_revoked: cells.flag(6, "revoked_at")?,
        account: AccountId::new(cells.uuid(7, "account_id")?),
        project: ProjectId::new(cells.uuid(8, "project_id")?),
        member: MemberId::new(cells.uuid(9, "member_id")?),
    }))
}

/// A used code came again: somebody else has it. What it gave ends.
async fn end_replayed(tx: Tx, code: &Code, redemption: &Redemption) -> Result<Redeemed, Fault> {
    let Some(connection) = code.connection else { return Ok(Redeemed::Refused) };
    let changed = revoke(&tx, code.account, connection, redemption.now).await?;
    let line = line(code, redemption, 1, Actor::Service, "connection.revoke", connection);
    commit_if_changed(tx, changed, &line).await?;
    Ok(Redeemed::Replayed)
}

fn line(
    code: &Code,
    redemption: &Redemption,
    at: usize,
    actor: Actor,
    action: &'static str,
    subject: ConnectionId,
) -> AuditEntry {
    AuditEntry {
        id: redemption.audit[at],
        account: code.account,
        project: Some(code.project),
        at: redemption.now,
        actor,
        action: action.into(),
        subject: subject.to_string(),
    }
}

async fn insert_connection(tx: &Tx, redemption: &Redemption) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO connection (id, hash, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at,
            last_used_at, client_id, client_name, resource)
        SELECT $2, $3, k.project_id, k.account_id, k.member_id, k.id, $4, $5, NULL, NULL, c.client_id, c.client_name,
            c.resource
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1";
    let (code, hash) = (redemption.code.as_bytes().as_slice(), redemption.hash.as_bytes().as_slice());
    let (now, expires_at) = (micros(redemption.now), micros(redemption.expires_at));
    tx.rows(INSERT, &[&code, &redemption.id.uuid(), &hash, &now, &expires_at]).await?;
    Ok(())
}

/// Reads a grant whose first column is this one.
pub(super) fn read_grant(row: &Row, first: usize) -> Result<Grant, StoreError> {
    let id = ConnectionId::new(Cells::new(row, "connection", String::new).uuid(first, "id")?);
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

fn read_connection(row: &Row) -> Result<ConnectionRow, StoreError> {
    let id = ConnectionId::new(Cells::new(row, "connection", String::new).uuid(0, "id")?);
    let cells = Cells::new(row, "connection", || id.to_string());
    Ok(ConnectionRow {
        id,
        project: ProjectId::new(cells.uuid(1, "project_id")?),
        account: AccountId::new(cells.uuid(2, "account_id")?),
        member: MemberId::new(cells.uuid(3, "member_id")?),
        key: KeyId::new(cells.uuid(4, "key_id")?),
        client: cells.text(9, "client_id")?,
        client_name: cells.text_opt(10, "client_name")?,
        created_at: cells.time(5, "created_at")?,
        expires_at: cells.time(6, "expires_at")?,
        revoked_at: cells.time_opt(7, "revoked_at")?,
        last_used_at: cells.time_opt(8, "last_used_at")?,
    })
}

async fn revoke(tx: &Tx, account: AccountId, id: ConnectionId, at: Timestamp) -> Result<u64, Fault> {
    const UPDATE: &str = "
        UPDATE connection
        SET revoked_at = $3
        WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
        RETURNING 1";
    tx.count(UPDATE, &[&account.uuid(), &id.uuid(), &micros(at)]).await
}
