//! What all endpoints share: the state behind a request, credentials, bodies, answers, and the accept loop. The routes
//! are in `router.rs`.

mod auth;
mod body;
mod connection_limit;
pub(crate) mod cors;
mod exports;
mod form;
pub(crate) mod head;
pub(crate) mod health;
pub(crate) mod hold;
mod listen;
mod origin;
mod peer;
mod refusals;
pub(crate) mod reply;
mod room;
pub(crate) mod routes;
mod stream;

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;

use http::{Extensions, HeaderMap};
use mnemon_engine::Engine;
use mnemon_engine::oauth::Issuer;

pub use connection_limit::ConnectionLimit;
pub use listen::{Answers, bind, serve};
pub use room::Room;
pub(crate) use {
    auth::{admin_context, authenticate},
    body::{NoBody, Received, next_piece, read_body, read_small_body},
    exports::{Exports, RunningExport},
    form::Fields,
    origin::Origins,
    reply::{Reply, storage_failed},
    room::{Held, NoRoom, Whose},
};

use crate::access_log::AccessLog;
use crate::config::{Network, ServerConfig};
use crate::metrics::figures::Metrics;
use refusals::Refusals;

/// What every request can reach.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) origins: Origins,
    /// The public URL of the service.
    pub(crate) issuer: Issuer,
    trusted_proxies: Vec<Network>,
    refusals: Refusals,
    pub(crate) metrics: Metrics,
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) connection_limit: Option<ConnectionLimit>,
    pub(crate) room: Room,
    pub(crate) exports: Exports,
    /// The name of the service.
    pub(crate) service_name: String,
}

impl App {
    /// Puts the endpoints in front of an engine.
    pub fn new(engine: Arc<Engine>, config: &ServerConfig, base_url: &str) -> Self {
        let issuer = Issuer::new(base_url);
        let origins = Origins::new(issuer.base_url(), &config.allowed_origins);
        Self(Arc::new(Shared {
            engine,
            origins,
            issuer,
            trusted_proxies: config.trusted_proxies.clone(),
            refusals: Refusals::default(),
            metrics: Metrics::new().expect("the names and labels of the figures are fixed"),
            access_log: None,
            connection_limit: None,
            room: Room::by_memory(config.memory_bytes),
            exports: Exports::default(),
            service_name: config.service_name.clone(),
        }))
    }

    /// Logs one in `every` requests.
    #[must_use]
    pub fn with_access_log(mut self, every: NonZeroU64) -> Self {
        self.shared_mut().access_log = Some(AccessLog::new(every));
        self
    }

    /// Shows how many of these connections are open.
    #[must_use]
    pub fn with_connection_limit(mut self, connection_limit: ConnectionLimit) -> Self {
        self.shared_mut().connection_limit = Some(connection_limit);
        self
    }

    /// Holds at most as much as this room has, instead of what the memory allows.
    #[must_use]
    pub fn with_room(mut self, room: Room) -> Self {
        self.shared_mut().room = room;
        self
    }

    fn shared_mut(&mut self) -> &mut Shared {
        Arc::get_mut(&mut self.0).expect("it is configured before it is shared")
    }

    /// How many credentials were refused since the start.
    pub fn refused_credentials(&self) -> u64 {
        self.0.refusals.count()
    }
}

impl Shared {
    /// The caller's address.
    pub(crate) fn caller(&self, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
        peer::caller_address(extensions, headers, &self.trusted_proxies)
    }
}
