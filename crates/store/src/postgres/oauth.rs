//! Clients, codes and connections.

use async_trait::async_trait;
use mnemon_core::{AccountId, ConnectionId, CredentialHash, ProjectId, Timestamp};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::audit::{commit_if_changed, insert_audit};
use super::error::{Again, Fault};
use super::rows::micros;
use super::transaction::{Tenant, Tx, ask};
use crate::interface::oauth::{Code, read_client, read_connection, read_grant};
use crate::{AuditEntry, ConnectionRow, Grant, NewCode, Oauth, OauthClient, Redeemed, Redemption, StoreError};

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
        let values: [&(dyn ToSql + Sync); 5] = [&client.id, &kind, &known_at, &client.name, &redirect_uris];
        self.write(Tenant::nobody(), UPSERT, &values).await.map(|_| ())
    }

    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError> {
        const SELECT: &str = "SELECT kind, known_at, name, redirect_uris FROM oauth_client WHERE id = $1";
        // PostgreSQL stores no NUL, so no client has one in its id.
        if id.contains('\0') {
            return Ok(None);
        }
        let rows = self.ask(Tenant::nobody(), SELECT, &[&id]).await?;
        rows.first().map(|row| read_client(row, id)).transpose()
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
        self.write(Tenant::credential(&code.hash), INSERT, &values).await.map(|_| ())
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
                client_id, client_name, redirect_uri
            FROM connection
            WHERE project_id = $1
            ORDER BY created_at, id";
        self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?.iter().map(read_connection).collect()
    }

    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at,
                client_id, client_name, redirect_uri
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
        // In the order of ids: nodes write at the same time, and none may wait for one that waits for it.
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
        self.write(Tenant::for_upkeep(), UPDATE, &[&ids, &moments]).await.map(|_| ())
    }

    /// A client counts as used while one of its connections is kept.
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

impl PostgresStore {
    async fn redeem(&self, redemption: &Redemption) -> Result<Redeemed, Fault> {
        const USE: &str = "UPDATE oauth_code SET used_at = $2, connection_id = $3 WHERE hash = $1";
        let tx = Tx::write(&self.pool, Tenant::credential(&redemption.code)).await?;
        let Some(code) = find_code(&tx, &redemption.code).await? else { return Ok(Redeemed::Refused) };
        let tenant = Tenant::project_of(code.project, code.account);
        tx.ask_all(vec![tenant.turn()]).await?;
        if code.is_used {
            return end_replayed(tx, &code, redemption).await;
        }
        let is_right = code.admits(redemption);
        let made = is_right.then(|| redemption.id.uuid());
        let hash = redemption.code.as_bytes().as_slice();
        tx.rows(USE, &[&hash, &micros(redemption.now), &made]).await?;
        if is_right {
            insert_connection(&tx, redemption).await?;
            insert_audit(&tx, &code.created(redemption), 1).await?;
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

/// The holder of the token may see its connection, which opens the row of its key.
pub(super) const OPEN_KEY: &str = "
    SELECT set_config('mnemon.key', c.key_id::text, true)
    FROM connection c
    WHERE c.hash = $1";

/// The code, locked: of several simultaneous uses, one is the first.
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
    let answers = tx.ask_all(vec![ask(OPEN, &[&bytes]), ask(SELECT, &[&bytes])]).await?;
    let row = answers.get(1).and_then(|rows| rows.first());
    Ok(row.map(Code::read).transpose()?)
}

/// A used code came again, so somebody else has it. The connection it created is ended.
async fn end_replayed(tx: Tx, code: &Code, redemption: &Redemption) -> Result<Redeemed, Fault> {
    let Some(connection) = code.connection else { return Ok(Redeemed::Refused) };
    let changed = revoke(&tx, code.account, connection, redemption.now).await?;
    commit_if_changed(tx, changed, &code.revoked(redemption, connection)).await?;
    Ok(Redeemed::Replayed)
}

async fn insert_connection(tx: &Tx, redemption: &Redemption) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO connection (id, hash, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at,
            last_used_at, client_id, client_name, resource, redirect_uri)
        SELECT $2, $3, k.project_id, k.account_id, k.member_id, k.id, $4, $5, NULL, NULL, c.client_id, c.client_name,
            c.resource, c.redirect_uri
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1";
    let (code, hash) = (redemption.code.as_bytes().as_slice(), redemption.hash.as_bytes().as_slice());
    let (now, expires_at) = (micros(redemption.now), micros(redemption.expires_at));
    tx.rows(INSERT, &[&code, &redemption.id.uuid(), &hash, &now, &expires_at]).await?;
    Ok(())
}

async fn revoke(tx: &Tx, account: AccountId, id: ConnectionId, at: Timestamp) -> Result<u64, Fault> {
    const UPDATE: &str = "
        UPDATE connection
        SET revoked_at = $3
        WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
        RETURNING 1";
    tx.count(UPDATE, &[&account.uuid(), &id.uuid(), &micros(at)]).await
}
