//! Every route of the service and the layers around them: the table of contents.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use mnemon_protocol::sessions;
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::{App, head, health, reply};
use crate::{admin, agent, console, mcp, metrics, oauth};

/// All routes.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/mcp", any(mcp::endpoint))
        .nest(admin::PREFIX, admin::router())
        .merge(oauth::router())
        .merge(console::router())
        .nest(sessions::PREFIX, agent::router())
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(metrics::for_operator))
        .fallback(reply::no_such_route)
        .layer(from_fn(head::check))
        .layer(from_fn_with_state(app.clone(), metrics::observe))
        .with_state(app);
    with_layers(routes)
}

/// The routes of the address that shows figures and nothing else.
pub fn metrics_router(app: App) -> Router {
    let routes = Router::new().route("/metrics", get(metrics::for_all)).fallback(reply::no_such_route);
    let routes = routes.layer(from_fn(head::check));
    with_layers(routes.with_state(app))
}

/// The layers around every route. Separate, so that a bench can put the same ones around a fixed answer.
pub fn with_layers(routes: Router) -> Router {
    routes.layer(CatchPanicLayer::custom(reply::after_panic))
}
