//! The configuration: compiled-in defaults, then a file, then the environment, then flags. It is read once, checked
//! whole, and handed on in typed parts. Every mistake is reported, not only the first.

mod environment;
mod layers;
mod network;
mod sections;

use std::path::PathBuf;

use mnemon_core::{PlanTable, Secret};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageConfig {
    /// The directory.
    pub data_dir: PathBuf,
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
