//! A client asks, a person agrees by pasting a key, and the client gets a code.

use std::net::IpAddr;

use mnemon_core::{CredentialHash, CredentialKind, make_token};
use mnemon_store::{NewCode, OauthClient, StoreError};

use super::{CODE_LIFE, ClientError, Issuer, redirects};
use crate::{Engine, NotAuthenticated};

const STATE_CHARS_MAX: usize = 4_096;
/// SHA-256 in base64url, without padding.
const CHALLENGE_CHARS: usize = 43;

/// What a client asks for, as sent. Each field comes at most once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub client_id: Option<String>,
    pub redirect_uri: Option<String>,
    pub response_type: Option<String>,
    /// How the code will be proven.
    pub code_challenge: Option<String>,
    pub code_challenge_method: Option<String>,
    pub scope: Option<String>,
    /// Returned unchanged.
    pub state: Option<String>,
    /// The resource that the token is for.
    pub resource: Option<String>,
    /// The fields that came more than once.
    pub repeated: Option<&'static str>,
}

/// Where an answer goes, and what it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The client's registered redirect URI.
    pub redirect_uri: String,
    pub state: Option<String>,
}

/// A valid request: what a person is asked to agree to.
#[derive(Debug, Clone)]
pub struct Asked {
    pub client: OauthClient,
    pub back: Return,
    pub host: String,
    /// Whether that is the person's own machine.
    pub is_loopback: bool,
    challenge: String,
}

/// An error for the client, sent to its redirect URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedError {
    pub back: Return,
    pub code: &'static str,
    /// What is wrong, for the client's developer.
    pub description: &'static str,
}

/// Why the person is not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    /// It is unsafe to redirect anywhere: the page says so.
    #[error("{0}")]
    Shown(&'static str),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("{}", .0.description)]
    Returned(ReturnedError),
}

/// Why a pasted key was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("the key was rejected")]
    WrongKey,
    /// Too many wrong keys came from this address.
    #[error("too many wrong keys; try again in {retry_after_seconds} s")]
    TooMany { retry_after_seconds: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Checks a client's request.
    pub async fn check_authorization(
        &self,
        issuer: &Issuer,
        request: AuthorizationRequest,
        caller: IpAddr,
    ) -> Result<Asked, AuthorizeError> {
        // First check who asks and where the answer goes. Until both are known to belong together, nothing is sent
        // there.
        if let Some("client_id" | "redirect_uri") = request.repeated {
            return Err(AuthorizeError::Shown("the request gives client_id or redirect_uri twice"));
        }
        let id = request.client_id.as_deref().ok_or(AuthorizeError::Shown("the request has no client_id"))?;
        let client = self.find_client(id, caller).await?;
        let uri = request.redirect_uri.clone();
        let uri = uri.ok_or(AuthorizeError::Shown("the request has no redirect_uri"))?;
        let foreign = AuthorizeError::Shown("the redirect_uri is not one this client has registered");
        let redirect = redirects::parse(&uri).map_err(|_| foreign.clone())?;
        if !redirects::is_registered(&uri, &client.redirect_uris) {
            return Err(foreign);
        }
        let state_is_long = request.state.as_ref().is_some_and(|state| state.len() > STATE_CHARS_MAX);
        let state = request.state.clone().filter(|_| !state_is_long);
        let back = Return { redirect_uri: uri, state };
        let checked = if state_is_long { Err(STATE_TOO_LONG) } else { check_rest(issuer, &request) };
        match checked {
            Ok(challenge) => {
                Ok(Asked { client, back, host: redirect.host, is_loopback: redirect.is_loopback, challenge })
            }
            Err((code, description)) => Err(AuthorizeError::Returned(ReturnedError { back, code, description })),
        }
    }

    /// The person agreed with this key: creates the code that the client exchanges for a token.
    pub async fn grant(&self, issuer: &Issuer, asked: &Asked, key: &str, caller: IpAddr) -> Result<String, GrantError> {
        let now = self.clock.now();
        // People copy keys together with surrounding whitespace.
        let ctx = self.authenticate(key.trim()).await.map_err(|error| match error {
            NotAuthenticated::Rejected => match self.count_wrong_key(caller) {
                Ok(()) => GrantError::WrongKey,
                Err(retry_after_seconds) => GrantError::TooMany { retry_after_seconds },
            },
            NotAuthenticated::Store(error) => GrantError::Store(error),
        })?;
        let code = make_token(CredentialKind::OauthCode, &self.ids.secret());
        let new = NewCode {
            hash: CredentialHash::of(code.expose()),
            client: asked.client.id.clone(),
            client_name: asked.client.name.clone(),
            redirect_uri: asked.back.redirect_uri.clone(),
            challenge: asked.challenge.clone(),
            resource: issuer.resource().to_owned(),
            key: ctx.credential.key,
            created_at: now,
            expires_at: now + CODE_LIFE,
        };
        self.store.insert_code(new).await?;
        Ok(asked.back.location(issuer, &[("code", code.expose())]))
    }
}

