//! How a code is used: once. A second use ends the connection that the first one created.

use mnemon_core::{AccountId, AuditId, ConnectionId, MemberId, ProjectId, Timestamp};

use super::audit::insert_audit;
use super::oauth::revoke_connection;
use super::{Actor, AuditEntry, Redeemed, Redemption};
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Statement, Touches, Transaction, statement};
use crate::tenant::Tenant;

/// Uses a code, which is locked first: of several simultaneous uses, one is the first.
pub(crate) async fn redeem<T: Transaction>(tx: &mut T, redemption: &Redemption) -> Result<Redeemed, T::Error> {
    const FIND_KEY: &str = "SELECT key_id FROM oauth_code WHERE hash = $1 FOR UPDATE";
    const FIND: &str = "
        SELECT c.used_at IS NOT NULL, c.connection_id, c.expires_at, c.challenge, c.client_id, c.redirect_uri,
            k.revoked_at IS NOT NULL, k.account_id, k.project_id, k.member_id
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1";
    const USE: &str = "UPDATE oauth_code SET used_at = $2, connection_id = $3 WHERE hash = $1";
    let found = tx.run(statement!(FIND_KEY, &redemption.code)).await?;
    let Some(row) = found.first() else { return Ok(Redeemed::Refused) };
    tx.turn(Tenant::key(Cells::new(row, "oauth_code", String::new).id(0, "key_id")?)).await?;
    let found = tx.run(statement!(FIND, &redemption.code)).await?;
    let Some(code) = found.first().map(Code::read).transpose()? else { return Ok(Redeemed::Refused) };
    tx.turn(Tenant::project_of(code.project, code.account)).await?;
    if code.is_used {
        return end_replayed(tx, &code, redemption).await;
    }
    let is_right = code.admits(redemption);
    tx.put(statement!(USE, &redemption.code, redemption.now, is_right.then_some(redemption.id))).await?;
    if !is_right {
        return Ok(Redeemed::Refused);
    }
    tx.put(insert_connection(redemption)).await?;
    tx.put(insert_audit(&code.created(redemption), 1)).await?;
    Ok(Redeemed::Done)
}

/// A used code came again, so somebody else has it. The connection it created is ended.
async fn end_replayed<T: Transaction>(tx: &mut T, code: &Code, redemption: &Redemption) -> Result<Redeemed, T::Error> {
    let Some(connection) = code.connection else { return Ok(Redeemed::Refused) };
    if !tx.run(revoke_connection(code.account, connection, redemption.now)).await?.is_empty() {
        tx.touch(Touches::People);
        tx.put(insert_audit(&code.revoked(redemption, connection), 1)).await?;
    }
    Ok(Redeemed::Replayed)
}

/// The connection that a first use of a code creates.
fn insert_connection(redemption: &Redemption) -> Statement {
    const INSERT: &str = "
        INSERT INTO connection (id, hash, project_id, account_id, member_id, key_id, created_at, expires_at, revoked_at,
            last_used_at, client_id, client_name, resource, redirect_uri)
        SELECT $2, $3, k.project_id, k.account_id, k.member_id, k.id, $4, $5, NULL, NULL, c.client_id, c.client_name,
            c.resource, c.redirect_uri
        FROM oauth_code c
        JOIN api_key k ON k.id = c.key_id
        WHERE c.hash = $1";
    let Redemption { code, now, id, hash, expires_at, .. } = redemption;
    statement!(INSERT, code, *id, hash, *now, *expires_at)
}

/// A stored code, with the key that granted it.
struct Code {
    is_used: bool,
    connection: Option<ConnectionId>,
    expires_at: Timestamp,
    challenge: String,
    client: String,
    redirect_uri: String,
    key_revoked: bool,
    account: AccountId,
    project: ProjectId,
    member: MemberId,
}

impl Code {
    fn read<R: Row>(row: &R) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "oauth_code", String::new);
        Ok(Self {
            is_used: cells.flag(0, "used_at")?,
            connection: cells.id_opt(1, "connection_id")?,
            expires_at: cells.time(2, "expires_at")?,
            challenge: cells.text(3, "challenge")?,
            client: cells.text(4, "client_id")?,
            redirect_uri: cells.text(5, "redirect_uri")?,
            key_revoked: cells.flag(6, "revoked_at")?,
            account: cells.id(7, "account_id")?,
            project: cells.id(8, "project_id")?,
            member: cells.id(9, "member_id")?,
        })
    }

    /// Whether a first use creates a connection: in time, by the client that the code was issued for, with the redirect
    /// URI it was sent to and the verifier of its challenge (PKCE), while its key is live.
    fn admits(&self, redemption: &Redemption) -> bool {
        self.expires_at > redemption.now
            && self.client == redemption.client
            && redemption.redirect_uri.as_ref().is_none_or(|uri| *uri == self.redirect_uri)
            && self.challenge == redemption.challenge
            && !self.key_revoked
    }

    /// The audit row for the connection that a first use created.
    fn created(&self, redemption: &Redemption) -> AuditEntry {
        let [id, _] = redemption.audit;
        self.audit(redemption, id, Actor::Member(self.member), "connection.create", redemption.id)
    }

    /// The audit row for the connection that ended because its code was used again.
    fn revoked(&self, redemption: &Redemption, connection: ConnectionId) -> AuditEntry {
        let [_, id] = redemption.audit;
        self.audit(redemption, id, Actor::Service, "connection.revoke", connection)
    }

    fn audit(
        &self,
        redemption: &Redemption,
        id: AuditId,
        actor: Actor,
        action: &'static str,
        subject: ConnectionId,
    ) -> AuditEntry {
        AuditEntry {
            id,
            account: self.account,
            project: Some(self.project),
            at: redemption.now,
            actor,
            action: action.into(),
            subject: subject.to_string(),
            actor_name: None,
            subject_name: None,
            key: None,
        }
    }
}
