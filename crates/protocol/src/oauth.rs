//! The JSON of OAuth: metadata, registration, tokens, errors.

use serde::{Deserialize, Serialize};

/// Protected-resource metadata (RFC 9728).
#[derive(Debug, Serialize)]
pub struct ProtectedResource<'a> {
    pub resource: &'a str,
    pub resource_name: &'a str,
    pub authorization_servers: [&'a str; 1],
    pub scopes_supported: [&'a str; 1],
    pub bearer_methods_supported: [&'a str; 1],
}

/// Authorization-server metadata (RFC 8414).
#[derive(Debug, Serialize)]
pub struct AuthorizationServer<'a> {
    pub issuer: &'a str,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub registration_endpoint: String,
    pub revocation_endpoint: String,
    pub scopes_supported: [&'a str; 1],
    pub response_types_supported: [&'a str; 1],
    pub response_modes_supported: [&'a str; 1],
    pub grant_types_supported: [&'a str; 1],
    pub token_endpoint_auth_methods_supported: [&'a str; 1],
    pub revocation_endpoint_auth_methods_supported: [&'a str; 1],
    pub code_challenge_methods_supported: [&'a str; 1],
    /// Whether answers contain the `iss` parameter.
    pub authorization_response_iss_parameter_supported: bool,
    /// Whether a client id may be the URL of a metadata document.
    pub client_id_metadata_document_supported: bool,
}

/// What a client sends when it registers (RFC 7591); the rest is ignored.
#[derive(Debug, Deserialize)]
pub struct RegisterClient {
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    pub client_name: Option<String>,
    pub grant_types: Option<Vec<String>>,
    pub response_types: Option<Vec<String>>,
}

/// A registered client.
#[derive(Debug, Serialize)]
pub struct RegisteredClient<'a> {
    pub client_id: &'a str,
    /// Seconds since 1970.
    pub client_id_issued_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<&'a str>,
    pub redirect_uris: &'a [String],
    pub grant_types: [&'a str; 1],
    pub response_types: [&'a str; 1],
    /// `none`: clients are public.
    pub token_endpoint_auth_method: &'a str,
    pub scope: &'a str,
}

/// A new token.
#[derive(Debug, Serialize)]
pub struct TokenJson<'a> {
    /// Shown only now.
    pub access_token: &'a str,
    pub token_type: &'a str,
    pub expires_in: i64,
    pub scope: &'a str,
}

#[derive(Debug, Serialize)]
pub struct OauthErrorJson<'a> {
    /// The protocol's error code.
    pub error: &'a str,
    /// What happened and what to do.
    pub error_description: &'a str,
}
