//! The way in: routes and their layers, credentials, health, and the loop that accepts connections.

mod auth;
mod body;
mod health;
mod listen;
mod origin;
mod reply;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};
use mnemon_engine::Engine;
use tower_http::catch_panic::CatchPanicLayer;

pub use listen::serve;
pub(crate) use {
    auth::{admin_context, authenticate},
    body::{NoBody, read_body},
    origin::Origins,
    reply::Reply,
};

use crate::config::ServerConfig;
use crate::{admin, mcp};

/// What every request can reach.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) origins: Origins,
    /// The service's address as the outside knows it, without a slash at the end.
    pub(crate) base_url: String,
    /// What the service calls itself.
    pub(crate) service_name: String,
}

impl App {
    /// Puts the doors in front of an engine.
    pub fn new(engine: Arc<Engine>, config: &ServerConfig, base_url: &str) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let origins = Origins::new(&base_url, &config.allowed_origins);
        Self(Arc::new(Shared { engine, origins, base_url, service_name: config.service_name.clone() }))
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/mcp", any(mcp::endpoint))
        .nest(admin::PREFIX, admin::router())
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .fallback(reply::no_such_route)
        .with_state(app);
    with_layers(routes)
}

/// The layers around every route. Apart, so that a bench can put the same ones around a fixed answer.
pub fn with_layers(routes: Router) -> Router {
    routes.layer(CatchPanicLayer::custom(reply::after_panic))
}
