//! Refusals of the admin API: `{"error": code, "message": text}`.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mnemon_engine::admin::AdminError;
use mnemon_store::StoreError;

use crate::http::Reply;

/// A refused or failed act.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) AdminError);

impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let text = self.0.to_string();
        let (status, code) = match &self.0 {
            AdminError::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            AdminError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            AdminError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            AdminError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
            AdminError::Store(error) => return storage_failed(error),
        };
        Reply::error(status, code, &text).into_response()
    }
}

fn storage_failed(error: &StoreError) -> Response {
    tracing::error!(%error, "an act of administration failed");
    let (status, code, text) = match error {
        StoreError::Away(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "storage_away", "storage is away; try again in a few seconds")
        }
        StoreError::Full => (StatusCode::INSUFFICIENT_STORAGE, "storage_full", "storage is full; make room first"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; the operator's log has the cause"),
    };
    Reply::error(status, code, text).into_response()
}

pub(crate) async fn no_such_route() -> Reply {
    Reply::error(StatusCode::NOT_FOUND, "not_found", "there is no such route in the admin API")
}

pub(crate) async fn no_such_method() -> Reply {
    Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this route has other methods")
}
