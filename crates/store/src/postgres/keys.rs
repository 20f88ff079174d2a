//! The keys there are, without their secrets, and the operator's token.

use mnemon_core::{Access, AccountId, CredentialHash, KeyId, MemberId, ProjectId, Timestamp};
use tokio_postgres::Row;

use super::PostgresStore;
use super::rows::{Cells, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::{KeyRow, StoreError};

impl PostgresStore {
    pub(super) async fn load_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        const SELECT: &str = "SELECT hash FROM operator_token";
        let rows = self.ask(Tenant::nobody(), SELECT, &[]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let cells = Cells::new(row, "operator_token", || "1".to_owned());
        Ok(Some(CredentialHash::from_bytes(cells.bytes(0, "hash")?)))
    }

    pub(super) async fn keep_operator_token(&self, hash: &CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        const INSERT: &str = "
            INSERT INTO operator_token (id, hash, created_at)
            VALUES (1, $1, $2)
            ON CONFLICT DO NOTHING
            RETURNING 1";
        let bytes = hash.as_bytes().as_slice();
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            let answers = tx.finish(vec![ask(INSERT, &[&bytes, &micros(at)])]).await?;
            Ok(answers.first().is_some_and(|rows| !rows.is_empty()))
        })
        .await
    }

    pub(super) async fn load_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label
            FROM api_key
            WHERE project_id = $1
            ORDER BY created_at, id";
        self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?.iter().map(read_key).collect()
    }

    pub(super) async fn load_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label
            FROM api_key
            WHERE id = $1";
        self.ask(Tenant::key(id), SELECT, &[&id.uuid()]).await?.first().map(read_key).transpose()
    }
}

fn read_key(row: &Row) -> Result<KeyRow, StoreError> {
    let id = KeyId::new(Cells::new(row, "api_key", String::new).uuid(0, "id")?);
    let cells = Cells::new(row, "api_key", || id.to_string());
    Ok(KeyRow {
        id,
        project: ProjectId::new(cells.uuid(1, "project_id")?),
        account: AccountId::new(cells.uuid(2, "account_id")?),
        member: MemberId::new(cells.uuid(3, "member_id")?),
        access: cells.word(4, "access", Access::parse)?,
        label: cells.text_opt(9, "label")?,
        expires_at: cells.time_opt(5, "expires_at")?,
        revoked_at: cells.time_opt(7, "revoked_at")?,
        created_at: cells.time(6, "created_at")?,
        last_used_at: cells.time_opt(8, "last_used_at")?,
    })
}
