//! The admin API under `/admin/v1`: one table of routes. Each handler parses, calls one engine function and renders.
//!
//! To add a route: a row in [`routes`], a handler in the file of its resource, a row in the tests' access table.

mod accounts;
mod connections;
mod departments;
mod error;
mod extract;
mod guarding;
mod integrations;
mod keys;
mod me;
mod members;
mod parameters;
mod projects;
mod records;
mod sessions;
mod show;
mod sources;
mod workspaces;

use axum::Router;
use axum::routing::{delete, get, patch, post, put};

use crate::http::App;
use crate::http::routes::{self, Route, route};

pub(crate) const PREFIX: &str = "/admin/v1";

/// Every route.
fn routes() -> Vec<Route> {
    vec![
        route("POST", "/accounts", post(accounts::create)),
        route("GET", "/accounts", get(accounts::list)),
        route("GET", "/accounts/{account}", get(accounts::show)),
        route("PUT", "/accounts/{account}/subscription", put(accounts::subscribe)),
        route("PUT", "/accounts/{account}/suspension", put(accounts::suspend)),
        route("GET", "/accounts/{account}/audit", get(accounts::audit)),
        route("GET", "/accounts/{account}/guard", get(guarding::show)),
        route("PUT", "/accounts/{account}/guard", put(guarding::set)),
        route("GET", "/accounts/{account}/guard/rejections", get(guarding::rejections)),
        route("POST", "/accounts/{account}/departments", post(departments::create)),
        route("GET", "/accounts/{account}/departments", get(departments::list)),
        route("GET", "/accounts/{account}/departments/{department}", get(departments::show)),
        route("PATCH", "/accounts/{account}/departments/{department}", patch(departments::change)),
        route("DELETE", "/accounts/{account}/departments/{department}", delete(departments::remove)),
        route("POST", "/accounts/{account}/members", post(members::create)),
        route("GET", "/accounts/{account}/members", get(members::list)),
        route("GET", "/accounts/{account}/members/{member}", get(members::show)),
        route("PATCH", "/accounts/{account}/members/{member}", patch(members::change)),
        route("DELETE", "/accounts/{account}/members/{member}", delete(members::remove)),
        route("POST", "/accounts/{account}/projects", post(projects::create)),
        route("GET", "/accounts/{account}/projects", get(projects::list)),
        route("GET", "/projects/{project}", get(projects::show)),
        route("PUT", "/projects/{project}/tool-names", put(integrations::name_tools)),
        route("DELETE", "/projects/{project}", delete(projects::remove)),
        route("GET", "/projects/{project}/usage", get(projects::usage)),
        route("POST", "/projects/{project}/keys", post(keys::create)),
        route("GET", "/projects/{project}/keys", get(keys::list)),
        route("DELETE", "/keys/{key}", delete(keys::revoke)),
        route("GET", "/me", get(me::show)),
        route("GET", "/me/keys", get(keys::own)),
        route("GET", "/projects/{project}/connections", get(connections::list)),
        route("DELETE", "/connections/{connection}", delete(connections::revoke)),
        route("GET", "/projects/{project}/workspaces", get(workspaces::list)),
        route("DELETE", "/projects/{project}/workspaces/{workspace}", delete(workspaces::remove)),
        route("POST", "/projects/{project}/workspaces/{workspace}/restore", post(workspaces::restore)),
        route("GET", "/projects/{project}/records", get(records::list)),
        route("GET", "/projects/{project}/sources", get(sources::list)),
        route("POST", "/projects/{project}/sources/validate", post(sources::validate)),
        route("POST", "/projects/{project}/explain", post(records::explain)),
        route("POST", "/projects/{project}/guard/releases", post(guarding::release)),
        route("GET", "/projects/{project}/integrations", get(integrations::list)),
        route("GET", "/projects/{project}/integrations/{integration}", get(integrations::show)),
        route("PUT", "/projects/{project}/integrations/{integration}", put(integrations::put)),
        route("DELETE", "/projects/{project}/integrations/{integration}", delete(integrations::remove)),
        route("POST", "/projects/{project}/integrations/{integration}/accept", post(integrations::accept)),
        route("POST", "/projects/{project}/integrations/{integration}/test", post(integrations::test)),
        route("POST", "/integrations/rotate-key", post(integrations::rotate_key)),
        route("GET", "/records/{record}", get(records::show)),
        route("POST", "/records/{record}/keep", post(records::keep)),
        route("POST", "/records/{record}/restore", post(records::restore)),
        route("DELETE", "/records/{record}", delete(records::remove)),
        route("GET", "/projects/{project}/sessions", get(sessions::list)),
        route("DELETE", "/projects/{project}/sessions/{session}", delete(sessions::remove)),
        route("POST", "/compact", post(records::compact)),
    ]
}

/// Method and path of every route, for the access table.
pub fn route_table() -> Vec<(&'static str, String)> {
    routes::table(PREFIX, &routes())
}

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let router = routes::router_of(routes()).fallback(error::no_such_route);
    router.method_not_allowed_fallback(error::no_such_method)
}
