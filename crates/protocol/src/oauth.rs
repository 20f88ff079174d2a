//! The JSON of OAuth: metadata, registration, tokens, errors.

use serde::{Deserialize, Serialize};

/// What a protected resource says of itself (RFC 9728).
#[derive(Debug, Serialize)]
pub struct ProtectedResource<'a> {
    /// The resource.
    pub resource: &'a str,
    /// What the service calls itself.
    pub resource_name: &'a str,
    /// Who gives tokens for it.
    pub authorization_servers: [&'a str; 1],
    /// What can be asked for.
    pub scopes_supported: [&'a str; 1],
    /// How tokens are sent.
    pub bearer_methods_supported: [&'a str; 1],
}

/// What an authorization server says of itself (RFC 8414).
#[derive(Debug, Serialize)]
pub struct AuthorizationServer<'a> {
    /// Its name.
    pub issuer: &'a str,
    /// Where a person agrees.
    pub authorization_endpoint: String,
    /// Where a code becomes a token.
    pub token_endpoint: String,
    /// Where a client makes itself known.
    pub registration_endpoint: String,
    /// Where a token is given back.
    pub revocation_endpoint: String,
    /// What can be asked for.
    pub scopes_supported: [&'a str; 1],
    /// The answers there are.
    pub response_types_supported: [&'a str; 1],
    /// How answers come back.
    pub response_modes_supported: [&'a str; 1],
    /// The ways to a token.
    pub grant_types_supported: [&'a str; 1],
    /// How clients prove who they are.
    pub token_endpoint_auth_methods_supported: [&'a str; 1],
    /// And when they give a token back.
    pub revocation_endpoint_auth_methods_supported: [&'a str; 1],
    /// How codes are proven.
    pub code_challenge_methods_supported: [&'a str; 1],
    /// Whether answers name us.
    pub authorization_response_iss_parameter_supported: bool,
    /// Whether a client's id may be the address of a document.
    pub client_id_metadata_document_supported: bool,
}

/// What a client says of itself when it registers (RFC 7591); the rest is ignored.
#[derive(Debug, Deserialize)]
pub struct RegisterClient {
    /// Where it may be returned to.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// What it calls itself.
    pub client_name: Option<String>,
    /// The ways to a token that it will use.
    pub grant_types: Option<Vec<String>>,
    /// The answers that it will ask for.
    pub response_types: Option<Vec<String>>,
}

/// A client that is known now.
#[derive(Debug, Serialize)]
pub struct RegisteredClient<'a> {
    /// Its id.
    pub client_id: &'a str,
    /// When it was made known, in seconds since 1970.
    pub client_id_issued_at: i64,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<&'a str>,
    /// Where it may be returned to.
    pub redirect_uris: &'a [String],
    /// The ways to a token that it has.
    pub grant_types: [&'a str; 1],
    /// The answers that it gets.
    pub response_types: [&'a str; 1],
    /// How it proves who it is: not at all.
    pub token_endpoint_auth_method: &'a str,
    /// What it may ask for.
    pub scope: &'a str,
}

/// A token just made.
#[derive(Debug, Serialize)]
pub struct TokenJson<'a> {
    /// The token, shown this once.
    pub access_token: &'a str,
    /// How it is sent.
    pub token_type: &'a str,
    /// For how many seconds it is accepted.
    pub expires_in: i64,
    /// What it is for.
    pub scope: &'a str,
}

/// An error of OAuth.
#[derive(Debug, Serialize)]
pub struct OauthErrorJson<'a> {
    /// The word of the protocol.
    pub error: &'a str,
    /// What happened and what to do.
    pub error_description: &'a str,
}
