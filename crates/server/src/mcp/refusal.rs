//! Errors at the wire level: an HTTP status with a JSON-RPC error.

use http::StatusCode;
use mnemon_protocol::jsonrpc::{RequestId, RpcError, code, failure};

use crate::http::{NoBody, NoRoom, Reply};

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
        let reply = Reply::new(self.status, failure(id, &self.error));
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                reply.retry_after(NoRoom::RETRY_AFTER_SECONDS)
            }
            _ => reply,
        }
    }
}

impl From<NoBody> for WireError {
    fn from(error: NoBody) -> Self {
        match error {
            NoBody::NoRoom(no_room) => no_room.into(),
            other => Self::new(other.status(), code::INVALID_REQUEST, other.to_string()),
        }
    }
}

impl From<NoRoom> for WireError {
    fn from(no_room: NoRoom) -> Self {
        Self::new(no_room.status(), code::INTERNAL_ERROR, no_room.to_string())
    }
}

/// Why a method has no result.
#[derive(Debug)]
pub(crate) enum Failed {
    Rpc(RpcError),
    NoRoom(NoRoom),
}

impl From<RpcError> for Failed {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<NoRoom> for Failed {
    fn from(no_room: NoRoom) -> Self {
        Self::NoRoom(no_room)
    }
}
