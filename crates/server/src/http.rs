//! What every door shares: the state behind a request, credentials, bodies, answers, and the loop that accepts
//! connections. The doors themselves are put up in `router.rs`.

mod auth;
mod body;
pub(crate) mod health;
mod listen;
mod origin;
pub(crate) mod reply;

use std::sync::Arc;

use mnemon_engine::Engine;

pub use listen::serve;
pub(crate) use {
    auth::{admin_context, authenticate},
    body::{NoBody, read_body},
    origin::Origins,
    reply::Reply,
};

use crate::config::ServerConfig;

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
