//! What happens: one file per use case (remember, search, forget, validate …), with the decisions about access, limits
//! and the order of steps. No HTTP, no JSON-RPC, no SQL and no header names live here.
//!
//! To add a use case: a file named after its verb, a method on [`Engine`] that takes the [`CallContext`] first, its
//! refusals in `error.rs`, and an endpoint in the server that parses, calls it and renders.

pub mod admin;
mod admission;
mod authenticate;
mod bodies;
mod cleaning;
pub mod console;
mod context;
mod deadline;
mod digest;
mod error;
mod figures;
mod first_start;
mod forget;
mod forgotten;
mod freshness;
mod gateway_call;
mod guarding;
mod indexes;
pub mod integrations;
mod nodes;
pub mod oauth;
mod rate;
mod remember;
mod search;
mod seen;
mod sessions;
mod similar;
mod snapshots;
mod standings;
pub mod stored;
mod system;
mod upkeep;
mod usage;
mod validate;
mod when;
mod workspaces;

use std::sync::Arc;

use mnemon_core::{Clock, CredentialHash, IdSource, NodeId, PlanTable, Secret};
use mnemon_gateway::Outgoing;
use mnemon_guard::Guard;
use mnemon_recall::Model;
use mnemon_store::{Store, StoreError};

pub use admission::{Admission, MemoryUse, Tool, ToolCall};
pub use authenticate::NotAuthenticated;
pub use bodies::Body;
pub use context::{CallContext, Connection, Identity};
pub use deadline::CALL_MAX;
pub use digest::{Digest, LeftOut};
pub use error::CallError;
pub use figures::Figures;
pub use first_start::FirstStart;
pub use forget::{Forget, Forgotten};
pub use freshness::KnownSource;
pub use gateway_call::{GatewayCall, IntegrationTool};
pub use guarding::GuardMode;
pub use remember::{Remember, Remembered};
pub use search::{Answer, Found, Search};
pub use sessions::{AppendSession, SessionError, SessionText};
pub use similar::{SIMILAR_MAX, SimilarRecord};
pub use system::{SystemClock, SystemIds};
pub use upkeep::Upkeep;
pub use validate::{Validate, Validated};
pub use when::{TimeUnderstood, days_of};

pub use mnemon_gateway::{BreakerCounts, Health, ToolResult, UpstreamError};
pub use mnemon_recall::{ExplainedHit, ExplainedWord, Explanation};

use figures::{Counts, StorageWorks};
use forgotten::ForgottenRoom;
use indexes::Indexes;
use integrations::{IntegrationSettings, Integrations};
use nodes::Presence;
use oauth::{DocumentHosts, OauthMemory};
use rate::RateLimiter;
use seen::SeenKeys;
use usage::UsageCounter;

#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub plans: PlanTable,
    /// Memory limit of all search indexes together.
    pub index_bytes_max: usize,
    /// Calls to URLs that others choose.
    pub outgoing: Outgoing,
}

/// The service without its endpoints.
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    plans: PlanTable,
    guard: &'static Guard,
    model: &'static Model,
    indexes: Indexes,
    rates: RateLimiter,
    forgotten: ForgottenRoom,
    usage: UsageCounter,
    presence: Presence,
    seen: SeenKeys,
    counts: Counts,
    works: StorageWorks,
    outgoing: Outgoing,
    document_hosts: DocumentHosts,
    oauth: OauthMemory,
    integrations: Arc<Integrations>,
    /// The operator token from the configuration; one created on the first start is in the store, and counts only
    /// without this.
    operator_token: Option<CredentialHash>,
}

impl Engine {
    /// Assembles the service.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, config: EngineConfig) -> Self {
        let model = Model::shipped();
        let indexes = Indexes::new(Arc::clone(&store), Arc::clone(&clock), model, config.index_bytes_max);
        let guard = Guard::shipped();
        let integrations = Integrations::new(
            Arc::clone(&store),
            Arc::clone(&clock),
            guard,
            config.outgoing.clone(),
            IntegrationSettings::default(),
        );
        let started_at = clock.now();
        let presence = Presence::new(NodeId::new(ids.uuid(started_at)), started_at);
        Self {
            store,
            clock,
            ids,
            plans: config.plans,
            guard,
            model,
            indexes,
            rates: RateLimiter::default(),
            forgotten: ForgottenRoom::default(),
            usage: UsageCounter::default(),
            presence,
            seen: SeenKeys::default(),
            counts: Counts::default(),
            works: StorageWorks::default(),
            outgoing: config.outgoing,
            document_hosts: DocumentHosts::default(),
            oauth: OauthMemory::default(),
            integrations: Arc::new(integrations),
            operator_token: None,
        }
    }

    /// Accepts this operator token, instead of the one in the store.
    #[must_use]
    pub fn with_operator_token(mut self, token: &Secret<String>) -> Self {
        self.operator_token = Some(CredentialHash::of(token.expose()));
        self
    }

    /// Limits the hosts that client metadata documents are fetched from.
    #[must_use]
    pub fn with_document_hosts(mut self, hosts: DocumentHosts) -> Self {
        self.document_hosts = hosts;
        self
    }

    /// Configures integrations.
    #[must_use]
    pub fn with_integrations(mut self, settings: IntegrationSettings) -> Self {
        let (store, clock, outgoing) = (Arc::clone(&self.store), Arc::clone(&self.clock), self.outgoing.clone());
        self.integrations = Arc::new(Integrations::new(store, clock, self.guard, outgoing, settings));
        self
    }

    /// The current time, for pages that show it.
    pub fn now(&self) -> mnemon_core::Timestamp {
        self.clock.now()
    }

    /// Whether the service could answer a search now.
    pub async fn check_reads(&self) -> Result<(), StoreError> {
        self.store.check_reads().await
    }

    /// Whether the service could store a save now.
    pub async fn check_writes(&self) -> Result<(), StoreError> {
        self.store.check_writes().await
    }

    /// Finishes pending work.
    pub async fn close(&self) {
        if let Err(error) = self.flush_usage().await {
            tracing::warn!(%error, "could not write the last usage figures");
        }
        self.integrations.gateway.close();
        self.indexes.write_last_snapshots().await;
        self.store.close().await;
    }
}
