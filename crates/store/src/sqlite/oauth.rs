//! Clients, codes and connections.

use async_trait::async_trait;
use mnemon_core::{ConnectionId, CredentialHash, ProjectId, Timestamp};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::audit::{insert_audit, note_if_changed};
use super::batch::Tx;
use super::rows::micros;
use crate::interface::oauth::{Code, read_client, read_connection, read_grant};
use crate::{AuditEntry, ConnectionRow, Grant, NewCode, Oauth, OauthClient, Redeemed, Redemption, StoreError};

#[async_trait]
impl Oauth for SqliteStore {
    async fn save_client(&self, client: OauthClient) -> Result<(), StoreError> {
        self.writer.write(move |tx| save_client(tx.conn, &client)).await
    }

    async fn find_client(&self, id: &str) -> Result<Option<OauthClient>, StoreError> {
        self.readers.read(|conn| find_client(conn, id))
    }

    async fn insert_code(&self, code: NewCode) -> Result<(), StoreError> {
        self.writer.write(move |tx| insert_code(tx.conn, &code)).await
    }

    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError> {
        self.writer.write(move |tx| redeem_code(tx, &redemption)).await
    }

    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError> {
        let generation = match self.memory.credentials.find_grant(hash) {
            Ok(grant) => return Ok(Some(grant)),
            Err(generation) => generation,
        };
        let grant = self.readers.read(|conn| find_grant(conn, hash))?;
        if let Some(grant) = &grant {
            self.memory.credentials.keep_grant(*hash, grant.clone(), generation);
        }
        Ok(grant)
    }

    async fn list_connections(&self, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError> {
        self.readers.read_long(move |conn| list_connections(conn, project)).await
    }

    async fn find_connection(&self, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError> {
        self.readers.read(|conn| find_connection(conn, id))
    }

    async fn revoke_connection(&self, id: ConnectionId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer
            .write(move |tx| {
                let changed = revoke(tx.conn, id, at)?;
                note_if_changed(tx, changed, &audit)
            })
            .await
    }

    async fn note_connections(&self, uses: Vec<(ConnectionId, Timestamp)>) -> Result<(), StoreError> {
        self.writer.write(move |tx| note_connections(tx.conn, &uses)).await
    }

    async fn purge_oauth(&self, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError> {
        self.writer.write(move |tx| purge_oauth(tx, ended_before, unused_since)).await
    }
}

fn save_client(conn: &Connection, client: &OauthClient) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO oauth_client (id, kind, known_at, name, redirect_uris)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (id) DO UPDATE
        SET kind = excluded.kind, known_at = excluded.known_at, name = excluded.name,
            redirect_uris = excluded.redirect_uris";
    let redirect_uris = client.redirect_uris.join("\n");
    let values = (&client.id, client.kind.as_str(), micros(client.known_at), &client.name, redirect_uris);
    conn.prepare_cached(UPSERT)?.execute(values)?;
    Ok(())
}

fn find_client(conn: &Connection, id: &str) -> Result<Option<OauthClient>, StoreError> {
    const SELECT: &str = "SELECT kind, known_at, name, redirect_uris FROM oauth_client WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(|row| read_client(row, id)).transpose()
}

fn insert_code(conn: &Connection, code: &NewCode) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO oauth_code (hash, key_id, created_at, expires_at, used_at, connection_id, challenge, client_id,
            client_name, redirect_uri, resource)
        VALUES (?1, ?2, ?3, ?4, NULL, NULL, ?5, ?6, ?7, ?8, ?9)";
    conn.prepare_cached(INSERT)?.execute(params![
        code.hash.as_bytes(),
        code.key.to_bytes(),
        micros(code.created_at),
        micros(code.expires_at),
        code.challenge,
        code.client,
        code.client_name,
        code.redirect_uri,
        code.resource,
    ])?;
    Ok(())
}

fn redeem_code(tx: &mut Tx<'_>, redemption: &Redemption) -> Result<Redeemed, StoreError> {
    const USE: &str = "UPDATE oauth_code SET used_at = ?2, connection_id = ?3 WHERE hash = ?1";
    let Some(code) = find_code(tx.conn, &redemption.code)? else { return Ok(Redeemed::Refused) };
    if code.is_used {
        return end_replayed(tx, &code, redemption);
    }
    let is_right = code.admits(redemption);
    let made = is_right.then(|| redemption.id.to_bytes());
    tx.conn.prepare_cached(USE)?.execute((redemption.code.as_bytes(), micros(redemption.now), made))?;
    if !is_right {
        return Ok(Redeemed::Refused);
    }
    insert_connection(tx.conn, redemption)?;
    insert_audit(tx.conn, &code.created(redemption), 1)?;
    Ok(Redeemed::Done)
}

fn find_code(conn: &Connection, hash: &CredentialHash) -> Result<Option<Code>, StoreError> {
    const SELECT: &str = "
        SELECT c.used_at IS NOT NULL, c.connection_id, c.expires_at, c.challenge, c.client_id, c.redirect_uri,
            k.revoked_at IS NOT NULL, k.account_id, k.project_id, k.member_id
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    rows.next()?.map(Code::read).transpose()
}

/// A used code came again, so somebody else has it. The connection it created is ended.
fn end_replayed(tx: &mut Tx<'_>, code: &Code, redemption: &Redemption) -> Result<Redeemed, StoreError> {
    let Some(connection) = code.connection else { return Ok(Redeemed::Refused) };
    let changed = revoke(tx.conn, connection, redemption.now)?;
    note_if_changed(tx, changed, &code.revoked(redemption, connection))?;
    Ok(Redeemed::Replayed)
}

fn insert_connection(conn: &Connection, redemption: &Redemption) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO connection (id, hash, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at,
            last_used_at, client_id, client_name, resource, redirect_uri)
        SELECT ?2, ?3, k.project_id, k.account_id, k.member_id, k.id, ?4, ?5, NULL, NULL, c.client_id, c.client_name,
            c.resource, c.redirect_uri
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = ?1";
    conn.prepare_cached(INSERT)?.execute((
        redemption.code.as_bytes(),
        redemption.id.to_bytes(),
        redemption.hash.as_bytes(),
        micros(redemption.now),
        micros(redemption.expires_at),
    ))?;
    Ok(())
}

