//! A route as a row of a table. The router is built from the same rows that the access tables of the tests are compared with.

use axum::Router;
use axum::routing::MethodRouter;

use super::App;

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    handler: MethodRouter<App>,
}

pub(crate) fn route(method: &'static str, path: &'static str, handler: MethodRouter<App>) -> Route {
    Route { method, path, handler }
}

/// A router of these routes.
pub(crate) fn router_of(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

/// Method and path of every route below a prefix.
pub(crate) fn table(prefix: &str, routes: &[Route]) -> Vec<(&'static str, String)> {
    routes.iter().map(|route| (route.method, format!("{prefix}{}", route.path))).collect()
}