type Wrong = (&'static str, &'static str);

const STATE_TOO_LONG: Wrong = ("invalid_request", "state must be at most 4096 characters long");

/// Checks whose failures are reported to the client itself.
fn check_rest(issuer: &Issuer, request: &AuthorizationRequest) -> Result<String, Wrong> {
    if request.repeated.is_some() {
        return Err(("invalid_request", "a parameter was given more than once"));
    }
    match request.response_type.as_deref() {
        Some("code") => {}
        None => return Err(("invalid_request", "response_type is missing; it must be code")),
        Some(_) => return Err(("unsupported_response_type", "response_type must be code")),
    }
    let challenge = request.code_challenge.clone();
    let challenge = challenge.ok_or(("invalid_request", "code_challenge is missing; PKCE with S256 is required"))?;
    if request.code_challenge_method.as_deref() != Some("S256") {
        return Err(("invalid_request", "code_challenge_method must be S256"));
    }
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if challenge.len() != CHALLENGE_CHARS || !challenge.bytes().all(is_base64url) {
        return Err((
            "invalid_request",
            "code_challenge must be the SHA-256 of the verifier in base64url, 43 characters",
        ));
    }
    // Other scopes are neither refused nor granted: the token says what it is for.
    let is_scope = |text: &str| text.bytes().all(|byte| matches!(byte, b' ' | 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    if !request.scope.as_deref().is_none_or(is_scope) {
        return Err(("invalid_scope", "scope must be words of visible ASCII characters; the only scope is mcp"));
    }
    if !request.resource.as_deref().is_none_or(|resource| issuer.is_meant_by(resource)) {
        return Err(("invalid_target", "resource must be the URL of this service's MCP endpoint"));
    }
    Ok(challenge)
}

impl Return {
    /// The redirect URI with the answer, the state and our issuer.
    pub fn location(&self, issuer: &Issuer, answer: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(answer);
        if let Some(state) = &self.state {
            query.append_pair("state", state);
        }
        query.append_pair("iss", issuer.base_url());
        let mark = if self.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{mark}{}", self.redirect_uri, query.finish())
    }
}

impl ReturnedError {
    /// The redirect URI with the error.
    pub fn location(&self, issuer: &Issuer) -> String {
        self.back.location(issuer, &[("error", self.code), ("error_description", self.description)])
    }
}

impl Asked {
    /// The redirect URI with the person's refusal.
    pub fn refused(&self, issuer: &Issuer) -> String {
        let answer = [("error", "access_denied"), ("error_description", "the user denied access")];
        self.back.location(issuer, &answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_keeps_the_query_of_the_redirect_uri() {
        let issuer = Issuer::new("https://memory.example");
        let location = |uri: &str, state: Option<&str>| {
            let back = Return { redirect_uri: uri.to_owned(), state: state.map(str::to_owned) };
            back.location(&issuer, &[("code", "c")])
        };
        let iss = "iss=https%3A%2F%2Fmemory.example";
        assert_eq!(location("https://a.b/x", None), format!("https://a.b/x?code=c&{iss}"));
        assert_eq!(location("https://a.b/x?y=z", Some("s")), format!("https://a.b/x?y=z&code=c&state=s&{iss}"));
        assert_eq!(
            location("https://a.b/x", Some("a b&code=evil\r\n#é")),
            format!("https://a.b/x?code=c&state=a+b%26code%3Devil%0D%0A%23%C3%A9&{iss}")
        );
    }
}
