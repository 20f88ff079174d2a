//! Who calls: credentials, keys and the operator token. Nothing is cached between two calls: another node may have changed
//! it.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{AccountId, CredentialHash, KeyId, MemberId, ProjectId, Seq, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::error::{Again, Fault};
use super::oauth::OPEN_KEY;
use super::oversight::{commit_if_changed, insert_audit};
use super::rates::read_calls;
use super::rows::{micros, micros_opt, read_tree};
use super::transaction::{Tenant, Tx, ask};
use crate::acts::credentials::{read_credential, read_key, read_operator_token};
use crate::acts::oauth::read_grant;
use crate::{
    AuditEntry, CallsElsewhere, Credential, Credentials, Grant, KeyRow, NewKey, Presented, SavedLooks, StoreError,
};

#[async_trait]
impl Credentials for PostgresStore {
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError> {
        let found = match self.load(hash).await {
            Err(Fault { again: Again::Lost, .. }) => self.load(hash).await,
            found => found,
        };
        found.map_err(|fault| fault.error)
    }

    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError> {
        let found = match self.load_by_token(hash).await {
            Err(Fault { again: Again::Lost, .. }) => self.load_by_token(hash).await,
            found => found,
        };
        found.map_err(|fault| fault.error)
    }

    /// Nothing is kept in memory here, so nothing was saved.
    async fn look_in_vain(&self, _saved: SavedLooks) -> Result<(), StoreError> {
        Ok(())
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
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            let answers = tx.finish(vec![ask(INSERT, &[&bytes, &micros(at)])]).await?;
            Ok(answers.first().is_some_and(|rows| !rows.is_empty()))
        })
        .await
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_and_people(key.project)).await?;
            insert_key(&tx, &key).await?;
            insert_audit(&tx, &audit, 1).await?;
            tx.commit().await
        })
        .await
    }

    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET revoked_at = $3
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING 1";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::account(audit.account)).await?;
            let changed = tx.count(UPDATE, &[&audit.account.uuid(), &key.uuid(), &micros(at)]).await?;
            commit_if_changed(tx, changed, &audit).await
        })
        .await
    }

    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label,
                created_by
            FROM api_key
            WHERE project_id = $1
            ORDER BY created_at, id";
        self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?.iter().map(read_key).collect()
    }

    async fn list_member_keys(&self, account: AccountId, member: MemberId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label,
                created_by
            FROM api_key
            WHERE account_id = $1 AND member_id = $2
            ORDER BY created_at, id";
        let rows = self.ask(Tenant::account(account), SELECT, &[&account.uuid(), &member.uuid()]).await?;
        rows.iter().map(read_key).collect()
    }

    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label,
                created_by
            FROM api_key
            WHERE id = $1";
        self.ask(Tenant::key(id), SELECT, &[&id.uuid()]).await?.first().map(read_key).transpose()
    }
}

/// Reads a credential and whatever else is wanted of the rows that lead to it.
macro_rules! select_credential {
    ($more:literal, $from:literal, $condition:literal) => {
        concat!(
            "
            SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
                p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
                m.name, m.role, m.access_until, m.department_id, d.name,
                CASE WHEN m.department_id IS NULL THEN '{}' ELSE ARRAY(
                    SELECT t.id FROM department t WHERE t.account_id = k.account_id ORDER BY t.id) END,
                CASE WHEN m.department_id IS NULL THEN '{}' ELSE ARRAY(
                    SELECT t.parent_id FROM department t WHERE t.account_id = k.account_id ORDER BY t.id) END",
            $more,
            "
            FROM ",
            $from,
            "
            JOIN project p ON p.id = k.project_id
            JOIN account a ON a.id = k.account_id
            JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
            LEFT JOIN department d ON d.account_id = m.account_id AND d.id = m.department_id
            WHERE ",
            $condition
        )
    };
}

/// The first column after those of a credential.
const AFTER_CREDENTIAL: usize = 19;

