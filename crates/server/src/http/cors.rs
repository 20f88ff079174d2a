//! CORS. The MCP endpoint answers the allowed origins (`origin.rs`). The OAuth endpoints that programs use answer every
//! page: they use no cookies, so a page can do nothing there that its author could not do without it.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN, VARY,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tower_http::cors::{Any, CorsLayer};

/// The headers that MCP clients send.
const REQUEST_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
    mcp-session-id, last-event-id, x-idempotency-key, mnemon-workspace";
const MAX_AGE: Duration = Duration::from_secs(7_200);

/// Whether a browser asks for permission on behalf of a page.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight request for the MCP endpoint.
pub(crate) fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(MAX_AGE.as_secs()));
    response
}

/// Lets a page of this allowed origin read the answer.
pub(crate) fn let_read(response: &mut Response, origin: Option<HeaderValue>) {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("www-authenticate"));
    }
}

/// For endpoints that every page may call.
pub(crate) fn open_to_all() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([CONTENT_TYPE, http::header::ACCEPT, HeaderName::from_static("mcp-protocol-version")])
        .expose_headers([WWW_AUTHENTICATE])
        .max_age(MAX_AGE)
}
