//! Who calls: credentials, API keys without their secrets, and the operator token. Others decide whether a credential
//! is accepted.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Access, AccountId, CredentialHash, DepartmentId, DepartmentTree, KeyId, MemberId, PlanName, ProjectId, Role, Seq,
    Subscription, Timestamp, Viewer, WorkspaceName,
};

use super::{AuditEntry, CallsElsewhere, Grant};
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Statement, Touches, statement};
use crate::tenant::Tenant;

/// The columns that [`read_key`] reads.
macro_rules! key_columns {
    () => {
        "SELECT id, project_id, account_id, member_id, access, expires_at, created_at, revoked_at, last_used_at, label,
            created_by, workspace, hint, seen_at, seen_client, link_ends_at, link_opened_at
        FROM api_key
        "
    };
}

/// Look-up of callers, and management of keys.
#[async_trait]
pub trait Credentials: Sql {
    /// The credential with this hash, whatever its state. A change to it takes effect on the next call.
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError>;

    /// The credential behind the token with this hash, and its connection, whatever the state of both. Calls on other
    /// nodes are those of the connection, not of the key.
    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError>;

    /// The hash of the operator's token, if one was made.
    async fn find_operator_token(&self) -> Result<Option<CredentialHash>, StoreError> {
        const SELECT: &str = "SELECT hash FROM operator_token";
        let row = self.select_one(Tenant::nobody(), statement!(SELECT)).await?;
        row.as_ref().map(read_operator_token).transpose()
    }

    /// Stores the operator token if there is none yet. `false` if there is.
    async fn insert_operator_token(&self, hash: CredentialHash, at: Timestamp) -> Result<bool, StoreError> {
        const INSERT: &str = "
            INSERT INTO operator_token (id, hash, created_at)
            VALUES (1, $1, $2)
            ON CONFLICT DO NOTHING
            RETURNING 1";
        Ok(self.write(Tenant::nobody(), statement!(INSERT, &hash, at)).await? > 0)
    }

    /// Removes the operator token, so that it never works again. `false` if there was none.
    async fn delete_operator_token(&self) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM operator_token RETURNING 1";
        Ok(self.write(Tenant::nobody(), statement!(DELETE)).await? > 0)
    }

    async fn insert_key(&self, key: NewKey, audit: AuditEntry) -> Result<(), StoreError> {
        let tenant = Tenant::project_and_people(key.project);
        match self.change(Change::of(tenant, Touches::People, insert_key(&key), audit)).await? {
            0 => Err(no_such_member(&key)),
            _ => Ok(()),
        }
    }

    /// Changes a key's label, access, end and default workspace. `false` if there is no such live key.
    async fn update_key(&self, key: KeyChange, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET label = $3, access = $4, expires_at = $5, workspace = $6
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING 1";
        let KeyChange { id, account, label, access, expires_at, workspace } = key;
        let workspace = workspace.as_ref().map(WorkspaceName::as_str);
        let update = statement!(UPDATE, account, id, label.as_ref(), access.as_str(), expires_at, workspace);
        Ok(self.change(Change::of(Tenant::account(account), Touches::Shown, update, audit)).await? > 0)
    }

    /// The key that a link with this hash shows, whatever the state of both.
    async fn find_key_by_link(&self, hash: &CredentialHash) -> Result<Option<KeyRow>, StoreError> {
        const SELECT: &str = concat!(key_columns!(), "WHERE link_hash = $1");
        let row = self.select_one(Tenant::credential(hash), statement!(SELECT, hash)).await?;
        row.as_ref().map(read_key).transpose()
    }

    /// Opens a key's link: from now on the key has this secret. `false` if the link was opened before, has ended, or
    /// its key is revoked.
    async fn open_link(&self, opened: OpenedLink, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET hash = $3, hint = $4, link_opened_at = $5
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL AND link_opened_at IS NULL AND link_ends_at > $5
            RETURNING 1";
        let OpenedLink { key, account, hash, hint, at } = opened;
        let update = statement!(UPDATE, account, key, &hash, hint.as_str(), at);
        Ok(self.change(Change::of(Tenant::account(account), Touches::Shown, update, audit)).await? > 0)
    }

    /// The hash of a key's secret, for a session of the console that goes on with another key.
    async fn find_key_hash(&self, id: KeyId) -> Result<Option<CredentialHash>, StoreError> {
        const SELECT: &str = "SELECT hash FROM api_key WHERE id = $1";
        let row = self.select_one(Tenant::key(id), statement!(SELECT, id)).await?;
        row.map(|row| read_key_hash(&row, id)).transpose()
    }

    /// Revokes a key. `false` if there is no such live key.
    async fn revoke_key(&self, key: KeyId, at: Timestamp, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE api_key
            SET revoked_at = $3
            WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING 1";
        let (tenant, update) = (Tenant::account(audit.account), statement!(UPDATE, audit.account, key, at));
        Ok(self.change(Change::of(tenant, Touches::Shown, update, audit)).await? > 0)
    }

    /// The keys of a project, oldest first, including revoked ones; never the secret.
    async fn list_keys(&self, project: ProjectId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str = concat!(key_columns!(), "WHERE project_id = $1 ORDER BY created_at, id");
        self.select(Tenant::project(project), statement!(SELECT, project)).await?.iter().map(read_key).collect()
    }

    /// The keys in a member's name, of every project of its account, oldest first, revoked ones included; never the
    /// secret.
    async fn list_member_keys(&self, account: AccountId, member: MemberId) -> Result<Vec<KeyRow>, StoreError> {
        const SELECT: &str =
            concat!(key_columns!(), "WHERE account_id = $1 AND member_id = $2 ORDER BY created_at, id");
        let rows = self.select(Tenant::account(account), statement!(SELECT, account, member)).await?;
        rows.iter().map(read_key).collect()
    }

    /// Notes requests of keys. An older one changes nothing, and a request without a client's name keeps the last.
    async fn note_seen(&self, seen: Vec<SeenKey>) -> Result<(), StoreError>;

    /// One key.
    async fn find_key(&self, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        const SELECT: &str = concat!(key_columns!(), "WHERE id = $1");
        self.select_one(Tenant::key(id), statement!(SELECT, id)).await?.as_ref().map(read_key).transpose()
    }
}