impl PostgresStore {
    /// The credential, the end of its project's log at the same moment, and the calls of other nodes, in one round trip.
    ///
    /// Whoever has the secret may see its key's row; that row opens its project and its account, and those the rest.
    async fn load(&self, hash: &CredentialHash) -> Result<Option<Presented>, Fault> {
        const OPEN: &str = "
            SELECT set_config('mnemon.project', k.project_id::text, true),
                set_config('mnemon.account', k.account_id::text, true)
            FROM api_key k
            WHERE k.hash = $1";
        const SELECT: &str = select_credential!("", "api_key k", "k.hash = $1");
        const CALLS: &str = "
            SELECT w.counter_id, w.calls
            FROM api_key k
            JOIN call_window w ON w.project_id = k.project_id AND w.counter_id IN (k.id, k.project_id)
            WHERE k.hash = $1 AND w.node_id <> $2";
        let bytes = hash.as_bytes().as_slice();
        let tx = Tx::read_latest(&self.pool, Tenant::credential(hash)).await?;
        let asks = vec![ask(OPEN, &[&bytes]), ask(SELECT, &[&bytes]), ask(CALLS, &[&bytes, &self.node])];
        let answers = tx.finish(asks).await?;
        let [_, found, calls] = answers.as_slice() else { return Err(Fault::away("PostgreSQL left an answer out")) };
        let Some((credential, seq)) = found.first().map(read).transpose()? else { return Ok(None) };
        let counter = credential.key.uuid();
        Ok(Some(present(credential, seq, counter, calls)?))
    }

    /// The same by a token: whoever has it may see its connection, which opens the row of its key. From there on it works as
    /// with the key's own secret.
    async fn load_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, Fault> {
        const OPEN: &str = "
            SELECT set_config('mnemon.project', k.project_id::text, true),
                set_config('mnemon.account', k.account_id::text, true)
            FROM connection c
            JOIN api_key k ON k.id = c.key_id
            WHERE c.hash = $1";
        const SELECT: &str = select_credential!(
            ", c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL",
            "connection c JOIN api_key k ON k.id = c.key_id",
            "c.hash = $1"
        );
        // The token is counted, not the key it stands for.
        const CALLS: &str = "
            SELECT w.counter_id, w.calls
            FROM connection c
            JOIN call_window w ON w.project_id = c.project_id AND w.counter_id IN (c.id, c.project_id)
            WHERE c.hash = $1 AND w.node_id <> $2";
        let bytes = hash.as_bytes().as_slice();
        let tx = Tx::read_latest(&self.pool, Tenant::credential(hash)).await?;
        let open = [ask(OPEN_KEY, &[&bytes]), ask(OPEN, &[&bytes])];
        let read_all = [ask(SELECT, &[&bytes]), ask(CALLS, &[&bytes, &self.node])];
        let answers = tx.finish(open.into_iter().chain(read_all).collect()).await?;
        let [_, _, found, calls] = answers.as_slice() else { return Err(Fault::away("PostgreSQL left an answer out")) };
        let Some(row) = found.first() else { return Ok(None) };
        let ((credential, seq), grant) = (read(row)?, read_grant(row, AFTER_CREDENTIAL)?);
        let presented = present(credential, seq, grant.id.uuid(), calls)?;
        Ok(Some((grant, presented)))
    }
}

/// A credential with the calls of other nodes: those under `counter`, and those of its whole project.
fn present(credential: Credential, seq: Seq, counter: Uuid, calls: &[Row]) -> Result<Presented, StoreError> {
    let elsewhere = CallsElsewhere {
        connection: read_calls(calls, counter)?,
        project: read_calls(calls, credential.project.uuid())?,
    };
    Ok(Presented { credential: Arc::new(credential), seq, elsewhere, saved: SavedLooks::default() })
}

fn read(row: &Row) -> Result<(Credential, Seq), StoreError> {
    read_credential(row, |account| read_tree(row, 17, 18, account))
}

pub(super) async fn insert_key(tx: &Tx, key: &NewKey) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label, created_by)
        SELECT $1, $2, p.id, p.account_id, m.id, $5, $6, $7, NULL, $8, $9
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $4
        WHERE p.id = $3 AND p.deleted_at IS NULL
        RETURNING 1";
    let (id, hash, project, member) =
        (key.id.uuid(), key.hash.as_bytes().as_slice(), key.project.uuid(), key.member.uuid());
    let (access, expires_at, created_at) = (key.access.as_str(), micros_opt(key.expires_at), micros(key.created_at));
    let created_by = key.created_by.map(|member| member.uuid());
    let values: [&(dyn ToSql + Sync); 9] =
        [&id, &hash, &project, &member, &access, &expires_at, &created_at, &key.label, &created_by];
    let inserted = tx.count(INSERT, &values).await?;
    let absent = || StoreError::Failed(format!("no project {} with a member {}", key.project, key.member));
    if inserted == 1 { Ok(()) } else { Err(absent().into()) }
}
