//! Finding out who calls.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Access, AccountId, CredentialHash, DepartmentId, DepartmentTree, KeyId, MemberId, PlanName, ProjectId, Role, Seq,
    Subscription, Viewer,
};
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::rows::Cells;
use crate::{CallsElsewhere, Credential, Credentials, Grant, Oauth, Presented, StoreError};

#[async_trait]
impl Credentials for SqliteStore {
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError> {
        let generation = match self.memory.credentials.find(hash) {
            Ok(presented) => return Ok(Some(presented)),
            Err(generation) => generation,
        };
        let Some((credential, seq)) = self.readers.read_at_once(|conn| load(conn, hash))? else { return Ok(None) };
        let credential = Arc::new(credential);
        let cell = self.memory.seqs.raise(credential.project, seq);
        let seq = Seq(cell.load(std::sync::atomic::Ordering::Acquire));
        self.memory.credentials.keep(*hash, Arc::clone(&credential), cell, generation);
        Ok(Some(Presented { credential, seq, elsewhere: CallsElsewhere::default() }))
    }

    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError> {
        let grant = self.find_grant(hash).await?;
        // Without a grant the look for a key is made in vain, so that every refusal costs the same.
        let key_hash = grant.as_ref().map_or(*hash, |grant| grant.key_hash);
        Ok(grant.zip(self.find_credential(&key_hash).await?))
    }
}

/// The credential and how far its project's log has come, as of one moment.
fn load(conn: &Connection, hash: &CredentialHash) -> Result<Option<(Credential, Seq)>, StoreError> {
    const SELECT: &str = "
        SELECT k.id, k.access, k.expires_at, k.revoked_at, k.project_id, k.account_id, k.member_id,
            p.seq, p.deleted_at, a.plan, a.paid_until, a.is_suspended,
            m.name, m.role, m.access_until, m.department_id, d.name
        FROM api_key k
        JOIN project p ON p.id = k.project_id
        JOIN account a ON a.id = k.account_id
        JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
        LEFT JOIN department d ON d.account_id = m.account_id AND d.id = m.department_id
        WHERE k.hash = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([hash.as_bytes()])?;
    match rows.next()? {
        Some(row) => read(conn, row).map(Some),
        None => Ok(None),
    }
}

fn read(conn: &Connection, row: &Row<'_>) -> Result<(Credential, Seq), StoreError> {
    let key = KeyId::from_bytes(Cells::new(row, "api_key", String::new).bytes(0, "id")?);
    let key_cells = Cells::new(row, "api_key", || key.to_string());
    let account = AccountId::from_bytes(key_cells.bytes(5, "account_id")?);
    let member = MemberId::from_bytes(key_cells.bytes(6, "member_id")?);
    let project = ProjectId::from_bytes(key_cells.bytes(4, "project_id")?);
    let project_cells = Cells::new(row, "project", || project.to_string());
    let account_cells = Cells::new(row, "account", || account.to_string());
    let member_cells = Cells::new(row, "member", || member.to_string());
    let role = member_cells.word(13, "role", Role::parse)?;
    let department = member_cells.bytes_opt(15, "department_id")?.map(DepartmentId::from_bytes);
    let tree = if department.is_some() { load_tree(conn, account)? } else { DepartmentTree::default() };
    let credential = Credential {
        key,
        access: key_cells.word(1, "access", Access::parse)?,
        expires_at: key_cells.time_opt(2, "expires_at")?,
        // The keys of a deleted project open nothing, without a write to each of them.
        is_revoked: !key_cells.is_null(3)? || !project_cells.is_null(8)?,
        project,
        account,
        subscription: Subscription {
            plan: account_cells.word_opt(9, "plan", PlanName::parse)?,
            paid_until: account_cells.time_opt(10, "paid_until")?,
            is_suspended: account_cells.flag(11, "is_suspended")?,
        },
        member,
        member_name: member_cells.text(12, "name")?,
        role,
        access_until: member_cells.time_opt(14, "access_until")?,
        department,
        department_name: member_cells.text_opt(16, "name")?,
        viewer: Viewer::new(member, role, department, &tree),
    };
    Ok((credential, Seq(project_cells.count(7, "seq")?)))
}

fn load_tree(conn: &Connection, account: AccountId) -> Result<DepartmentTree, StoreError> {
    const SELECT: &str = "SELECT id, parent_id FROM department WHERE account_id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([account.to_bytes()])?;
    let mut pairs = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "department", || account.to_string());
        let id = DepartmentId::from_bytes(cells.bytes(0, "id")?);
        pairs.push((id, cells.bytes_opt(1, "parent_id")?.map(DepartmentId::from_bytes)));
    }
    Ok(DepartmentTree::new(pairs))
}
