//! What happens: one file per use case (remember, search, forget, validate …), in it the decisions about access, limits
//! and order of steps. No HTTP, no JSON-RPC, no SQL and no header names live here.
//!
//! To add a use case: a file named after its verb, a method on [`Engine`] that takes the [`CallContext`] first, its
//! refusals in `error.rs`, and a door in the server that parses, calls it and renders.

mod admission;
mod authenticate;
mod context;
mod error;
mod first_start;
mod forget;
mod freshness;
mod gateway_call;
mod idempotency;
mod indexes;
mod rate;
mod remember;
mod search;
mod system;
mod validate;

use std::sync::Arc;

use mnemon_core::{Clock, IdSource, PlanTable};
use mnemon_guard::Guard;
use mnemon_recall::Model;
use mnemon_store::{Store, StoreError};

pub use admission::{Admission, Tool};
pub use authenticate::NotAuthenticated;
pub use context::{CallContext, Connection};
pub use error::CallError;
pub use first_start::FirstStart;
pub use forget::{Forget, Forgotten};
pub use freshness::Judged;
pub use gateway_call::GatewayCall;
pub use remember::{Remember, Remembered};
pub use search::{Found, Search};
pub use system::{SystemClock, SystemIds};
pub use validate::{Validate, Validated};

use indexes::Indexes;
use rate::RateLimiter;

/// What the operator may set.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// What each plan allows.
    pub plans: PlanTable,
    /// How much memory all search indexes together may take.
    pub index_bytes_max: usize,
}

/// The service without its doors.
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    plans: PlanTable,
    guard: &'static Guard,
    model: &'static Model,
    indexes: Indexes,
    rates: RateLimiter,
}

impl Engine {
    /// Puts the service together.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, config: EngineConfig) -> Self {
        let model = Model::shipped();
        let indexes = Indexes::new(Arc::clone(&store), model, config.index_bytes_max);
        let rates = RateLimiter::default();
        Self { store, clock, ids, plans: config.plans, guard: Guard::shipped(), model, indexes, rates }
    }

    /// Whether the service could answer a call now.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.store.check().await
    }

    /// Finishes what was begun.
    pub async fn close(&self) {
        self.store.close().await;
    }
}
