//! Keeps an assistant going while the service is unreachable: its first requests are answered here, and its tools
//! appear once the service is back.

use mnemon_protocol::mcp::{
    Caching, DiscoverResult, InitializeResult, LEGACY_DEFAULT, LEGACY_VERSIONS, ListToolsResult, SUPPORTED_VERSIONS,
};
use serde_json::json;

use crate::answers::{agent_info, success, trailer};
use crate::message::Message;
use crate::own_tool;

/// Sent to a client that started without the service's tools, once the service is back.
pub(crate) const TOOLS_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

const INSTRUCTIONS: &str = "The memory service is unreachable right now. Its tools will appear once it is back.";

/// What an assistant needs to start, and gets from the agent while the service is unreachable: an assistant that is
/// refused here drops the server and does not try again.
pub(crate) fn while_away(message: &Message) -> Option<Vec<u8>> {
    let is_modern = message.is_modern();
    // Short, so that a client that caches lists asks again soon.
    let caching = is_modern.then_some(Caching { ttl_ms: 1_000, cache_scope: "private" });
    let capabilities = json!({"tools": {"listChanged": true}});
    match message.method.as_deref()? {
        "initialize" => {
            let asked = message.asked_version.as_deref().unwrap_or(LEGACY_DEFAULT);
            let version = LEGACY_VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(LEGACY_DEFAULT);
            let result = InitializeResult {
                protocol_version: version,
                capabilities,
                server_info: agent_info(),
                instructions: INSTRUCTIONS,
                trailer: trailer(is_modern),
            };
            Some(success(message, &result))
        }
        "server/discover" => {
            let result = DiscoverResult {
                supported_versions: SUPPORTED_VERSIONS,
                capabilities,
                server_info: agent_info(),
                instructions: INSTRUCTIONS,
                caching,
                trailer: trailer(is_modern),
            };
            Some(success(message, &result))
        }
        "tools/list" => {
            let own = own_tool::description();
            let result = ListToolsResult { tools: vec![&own], caching, trailer: trailer(is_modern) };
            Some(success(message, &result))
        }
        "ping" if !is_modern => Some(success(message, &json!({}))),
        _ => None,
    }
}
