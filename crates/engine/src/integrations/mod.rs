//! Other systems' tools beside a project's memory: which are offered, under which names, and how their credentials are
//! kept. Connections are the gateway's business, rows the store's; here is what is allowed.
//!
//! A tool is offered when its integration is enabled for the project, the allow-list names it, the upstream marks it
//! read-only, its description is the one that was pinned, and the guard has nothing against its words.

mod look;
mod naming;
mod offer;
mod presets;
mod sealing;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mnemon_core::{Clock, ProjectId, Timestamp};
use mnemon_gateway::{Gateway, Outgoing, Target, Upstream, UpstreamError};
use mnemon_guard::Guard;
use mnemon_store::{IntegrationRow, Store, UpstreamAddress};
use parking_lot::Mutex;

pub use mnemon_gateway::Limits;

pub use look::Looked;
pub use naming::{ToolNames, check_allowed, check_name};
pub use offer::{OfferedTool, ToolState};
pub use presets::{PRESETS, Preset};
pub use sealing::{BadKey, SealingKey};

pub(crate) use naming::split;
pub(crate) use offer::{describe, state_of};
pub(crate) use sealing::{Headers, NotOpened, Place, Sealer, headers_from_json, headers_to_json};

/// What the operator may set.
#[derive(Debug, Clone, Default)]
pub struct IntegrationSettings {
    /// What one call may take.
    pub limits: Limits,
    /// The local commands that integrations may name, each with its words.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The key that credentials are sealed with.
    pub key: Option<SealingKey>,
    /// The key before it, for as long as something may be sealed with that.
    pub previous_key: Option<SealingKey>,
}

/// Everything that is shared by those who look, list and call.
pub(crate) struct Integrations {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) guard: &'static Guard,
    pub(crate) gateway: Gateway,
    pub(crate) outgoing: Outgoing,
    pub(crate) sealer: Sealer,
    pub(crate) commands: BTreeMap<String, Vec<String>>,
    /// When an upstream was last asked for its tools, whatever came of it.
    tried_at: Mutex<HashMap<(ProjectId, String), Timestamp>>,
}

impl Integrations {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        guard: &'static Guard,
        outgoing: Outgoing,
        settings: IntegrationSettings,
    ) -> Self {
        let IntegrationSettings { limits, commands, key, previous_key } = settings;
        let gateway = Gateway::new(outgoing.clone(), limits);
        let sealer = Sealer::new(key, previous_key);
        Self { store, clock, guard, gateway, outgoing, sealer, commands, tried_at: Mutex::default() }
    }

    /// The way to an integration's upstream, with its credential opened.
    pub(crate) fn upstream(&self, project: ProjectId, row: &IntegrationRow) -> Result<Upstream, UpstreamError> {
        let target = match &row.address {
            UpstreamAddress::Command(name) => {
                let unknown = || UpstreamError::NotStarted(format!("there is no command '{name}'"));
                Target::Command(self.commands.get(name).ok_or_else(unknown)?.clone())
            }
            UpstreamAddress::Url(url) => {
                let preset = row.preset.as_deref().and_then(Preset::find);
                let fixed = preset.into_iter().flat_map(Preset::secret_headers);
                Target::Http { url: url.clone(), headers: fixed.chain(self.credential(project, row)?).collect() }
            }
        };
        Ok(Upstream { owner: project.to_bytes(), name: row.name.clone(), revision: row.revision, target })
    }

    fn credential(&self, project: ProjectId, row: &IntegrationRow) -> Result<sealing::Headers, UpstreamError> {
        let Some(sealed) = &row.sealed else { return Ok(Vec::new()) };
        let opened = self.sealer.open(&Place { project, name: &row.name }, sealed);
        let headers = opened.ok().and_then(|plain| headers_from_json(&plain));
        headers.ok_or_else(|| {
            tracing::error!(project.id = %project, integration = row.name, "a credential can't be opened");
            UpstreamError::Closed("its credential can't be opened; an admin has to give it again".to_owned())
        })
    }

    /// Gives up what is held of an integration that was changed or removed.
    pub(crate) fn forget(&self, project: ProjectId, name: &str) {
        self.gateway.forget(project.to_bytes(), name);
        self.tried_at.lock().remove(&(project, name.to_owned()));
    }
}
