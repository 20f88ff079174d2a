//! Answers that the agent gives itself: their envelope, and errors. What it answers while the service is unreachable is
//! in `away.rs`.

use mnemon_protocol::API_VERSION;
use mnemon_protocol::jsonrpc::{RpcError, code};
use mnemon_protocol::result::{ResultMeta, ServerInfo, Trailer};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::message::Message;
use crate::service::NoAnswer;
use crate::settings::{KEY_VARIABLE, Settings};

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

/// The message for a request that the service did not answer.
pub(crate) fn no_answer(message: &Message, settings: &Settings, why: &NoAnswer) -> Vec<u8> {
    let url = &settings.url;
    let text = match why {
        NoAnswer::NoKey => format!(
            "no Mnemon API key is configured. Set {KEY_VARIABLE} in the assistant's configuration of this server, or run \
             `mnemon agent install --client <client> --key <key>` to save it in the agent's configuration file"
        ),
        NoAnswer::Away(cause) => format!(
            "the Mnemon service at {url} is unreachable ({cause}). The address comes from {}. Check that the service \
             is running there. The agent keeps running and tries again on the next call",
            settings.url_source
        ),
        NoAnswer::TooLong => format!("the Mnemon service at {url} is up but did not answer this call in time"),
        NoAnswer::TooLarge => format!("the answer from the Mnemon service at {url} is too large"),
    };
    failure(message, why.reason(), &text)
}

/// The message for a rejected key: where it was read, and what to do.
pub(crate) fn rejected(message: &Message, settings: &Settings) -> Vec<u8> {
    let text = format!(
        "the Mnemon API key was rejected by {}. It was read from {}. Check that you copied all of it, without spaces, and \
         that it has not expired or been revoked. An admin can create a new one with `mnemon key create`",
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

pub(crate) fn agent_info() -> ServerInfo {
    ServerInfo { name: "Mnemon agent".to_owned(), version: env!("CARGO_PKG_VERSION") }
}
