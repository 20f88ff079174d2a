//! Every route of the service and the layers around them: the table of contents.

use axum::Router;
use axum::routing::{any, get};
use mnemon_protocol::sessions;
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::{App, health, reply};
use crate::{admin, agent, mcp, oauth};

/// All routes.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/mcp", any(mcp::endpoint))
        .nest(admin::PREFIX, admin::router())
        .merge(oauth::router())
        .nest(sessions::PREFIX, agent::router())
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .fallback(reply::no_such_route)
        .with_state(app);
    with_layers(routes)
}

/// The layers around every route. Separate, so that a bench can put the same ones around a fixed answer.
pub fn with_layers(routes: Router) -> Router {
    routes.layer(CatchPanicLayer::custom(reply::after_panic))
}
