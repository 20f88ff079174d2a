//! The configuration: compiled-in defaults, then a file, then the environment, then flags. It is read once, checked
//! completely, and passed on in typed parts. Every mistake is reported, not only the first.

mod environment;
mod gateway;
mod layers;
mod levels;
mod memory;
mod network;
mod outgoing;
mod sections;
mod traces;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use mnemon_core::{PlanTable, Secret};
use mnemon_engine::integrations::{Accounts, Allowances, IntegrationSettings, Limits, LocalCommand, SealingKey};
use mnemon_engine::oauth::DocumentHosts;

pub use environment::{ENVIRONMENT, Variable};
pub use layers::{Layers, Mistakes, unknown_variables};
pub use memory::machine_memory_bytes;
pub use network::Network;
pub use sections::LogFormat;

/// The defaults, with a comment for every setting.
pub const DEFAULTS: &str = include_str!("../mnemon.default.toml");

/// All settings, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub server: ServerConfig,
    pub storage: StorageConfig,
    pub recall: RecallConfig,
    /// Where figures are served besides the service's own address.
    pub metrics_listen: Option<std::net::SocketAddr>,
    /// Where spans are sent, if anywhere.
    pub traces: Option<TracesConfig>,
    pub log: LogConfig,
    pub plans: PlanTable,
    /// Calls to URLs that others choose.
    pub outgoing: OutgoingSettings,
    pub gateway: GatewayConfig,
    /// The operator token, if it is configured instead of created on the first start.
    pub operator_token: Option<Secret<String>>,
}

/// The HTTP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name of the service.
    pub service_name: String,
    pub listen: std::net::SocketAddr,
    /// The public URL.
    pub base_url: Option<String>,
    /// Origins of web pages that may call from a browser.
    pub allowed_origins: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// The memory that the service may use.
    pub memory_bytes: usize,
    /// Maximum number of connections; `None` derives it from the memory.
    pub connections_max: Option<usize>,
}

/// Calls to URLs that others choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutgoingSettings {
    /// Hosts that may be anywhere and use plain HTTP, and the accounts whose integrations may reach them.
    pub allowed_hosts: BTreeMap<String, Accounts>,
    /// Hosts that metadata documents of web clients are fetched from.
    pub document_hosts: DocumentHosts,
    /// PEM file with certificates to trust in addition to the usual ones.
    pub ca_file: Option<PathBuf>,
}

/// Where records are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageConfig {
    pub data_dir: PathBuf,
    /// The PostgreSQL to use instead.
    pub database: Option<DatabaseConfig>,
}

/// A PostgreSQL shared by all nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseConfig {
    /// Its URL, which may contain a password.
    pub url: Secret<String>,
    /// The URLs of its read replicas.
    pub replicas: Vec<Secret<String>>,
    /// The role the service works as.
    pub role: String,
    /// Maximum number of connections of this node.
    pub connections_max: usize,
    /// Maximum number of saves stored in one transaction.
    pub batch_max: usize,
}

/// Tools of other systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// The key that encrypts credentials.
    pub encryption_key: Option<SealingKey>,
    /// The previous key.
    pub previous_encryption_key: Option<SealingKey>,
    pub call_timeout: Duration,
    /// Maximum number of running calls per project.
    pub calls_per_project: usize,
    /// Local commands that integrations may run, by name.
    pub commands: BTreeMap<String, LocalCommand>,
}

impl Config {
    /// The settings of integrations in the engine's form.
    pub fn integrations(&self) -> IntegrationSettings {
        let mut settings = self.gateway.to_settings();
        settings.allowances.hosts = self.outgoing.allowed_hosts.clone();
        settings
    }
}

impl GatewayConfig {
    fn to_settings(&self) -> IntegrationSettings {
        let limits = Limits { call_timeout: self.call_timeout, calls_max: self.calls_per_project, ..Limits::default() };
        IntegrationSettings {
            limits,
            allowances: Allowances { commands: self.commands.clone(), ..Allowances::default() },
            key: self.encryption_key.clone(),
            previous_key: self.previous_encryption_key.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallConfig {
    /// Memory limit of all indexes together.
    pub memory_bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracesConfig {
    /// The collector's URL, without a slash at its end.
    pub endpoint: String,
    /// Of how many requests one is traced.
    pub every: NonZeroU64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    pub level: String,
    pub format: LogFormat,
    /// Of how many requests one gets a line in the access log; `None` turns it off.
    pub access_every: Option<NonZeroU64>,
}
