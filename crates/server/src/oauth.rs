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

use crate::http::routes::{self, Route, RouteRow, route};
use crate::http::{App, cors};

/// Routes that any page in a browser may call.
fn open_routes() -> Vec<Route> {
    vec![
        route("GET", "/.well-known/oauth-protected-resource", get(metadata::resource)),
        route("GET", "/.well-known/oauth-protected-resource/mcp", get(metadata::resource)),
        route("GET", "/.well-known/oauth-authorization-server", get(metadata::server)),
        route("GET", "/.well-known/oauth-authorization-server/mcp", get(metadata::server)),
        route("GET", "/.well-known/openid-configuration", get(metadata::server)),
        route("GET", "/.well-known/openid-configuration/mcp", get(metadata::server)),
        route("GET", "/mcp/.well-known/openid-configuration", get(metadata::server)),
        route("POST", "/register", post(register::register)),
        route("POST", "/token", post(token::exchange)),
        route("POST", "/revoke", post(revoke::revoke)),
    ]
}

/// The page, which is for a person in a browser.
fn page_routes() -> Vec<Route> {
    vec![route("GET", "/authorize", get(authorize::show)), route("POST", "/authorize", post(authorize::submit))]
}

/// Method and path of every route, for the access table.
pub fn route_table() -> Vec<RouteRow> {
    [routes::table("", &open_routes()), routes::table("", &page_routes())].concat()
}

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let open = routes::router_of(open_routes()).method_not_allowed_fallback(error::no_such_method);
    let page = routes::router_of(page_routes()).method_not_allowed_fallback(error::no_such_method);
    open.layer(cors::open_to_all()).merge(page)
}
