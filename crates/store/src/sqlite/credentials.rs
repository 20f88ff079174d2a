//! Who calls: credentials, keys and the operator token.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{AccountId, CredentialHash, DepartmentId, DepartmentTree, Seq};
use rusqlite::Connection;

use super::SqliteStore;
use super::batch::Tx;
use super::rows::{Cells, micros};
use crate::interface::credentials::read_credential;
use crate::{CallsElsewhere, Credential, Credentials, Grant, Oauth, Presented, SeenKey, StoreError};

#[async_trait]
impl Credentials for SqliteStore {
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError> {
        let generation = match self.memory.credentials.find(hash) {
            Ok(presented) => return Ok(Some(presented)),
            Err(generation) => generation,
        };
        let Some((credential, seq)) = self.readers.read_at_once(|conn| find_credential(conn, hash))? else {
            return Ok(None);
        };
        let credential = Arc::new(credential);
        let cell = self.memory.seqs.raise(credential.project, seq);
        let seq = Seq(cell.load(std::sync::atomic::Ordering::Acquire));
        self.memory.credentials.keep(*hash, Arc::clone(&credential), cell, generation);
        Ok(Some(Presented { credential, seq, elsewhere: CallsElsewhere::default() }))
    }

    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError> {
        let Some(grant) = self.find_grant(hash).await? else { return Ok(None) };
        let presented = self.find_credential(&grant.key_hash).await?;
        Ok(presented.map(|presented| (grant, presented)))
    }

    async fn note_seen(&self, seen: Vec<SeenKey>) -> Result<(), StoreError> {
        self.writer.write(move |tx| note_seen(tx, &seen)).await
    }
}

/// The credential and the end of its project's log, at the same moment.
fn find_credential(conn: &Connection, hash: &CredentialHash) -> Result<Option<(Credential, Seq)>, StoreError> {
    const SELECT: &str = "
        SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
            p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
            m.name, m.role, m.access_until, m.department_id, d.name, a.account_version, k.workspace
        FROM api_key k
        JOIN project p ON p.id = k.project_id
        JOIN account a ON a.id = k.account_id
        JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
        LEFT JOIN department d ON d.account_id = m.account_id AND d.id = m.department_id
        WHERE k.hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    let row = rows.next()?;
    // The tree is read even if no key has this hash, so every look-up is the same two statements.
    let account = row.map_or(Ok(AccountId::from_bytes([0; 16])), |row| {
        Cells::new(row, "api_key", String::new).id(5, "account_id")
    })?;
    let tree = load_tree(conn, account)?;
    row.map(|row| read_credential(row, |_| Ok(tree))).transpose()
}

fn load_tree(conn: &Connection, account: AccountId) -> Result<DepartmentTree, StoreError> {
    const SELECT: &str = "SELECT id, parent_id FROM department WHERE account_id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut pairs = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "department", || account.to_string());
        pairs.push((cells.id::<DepartmentId>(0, "id")?, cells.id_opt(1, "parent_id")?));
    }
    Ok(DepartmentTree::new(pairs))
}

fn note_seen(tx: &mut Tx<'_>, seen: &[SeenKey]) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE api_key
        SET seen_at = ?3, seen_client = COALESCE(?4, seen_client)
        WHERE project_id = ?1 AND id = ?2 AND (seen_at IS NULL OR seen_at <= ?3)";
    for SeenKey { project, key, at, client } in seen {
        tx.conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), key.to_bytes(), micros(*at), client))?;
    }
    Ok(())
}
