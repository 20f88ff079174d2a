//! Errors of the admin API: `{"error": code, "message": text}`.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use mnemon_engine::CallError;
use mnemon_engine::admin::AdminError;

use crate::http::{Reply, storage_failed};

/// A refused or failed request.
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
            AdminError::Call(CallError::Subscription(_)) => (StatusCode::FORBIDDEN, "subscription"),
            AdminError::Call(error) => return too_many(error),
            AdminError::Store(error) => return storage_failed(error, "an admin request failed"),
        };
        Reply::error(status, code, &text).into_response()
    }
}

/// The limits of a plan.
fn too_many(error: &CallError) -> Response {
    let seconds = error.retry_after_seconds().unwrap_or(1);
    let text = format!("{error}; try again in {seconds} s");
    let mut response = Reply::error(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &text).into_response();
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}

pub(crate) async fn no_such_route() -> Reply {
    Reply::error(StatusCode::NOT_FOUND, "not_found", "the admin API has no such route")
}

pub(crate) async fn no_such_method() -> Reply {
    Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this route does not support this method")
}
