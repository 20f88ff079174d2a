//! Every route of the service and the layers around them: the table of contents.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use axum::{BoxError, Router};
use bytes::Bytes;
use futures_util::FutureExt;
use mnemon_protocol::sessions;
use tower::{Service, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::{App, head, health, hold, reply};
use crate::{admin, agent, console, mcp, metrics, oauth};

/// All doors of the service. Almost every request is for the MCP endpoint, so that one does not pass the table of
/// routes: looking it up and the layers around each route would take a tenth of a save's processor time.
#[derive(Clone)]
pub struct Doors {
    app: App,
    routes: Router,
}

/// All routes.
pub fn router(app: App) -> Doors {
    let routes = Router::new()
        .nest(admin::PREFIX, admin::router())
        .merge(oauth::router())
        .merge(console::router())
        .nest(sessions::PREFIX, agent::router())
        // A person at a browser is led on; a client that sends something here is told where the endpoint is.
        .route("/", get(console::to_console).fallback(reply::no_such_route))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/health/writable", get(health::writable))
        .route("/metrics", get(metrics::for_operator))
        .fallback(reply::no_such_route)
        .layer(from_fn(hold::carry))
        .layer(from_fn(head::check))
        .layer(from_fn_with_state(app.clone(), metrics::observe))
        .with_state(app.clone());
    Doors { app, routes: with_layers(routes) }
}

/// The routes of the address that shows figures and nothing else.
pub fn metrics_router(app: App) -> Router {
    let routes = Router::new().route("/metrics", get(metrics::for_all)).fallback(reply::no_such_route);
    let routes = routes.layer(from_fn(head::check));
    with_layers(routes.with_state(app))
}

/// What is answered while the service waits for its storage.
pub fn waiting_router() -> Router {
    let routes = Router::new().route("/health/live", get(health::live)).fallback(health::waiting);
    with_layers(routes.layer(from_fn(head::check)))
}

/// The layers around every route but the MCP endpoint. Separate, so that a bench can put them around a fixed answer.
pub fn with_layers(routes: Router) -> Router {
    routes.layer(CatchPanicLayer::custom(reply::after_panic))
}

impl<B> Service<http::Request<B>> for Doors
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let request = request.map(Body::new);
        if request.uri().path() == mcp::PATH {
            Box::pin(answer_mcp(self.app.clone(), request).map(Ok))
        } else {
            Box::pin(self.routes.clone().oneshot(request))
        }
    }
}

/// The MCP endpoint with the layers that every route has.
async fn answer_mcp(app: App, request: Request) -> Response {
    let answering = metrics::observed(&app, Some(mcp::PATH), request, async |request| match head::refusal(&request) {
        Some(refusal) => refusal,
        None => mcp::endpoint(&app, request).await,
    });
    caught(answering).await
}

/// The answer, also where making it panicked: what the layer does for the other routes. Not an `async fn`: that would
/// keep room for the answering twice.
fn caught(answering: impl Future<Output = Response>) -> impl Future<Output = Response> {
    AssertUnwindSafe(answering).catch_unwind().map(|answered| answered.unwrap_or_else(reply::after_panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How large the future is that a call of this function makes.
    fn size_of_future<F>(_: impl Fn(App, Request) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_call_is_moved_in_a_few_cache_lines() {
        // It is moved when it is made. With 29 kB this took a hundredth of a save, and what it drove out of the caches.
        let bytes = size_of_future(answer_mcp);
        assert!(bytes < 6 << 10, "{bytes} bytes: put the largest of what it waits for into a box");
    }

    #[tokio::test]
    async fn a_panic_is_answered_without_its_cause() {
        let response = caught(async { panic!("the cause") }).await;
        assert_eq!(response.status(), 500);
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(body, &br#"{"error":"internal","message":"internal error; see the service's log"}"#[..]);
    }
}
