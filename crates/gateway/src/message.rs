//! JSON-RPC from the client's side. Results are kept as the bytes received: they must be passed on unchanged.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::UpstreamError;

/// What may come in addition to the largest answer: its envelope and, in a stream, the notifications before it.
pub(crate) const ENVELOPE_BYTES_MAX: usize = 64 << 10;

/// What an upstream sent.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// An answer to one of our requests.
    Answer {
        /// The id as written in the message.
        id: String,
        outcome: Result<Box<RawValue>, UpstreamError>,
    },
    /// A question that needs an answer.
    Question { id: Box<RawValue>, method: String },
    /// Something to ignore.
    Notice,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<Fault<'a>>,
}

#[derive(Deserialize)]
struct Fault<'a> {
    #[serde(default)]
    code: i64,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

/// Parses what came: one message, or a batch as in the oldest revisions.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Incoming>, UpstreamError> {
    let text = std::str::from_utf8(bytes).map_err(|_| UpstreamError::Garbled("it is not UTF-8"))?;
    let no_json = |_| UpstreamError::Garbled("it is not JSON-RPC");
    if text.trim_start().starts_with('[') {
        let batch: Vec<Envelope<'_>> = serde_json::from_str(text).map_err(no_json)?;
        return Ok(batch.into_iter().map(Incoming::of).collect());
    }
    let one: Envelope<'_> = serde_json::from_str(text).map_err(no_json)?;
    Ok(vec![Incoming::of(one)])
}

impl Incoming {
    fn of(envelope: Envelope<'_>) -> Self {
        match envelope {
            Envelope { id: Some(id), method: Some(method), .. } => {
                Self::Question { id: id.to_owned(), method: method.into_owned() }
            }
            Envelope { id: Some(id), error: Some(fault), .. } => Self::Answer {
                id: id.get().to_owned(),
                outcome: Err(UpstreamError::refused(fault.code, &fault.message)),
            },
            // A refusal of something that could not even be read as a request has no id.
            Envelope { id: None, method: None, error: Some(fault), .. } => {
                Self::Answer { id: "null".to_owned(), outcome: Err(UpstreamError::refused(fault.code, &fault.message)) }
            }
            Envelope { id: Some(id), result: Some(result), .. } => {
                Self::Answer { id: id.get().to_owned(), outcome: Ok(result.to_owned()) }
            }
            _ => Self::Notice,
        }
    }
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

/// The bytes of a request, or of a notification if there is no id.
pub(crate) fn request(id: Option<u64>, method: &str, params: impl Serialize) -> Vec<u8> {
    to_bytes(&Request { jsonrpc: "2.0", id, method, params })
}

/// Our answer to a question from the upstream: `ping` is answered, anything else is not supported.
pub(crate) fn answer(id: &RawValue, method: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<serde_json::Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<serde_json::Value>,
    }
    let is_ping = method == "ping";
    let error = serde_json::json!({"code": -32601, "message": "this client supports only ping"});
    let result = is_ping.then(|| serde_json::json!({}));
    to_bytes(&Answer { jsonrpc: "2.0", id, result, error: (!is_ping).then_some(error) })
}

fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("wire shapes have string keys and no failing serializers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Result<Vec<String>, String> {
        let read = read(text.as_bytes()).map_err(|error| error.to_string())?;
        let kind = |message: Incoming| match message {
            Incoming::Answer { id, outcome: Ok(result) } => format!("answer {id} {result}"),
            Incoming::Answer { id, outcome: Err(error) } => format!("fault {id} {error}"),
            Incoming::Question { id, method } => format!("question {id} {method}"),
            Incoming::Notice => "notice".to_owned(),
        };
        Ok(read.into_iter().map(kind).collect())
    }

    #[test]
    fn results_keep_their_bytes() {
        let text = r#"{"jsonrpc":"2.0","id":7,"result": {"b":1.0,  "a":"\u00e9","a":2} }"#;
        assert_eq!(kinds(text).unwrap(), [r#"answer 7 {"b":1.0,  "a":"\u00e9","a":2}"#]);
    }

    #[test]
    fn every_kind_of_message_is_told_apart() {
        let check = |text: &str, expected: &str| assert_eq!(kinds(text).unwrap(), [expected], "{text}");
        check(r#"{"jsonrpc":"2.0","id":"x","result":null}"#, "notice");
        check(r#"{"id":1,"error":{"code":-5,"message":"no\nway"}}"#, "fault 1 refused the call: no way (code -5)");
        check(r#"{"id":1,"error":{}}"#, "fault 1 refused the call:  (code 0)");
        check(r#"{"id":null,"error":{"code":1,"message":"x"}}"#, "fault null refused the call: x (code 1)");
        check(r#"{"id":"s","method":"ping"}"#, r#"question "s" ping"#);
        check(r#"{"method":"notifications/message","params":{}}"#, "notice");
        check(r#"{"id":null,"result":{}}"#, "notice");
        assert_eq!(kinds(r#"[{"id":1,"result":{}},{"method":"x"}]"#).unwrap(), ["answer 1 {}", "notice"]);
        for garbled in ["", "{", "7", "\"x\"", "{}x", "{\"id\":1,\"id\":2,\"result\":{}}"] {
            assert!(kinds(garbled).is_err(), "{garbled}");
        }
    }

    #[test]
    fn a_long_message_of_an_upstream_is_cut() {
        for chars in [500, 501] {
            let refused = UpstreamError::refused(1, &"é".repeat(chars));
            assert_eq!(refused, UpstreamError::Refused { code: 1, message: "é".repeat(500) }, "{chars}");
        }
    }

    #[test]
    fn questions_are_answered_with_their_own_id() {
        let id = RawValue::from_string("\"a b\"".to_owned()).unwrap();
        assert_eq!(answer(&id, "ping"), br#"{"jsonrpc":"2.0","id":"a b","result":{}}"#);
        let refusal = String::from_utf8(answer(&id, "sampling/createMessage")).unwrap();
        assert!(refusal.contains("-32601"), "{refusal}");
    }
}
