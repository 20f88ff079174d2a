//! The admin API under `/admin/v1`: one table of routes. Each handler parses, calls one engine function and renders.
//!
//! To add a route: a row in [`routes`], a handler in the file of its resource, a row in `openapi/operations.rs`, and
//! one in the tests' access table.

mod accounts;
mod audit;
mod connections;
mod console_sessions;
mod context;
mod csv;
mod departments;
mod error;
mod exporting;
mod extract;
mod guarding;
mod importing;
mod integrations;
mod keys;
mod me;
mod members;
mod nodes;
mod openapi;
mod parameters;
mod projects;
mod records;
mod sessions;
mod show;
mod sources;
mod workspaces;

pub(crate) use audit::audit_csv;
pub(crate) use exporting::{stream as stream_export, wanted as wanted_export};
pub(crate) use importing::{Unreadable, take as take_import};
pub(crate) use records::read_several;
pub(crate) use show::link as link_of;
pub(crate) use show::overview::undo as undo_of;

pub use self::openapi::document as openapi_document;

use axum::routing::{MethodRouter, delete, get, patch, post, put};
use axum::{Extension, Router};

use self::extract::NoParameters;
use crate::http::App;
use crate::http::hold::Weight;
use crate::http::routes::{self, Route, RouteRow, route};

pub(crate) const PREFIX: &str = "/admin/v1";

/// A route that takes no query parameters.
fn bare(method: &'static str, path: &'static str, handler: MethodRouter<App>) -> Route {
    route(method, path, handler.layer(Extension(NoParameters)))
}

