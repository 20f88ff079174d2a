//! The configuration: compiled-in defaults, then a file, then the environment, then flags. It is read once, checked
//! whole, and handed on in typed parts. Every mistake is reported, not only the first.

mod environment;
mod gateway;
mod layers;
mod network;
mod sections;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mnemon_core::{PlanTable, Secret};
use mnemon_engine::integrations::{IntegrationSettings, Limits, SealingKey};

pub use environment::{ENVIRONMENT, Variable};
pub use layers::{Layers, Mistakes};
pub use network::Network;
pub use sections::{LogFormat, machine_memory_bytes};

/// The defaults, with a comment for every setting.
pub const DEFAULTS: &str = include_str!("../mnemon.default.toml");

/// Everything that the operator may set, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The doors.
    pub server: ServerConfig,
    /// Where records rest.
    pub storage: StorageConfig,
    /// Searching.
    pub recall: RecallConfig,
    /// The log.
    pub log: LogConfig,
    /// What each plan allows.
    pub plans: PlanTable,
    /// Calls to addresses that others choose.
    pub outgoing: OutgoingSettings,
    /// Other systems' tools.
    pub gateway: GatewayConfig,
    /// The operator's token, where it is handed in instead of made on the first start.
    pub operator_token: Option<Secret<String>>,
}

/// The doors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// What the service calls itself.
    pub service_name: String,
    /// The address to listen on.
    pub listen: std::net::SocketAddr,
    /// The address under which the outside reaches the service.
    pub base_url: Option<String>,
    /// Web pages that may call from a browser.
    pub allowed_origins: Vec<String>,
    /// Whose word about a caller's address is taken.
    pub trusted_proxies: Vec<Network>,
}

/// Calls to addresses that others choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutgoingSettings {
    /// Hosts that may lie anywhere and speak plain HTTP.
    pub allowed_hosts: Vec<String>,
    /// Certificates to trust beside the usual ones, as a PEM file.
    pub ca_file: Option<PathBuf>,
}

/// Where records rest.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageConfig {
    /// The directory.
    pub data_dir: PathBuf,
    /// The PostgreSQL to use instead.
    pub database: Option<DatabaseConfig>,
}

/// A PostgreSQL that nodes share.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseConfig {
    /// Its address, which may hold a password.
    pub url: Secret<String>,
    /// The role that the service works as.
    pub role: String,
    /// How many connections this node may hold.
    pub connections_max: usize,
    /// How many saves are stored together.
    pub batch_max: usize,
}

/// Other systems' tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// The key that credentials are encrypted with.
    pub encryption_key: Option<SealingKey>,
    /// The key before it.
    pub previous_encryption_key: Option<SealingKey>,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How many calls a project may have running.
    pub calls_per_project: usize,
    /// Local commands that integrations may run, by name.
    pub commands: BTreeMap<String, Vec<String>>,
}

impl GatewayConfig {
    /// As the engine wants it.
    pub fn to_settings(&self) -> IntegrationSettings {
        let limits = Limits { call_timeout: self.call_timeout, calls_max: self.calls_per_project, ..Limits::default() };
        IntegrationSettings {
            limits,
            commands: self.commands.clone(),
            key: self.encryption_key.clone(),
            previous_key: self.previous_encryption_key.clone(),
        }
    }
}

/// Searching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallConfig {
    /// How many bytes all indexes together may take.
    pub memory_bytes: usize,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// Which lines.
    pub level: String,
    /// In which form.
    pub format: LogFormat,
}
