//! Which era of the protocol a request belongs to, and whether a modern request's headers match its body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use mnemon_protocol::jsonrpc::{RpcError, code};
use mnemon_protocol::mcp::{LEGACY_VERSIONS, MODERN_VERSION, SUPPORTED_VERSIONS, header, meta};
use serde_json::{Value, json};

use super::refusal::WireError;

/// The two eras.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: every request describes itself.
    Modern,
    /// Anything before, including a bare request without a handshake.
    Legacy,
}

impl Era {
    /// Determines the era of a request. A modern request is checked completely.
    pub(crate) fn of(headers: &HeaderMap, method: &str, params: Option<&Value>) -> Result<Self, WireError> {
        let described = params.and_then(|params| params.get("_meta"));
        let in_body = described.and_then(|described| described.get(meta::PROTOCOL_VERSION));
        let in_header = header_value(headers, header::PROTOCOL_VERSION)?;
        let is_modern_header = in_header.as_deref().is_some_and(|version| !LEGACY_VERSIONS.contains(&version));
        if in_body.is_none() && (!is_modern_header || method == "initialize") {
            return Ok(Self::Legacy);
        }
        check_version(in_body, in_header.as_deref())?;
        check_mirror(headers, header::METHOD, method)?;
        if method == "tools/call"
            && let Some(name) = params.and_then(|params| params.get("name")).and_then(Value::as_str)
        {
            check_mirror(headers, header::NAME, name)?;
        }
        let capabilities = described.and_then(|described| described.get(meta::CLIENT_CAPABILITIES));
        if !capabilities.is_some_and(Value::is_object) {
            let message = format!("params._meta must contain {} as an object", meta::CLIENT_CAPABILITIES);
            return Err(WireError::bad_request(code::INVALID_PARAMS, message));
        }
        Ok(Self::Modern)
    }
}

/// The body's version must be one that we support, and the header must match it.
fn check_version(in_body: Option<&Value>, in_header: Option<&str>) -> Result<(), WireError> {
    let Some(in_body) = in_body else {
        let requested = in_header.unwrap_or_default();
        if requested != MODERN_VERSION {
            return Err(unsupported(requested));
        }
        let message = format!("params._meta must contain {} for {MODERN_VERSION}", meta::PROTOCOL_VERSION);
        return Err(WireError::bad_request(code::INVALID_PARAMS, message));
    };
    let Some(in_body) = in_body.as_str() else {
        let message = format!("{} must be a string", meta::PROTOCOL_VERSION);
        return Err(WireError::bad_request(code::INVALID_PARAMS, message));
    };
    if in_header != Some(in_body) {
        return Err(mismatch(header::PROTOCOL_VERSION, in_header, in_body));
    }
    if in_body == MODERN_VERSION { Ok(()) } else { Err(unsupported(in_body)) }
}

fn unsupported(requested: &str) -> WireError {
    let error = RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: format!("protocol version '{requested}' is not supported"),
        data: Some(json!({"supported": SUPPORTED_VERSIONS, "requested": requested})),
    };
    WireError { status: StatusCode::BAD_REQUEST, error }
}

/// A header that repeats a part of the body must match it.
fn check_mirror(headers: &HeaderMap, name: &'static str, in_body: &str) -> Result<(), WireError> {
    let in_header = header_value(headers, name)?;
    if in_header.as_deref() == Some(in_body) { Ok(()) } else { Err(mismatch(name, in_header.as_deref(), in_body)) }
}

fn mismatch(name: &str, in_header: Option<&str>, in_body: &str) -> WireError {
    let said = in_header.map_or_else(|| "is missing".to_owned(), |value| format!("is '{value}'"));
    WireError::bad_request(code::HEADER_MISMATCH, format!("the header {name} {said}, but the body says '{in_body}'"))
}

