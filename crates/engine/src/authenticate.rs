//! Turns a presented credential into a [`CallContext`], or into one refusal that is the same for every cause.

use mnemon_core::{CredentialHash, CredentialKind, SubscriptionState, Timestamp, is_well_formed};
use mnemon_store::{Credential, Grant, Presented, StoreError};

use crate::oauth::Issuer;
use crate::{CallContext, Connection, Engine};

/// Why a caller was refused.
#[derive(Debug, thiserror::Error)]
pub enum NotAuthenticated {
    /// Malformed, unknown, revoked, expired, or its account is suspended: the caller does not learn which.
    #[error("the credential was rejected")]
    Rejected,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Authenticates an API key.
    pub async fn authenticate(&self, key: &str) -> Result<CallContext, NotAuthenticated> {
        let found = self.store.find_credential(&CredentialHash::of(key)).await?;
        let is_well_formed = is_well_formed(CredentialKind::ApiKey, key);
        self.accept(found.filter(|_| is_well_formed), Connection::Key, self.clock.now())
    }

    /// Authenticates an API key, or a token that this issuer issued.
    pub async fn authenticate_bearer(&self, token: &str, issuer: &Issuer) -> Result<CallContext, NotAuthenticated> {
        if CredentialKind::of(token) != Some(CredentialKind::OauthToken) {
            return self.authenticate(token).await;
        }
        let now = self.clock.now();
        let found = self.store.find_credential_by_token(&CredentialHash::of(token)).await?;
        let is_alive =
            |grant: &Grant| !grant.is_revoked && now < grant.expires_at && grant.resource == issuer.resource();
        let is_well_formed = is_well_formed(CredentialKind::OauthToken, token);
        let found = found.filter(|(grant, _)| is_well_formed && is_alive(grant));
        match found {
            Some((grant, presented)) => self.accept(Some(presented), Connection::Oauth(grant.id), now),
            None => Err(NotAuthenticated::Rejected),
        }
    }

    pub(crate) fn accept(
        &self,
        found: Option<Presented>,
        connection: Connection,
        now: Timestamp,
    ) -> Result<CallContext, NotAuthenticated> {
        let presented = found.ok_or(NotAuthenticated::Rejected)?;
        let subscription = presented.credential.subscription.state(now);
        if !is_accepted(&presented.credential, subscription, now) {
            return Err(NotAuthenticated::Rejected);
        }
        let Presented { credential, seq, elsewhere, .. } = presented;
        Ok(CallContext { credential, connection, now, seq, elsewhere, subscription })
    }
}

fn is_accepted(credential: &Credential, subscription: SubscriptionState, now: Timestamp) -> bool {
    let is_over = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
    !credential.is_revoked
        && !is_over(credential.expires_at)
        && !is_over(credential.access_until)
        && subscription != SubscriptionState::SuspendedByOperator
}
