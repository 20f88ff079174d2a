//! A route as a row of a table. The router is built from the same rows that the access tables of the tests are compared with.

use axum::routing::MethodRouter;
use axum::{Extension, Router};

use super::App;
use super::hold::Weight;

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    handler: MethodRouter<App>,
}

pub(crate) fn route(method: &'static str, path: &'static str, handler: MethodRouter<App>) -> Route {
    Route { method, path, handler }
}

impl Route {
    /// The same route, where making an answer takes so much.
    pub(crate) fn weighing(self, weight: Weight) -> Self {
        Self { handler: self.handler.layer(Extension(weight)), ..self }
    }
}

/// A router of these routes.
pub(crate) fn router_of(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

/// Method and path of every route below a prefix.
pub(crate) fn table(prefix: &str, routes: &[Route]) -> Vec<(&'static str, String)> {
    routes.iter().map(|route| (route.method, format!("{prefix}{}", route.path))).collect()
}
