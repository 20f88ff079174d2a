//! The metadata that clients read before anything else.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use mnemon_engine::oauth::SCOPE;
use mnemon_protocol::oauth::{AuthorizationServer, ProtectedResource};
use serde::Serialize;

use crate::http::{App, Reply};

/// Both metadata documents depend only on the configuration, so they may be cached for a while.
fn document(body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("wire shapes have string keys and no failing serializers");
    let mut response = Reply::ok(body).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// The protected-resource metadata.
pub(crate) async fn resource(State(app): State<App>) -> Response {
    let issuer = &app.0.issuer;
    document(&ProtectedResource {
        resource: issuer.resource(),
        resource_name: &app.0.service_name,
        authorization_servers: [issuer.base_url()],
        scopes_supported: [SCOPE],
        bearer_methods_supported: ["header"],
    })
}

/// The authorization-server metadata.
pub(crate) async fn server(State(app): State<App>) -> Response {
    let base = app.0.issuer.base_url();
    document(&AuthorizationServer {
        issuer: base,
        authorization_endpoint: format!("{base}/authorize"),
        token_endpoint: format!("{base}/token"),
        registration_endpoint: format!("{base}/register"),
        revocation_endpoint: format!("{base}/revoke"),
        scopes_supported: [SCOPE],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code"],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
    })
}