pub(crate) fn no_such_member(key: &NewKey) -> StoreError {
    StoreError::Failed(format!("no project {} with a member {}", key.project, key.member))
}

pub(crate) fn insert_key(key: &NewKey) -> Statement {
    const INSERT: &str = "
        INSERT INTO api_key (id, hash, project_id, account_id, member_id, access, expires_at, created_at, revoked_at,
            label, created_by, workspace, hint, link_hash, link_ends_at)
        SELECT $1, $2, p.id, p.account_id, m.id, $5, $6, $7, NULL, $8, $9, $10, $11, $12, $13
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $4
        WHERE p.id = $3 AND p.deleted_at IS NULL
        RETURNING 1";
    statement!(
        INSERT,
        key.id,
        &key.hash,
        key.project,
        key.member,
        key.access.as_str(),
        key.expires_at,
        key.created_at,
        key.label.as_ref(),
        key.created_by,
        key.workspace.as_ref().map(WorkspaceName::as_str),
        key.hint.as_ref(),
        key.link.as_ref().map(|link| &link.hash),
        key.link.map(|link| link.ends_at),
    )
}

/// Everything that follows from a credential, except the decision whether it is accepted now.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    pub key: KeyId,
    pub access: Access,
    /// From then on it is refused.
    pub expires_at: Option<Timestamp>,
    pub is_revoked: bool,
    pub project: ProjectId,
    pub account: AccountId,
    pub subscription: Subscription,
    pub member: MemberId,
    pub member_name: String,
    pub role: Role,
    /// From then on the member's keys are refused.
    pub access_until: Option<Timestamp>,
    pub department: Option<DepartmentId>,
    pub department_name: Option<String>,
    pub viewer: Viewer,
    /// Version of the account's names and marks; bumped whenever a record would render differently although the record
    /// itself did not change. On PostgreSQL it is bumped with all of the above, too.
    pub account_version: u64,
    /// Default workspace for calls that do not name one.
    pub workspace: Option<WorkspaceName>,
}

/// A credential together with everything else a call needs to start: one round trip for all of it.
#[derive(Debug, Clone)]
pub struct Presented {
    pub credential: Arc<Credential>,
    /// The last seq of the project's log that any reader may already have seen acknowledged.
    pub seq: Seq,
    /// What other nodes recently admitted.
    pub elsewhere: CallsElsewhere,
}

#[derive(Debug, Clone)]
pub struct NewKey {
    pub id: KeyId,
    pub hash: CredentialHash,
    pub project: ProjectId,
    pub member: MemberId,
    pub access: Access,
    pub label: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// The member who makes it; `None` for the operator and the first start.
    pub created_by: Option<MemberId>,
    /// Default workspace for calls with it that do not name one.
    pub workspace: Option<WorkspaceName>,
    /// Its last characters, by which people distinguish keys.
    pub hint: Option<String>,
    /// The link that shows it, if it is handed over by one.
    pub link: Option<NewLink>,
}

/// A link that shows a key once. Until then the key's own hash is of random bits that nobody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewLink {
    pub hash: CredentialHash,
    /// From then on it can't be opened.
    pub ends_at: Timestamp,
}

/// What of a key can be changed, as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    pub id: KeyId,
    pub account: AccountId,
    pub label: Option<String>,
    pub access: Access,
    pub expires_at: Option<Timestamp>,
    pub workspace: Option<WorkspaceName>,
}

