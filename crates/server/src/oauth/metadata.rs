//! What clients read of us before they do anything.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use mnemon_engine::oauth::SCOPE;
use mnemon_protocol::oauth::{AuthorizationServer, ProtectedResource};
use serde::Serialize;

use crate::http::{App, Reply};

/// Both metadata documents follow from the configuration alone, so they may be kept for a while.
fn document(body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("wire shapes have string keys and no failing serializers");
    let mut response = Reply::ok(body).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// What the resource says.
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

/// What the authorization server says.
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
