//! From a presented credential to a [`CallContext`], or to one refusal that is the same for every cause.

use mnemon_core::{CredentialHash, CredentialKind, SubscriptionState, Timestamp, is_well_formed};
use mnemon_store::{Credential, StoreError};

use crate::{CallContext, Connection, Engine};

/// Why nobody was let in.
#[derive(Debug, thiserror::Error)]
pub enum NotAuthenticated {
    /// Malformed, unknown, revoked, expired, or its account is suspended: the caller can't tell which.
    #[error("the credential is not accepted")]
    Rejected,
    /// It could not be found out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Finds out who calls. Work and time are the same for a malformed key as for a wrong one: both are looked up.
    pub async fn authenticate(&self, token: &str) -> Result<CallContext, NotAuthenticated> {
        let now = self.clock.now();
        let found = self.store.find_credential(&CredentialHash::of(token)).await?;
        let is_well_formed = is_well_formed(CredentialKind::ApiKey, token);
        let presented = found.filter(|_| is_well_formed).ok_or(NotAuthenticated::Rejected)?;
        let subscription = presented.credential.subscription.state(now);
        if !is_accepted(&presented.credential, subscription, now) {
            return Err(NotAuthenticated::Rejected);
        }
        Ok(CallContext {
            credential: presented.credential,
            connection: Connection::Key,
            now,
            seq: presented.seq,
            subscription,
        })
    }
}

fn is_accepted(credential: &Credential, subscription: SubscriptionState, now: Timestamp) -> bool {
    let is_over = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
    !credential.is_revoked
        && !is_over(credential.expires_at)
        && !is_over(credential.access_until)
        && subscription != SubscriptionState::SuspendedByOperator
}
