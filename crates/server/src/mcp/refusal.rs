//! Errors at the wire level: an HTTP status with a JSON-RPC error.

use http::StatusCode;
use mnemon_protocol::jsonrpc::{RequestId, RpcError, code, failure};

use crate::http::{NoBody, Reply};

/// A request that was refused before it could run.
#[derive(Debug)]
pub(crate) struct WireError {
    pub(crate) status: StatusCode,
    pub(crate) error: RpcError,
}

impl WireError {
    pub(crate) fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self { status, error: RpcError::new(code, message) }
    }

    pub(crate) fn bad_request(code: i32, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn into_reply(self, id: Option<&RequestId>) -> Reply {
        Reply::new(self.status, failure(id, &self.error))
    }
}

impl From<NoBody> for WireError {
    fn from(error: NoBody) -> Self {
        let status = match error {
            NoBody::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            NoBody::TooSlow => StatusCode::REQUEST_TIMEOUT,
            NoBody::Broken => StatusCode::BAD_REQUEST,
        };
        Self::new(status, code::INVALID_REQUEST, error.to_string())
    }
}