/// The value of a header, decoded if it is wrapped as `=?base64?…?=`. Two headers with one name contradict each other.
fn header_value(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, WireError> {
    let unreadable = || {
        let message = format!("the header {name} is invalid; send it once, as visible ASCII or =?base64?...?=");
        WireError::bad_request(code::HEADER_MISMATCH, message)
    };
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(unreadable());
    }
    let value = value.to_str().map_err(|_| unreadable())?.trim();
    let Some(wrapped) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Some(value.to_owned()));
    };
    let bytes = STANDARD.decode(wrapped).map_err(|_| unreadable())?;
    String::from_utf8(bytes).map(Some).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn modern_params(name: &str) -> Value {
        json!({"name": name, "_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {}}})
    }

    fn outcome(pairs: &[(&'static str, &str)], method: &str, params: Option<Value>) -> Result<Era, i32> {
        Era::of(&headers(pairs), method, params.as_ref()).map_err(|error| error.error.code)
    }

    const VERSION: (&str, &str) = (header::PROTOCOL_VERSION, MODERN_VERSION);

    #[test]
    fn bare_and_legacy_requests_are_legacy() {
        assert_eq!(outcome(&[], "tools/list", None), Ok(Era::Legacy));
        assert_eq!(outcome(&[], "tools/list", Some(json!({"_meta": {"progressToken": 1}}))), Ok(Era::Legacy));
        for version in LEGACY_VERSIONS {
            assert_eq!(outcome(&[(header::PROTOCOL_VERSION, version)], "tools/list", None), Ok(Era::Legacy));
        }
        assert_eq!(outcome(&[VERSION], "initialize", Some(json!({}))), Ok(Era::Legacy));
    }

    #[test]
    fn a_modern_request_repeats_itself_in_its_headers() {
        let method = (header::METHOD, "tools/call");
        let name = (header::NAME, "search");
        let check = |pairs: &[(&'static str, &str)], expected| {
            assert_eq!(outcome(pairs, "tools/call", Some(modern_params("search"))), expected, "{pairs:?}");
        };
        check(&[VERSION, method, name], Ok(Era::Modern));
        check(&[VERSION, method, (header::NAME, "=?base64?c2VhcmNo?=")], Ok(Era::Modern));
        check(&[VERSION, method], Err(code::HEADER_MISMATCH));
        check(&[VERSION, name], Err(code::HEADER_MISMATCH));
        check(&[method, name], Err(code::HEADER_MISMATCH));
        check(&[VERSION, method, (header::NAME, "Search")], Err(code::HEADER_MISMATCH));
        check(&[VERSION, method, (header::NAME, "=?base64?***?=")], Err(code::HEADER_MISMATCH));
        check(&[VERSION, (header::METHOD, "tools/list"), name], Err(code::HEADER_MISMATCH));
        check(&[(header::PROTOCOL_VERSION, "2025-11-25"), method, name], Err(code::HEADER_MISMATCH));
        check(&[VERSION, method, name, name], Err(code::HEADER_MISMATCH));
    }

    #[test]
    fn versions_and_capabilities_are_asked_for() {
        let list = [VERSION, (header::METHOD, "tools/list")];
        assert_eq!(outcome(&list, "tools/list", None), Err(code::INVALID_PARAMS));
        let without = json!({"_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION}});
        assert_eq!(outcome(&list, "tools/list", Some(without)), Err(code::INVALID_PARAMS));
        let wrong = json!({"_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: []}});
        assert_eq!(outcome(&list, "tools/list", Some(wrong)), Err(code::INVALID_PARAMS));
        let future = json!({"_meta": {meta::PROTOCOL_VERSION: "2099-01-01", meta::CLIENT_CAPABILITIES: {}}});
        let header = [(header::PROTOCOL_VERSION, "2099-01-01"), (header::METHOD, "tools/list")];
        assert_eq!(outcome(&header, "tools/list", Some(future)), Err(code::UNSUPPORTED_VERSION));
        assert_eq!(outcome(&header, "tools/list", None), Err(code::UNSUPPORTED_VERSION));
    }
}