/// A link that is opened, and the secret that its key gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedLink {
    pub key: KeyId,
    pub account: AccountId,
    pub hash: CredentialHash,
    pub hint: String,
    pub at: Timestamp,
}

/// A request that a key made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenKey {
    pub project: ProjectId,
    pub key: KeyId,
    pub at: Timestamp,
    /// The program's name for itself, if the request contained one.
    pub client: Option<String>,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    pub id: KeyId,
    pub project: ProjectId,
    pub account: AccountId,
    pub member: MemberId,
    pub access: Access,
    pub label: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// Accurate to a few seconds.
    pub last_used_at: Option<Timestamp>,
    /// The member who made it; unknown for keys of the operator and of before it was noted.
    pub created_by: Option<MemberId>,
    /// Default workspace for calls with it that do not name one.
    pub workspace: Option<WorkspaceName>,
    /// Its last characters; unknown for keys of before they were noted.
    pub hint: Option<String>,
    /// Its last request to the assistants' endpoint.
    pub seen_at: Option<Timestamp>,
    /// The last program that sent its name.
    pub seen_client: Option<String>,
    /// The link that shows it, if it is handed over by one.
    pub link: Option<KeyLink>,
}

/// The link of a key, without what leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLink {
    pub ends_at: Timestamp,
    /// When it was opened, once it was.
    pub opened_at: Option<Timestamp>,
}

/// Reads the 19 columns of a key, its project, account, member and department. The departments of the account are
/// loaded if the member belongs to one.
pub(crate) fn read_credential<R: Row>(
    row: &R,
    tree: impl FnOnce(AccountId) -> Result<DepartmentTree, StoreError>,
) -> Result<(Credential, Seq), StoreError> {
    let key: KeyId = Cells::new(row, "api_key", String::new).id(0, "id")?;
    let key_cells = Cells::new(row, "api_key", || key.to_string());
    let project: ProjectId = key_cells.id(4, "project_id")?;
    let account: AccountId = key_cells.id(5, "account_id")?;
    let member: MemberId = key_cells.id(6, "member_id")?;
    let project_cells = Cells::new(row, "project", || project.to_string());
    let account_cells = Cells::new(row, "account", || account.to_string());
    let member_cells = Cells::new(row, "member", || member.to_string());
    let role = member_cells.word(13, "role", Role::parse)?;
    let department = member_cells.id_opt(15, "department_id")?;
    let tree = if department.is_some() { tree(account)? } else { DepartmentTree::default() };
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
        viewer: Viewer::new(member, role, department, &tree),
        account_version: account_cells.count(17, "account_version")?,
        workspace: key_cells.workspace_name_opt(18, "workspace")?,
    };
    Ok((credential, Seq(project_cells.count(7, "seq")?)))
}

/// Reads the hash of a key's secret.
pub(crate) fn read_key_hash<R: Row>(row: &R, id: KeyId) -> Result<CredentialHash, StoreError> {
    let cells = Cells::new(row, "api_key", || id.to_string());
    Ok(CredentialHash::from_bytes(cells.bytes(0, "hash")?))
}

pub(crate) fn read_operator_token<R: Row>(row: &R) -> Result<CredentialHash, StoreError> {
    let cells = Cells::new(row, "operator_token", || "1".to_owned());
    Ok(CredentialHash::from_bytes(cells.bytes(0, "hash")?))
}

pub(crate) fn read_key<R: Row>(row: &R) -> Result<KeyRow, StoreError> {
    let id: KeyId = Cells::new(row, "api_key", String::new).id(0, "id")?;
    let cells = Cells::new(row, "api_key", || id.to_string());
    Ok(KeyRow {
        id,
        project: cells.id(1, "project_id")?,
        account: cells.id(2, "account_id")?,
        member: cells.id(3, "member_id")?,
        access: cells.word(4, "access", Access::parse)?,
        label: cells.text_opt(9, "label")?,
        expires_at: cells.time_opt(5, "expires_at")?,
        revoked_at: cells.time_opt(7, "revoked_at")?,
        created_at: cells.time(6, "created_at")?,
        last_used_at: cells.time_opt(8, "last_used_at")?,
        created_by: cells.id_opt(10, "created_by")?,
        workspace: cells.workspace_name_opt(11, "workspace")?,
        hint: cells.text_opt(12, "hint")?,
        seen_at: cells.time_opt(13, "seen_at")?,
        seen_client: cells.text_opt(14, "seen_client")?,
        link: match cells.time_opt(15, "link_ends_at")? {
            Some(ends_at) => Some(KeyLink { ends_at, opened_at: cells.time_opt(16, "link_opened_at")? }),
            None => None,
        },
    })
}