pub(super) fn find_grant(conn: &Connection, hash: &CredentialHash) -> Result<Option<Grant>, StoreError> {
    const SELECT: &str = "
        SELECT c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL
        FROM connection c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    rows.next()?.map(|row| read_grant(row, 0)).transpose()
}

fn list_connections(conn: &Connection, project: ProjectId) -> Result<Vec<ConnectionRow>, StoreError> {
    const SELECT: &str = "
        SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at, client_id,
            client_name, redirect_uri
        FROM connection
        WHERE project_id = ?1
        ORDER BY created_at, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut connections = Vec::new();
    while let Some(row) = rows.next()? {
        connections.push(read_connection(row)?);
    }
    Ok(connections)
}

fn find_connection(conn: &Connection, id: ConnectionId) -> Result<Option<ConnectionRow>, StoreError> {
    const SELECT: &str = "
        SELECT id, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at, last_used_at, client_id,
            client_name, redirect_uri
        FROM connection
        WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_connection).transpose()
}

fn revoke(conn: &Connection, id: ConnectionId, at: Timestamp) -> Result<usize, StoreError> {
    const UPDATE: &str = "UPDATE connection SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
    Ok(conn.prepare_cached(UPDATE)?.execute((id.to_bytes(), micros(at)))?)
}

fn note_connections(conn: &Connection, uses: &[(ConnectionId, Timestamp)]) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE connection
        SET last_used_at = ?2
        WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
    for (id, at) in uses {
        conn.prepare_cached(UPDATE)?.execute((id.to_bytes(), micros(*at)))?;
    }
    Ok(())
}

/// A client counts as used while one of its connections is kept.
fn purge_oauth(tx: &mut Tx<'_>, ended_before: Timestamp, unused_since: Timestamp) -> Result<u64, StoreError> {
    const CONNECTIONS: &str = "DELETE FROM connection WHERE expires_at < ?1 OR revoked_at < ?1";
    const CODES: &str = "DELETE FROM oauth_code WHERE created_at < ?1";
    const CLIENTS: &str = "
        DELETE FROM oauth_client
        WHERE known_at < ?1 AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.client_id = oauth_client.id)";
    let mut purged = tx.conn.prepare_cached(CONNECTIONS)?.execute([micros(ended_before)])?;
    if purged > 0 {
        tx.touch_people();
    }
    purged += tx.conn.prepare_cached(CODES)?.execute([micros(ended_before)])?;
    purged += tx.conn.prepare_cached(CLIENTS)?.execute([micros(unused_since)])?;
    Ok(purged as u64)
}
