//! Tools of other systems: which are offered, under which names, and how their credentials are kept. The gateway
//! handles connections and the store handles rows; this module decides what is allowed.
//!
//! A tool is offered if its integration is enabled for the project, the allow-list names it, the upstream marks it
//! read-only, its description is the pinned one, and the guard accepts its text.

mod allowances;
mod command_secrets;
mod naming;
mod offer;
mod presets;
mod refresh;
mod sealing;

use std::collections::HashMap;
use std::sync::Arc;

use mnemon_core::{AccountId, Clock, Project, ProjectId, Timestamp};
use mnemon_gateway::{Gateway, Outgoing, Target, Upstream, UpstreamError};
use mnemon_guard::Guard;
use mnemon_store::{IntegrationRow, Store, UpstreamAddress};
use parking_lot::Mutex;
use url::Url;

use crate::CallContext;

pub use mnemon_gateway::Limits;

pub use allowances::{Accounts, Allowances, LocalCommand};
pub use naming::{ToolNames, check_allowed, check_name};
pub use offer::{OfferedTool, ToolState};
pub use presets::{PRESETS, Preset};
pub use refresh::Looked;
pub use sealing::{BadKey, SealingKey};

pub(crate) use naming::{is_allowed, split};
pub(crate) use offer::{describe, state_of};
pub(crate) use sealing::{Headers, NotOpened, Place, Sealer, headers_from_json, headers_to_json};

#[derive(Debug, Clone, Default)]
pub struct IntegrationSettings {
    /// Limits of a call.
    pub limits: Limits,
    /// Local commands and private hosts, and the accounts whose integrations may use them.
    pub allowances: Allowances,
    /// The key that encrypts credentials.
    pub key: Option<SealingKey>,
    /// The previous key, for as long as something may be encrypted with it.
    pub previous_key: Option<SealingKey>,
}

/// The owner of an integration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) account: AccountId,
    pub(crate) project: ProjectId,
}

impl From<&Project> for Owner {
    fn from(project: &Project) -> Self {
        Self { account: project.account, project: project.id }
    }
}

impl From<&CallContext> for Owner {
    fn from(ctx: &CallContext) -> Self {
        Self { account: ctx.credential.account, project: ctx.project() }
    }
}

/// Everything shared by listing and calling.
pub(crate) struct Integrations {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) guard: &'static Guard,
    pub(crate) gateway: Gateway,
    pub(crate) outgoing: Outgoing,
    pub(crate) sealer: Sealer,
    pub(crate) allowances: Allowances,
    /// When an upstream was last asked for its tools, whatever the outcome.
    tried_at: Mutex<HashMap<(ProjectId, String), Timestamp>>,
    /// The upstreams that did not answer when they were asked the last time.
    silences: Mutex<HashMap<(ProjectId, String), Silence>>,
}

/// When an upstream did not tell its tools, and why, in the words callers see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub at: Timestamp,
    pub why: String,
}

impl Integrations {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        guard: &'static Guard,
        outgoing: Outgoing,
        settings: IntegrationSettings,
    ) -> Self {
        let IntegrationSettings { limits, allowances, key, previous_key } = settings;
        let gateway = Gateway::new(outgoing.clone(), limits);
        let sealer = Sealer::new(key, previous_key);
        let (tried_at, silences) = (Mutex::default(), Mutex::default());
        Self { store, clock, guard, gateway, outgoing, sealer, allowances, tried_at, silences }
    }

    /// Why an upstream did not answer when this node asked it the last time, if it did not.
    pub(crate) fn silence(&self, project: ProjectId, name: &str) -> Option<Silence> {
        self.silences.lock().get(&(project, name.to_owned())).cloned()
    }

    /// The outgoing client for this account and URL.
    pub(crate) fn way_to(&self, url: &Url, account: AccountId) -> Outgoing {
        match self.allowances.host(url, account) {
            Some(host) => self.outgoing.also_allowing(host),
            None => self.outgoing.clone(),
        }
    }

    /// How to reach an integration's upstream, with its credential decrypted. Whether its owner may use the command or
    /// host is checked each time: the configuration may have changed since the integration was created.
    pub(crate) fn upstream(&self, owner: Owner, row: &IntegrationRow) -> Result<Upstream, UpstreamError> {
        let Owner { account, project } = owner;
        let target = match &row.address {
            UpstreamAddress::Command(name) => {
                let unknown = || UpstreamError::NotStarted(format!("no command is called '{name}'"));
                let words = self.allowances.command(name, account).ok_or_else(unknown)?.to_vec();
                Target::Command { secrets: command_secrets::of(&words), words }
            }
            UpstreamAddress::Url(url) => {
                let preset = row.preset.as_deref().and_then(Preset::find);
                let fixed = preset.into_iter().flat_map(Preset::secret_headers);
                let parsed = url.parse::<Url>().ok();
                let is_host_allowed = parsed.is_some_and(|url| self.allowances.host(&url, account).is_some());
                let headers = fixed.chain(self.credential(project, row)?).collect();
                Target::Http { url: url.clone(), headers, is_host_allowed }
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
        let key = (project, name.to_owned());
        self.tried_at.lock().remove(&key);
        self.silences.lock().remove(&key);
    }
}
