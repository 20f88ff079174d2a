//! Exchanges a code for a token, once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mnemon_core::{AuditId, ConnectionId, CredentialHash, CredentialKind, Secret, make_token};
use mnemon_store::{Redeemed, Redemption, StoreError};
use sha2::{Digest, Sha256};

use super::{ClientError, Issuer, TOKEN_LIFE};
use crate::Engine;

/// What a client sends. Each field comes at most once.
#[derive(Debug, Clone, Default)]
pub struct TokenRequest {
    pub grant_type: Option<String>,
    pub client_id: Option<String>,
    pub code: Option<Secret<String>>,
    pub redirect_uri: Option<String>,
    /// What the challenge was made from.
    pub code_verifier: Option<Secret<String>>,
    /// The resource that the token is for.
    pub resource: Option<String>,
    /// Whether a field came more than once.
    pub has_repeated: bool,
}

/// A new token; it can be seen only now.
#[derive(Debug)]
pub struct Issued {
    pub token: Secret<String>,
    pub expires_in_seconds: i64,
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("{0}")]
    InvalidRequest(&'static str),
    #[error("grant_type must be authorization_code; there are no refresh tokens, so reconnect after 30 days")]
    UnsupportedGrantType,
    #[error("client_id is missing or unknown; register again")]
    InvalidClient,
    #[error(
        "the code is not valid: it works once, within 60 s, with the client, redirect_uri and verifier it was issued for"
    )]
    InvalidGrant,
    #[error("resource must be the URL of this service's MCP endpoint")]
    InvalidTarget,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Exchanges a code for a token.
    pub async fn exchange(&self, issuer: &Issuer, request: TokenRequest) -> Result<Issued, TokenError> {
        if request.has_repeated {
            return Err(TokenError::InvalidRequest("a parameter was given more than once"));
        }
        match request.grant_type.as_deref() {
            Some("authorization_code") => {}
            None => return Err(TokenError::InvalidRequest("grant_type is missing; it must be authorization_code")),
            Some(_) => return Err(TokenError::UnsupportedGrantType),
        }
        let client = self.known_client(request.client_id.as_deref().unwrap_or_default()).await;
        let client = client.map_err(|error| match error {
            ClientError::Store(error) => TokenError::Store(error),
            _ => TokenError::InvalidClient,
        })?;
        let code = request.code.ok_or(TokenError::InvalidRequest("code is missing"))?;
        let verifier = request.code_verifier.ok_or(TokenError::InvalidRequest("code_verifier is missing"))?;
        let challenge = challenge_of(verifier.expose())?;
        if !request.resource.as_deref().is_none_or(|resource| issuer.is_meant_by(resource)) {
            return Err(TokenError::InvalidTarget);
        }
        self.redeem(client.id, request.redirect_uri, code.expose(), challenge).await
    }

    async fn redeem(
        &self,
        client: String,
        redirect_uri: Option<String>,
        code: &str,
        challenge: String,
    ) -> Result<Issued, TokenError> {
        let now = self.clock.now();
        let token = make_token(CredentialKind::OauthToken, &self.ids.secret());
        let redemption = Redemption {
            code: CredentialHash::of(code),
            client,
            redirect_uri,
            challenge,
            now,
            id: ConnectionId::new(self.ids.uuid(now)),
            hash: CredentialHash::of(token.expose()),
            expires_at: now + TOKEN_LIFE,
            audit: [AuditId::new(self.ids.uuid(now)), AuditId::new(self.ids.uuid(now))],
        };
        match self.store.redeem_code(redemption).await? {
            Redeemed::Done => Ok(Issued { token, expires_in_seconds: TOKEN_LIFE.as_secs() }),
            Redeemed::Refused => Err(TokenError::InvalidGrant),
            Redeemed::Replayed => {
                tracing::warn!("a code was used twice; revoked the connection it was issued for");
                Err(TokenError::InvalidGrant)
            }
        }
    }
}

/// The challenge that belongs to a verifier.
fn challenge_of(verifier: &str) -> Result<String, TokenError> {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(is_unreserved) {
        let text = "code_verifier must be 43 to 128 letters, digits or any of - . _ ~";
        return Err(TokenError::InvalidRequest(text));
    }
    Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge_of(verifier).unwrap(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(challenge_of(&"a".repeat(128)).is_ok());
        for wrong in [&verifier[..42], &"a".repeat(129), "", &format!("{}+", &verifier[..42]), &format!("{verifier} ")]
        {
            assert!(challenge_of(wrong).is_err(), "{wrong:?}");
        }
    }
}
