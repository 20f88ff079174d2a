//! Who calls: credentials, keys and the operator token. Every call asks the database, because another node may have
//! changed them. Calls that arrive together look their credentials up together (`look_up.rs`).

use async_trait::async_trait;
use mnemon_core::{AccountId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp, WorkspaceName};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::audit::commit_with;
use super::error::Fault;
use super::look_up::Asked;
use super::rows::{micros, micros_opt};
use super::transaction::{Tenant, Tx};
use super::usage;
use crate::interface::credentials::{key_columns, read_key, read_operator_token};
use crate::{AuditEntry, Credentials, Grant, KeyRow, NewKey, Presented, SeenKey, StoreError};

#[async_trait]
impl Credentials for PostgresStore {
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError> {
        let found = self.look_ups.ask(Asked::Key(*hash)).await?;
        Ok(found.map(|(_, presented)| presented))
    }

    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError> {
        let found = self.look_ups.ask(Asked::Token(*hash)).await?;
        Ok(found.and_then(|(grant, presented)| Some((grant?, presented))))
    }

    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        const SELECT: &str = "SELECT hash FROM operator_token";
        let rows = self.ask(Tenant::nobody(), SELECT, &[]).await?;
        rows.first().map(read_operator_token).transpose()
    }

    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        const INSERT: &str = "
            INSERT INTO operator_token (id, hash, created_at)
            VALUES (1, $1, $2)
            ON CONFLICT DO NOTHING
            RETURNING 1";
        let bytes = hash.as_bytes().as_slice();
        Ok(self.write(Tenant::nobody(), INSERT, &[&bytes, &micros(at)]).await? > 0)
    }

    async fn delete_operator_token(&self) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM operator_token RETURNING 1";
        Ok(self.write(Tenant::nobody(), DELETE, &[]).await? > 0)
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_and_people(key.project)).await?;
            insert_key(&tx, &key).await?;
            commit_with(tx, &audit).await
        })
        .await
    }

    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET revoked_at = $3
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING 1";
        self.change_shown(UPDATE, &[&audit.account.uuid(), &key.uuid(), &micros(at)], &audit).await
    }

    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = concat!(
            "SELECT ",
            key_columns!(),
            "
            FROM api_key
            WHERE project_id = $1
            ORDER BY created_at, id"
        );
        self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?.iter().map(read_key).collect()
    }

    async fn list_member_keys(&self, account: AccountId, member: MemberId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = concat!(
            "SELECT ",
            key_columns!(),
            "
            FROM api_key
            WHERE account_id = $1 AND member_id = $2
            ORDER BY created_at, id"
        );
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid(), &member.uuid()]).await?;
        rows.iter().map(read_key).collect()
    }

    async fn note_seen(&self, seen: Vec<SeenKey>) -> Result<(), StoreError> {
        usage::note_seen(self, seen).await
    }

    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        const SELECT: &str = concat!(
            "SELECT ",
            key_columns!(),
            "
            FROM api_key
            WHERE id = $1"
        );
        self.ask(Tenant::key(id), SELECT, &[&id.uuid()]).await?.first().map(read_key).transpose()
    }
}

pub(super) async fn insert_key(tx: &Tx, key: &NewKey) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label, created_by, workspace, hint)
        SELECT $1, $2, p.id, p.account_id, m.id, $5, $6, $7, NULL, $8, $9, $10, $11
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $4
        WHERE p.id = $3 AND p.deleted_at IS NULL
        RETURNING 1";
    let (id, hash, project, member) =
        (key.id.uuid(), key.hash.as_bytes().as_slice(), key.project.uuid(), key.member.uuid());
    let (access, expires_at, created_at) = (key.access.as_str(), micros_opt(key.expires_at), micros(key.created_at));
    let created_by = key.created_by.map(|member| member.uuid());
    let workspace = key.workspace.as_ref().map(WorkspaceName::as_str);
    let values: [&(dyn ToSql + Sync); 11] = [
        &id,
        &hash,
        &project,
        &member,
        &access,
        &expires_at,
        &created_at,
        &key.label,
        &created_by,
        &workspace,
        &key.hint,
    ];
    let inserted = tx.count(INSERT, &values).await?;
    let absent = || StoreError::Failed(format!("no project {} with a member {}", key.project, key.member));
    if inserted == 1 { Ok(()) } else { Err(absent().into()) }
}
