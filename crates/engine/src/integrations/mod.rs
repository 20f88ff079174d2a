//! Tools of other systems: which are offered, under which names, and how their credentials are kept. The gateway handles
//! connections and the store handles rows; this module decides what is allowed.
//!
//! A tool is offered if its integration is enabled for the project, the allow-list names it, the upstream marks it
//! read-only, its description is the pinned one, and the guard accepts its text.

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

#[derive(Debug, Clone, Default)]
pub struct IntegrationSettings {
    /// Limits of a call.
    pub limits: Limits,
    /// The local commands that integrations may use, by name.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The key that encrypts credentials.
    pub key: Option<SealingKey>,
    /// The previous key, for as long as something may be encrypted with it.
    pub previous_key: Option<SealingKey>,
}

/// Everything shared by listing and calling.
pub(crate) struct Integrations {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) guard: &'static Guard,
    pub(crate) gateway: Gateway,
    pub(crate) outgoing: Outgoing,
    pub(crate) sealer: Sealer,
    pub(crate) commands: BTreeMap<String, Vec<String>>,
    /// When an upstream was last asked for its tools, whatever the outcome.
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

    /// How to reach an integration's upstream, with its credential decrypted.
    pub(crate) fn upstream(&self, project: ProjectId, row: &IntegrationRow) -> Result<Upstream, UpstreamError> {
        let target = match &row.address {
            UpstreamAddress::Command(name) => {
                let unknown = || UpstreamError::NotStarted(format!("no command is called '{name}'"));
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
            tracing::error!(project.id = %project, integration = row.name, "can't decrypt a credential");
            UpstreamError::Closed("its credential can't be decrypted; an admin must set it again".to_owned())
        })
    }

    /// Drops what is held for an integration that was changed or deleted.
    pub(crate) fn forget(&self, project: ProjectId, name: &str) {
        self.gateway.forget(project.to_bytes(), name);
        self.tried_at.lock().remove(&(project, name.to_owned()));
    }
}