/// Every route.
fn routes() -> Vec<Route> {
    vec![
        bare("GET", "/plans", get(accounts::plans)),
        bare("POST", "/accounts", post(accounts::create)),
        route("GET", "/accounts", get(accounts::list)).weighing(Weight::LIST),
        bare("GET", "/accounts/{account}", get(accounts::show)),
        bare("PUT", "/accounts/{account}/subscription", put(accounts::subscribe)),
        bare("PUT", "/accounts/{account}/suspension", put(accounts::suspend)),
        route("GET", "/accounts/{account}/audit", get(audit::list)).weighing(Weight::PAGE),
        bare("GET", "/accounts/{account}/guard", get(guarding::show)),
        bare("PUT", "/accounts/{account}/guard", put(guarding::set)),
        route("GET", "/accounts/{account}/guard/rejections", get(guarding::rejections)).weighing(Weight::PAGE),
        bare("POST", "/accounts/{account}/departments", post(departments::create)),
        bare("GET", "/accounts/{account}/departments", get(departments::list)).weighing(Weight::LIST),
        bare("GET", "/accounts/{account}/departments/{department}", get(departments::show)),
        bare("PATCH", "/accounts/{account}/departments/{department}", patch(departments::change)),
        bare("DELETE", "/accounts/{account}/departments/{department}", delete(departments::remove)),
        bare("POST", "/accounts/{account}/members", post(members::create)),
        bare("POST", "/accounts/{account}/invitations", post(members::invite)),
        bare("GET", "/accounts/{account}/members", get(members::list)).weighing(Weight::LIST),
        bare("GET", "/accounts/{account}/members/{member}", get(members::show)),
        bare("PATCH", "/accounts/{account}/members/{member}", patch(members::change)),
        bare("DELETE", "/accounts/{account}/members/{member}", delete(members::remove)),
        bare("GET", "/accounts/{account}/members/{member}/holdings", get(members::holdings)),
        bare("POST", "/accounts/{account}/projects", post(projects::create)),
        bare("GET", "/accounts/{account}/projects", get(projects::list)).weighing(Weight::LIST),
        bare("GET", "/projects/{project}", get(projects::show)),
        bare("PUT", "/projects/{project}/tool-names", put(integrations::name_tools)),
        bare("DELETE", "/projects/{project}", delete(projects::remove)),
        route("GET", "/projects/{project}/usage", get(projects::usage)).weighing(Weight::LIST),
        bare("POST", "/projects/{project}/keys", post(keys::create)),
        bare("GET", "/projects/{project}/keys", get(keys::list)).weighing(Weight::LIST),
        bare("POST", "/projects/{project}/links", post(keys::create_link)),
        bare("PATCH", "/keys/{key}", patch(keys::change)),
        bare("DELETE", "/keys/{key}", delete(keys::revoke)),
        bare("GET", "/me", get(me::show)),
        bare("GET", "/me/keys", get(keys::own)).weighing(Weight::LIST),
        bare("GET", "/projects/{project}/connections", get(connections::list)).weighing(Weight::LIST),
        bare("DELETE", "/connections/{connection}", delete(connections::revoke)),
        bare("GET", "/projects/{project}/console-sessions", get(console_sessions::list)).weighing(Weight::LIST),
        bare("DELETE", "/projects/{project}/console-sessions/{console_session}", delete(console_sessions::end)),
        bare("GET", "/nodes", get(nodes::list)),
        route("GET", "/projects/{project}/workspaces", get(workspaces::list)).weighing(Weight::LIST).reads(),
        bare("DELETE", "/projects/{project}/workspaces/{workspace}", delete(workspaces::remove)).writes(),
        bare("POST", "/projects/{project}/workspaces/{workspace}/restore", post(workspaces::restore)).writes(),
        route("GET", "/projects/{project}/records", get(records::list)).weighing(Weight::PAGE).reads(),
        bare("GET", "/projects/{project}/overview", get(records::overview)).weighing(Weight::LIST).reads(),
        bare("POST", "/projects/{project}/records/several", post(records::several)).weighing(Weight::LIST).writes(),
        bare("GET", "/projects/{project}/standing", get(records::standing)).weighing(Weight::LIST).reads(),
        route("GET", "/projects/{project}/export", get(exporting::export)).weighing(Weight::EXPORT).reads(),
        route("POST", "/projects/{project}/import", post(importing::import)).weighing(Weight::IMPORT).writes(),
        route("GET", "/projects/{project}/sources", get(sources::list)).weighing(Weight::PAGE).reads(),
        bare("POST", "/projects/{project}/sources/validate", post(sources::validate)).weighing(Weight::LIST).reads(),
        bare("POST", "/projects/{project}/sources/restore", post(sources::restore)).writes(),
        bare("POST", "/projects/{project}/context", post(context::show)).weighing(Weight::DIGEST).reads(),
        bare("POST", "/projects/{project}/explain", post(records::explain)).weighing(Weight::PAGE).reads(),
        bare("POST", "/projects/{project}/guard/releases", post(guarding::release)),
        bare("GET", "/projects/{project}/integrations", get(integrations::list)).weighing(Weight::LIST),
        bare("GET", "/projects/{project}/integrations/{integration}", get(integrations::show)).weighing(Weight::LIST),
        bare("PUT", "/projects/{project}/integrations/{integration}", put(integrations::put)),
        bare("DELETE", "/projects/{project}/integrations/{integration}", delete(integrations::remove)),
        bare("POST", "/projects/{project}/integrations/{integration}/accept", post(integrations::accept)),
        bare("POST", "/projects/{project}/integrations/{integration}/test", post(integrations::test)),
        bare("POST", "/integrations/rotate-key", post(integrations::rotate_key)),
        bare("GET", "/records/{record}", get(records::show)).weighing(Weight::PAGE).reads(),
        bare("POST", "/records/{record}/keep", post(records::keep)).writes(),
        bare("POST", "/records/{record}/restore", post(records::restore)).writes(),
        route("DELETE", "/records/{record}", delete(records::remove)).writes(),
        route("GET", "/projects/{project}/sessions", get(sessions::list)).weighing(Weight::LIST),
        bare("DELETE", "/projects/{project}/sessions/{session}", delete(sessions::remove)),
        bare("POST", "/compact", post(records::compact)),
    ]
}

/// Every route, for the access table.
pub fn route_table() -> Vec<RouteRow> {
    routes::table(PREFIX, &routes())
}

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let router = routes::router_of(routes()).fallback(error::no_such_route);
    router.method_not_allowed_fallback(error::no_such_method)
}
