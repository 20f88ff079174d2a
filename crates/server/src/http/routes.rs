//! A route as a row of a table. The router is built from the same rows that the access tables of the tests are compared
//! with.

use axum::routing::MethodRouter;
use axum::{Extension, Router};
use mnemon_engine::MemoryUse;

use super::App;
use super::hold::Weight;

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// What it does with records, if anything. Such a request is admitted as a tool call is, before its handler runs.
    memory: Option<MemoryUse>,
    handler: MethodRouter<App>,
}

pub(crate) fn route(method: &'static str, path: &'static str, handler: MethodRouter<App>) -> Route {
    Route { method, path, memory: None, handler }
}

impl Route {
    /// It shows records, or says which of them still hold.
    pub(crate) fn reads(self) -> Self {
        self.uses(MemoryUse::Reads)
    }

    /// It changes records.
    pub(crate) fn writes(self) -> Self {
        self.uses(MemoryUse::Writes)
    }

    fn uses(self, memory: MemoryUse) -> Self {
        Self { memory: Some(memory), handler: self.handler.layer(Extension(memory)), ..self }
    }

    /// The same route, where making an answer takes so much.
    pub(crate) fn weighing(self, weight: Weight) -> Self {
        Self { handler: self.handler.layer(Extension(weight)), ..self }
    }
}

/// A row of an access table: method, path, and what the route does with records.
pub(crate) type RouteRow = (&'static str, String, Option<MemoryUse>);

/// A router of these routes.
pub(crate) fn router_of(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

/// Every route below a prefix.
pub(crate) fn table(prefix: &str, routes: &[Route]) -> Vec<RouteRow> {
    routes.iter().map(|route| (route.method, format!("{prefix}{}", route.path), route.memory)).collect()
}
