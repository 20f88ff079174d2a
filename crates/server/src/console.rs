//! The console under `/console`: pages for people, rendered by the service and usable without script. Each handler
//! parses, calls the engine and fills a template.
//!
//! A person signs in with a key; the session is in `visit.rs`, and so are the checks that every form passes. To add a
//! page: a row in [`routes`], a handler in the file of its subject, a template, an entry in `shell.rs`, a row in the
//! tests' access table.

mod assets;
mod audit;
mod browser;
mod connect;
mod connections;
mod cookies;
mod diff;
mod flash;
mod guard;
mod hand_over;
mod integrations;
mod invite;
mod keys;
mod link;
mod memory;
mod moving;
mod operator;
mod overview;
mod page;
mod parts;
mod people;
mod projects;
mod query;
mod record;
mod record_row;
mod reply;
mod sessions;
mod several;
mod shell;
mod sign_in;
mod sources;
mod usage;
mod visit;
mod workspaces;
mod write;

pub(crate) use sign_in::to_console;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};

use crate::http::App;
use crate::http::routes::{self, Route, RouteRow, route};

/// Every route.
fn routes() -> Vec<Route> {
    vec![
        route("GET", "/console/", get(sign_in::to_console)),
        route("GET", "/console", get(sign_in::home)),
        route("GET", "/console/assets/{file}", get(assets::serve)),
        route("GET", "/console/sign-in", get(sign_in::show)),
        route("POST", "/console/sign-in", post(sign_in::submit)),
        route("POST", "/console/sign-out", post(sign_in::leave)),
        route("POST", "/console/theme", post(sign_in::choose_theme)),
        route("GET", "/console/overview", get(overview::show)).reads(),
        route("GET", "/console/memory", get(memory::show)).reads(),
        route("POST", "/console/records", post(write::add)).writes(),
        route("POST", "/console/records/several", post(several::change)).writes(),
        route("POST", "/console/records/several/undo", post(several::undo)).writes(),
        route("POST", "/console/records/restore", post(record::restore)).writes(),
        route("GET", "/console/records/{record}", get(record::show)).reads(),
        route("POST", "/console/records/{record}/forget", post(record::forget)).writes(),
        route("POST", "/console/records/{record}/replace", post(write::replace)).writes(),
        route("POST", "/console/records/{record}/purge", post(record::purge)).writes(),
        route("POST", "/console/records/{record}/keep", post(record::keep)).writes(),
        route("POST", "/console/records/{record}/hold", post(record::hold)).writes(),
        route("GET", "/console/sources", get(sources::list)).reads(),
        route("POST", "/console/sources/check", post(sources::check)).reads(),
        route("POST", "/console/sources/forget", post(sources::forget)).writes(),
        route("POST", "/console/sources/restore", post(sources::restore)).writes(),
        route("GET", "/console/workspaces", get(workspaces::list)).reads(),
        route("POST", "/console/workspaces/delete", post(workspaces::delete)).writes(),
        route("POST", "/console/workspaces/restore", post(workspaces::restore)).writes(),
        route("GET", "/console/keys", get(keys::list)),
        route("POST", "/console/keys", post(keys::create)),
        route("POST", "/console/keys/{key}", post(keys::change)),
        route("POST", "/console/keys/{key}/revoke", post(keys::revoke)),
        route("GET", "/console/connections", get(connections::list)),
        route("POST", "/console/connections/{connection}/end", post(connections::end)),
        route("POST", "/console/connections/browsers/{console_session}/end", post(connections::end_browser)),
        route("GET", "/console/people", get(people::list)),
        route("POST", "/console/people", post(people::add)),
        route("POST", "/console/people/invite", post(invite::invite)),
        route("POST", "/console/people/{member}", post(people::change)),
        route("POST", "/console/people/{member}/remove", post(people::remove)),
        route("POST", "/console/departments", post(people::add_department)),
        route("POST", "/console/departments/{department}", post(people::change_department)),
        route("POST", "/console/departments/{department}/remove", post(people::remove_department)),
        route("GET", "/console/link/{code}", get(link::show)),
        route("POST", "/console/link/{code}", post(link::open)),
        route("GET", "/console/moving", get(moving::show)).reads(),
        route("GET", "/console/moving/export", get(moving::export)).reads(),
        route(
            "POST",
            "/console/moving/import",
            post(moving::import).layer(DefaultBodyLimit::max(moving::FILE_BYTES_MAX)),
        )
        .writes(),
        route("GET", "/console/projects", get(projects::list)),
        route("POST", "/console/projects", post(projects::create)),
        route("POST", "/console/projects/key", post(projects::create_key)),
        route("POST", "/console/projects/switch", post(projects::switch)),
        route("GET", "/console/integrations", get(integrations::list)),
        route("POST", "/console/integrations", post(integrations::add)),
        route("POST", "/console/integrations/names", post(integrations::name_tools)),
        route("GET", "/console/integrations/{integration}", get(integrations::show)),
        route("POST", "/console/integrations/{integration}/change", post(integrations::change)),
        route("POST", "/console/integrations/{integration}/test", post(integrations::test)),
        route("POST", "/console/integrations/{integration}/accept", post(integrations::accept)),
        route("POST", "/console/integrations/{integration}/leave-out", post(integrations::leave_out)),
        route("POST", "/console/integrations/{integration}/enable", post(integrations::enable)),
        route("POST", "/console/integrations/{integration}/remove", post(integrations::remove)),
        route("GET", "/console/sessions", get(sessions::list)),
        route("POST", "/console/sessions/{session}/delete", post(sessions::delete)),
        route("GET", "/console/usage", get(usage::show)),
        route("GET", "/console/usage/csv", get(usage::csv)),
        route("GET", "/console/audit", get(audit::list)),
        route("GET", "/console/audit/csv", get(audit::csv)),
        route("GET", "/console/guard", get(guard::list)),
        route("POST", "/console/guard/release", post(guard::release)),
        route("GET", "/console/connect", get(connect::show)),
        route("GET", "/console/connect/seen", get(connect::seen)),
        route("GET", "/console/operator", get(operator::show)),
        route("POST", "/console/operator/accounts", post(operator::create)),
        route("POST", "/console/operator/accounts/{account}/plan", post(operator::subscribe)),
        route("POST", "/console/operator/accounts/{account}/suspension", post(operator::suspend)),
    ]
}

/// Every route, for the access table.
pub fn route_table() -> Vec<RouteRow> {
    routes::table("", &routes())
}

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let pages = routes::router_of(routes()).method_not_allowed_fallback(page::other_method);
    pages.route("/console/{*rest}", any(page::nowhere))
}
