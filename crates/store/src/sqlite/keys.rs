//! The keys there are, without their secrets, and the operator's token.

use mnemon_core::{Access, AccountId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};
use rusqlite::{Connection, Row};

use super::batch::Tx;
use super::rows::{Cells, micros};
use crate::{KeyRow, StoreError};

pub(super) fn find_operator_token(conn: &Connection) -> Result<Option<CredentialHash>, StoreError> {
    const SELECT: &str = "SELECT hash FROM operator_token";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "operator_token", || "1".to_owned());
    Ok(Some(CredentialHash::from_bytes(cells.bytes(0, "hash")?)))
}

pub(super) fn insert_operator_token(tx: &Tx<'_>, hash: &CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
    const INSERT: &str = "INSERT INTO operator_token (id, hash, created_at) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING";
    Ok(tx.conn.prepare_cached(INSERT)?.execute((hash.as_bytes(), micros(at)))? == 1)
}

pub(super) fn list_keys(conn: &Connection, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
    const SELECT: &str = "
        SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label
        FROM api_key
        WHERE project_id = ?1
        ORDER BY created_at, id";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(read_key(row)?);
    }
    Ok(keys)
}

pub(super) fn find_key(conn: &Connection, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
    const SELECT: &str = "
        SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label
        FROM api_key
        WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_key).transpose()
}

fn read_key(row: &Row<'_>) -> Result<KeyRow, StoreError> {
    let id = KeyId::from_bytes(Cells::new(row, "api_key", String::new).bytes(0, "id")?);
    let cells = Cells::new(row, "api_key", || id.to_string());
    Ok(KeyRow {
        id,
        project: ProjectId::from_bytes(cells.bytes(1, "project_id")?),
        account: AccountId::from_bytes(cells.bytes(2, "account_id")?),
        member: MemberId::from_bytes(cells.bytes(3, "member_id")?),
        access: cells.word(4, "access", Access::parse)?,
        label: cells.text_opt(9, "label")?,
        expires_at: cells.time_opt(5, "expires_at")?,
        revoked_at: cells.time_opt(7, "revoked_at")?,
        created_at: cells.time(6, "created_at")?,
        last_used_at: cells.time_opt(8, "last_used_at")?,
    })
}
