//! Names and shapes of the Model Context Protocol, both eras: **modern** (2026-07-28: every request describes itself in
//! `_meta`) and **legacy** (the older revisions, which start with `initialize`).

use serde::Serialize;
use serde_json::Value;

use crate::result::{ServerInfo, Trailer};
use crate::tools::Tool;

/// The modern revision.
pub const MODERN_VERSION: &str = "2026-07-28";
/// The legacy revisions, newest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// What a legacy client is offered if it asks for a revision that we don't support.
pub const LEGACY_DEFAULT: &str = LEGACY_VERSIONS[0];
/// The revisions that `server/discover` lists.
pub const SUPPORTED_VERSIONS: [&str; 4] = [MODERN_VERSION, "2025-11-25", "2025-06-18", "2025-03-26"];

/// Header names, in lower case as HTTP libraries keep them.
pub mod header {
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    pub const METHOD: &str = "mcp-method";
    pub const NAME: &str = "mcp-name";
}

/// Keys of `_meta`.
pub mod meta {
    /// The revision of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The capabilities of a modern client.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The name and version of a modern client.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
}

/// How long a modern client may cache an answer, and for whom.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Caching {
    /// Milliseconds.
    #[serde(rename = "ttlMs")]
    pub ttl_ms: u64,
    /// `private`: the answer depends on the key, so no shared cache may reuse it.
    #[serde(rename = "cacheScope")]
    pub cache_scope: &'static str,
}

/// The answer to `initialize`.
#[derive(Debug, Serialize)]
pub struct InitializeResult<'a> {
    #[serde(rename = "protocolVersion")]
    pub protocol_version: &'a str,
    pub capabilities: Value,
    #[serde(rename = "serverInfo")]
    pub server_info: ServerInfo,
    pub instructions: &'a str,
    #[serde(flatten)]
    pub trailer: Trailer,
}

/// The answer to `server/discover`.
#[derive(Debug, Serialize)]
pub struct DiscoverResult<'a> {
    #[serde(rename = "supportedVersions")]
    pub supported_versions: [&'static str; 4],
    pub capabilities: Value,
    #[serde(rename = "serverInfo")]
    pub server_info: ServerInfo,
    pub instructions: &'a str,
    /// Caching hints, modern only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
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
    #[serde(flatten)]
    pub trailer: Trailer,
}
