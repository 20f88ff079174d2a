//! Looks into a line without changing it: who needs an answer, and which headers the request needs.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use mnemon_protocol::mcp::{header, meta};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What is known about a line. Anything unreadable is left to the service, which answers with an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// The id as written; absent for notifications and answers.
    pub(crate) id: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) tool: Option<String>,
    /// The revision that a modern request declares.
    pub(crate) version: Option<String>,
    /// The revision that `initialize` asks for.
    pub(crate) asked_version: Option<String>,
    /// The id of the request that `notifications/cancelled` cancels.
    pub(crate) cancels: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "protocolVersion")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

impl Message {
    /// Parses a line.
    pub(crate) fn peek(line: &[u8]) -> Self {
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else { return Self::default() };
        let params = envelope.params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
        let params = params.unwrap_or_default();
        let is = |method: &str| envelope.method.as_deref() == Some(method);
        Self {
            // Without a method it is an answer, and needs none.
            id: envelope.id.filter(|_| envelope.method.is_some()).map(|id| id.get().to_owned()),
            tool: params.name.filter(|_| is("tools/call")).and_then(string),
            version: params.meta.and_then(version_of),
            asked_version: params.protocol_version.filter(|_| is("initialize")).and_then(string),
            cancels: params.request_id.filter(|_| is("notifications/cancelled")).map(|id| id.get().to_owned()),
            method: envelope.method.map(Cow::into_owned),
        }
    }

    /// Whether the request describes itself, as in the modern revision.
    pub(crate) fn is_modern(&self) -> bool {
        self.version.is_some()
    }

    /// The headers that repeat parts of a modern request's body.
    pub(crate) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let Some(version) = &self.version else { return Vec::new() };
        let repeated = [
            (header::PROTOCOL_VERSION, Some(version)),
            (header::METHOD, self.method.as_ref()),
            (header::NAME, self.tool.as_ref()),
        ];
        let named = repeated.into_iter().filter_map(|(name, value)| Some((name, to_header(value?)?)));
        named.map(|(name, value)| (HeaderName::from_static(name), value)).collect()
    }
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn version_of(meta: &RawValue) -> Option<String> {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(meta.get()).ok()?;
    members.get(meta::PROTOCOL_VERSION)?.as_str().map(str::to_owned)
}

/// A header value: the text itself if HTTP can carry it, else wrapped as `=?base64?…?=`.
fn to_header(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !text.is_empty()
        && !text.starts_with("=?base64?");
    if is_plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_as_they_were_written() {
        for (line, id) in [
            (r#"{"id":1,"method":"ping"}"#, Some("1")),
            (r#"{"method":"ping","id": "a\u0062"}"#, Some(r#""a\u0062""#)),
            (r#"{"id":18446744073709551616,"method":"ping"}"#, Some("18446744073709551616")),
            (r#"{"method":"notifications/initialized"}"#, None),
            (r#"{"id":null,"method":"ping"}"#, None),
            (r#"{"id":1,"result":{}}"#, None),
            ("[1]", None),
            ("{", None),
            ("\u{feff}", None),
        ] {
            assert_eq!(Message::peek(line.as_bytes()).id.as_deref(), id, "{line}");
        }
        assert_eq!(Message::peek(b"\xff\xfe"), Message::default());
    }

    #[test]
    fn a_modern_request_is_repeated_in_headers() {
        let line = format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"se\u0061rch","_meta":{{"{}":"2026-07-28"}}}}}}"#,
            meta::PROTOCOL_VERSION
        );
        let message = Message::peek(line.as_bytes());
        let headers = message.headers();
        let told: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(&str, &[u8]); 3] =
            [("mcp-protocol-version", b"2026-07-28"), ("mcp-method", b"tools/call"), ("mcp-name", b"search")];
        assert_eq!(told, expected);
        let legacy = Message::peek(br#"{"id":1,"method":"tools/call","params":{"name":"search"}}"#);
        assert_eq!(legacy.headers(), []);
        assert_eq!(legacy.tool.as_deref(), Some("search"));
    }

    #[test]
    fn what_a_header_cannot_carry_is_wrapped() {
        let check = |text: &str, expected: &str| assert_eq!(to_header(text).unwrap().as_bytes(), expected.as_bytes());
        check("search", "search");
        check("a b", "a b");
        check("café", "=?base64?Y2Fmw6k=?=");
        check(" a", "=?base64?IGE=?=");
        check("a\nb", "=?base64?YQpi?=");
        check("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=");
        check("", "=?base64??=");
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let line = br#"{"method":"notifications/cancelled","params":{"requestId":"7","reason":"gone"}}"#;
        assert_eq!(Message::peek(line).cancels.as_deref(), Some(r#""7""#));
        assert_eq!(Message::peek(br#"{"method":"other","params":{"requestId":7}}"#).cancels, None);
    }
}
