//! Finding out who calls. Nothing is kept between two calls: another node may have changed it.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Access, AccountId, CredentialHash, DepartmentId, DepartmentTree, KeyId, MemberId, PlanName, ProjectId, Role, Seq,
    Subscription, Viewer,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::error::{Again, Fault};
use super::oauth::{OPEN_KEY, read_grant};
use super::rates::read_calls;
use super::rows::Cells;
use super::transaction::{Tenant, Tx, ask};
use crate::{CallsElsewhere, Credential, Credentials, Grant, Presented, StoreError};

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
    /// The credential with how far its project's log has come, as of one moment, and the calls of other nodes: by one way
    /// to the server and back.
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

    /// The same by a token: whoever has it may see its connection, that opens the row of its key, and from there on it is
    /// as with the key's own secret.
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
        // The token is counted, and not the key that it stands for.
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
    Ok(Presented { credential: Arc::new(credential), seq, elsewhere })
}

fn read(row: &Row) -> Result<(Credential, Seq), StoreError> {
    let key = KeyId::new(Cells::new(row, "api_key", String::new).uuid(0, "id")?);
    let key_cells = Cells::new(row, "api_key", || key.to_string());
    let account = AccountId::new(key_cells.uuid(5, "account_id")?);
    let member = MemberId::new(key_cells.uuid(6, "member_id")?);
    let project = ProjectId::new(key_cells.uuid(4, "project_id")?);
    let project_cells = Cells::new(row, "project", || project.to_string());
    let account_cells = Cells::new(row, "account", || account.to_string());
    let member_cells = Cells::new(row, "member", || member.to_string());
    let role = member_cells.word(13, "role", Role::parse)?;
    let department = member_cells.uuid_opt(15, "department_id")?.map(DepartmentId::new);
    let credential = Credential {
        key,
        access: key_cells.word(1, "access", Access::parse)?,
        expires_at: key_cells.time_opt(2, "expires_at")?,
        // The keys of a deleted project open nothing, without a write to each of them.
        is_revoked: key_cells.flag(3, "revoked_at")? || project_cells.flag(8, "deleted_at")?,
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
        viewer: Viewer::new(member, role, department, &read_tree(row, account)?),
    };
    Ok((credential, Seq(project_cells.count(7, "seq")?)))
}

fn read_tree(row: &Row, account: AccountId) -> Result<DepartmentTree, StoreError> {
    let cells = Cells::new(row, "department", || account.to_string());
    let ids = cells.uuids(17, "id")?.into_iter().map(DepartmentId::new);
    let parents = cells.uuid_opts(18, "parent_id")?.into_iter().map(|parent| parent.map(DepartmentId::new));
    Ok(DepartmentTree::new(ids.zip(parents)))
}
