//! HTTP answers: a status and JSON bytes, never cached.

use std::any::Any;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use mnemon_engine::stored::StoreError;
use serde_json::json;

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    retry_after_seconds: Option<u64>,
}

impl Reply {
    pub(crate) fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, body: body.into(), retry_after_seconds: None }
    }

    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, body)
    }

    /// Says when it is worth asking again.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after_seconds: Some(seconds), ..self }
    }

    /// An error outside JSON-RPC: a code for machines and a sentence for people.
    pub(crate) fn error(status: StatusCode, code: &str, message: &str) -> Self {
        Self::new(status, json!({"error": code, "message": message}).to_string())
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A storage failure, described by what a caller can do about it. The cause only goes to the log.
pub(crate) fn storage_failed(error: &StoreError, what: &'static str) -> Response {
    tracing::error!(%error, "{what}");
    let (status, code, text) = match error {
        StoreError::Away(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable", "storage is unavailable; retry in a few seconds")
        }
        StoreError::Full => {
            (StatusCode::INSUFFICIENT_STORAGE, "storage_full", "storage is full; the operator must free space")
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; see the service's log"),
    };
    Reply::error(status, code, text).into_response()
}

/// The answer for any other path.
pub(crate) async fn no_such_route() -> Reply {
    Reply::error(StatusCode::NOT_FOUND, "not_found", "not found; the MCP endpoint is POST /mcp")
}

/// The answer when a handler panicked: the cause goes to the log, not to the caller.
pub(crate) fn after_panic(cause: Box<dyn Any + Send + 'static>) -> Response {
    let plain = cause.downcast_ref::<&str>().copied();
    let cause = plain.or_else(|| cause.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown");
    tracing::error!(panic.message = cause, "a request handler panicked");
    Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; see the service's log").into_response()
}
