//! For load balancers and people: is the process alive, and could it answer a search or a save now?

use axum::extract::State;
use http::StatusCode;

use super::{App, Reply};

/// Alive as long as it answers; does not touch storage.
pub(crate) async fn live() -> Reply {
    Reply::ok(r#"{"status":"live"}"#)
}

/// Every other answer while the service waits for its storage.
pub(crate) async fn waiting() -> Reply {
    let message = "the service waits for its storage; retry in a few seconds";
    Reply::error(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable", message).retry_after(2)
}

/// Ready when storage can be read: searches are answered while nothing can be saved.
pub(crate) async fn ready(State(app): State<App>) -> Reply {
    match app.0.engine.check_reads().await {
        Ok(()) => Reply::ok(r#"{"status":"ready"}"#),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Reply::error(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "storage is unavailable; see the service's log")
        }
    }
}

/// Whether saves are stored. A balancer that asks this takes out nodes that can still search.
pub(crate) async fn writable(State(app): State<App>) -> Reply {
    match app.0.engine.check_writes().await {
        Ok(()) => Reply::ok(r#"{"status":"writable"}"#),
        Err(error) => {
            tracing::warn!(%error, "not writable");
            let message = "nothing can be saved now; see the service's log";
            Reply::error(StatusCode::SERVICE_UNAVAILABLE, "not_writable", message)
        }
    }
}
