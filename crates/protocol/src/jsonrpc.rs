//! JSON-RPC 2.0 envelopes.

use serde::Serialize;
use serde_json::{Map, Value};

/// The id of a request: a string or an integer, returned unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestId(Value);

impl RequestId {
    fn parse(value: Value) -> Option<Self> {
        match &value {
            Value::String(_) => Some(Self(value)),
            Value::Number(number) if number.is_i64() || number.is_u64() => Some(Self(value)),
            _ => None,
        }
    }
}

/// What one POST contained.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// Needs an answer.
    Request {
        id: RequestId,
        method: String,
        /// The parameters; not yet known to be an object.
        params: Option<Value>,
    },
    /// Needs no answer.
    Notification { method: String },
    /// An answer to a question that we never ask.
    Response,
}

/// Why a JSON value is not a JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    #[error("batches are not supported; send one request per POST")]
    Batch,
    #[error("the body must be a JSON-RPC object")]
    NoObject,
    #[error("jsonrpc must be \"2.0\"")]
    Version,
    /// The id is null, a fraction, a boolean, an array or an object.
    #[error("id must be a string or an integer")]
    Id,
    #[error("method must be a string")]
    Method,
}

impl Incoming {
    pub fn from_json(value: Value) -> Result<Self, InvalidMessage> {
        let mut members = match value {
            Value::Object(members) => members,
            Value::Array(_) => return Err(InvalidMessage::Batch),
            _ => return Err(InvalidMessage::NoObject),
        };
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(InvalidMessage::Version);
        }
        let id = members.remove("id");
        match members.remove("method") {
            Some(Value::String(method)) => Self::call(id, method, members.remove("params")),
            None if members.contains_key("result") || members.contains_key("error") => Ok(Self::Response),
            _ => Err(InvalidMessage::Method),
        }
    }

    fn call(id: Option<Value>, method: String, params: Option<Value>) -> Result<Self, InvalidMessage> {
        match id {
            None => Ok(Self::Notification { method }),
            Some(id) => {
                let id = RequestId::parse(id).ok_or(InvalidMessage::Id)?;
                Ok(Self::Request { id, method, params })
            }
        }
    }
}

/// The error codes we use.
pub mod code {
    /// The body is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i32 = -32600;
    pub const METHOD_NOT_FOUND: i32 = -32601;
    pub const INVALID_PARAMS: i32 = -32602;
    pub const INTERNAL_ERROR: i32 = -32603;
    /// A header and the body contradict each other.
    pub const HEADER_MISMATCH: i32 = -32020;
    pub const UNSUPPORTED_VERSION: i32 = -32022;
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RpcError {
    pub code: i32,
    /// What happened and what to do, for people.
    pub message: String,
    /// More details, if the code defines them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

#[derive(Serialize)]
struct Success<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    /// Null if the request's id could not be read.
    id: Option<&'a RequestId>,
    error: &'a RpcError,
}

/// The bytes of an answer with a result.
pub fn success(id: &RequestId, result: impl Serialize) -> Vec<u8> {
    to_bytes(&Success { jsonrpc: "2.0", id, result })
}

/// The bytes of an answer with an error.
pub fn failure(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    to_bytes(&Failure { jsonrpc: "2.0", id, error })
}

fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("wire shapes have string keys and no failing serializers")
}

/// The members of `params`; absent means none.
pub fn params_object(params: Option<Value>) -> Result<Map<String, Value>, RpcError> {
    match params {
        None => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(RpcError::new(code::INVALID_PARAMS, "params must be an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_distinguished_by_their_members() {
        let check = |value: Value, expected: Result<&str, InvalidMessage>| {
            let kind = Incoming::from_json(value.clone()).map(|message| match message {
                Incoming::Request { .. } => "request",
                Incoming::Notification { .. } => "notification",
                Incoming::Response => "response",
            });
            assert_eq!(kind, expected, "{value}");
        };
        check(json!({"jsonrpc":"2.0","id":1,"method":"m"}), Ok("request"));
        check(json!({"jsonrpc":"2.0","id":"","method":"m","params":7}), Ok("request"));
        check(json!({"jsonrpc":"2.0","method":"m"}), Ok("notification"));
        check(json!({"jsonrpc":"2.0","id":1,"result":{}}), Ok("response"));
        check(json!({"jsonrpc":"2.0","id":null,"error":{}}), Ok("response"));
        check(json!([]), Err(InvalidMessage::Batch));
        check(json!("x"), Err(InvalidMessage::NoObject));
        check(json!({"id":1,"method":"m"}), Err(InvalidMessage::Version));
        check(json!({"jsonrpc":2.0,"id":1,"method":"m"}), Err(InvalidMessage::Version));
        check(json!({"jsonrpc":"2.0","id":1}), Err(InvalidMessage::Method));
        check(json!({"jsonrpc":"2.0","id":1,"method":5}), Err(InvalidMessage::Method));
        for id in [json!(null), json!(1.5), json!(true), json!({}), json!([])] {
            check(json!({"jsonrpc":"2.0","id":id,"method":"m"}), Err(InvalidMessage::Id));
        }
    }

    #[test]
    fn ids_come_back_unchanged() {
        for id in [json!(0), json!(-7), json!(u64::MAX), json!("a\u{0}\"b")] {
            let Ok(Incoming::Request { id: read, .. }) =
                Incoming::from_json(json!({"jsonrpc":"2.0","id":id,"method":"m"}))
            else {
                panic!("{id} is a request id");
            };
            let answer: Value = serde_json::from_slice(&success(&read, json!({}))).unwrap();
            assert_eq!(answer["id"], id);
        }
    }
}
