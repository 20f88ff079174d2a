//! Names and shapes of the Model Context Protocol, both eras: **modern** (2026-07-28: every request describes itself in
//! `_meta`) and **legacy** (the older revisions, which begin with `initialize`).

use serde::Serialize;
use serde_json::Value;

use crate::result::{ServerInfo, Trailer};
use crate::tools::Tool;

/// The modern revision.
pub const MODERN_VERSION: &str = "2026-07-28";
/// The legacy revisions, newest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// What a legacy client is offered when it asks for a revision that we don't speak.
pub const LEGACY_DEFAULT: &str = LEGACY_VERSIONS[0];
/// The revisions that `server/discover` names.
pub const SUPPORTED_VERSIONS: [&str; 4] = [MODERN_VERSION, "2025-11-25", "2025-06-18", "2025-03-26"];

/// Names of headers, in lower case as HTTP libraries keep them.
pub mod header {
    /// The protocol's revision.
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    /// The method of the body.
    pub const METHOD: &str = "mcp-method";
    /// The tool's name in the body.
    pub const NAME: &str = "mcp-name";
}

/// Keys of `_meta`.
pub mod meta {
    /// The revision of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What a modern client can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who answers.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
}

/// How long a modern client may keep an answer, and for whom.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Caching {
    /// For so many milliseconds.
    #[serde(rename = "ttlMs")]
    pub ttl_ms: u64,
    /// `private`: the answer depends on the key, so no shared cache may hand it on.
    #[serde(rename = "cacheScope")]
    pub cache_scope: &'static str,
}

/// The answer to `initialize`.
#[derive(Debug, Serialize)]
pub struct InitializeResult<'a> {
    /// The revision to speak.
    #[serde(rename = "protocolVersion")]
    pub protocol_version: &'a str,
    /// What the server offers.
    pub capabilities: Value,
    /// Who answers.
    #[serde(rename = "serverInfo")]
    pub server_info: ServerInfo,
    /// What the service is for.
    pub instructions: &'a str,
    /// The rest.
    #[serde(flatten)]
    pub trailer: Trailer,
}

/// The answer to `server/discover`.
#[derive(Debug, Serialize)]
pub struct DiscoverResult<'a> {
    /// The revisions served.
    #[serde(rename = "supportedVersions")]
    pub supported_versions: [&'static str; 4],
    /// What the server offers.
    pub capabilities: Value,
    /// Who answers.
    #[serde(rename = "serverInfo")]
    pub server_info: ServerInfo,
    /// What the service is for.
    pub instructions: &'a str,
    /// Caching hints, modern only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
    /// The rest.
    #[serde(flatten)]
    pub trailer: Trailer,
}

/// The answer to `tools/list`.
#[derive(Debug, Serialize)]
pub struct ListToolsResult<'a> {
    /// The tools, in a stable order.
    pub tools: Vec<&'a Tool>,
    /// Caching hints, modern only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
    /// The rest.
    #[serde(flatten)]
    pub trailer: Trailer,
}
