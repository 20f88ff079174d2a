//! Answers that the agent itself gives: errors in words, and what keeps an assistant going while the service is away.

use mnemon_protocol::API_VERSION;
use mnemon_protocol::jsonrpc::{RpcError, code};
use mnemon_protocol::mcp::{
    Caching, DiscoverResult, InitializeResult, LEGACY_DEFAULT, LEGACY_VERSIONS, ListToolsResult, SUPPORTED_VERSIONS,
};
use mnemon_protocol::result::{ResultMeta, ServerInfo, Trailer};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::message::Message;
use crate::own_tool;
use crate::service::NoAnswer;
use crate::settings::{KEY_VARIABLE, Settings};

/// Told to a client that lost its tools to an absent service, once that is back.
pub(crate) const TOOLS_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

const INSTRUCTIONS: &str =
    "The memory service can't be reached right now. Its tools appear by themselves when it is back.";

#[derive(Serialize)]
struct Success<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    error: RpcError,
}

/// The bytes of a result for a request.
pub(crate) fn success(message: &Message, result: &impl Serialize) -> Vec<u8> {
    let answer = Success { jsonrpc: "2.0", id: &raw_id(message), result };
    serde_json::to_vec(&answer).expect("wire shapes have string keys and no failing serializers")
}

/// The bytes of an error for a request; `reason` is for machines.
pub(crate) fn failure(message: &Message, reason: &str, text: &str) -> Vec<u8> {
    let error =
        RpcError { code: code::INTERNAL_ERROR, message: text.to_owned(), data: Some(json!({"reason": reason})) };
    let answer = Failure { jsonrpc: "2.0", id: &raw_id(message), error };
    serde_json::to_vec(&answer).expect("wire shapes have string keys and no failing serializers")
}

fn raw_id(message: &Message) -> Box<RawValue> {
    let id = message.id.clone().unwrap_or_else(|| "null".to_owned());
    RawValue::from_string(id).expect("an id was read from JSON")
}

/// The words for a request that has no answer of the service.
pub(crate) fn no_answer(message: &Message, settings: &Settings, why: &NoAnswer) -> Vec<u8> {
    let url = &settings.url;
    let text = match why {
        NoAnswer::NoKey => format!(
            "no Mnemon API key was found: set {KEY_VARIABLE} in the assistant's configuration of this server, or run \
             `mnemon agent install --client <client> --key <key>`, which keeps it in the agent's configuration file"
        ),
        NoAnswer::Away(cause) => format!(
            "the Mnemon service at {url} can't be reached ({cause}). The address comes from {}. Check that the service \
             runs there; the agent goes on and the next call tries again",
            settings.url_source
        ),
        NoAnswer::TooLong => format!("the Mnemon service at {url} is alive but did not answer this call in time"),
        NoAnswer::TooLarge => format!("the answer of the Mnemon service at {url} is too large"),
    };
    failure(message, why.reason(), &text)
}

/// The words for a rejected key: where it was read, and what to do.
pub(crate) fn rejected(message: &Message, settings: &Settings) -> Vec<u8> {
    let text = format!(
        "the Mnemon API key was rejected by {}. It was read from {}. Check that it was copied whole, without spaces, and \
         that it was not revoked and has not expired; an administrator can make a new one with `mnemon key create`",
        settings.url, settings.key_source
    );
    failure(message, "key_rejected", &text)
}

/// What every result carries.
pub(crate) fn trailer(is_modern: bool) -> Trailer {
    Trailer {
        result_type: is_modern.then_some("complete"),
        meta: ResultMeta {
            api_version: Some(API_VERSION),
            server_info: is_modern.then(agent_info),
            ..ResultMeta::default()
        },
    }
}

fn agent_info() -> ServerInfo {
    ServerInfo { name: "Mnemon agent".to_owned(), version: env!("CARGO_PKG_VERSION") }
}

/// What an assistant needs to start, and gets from the agent while the service is away: an assistant that is refused here
/// gives the server up and does not come back to it.
pub(crate) fn while_away(message: &Message) -> Option<Vec<u8>> {
    let is_modern = message.is_modern();
    // Short, so that a client that keeps lists asks again soon.
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
