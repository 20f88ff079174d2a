//! The MCP endpoint. Each POST is one JSON-RPC message on its own: no session, no order, no state.
//!
//! The checks run in this order, and the first that fails answers: origin, credential, HTTP method, `Accept`, size,
//! JSON, shape, era, headers, method, parameters.

mod era;
mod methods;
mod refusal;
mod render;
mod tools;

use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, ALLOW, CONTENT_ENCODING, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mnemon_core::{JSON_DEPTH_MAX, JSON_VALUES_MAX};
use mnemon_engine::{CALL_MAX, CallContext};
use mnemon_protocol::json;
use mnemon_protocol::jsonrpc::{Incoming, RequestId, code, failure};
use mnemon_protocol::mcp::meta;
use serde_json::Value;

use crate::http::{App, Held, Received, Reply, Shared, Whose, authenticate, cors, read_body};
use era::Era;
use refusal::{Failed, WireError};

/// The descriptions of our own tools, for the reference page.
pub fn tool_descriptions() -> Vec<&'static mnemon_protocol::tools::Tool> {
    tools::visible_to(mnemon_engine::Connection::Key)
}

/// Where it is.
pub(crate) const PATH: &str = "/mcp";

/// Everything a method may look at.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a Shared,
    pub(crate) ctx: &'a CallContext,
    pub(crate) era: Era,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) id: &'a RequestId,
    /// What the look-up of the credential has left of the call's time.
    pub(crate) left: Duration,
}

impl Call<'_> {
    pub(crate) fn whose(&self) -> Whose {
        Some(self.ctx.identity().account)
    }
}

/// `POST /mcp`, from programs and from allowed pages.
pub(crate) async fn endpoint(app: &App, request: Request) -> Response {
    let app = &*app.0;
    if let Err(refusal) = app.origins.check(request.headers()) {
        return refusal.into_response();
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = if cors::is_preflight(request.method(), request.headers()) {
        cors::preflight()
    } else {
        serve(app, request).await
    };
    cors::let_read(&mut response, origin);
    response
}

async fn serve(app: &Shared, request: Request) -> Response {
    let is_post = request.method() == Method::POST;
    let (head, body) = request.into_parts();
    let begun = Instant::now();
    let ctx = match authenticate(app, (&head).into()).await {
        Ok(ctx) => ctx,
        Err(refusal) => {
            if refusal.status() == StatusCode::SERVICE_UNAVAILABLE {
                app.metrics.count_unknown_call(begun.elapsed());
            }
            return *refusal;
        }
    };
    let left = CALL_MAX.saturating_sub(begun.elapsed());
    if !is_post {
        return method_not_allowed();
    }
    match receive(app, Some(ctx.identity().account), &head.headers, body).await {
        Ok((incoming, _held)) => {
            app.engine.note_request(&ctx, client_of(&incoming));
            answer(app, &ctx, &head.headers, incoming, left).await
        }
        Err(error) => error.into_reply(None),
    }
    .into_response()
}

/// Parses bytes into a message, and keeps room for it.
async fn receive(
    app: &Shared,
    whose: Whose,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<(Incoming, Option<Held>), WireError> {
    if !admits_json(headers) {
        let message = "the Accept header must allow application/json";
        return Err(WireError::new(StatusCode::NOT_ACCEPTABLE, code::INVALID_REQUEST, message));
    }
    if headers.get(CONTENT_ENCODING).is_some_and(|value| value != "identity") {
        let message = "send the body without Content-Encoding";
        return Err(WireError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, code::INVALID_REQUEST, message));
    }
    let Received { bytes, held } = read_body(body, &app.room, whose).await.map_err(WireError::from)?;
    let value = json::parse(&bytes, JSON_DEPTH_MAX, JSON_VALUES_MAX)
        .map_err(|error| WireError::bad_request(code::PARSE_ERROR, format!("the body is not valid JSON: {error}")))?;
    let incoming = Incoming::from_json(value);
    let incoming = incoming.map_err(|error| WireError::bad_request(code::INVALID_REQUEST, error.to_string()))?;
    Ok((incoming, held))
}

/// The program's name and version: a legacy client sends them once, a modern one with every request.
fn client_of(incoming: &Incoming) -> Option<(&str, Option<&str>)> {
    let Incoming::Request { params: Some(params), .. } = incoming else { return None };
    let described = params.get("_meta").and_then(|described| described.get(meta::CLIENT_INFO));
    let info = described.or_else(|| params.get("clientInfo"))?;
    Some((info.get("name")?.as_str()?, info.get("version").and_then(Value::as_str)))
}

async fn answer(app: &Shared, ctx: &CallContext, headers: &HeaderMap, incoming: Incoming, left: Duration) -> Reply {
    match incoming {
        Incoming::Notification { .. } | Incoming::Response => Reply::new(StatusCode::ACCEPTED, Vec::new()),
        Incoming::Request { id, method, params } => match Era::of(headers, &method, params.as_ref()) {
            Ok(era) => answer_request(&Call { app, ctx, era, headers, id: &id, left }, &method, params).await,
            Err(error) => error.into_reply(Some(&id)),
        },
    }
}

async fn answer_request(call: &Call<'_>, method: &str, params: Option<Value>) -> Reply {
    match methods::run(call, method, params).await {
        Ok(body) => Reply::ok(body),
        // Legacy errors are sent with 200; a modern unknown method has its own status.
        Err(Failed::Rpc(error)) if call.era == Era::Modern && error.code == code::METHOD_NOT_FOUND => {
            Reply::new(StatusCode::NOT_FOUND, failure(Some(call.id), &error))
        }
        Err(Failed::Rpc(error)) => Reply::ok(failure(Some(call.id), &error)),
        Err(Failed::NoRoom(no_room)) => WireError::from(no_room).into_reply(Some(call.id)),
    }
}

fn method_not_allowed() -> Response {
    let message = "the MCP endpoint accepts only POST; it has no sessions and no event streams";
    let mut response = Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message).into_response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Whether the caller accepts JSON. No `Accept`, or one that we can't read, accepts anything.
fn admits_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values.any(|value| match value.to_str() {
        Ok(list) => list.split(',').any(admits_json_range),
        Err(_) => true,
    })
}

fn admits_json_range(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_refused = parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
    matches!(kind.as_str(), "application/json" | "application/*" | "*/*" | "") && !is_refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_accept_that_admits_json_is_served() {
        let check = |accept: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(admits_json(&headers), expected, "{accept:?}");
        };
        check(None, true);
        check(Some("*/*"), true);
        check(Some("application/json"), true);
        check(Some("application/json, text/event-stream"), true);
        check(Some("text/event-stream, application/json;q=0.5"), true);
        check(Some("Application/JSON; charset=utf-8"), true);
        check(Some("application/*"), true);
        check(Some("text/html"), false);
        check(Some("text/event-stream"), false);
        check(Some("application/json;q=0, text/event-stream"), false);
    }
}
