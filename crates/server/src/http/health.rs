//! For load balancers and people: is the process alive, and could it answer a call now?

use axum::extract::State;
use http::StatusCode;

use super::{App, Reply};

/// Alive as long as it answers; does not touch storage.
pub(crate) async fn live() -> Reply {
    Reply::ok(r#"{"status":"live"}"#)
}

/// Ready when storage can be read and written.
pub(crate) async fn ready(State(app): State<App>) -> Reply {
    match app.0.engine.check().await {
        Ok(()) => Reply::ok(r#"{"status":"ready"}"#),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Reply::error(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "storage is unavailable; see the service's log")
        }
    }
}
