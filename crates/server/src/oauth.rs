//! The OAuth endpoints: metadata, client registration, the page where a person agrees, and the exchange of a code for a
//! token. Each parses, calls one engine function and renders.
//!
//! The endpoints are at the root, because some clients build their paths without reading the metadata.

mod authorize;
mod error;
mod metadata;
mod page;
mod register;
mod revoke;
mod token;

use axum::Router;
use axum::routing::{get, post};

use crate::http::{App, cors};

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let open = Router::new()
        .route("/.well-known/oauth-protected-resource", get(metadata::resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata::resource))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .route("/.well-known/oauth-authorization-server/mcp", get(metadata::server))
        .route("/.well-known/openid-configuration", get(metadata::server))
        .route("/.well-known/openid-configuration/mcp", get(metadata::server))
        .route("/mcp/.well-known/openid-configuration", get(metadata::server))
        .route("/register", post(register::register))
        .route("/token", post(token::exchange))
        .route("/revoke", post(revoke::revoke))
        .method_not_allowed_fallback(error::no_such_method)
        .layer(cors::open_to_all());
    let page = Router::new()
        .route("/authorize", get(authorize::show).post(authorize::submit))
        .method_not_allowed_fallback(error::no_such_method);
    open.merge(page)
}
