//! Who calls: credentials, keys and the operator token.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    AccountId, CredentialHash, DepartmentId, DepartmentTree, KeyId, MemberId, ProjectId, Seq, Timestamp, WorkspaceName,
};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::audit::{insert_audit, note_if_changed};
use super::batch::Tx;
use super::rows::{Cells, micros, micros_opt};
use crate::interface::credentials::{key_columns, read_credential, read_key, read_operator_token};
use crate::{
    AuditEntry, CallsElsewhere, Credential, Credentials, Grant, KeyRow, NewKey, Oauth, Presented, SeenKey, StoreError,
};

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

    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        self.readers.read(find_operator_token)
    }

    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        self.writer.write(move |tx| insert_operator_token(tx, &hash, at)).await
    }

    async fn delete_operator_token(&self) -> Result<bool, StoreError> {
        self.writer.write(move |tx| delete_operator_token(tx)).await
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        let act = move |tx: &mut Tx<'_>| {
            tx.touch_people();
            insert_key(tx.conn, &key)?;
            insert_audit(tx.conn, &audit, 1)
        };
        self.writer.write(act).await
    }

    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE api_key SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        let act = move |tx: &mut Tx<'_>| {
            let changed = tx.conn.prepare_cached(UPDATE)?.execute((key.to_bytes(), micros(at)))?;
            note_if_changed(tx, changed, &audit)
        };
        self.writer.write(act).await
    }

    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        self.readers.read_long(move |conn| list_keys(conn, project)).await
    }

    async fn list_member_keys(&self, account: AccountId, member: MemberId) -> Result<Vec<KeyRow>, StoreError> {
        self.readers.read_long(move |conn| list_member_keys(conn, account, member)).await
    }

    async fn note_seen(&self, seen: Vec<SeenKey>) -> Result<(), StoreError> {
        self.writer.write(move |tx| note_seen(tx, &seen)).await
    }

    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        self.readers.read(|conn| find_key(conn, id))
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

fn find_operator_token(conn: &Connection) -> Result<Option<CredentialHash>, StoreError> {
    const SELECT: &str = "SELECT hash FROM operator_token";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    rows.next()?.map(read_operator_token).transpose()
}

fn insert_operator_token(tx: &Tx<'_>, hash: &CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
    const INSERT: &str = "INSERT INTO operator_token (id, hash, created_at) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING";
    Ok(tx.conn.prepare_cached(INSERT)?.execute((hash.as_bytes(), micros(at)))? == 1)
}

fn delete_operator_token(tx: &Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.conn.prepare_cached("DELETE FROM operator_token")?.execute([])? > 0)
}

pub(super) fn insert_key(conn: &Connection, key: &NewKey) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label, created_by, workspace, hint)
        SELECT ?1, ?2, p.id, p.account_id, m.id, ?5, ?6, ?7, NULL, ?8, ?9, ?10, ?11
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = ?4
        WHERE p.id = ?3 AND p.deleted_at IS NULL";
    let inserted = conn.prepare_cached(INSERT)?.execute(params![
        key.id.to_bytes(),
        key.hash.as_bytes(),
        key.project.to_bytes(),
        key.member.to_bytes(),
        key.access.as_str(),
        micros_opt(key.expires_at),
        micros(key.created_at),
        key.label,
        key.created_by.map(|member| member.to_bytes()),
        key.workspace.as_ref().map(WorkspaceName::as_str),
        key.hint,
    ])?;
    let absent = || StoreError::Failed(format!("no project {} with a member {}", key.project, key.member));
    if inserted == 1 { Ok(()) } else { Err(absent()) }
}

fn list_keys(conn: &Connection, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
    const SELECT: &str = concat!(
        "SELECT ",
        key_columns!(),
        "
        FROM api_key
        WHERE project_id = ?1
        ORDER BY created_at, id"
    );
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(read_key(row)?);
    }
    Ok(keys)
}

fn list_member_keys(conn: &Connection, account: AccountId, member: MemberId) -> Result<Vec<KeyRow>, StoreError> {
    const SELECT: &str = concat!(
        "SELECT ",
        key_columns!(),
        "
        FROM api_key
        WHERE account_id = ?1 AND member_id = ?2
        ORDER BY created_at, id"
    );
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((account.to_bytes(), member.to_bytes()))?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(read_key(row)?);
    }
    Ok(keys)
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

fn find_key(conn: &Connection, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
    const SELECT: &str = concat!(
        "SELECT ",
        key_columns!(),
        "
        FROM api_key
        WHERE id = ?1"
    );
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    rows.next()?.map(read_key).transpose()
}
