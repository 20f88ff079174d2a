//! Figures for Prometheus. Labels come from short fixed lists: no tenant, no text and nothing that a caller chose.
//!
//! To add a figure: count it where it happens (in `metrics/figures.rs`, in the engine's `figures.rs` or in the
//! store's), show it in `metrics/counted.rs` if another part counts it, and name it in `docs/operations/monitoring.md`;
//! a test compares that page with what is served.

mod counted;
pub(crate) mod figures;
#[cfg(target_os = "linux")]
mod process;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use mnemon_traces::span;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use self::counted::{Connections, Counted, Taken};
use crate::access_log::{Asked, Flash, Notes};
use crate::http::{App, Reply, admin_context};

/// Which part of the service a path belongs to.
fn door(path: &str) -> &'static str {
    match path.split('/').nth(1).unwrap_or_default() {
        "mcp" => "mcp",
        "admin" => "admin",
        "agent" => "agent",
        "console" => "console",
        "health" => "health",
        "metrics" => "metrics",
        "authorize" | "token" | "register" | "revoke" | ".well-known" => "oauth",
        _ => "other",
    }
}

/// The span of a request, which belongs to the caller's trace if it has one. Disabled where spans are not exported.
fn request_span(request: &Request) -> Span {
    span!(
        "request",
        traceparent = request.headers().get("traceparent").and_then(|header| header.to_str().ok()),
        http.request.method = Empty,
        http.route = Empty,
        http.response.status_code = Empty,
        account.id = Empty,
        project.id = Empty,
        key.id = Empty,
        reference = Empty,
        failed = Empty,
    )
}

/// Counts a request to one of the routes, whatever answers it.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    observed(&app, None, request, |request| next.run(request)).await
}

/// Answers a request and counts it. `route` is its route, where no table of routes has noted it.
pub(crate) async fn observed<Answering: Future<Output = Response>>(
    app: &App,
    route: Option<&'static str>,
    request: Request,
    answer: impl FnOnce(Request) -> Answering,
) -> Response {
    let (begun, door) = (std::time::Instant::now(), door(request.uri().path()));
    // A balancer asks every second, and nobody looks for the time of that.
    let span = if door == "health" { Span::none() } else { request_span(&request) };
    if app.0.access_log.is_none() && span.is_disabled() {
        let response = answer(request).await;
        app.0.metrics.count_request(door, response.status(), begun.elapsed());
        return response;
    }
    let asked = Asked::of(&request, route);
    // Apart, so that a call of which nothing is noted is not moved with the room for it.
    let (response, notes) = Box::pin(Notes::gather(answer(request)).instrument(span.clone())).await;
    let took = begun.elapsed();
    app.0.metrics.count_request(door, response.status(), took);
    if let Some(log) = &app.0.access_log {
        log.write(&Flash { door, asked: &asked, response: &response, notes: &notes, took });
    }
    asked.tell(&span, &response, &notes);
    response
}

/// `GET /metrics` on the service's own address: for the operator.
pub(crate) async fn for_operator(State(app): State<App>, request: Request) -> Response {
    match admin_context(&app.0, (&request).into()).await {
        Ok(ctx) if ctx.is_operator() => page(&app),
        Ok(_) => Reply::error(StatusCode::FORBIDDEN, "forbidden", "this requires the operator token").into_response(),
        Err(refusal) => *refusal,
    }
}

/// `GET /metrics` on the address that is for nothing else.
pub(crate) async fn for_all(State(app): State<App>) -> Response {
    page(&app)
}

fn page(app: &App) -> Response {
    let counted = Counted {
        room: Taken::of(&app.0.room, &app.0.exports),
        refused_credentials: app.refused_credentials(),
        connections: app.0.connection_limit.as_ref().map(Connections::of).unwrap_or_default(),
        engine: app.0.engine.figures(),
    };
    match app.0.metrics.page(&counted) {
        Ok(page) => {
            let mut response = page.into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => {
            tracing::error!(%error, "could not show the figures");
            Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; see the service's log")
                .into_response()
        }
    }
}
