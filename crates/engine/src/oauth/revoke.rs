//! A client revokes its token.

use mnemon_core::{AuditId, CredentialHash};
use mnemon_store::{Actor, AuditEntry};

use super::TokenError;
use crate::Engine;

impl Engine {
    /// Ends the connection of a token. Anything that is not a valid token counts as ended.
    pub async fn revoke_token(&self, token: &str, client: Option<&str>) -> Result<(), TokenError> {
        let Some(grant) = self.store.find_grant(&CredentialHash::of(token)).await? else { return Ok(()) };
        if client.is_some_and(|client| client != grant.client) {
            return Err(TokenError::InvalidClient);
        }
        let Some(row) = self.store.find_connection(grant.id).await? else { return Ok(()) };
        let now = self.clock.now();
        let audit = AuditEntry {
            id: AuditId::new(self.ids.uuid(now)),
            account: row.account,
            project: Some(row.project),
            at: now,
            actor: Actor::Member(row.member),
            action: "connection.revoke".into(),
            subject: row.id.to_string(),
            actor_name: None,
            subject_name: None,
            key: None,
        };
        self.store.revoke_connection(row.id, now, audit).await?;
        Ok(())
    }
}
