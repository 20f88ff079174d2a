//! The agent's API under `/agent/v1`: append to, read and delete the caller's own session histories. The caller has an
//! API key, as at `/mcp`.

use std::str::FromStr;

use axum::Router;
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use http::StatusCode;
use http::request::Parts;
use mnemon_core::{SessionId, Timestamp};
use mnemon_engine::stored::Session;
use mnemon_engine::{AppendSession, CallContext, SessionError};
use mnemon_protocol::sessions::{Chain, HistoryList, HistoryState, HistoryText, PREFIX};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::http::hold::{self, Weight};
use crate::http::routes::{self, Route, RouteRow, route};
use crate::http::{App, Received, Reply, authenticate, read_body, storage_failed};

/// Maximum number of histories in one list.
const PAGE_MAX: usize = 1_000;

/// Every route.
fn routes() -> Vec<Route> {
    vec![
        route("GET", "/sessions", get(list)).weighing(Weight::LIST),
        route("GET", "/sessions/{client}/{name}", get(show)),
        route("POST", "/sessions/{client}/{name}", post(append)),
        route("DELETE", "/sessions/{client}/{name}", delete(remove)),
        route("GET", "/sessions/{client}/{name}/text", get(read)).weighing(Weight::LIST),
    ]
}

/// Method and path of every route, for the access table.
pub fn route_table() -> Vec<RouteRow> {
    routes::table(PREFIX, &routes())
}

/// The router of all routes.
pub(crate) fn router() -> Router<App> {
    let router = routes::router_of(routes()).fallback(no_such_route);
    router.method_not_allowed_fallback(no_such_method)
}

/// A caller with a key.
struct Caller(CallContext);

impl FromRequestParts<App> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        app.0.origins.check(&parts.headers).map_err(IntoResponse::into_response)?;
        let ctx = authenticate(&app.0, (&*parts).into()).await.map_err(|refusal| *refusal)?;
        let (whose, weight) = (Some(ctx.identity().account), parts.extensions.get().copied());
        let reserved = hold::reserve_answer(&app.0.room, &parts.extensions, whose, weight).await;
        reserved.map_err(IntoResponse::into_response)?;
        Ok(Self(ctx))
    }
}

/// A refused or failed request.
struct Refused(SessionError);

impl From<SessionError> for Refused {
    fn from(error: SessionError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let text = self.0.to_string();
        let (status, code) = match &self.0 {
            SessionError::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            SessionError::Subscription(_) => (StatusCode::FORBIDDEN, "subscription"),
            SessionError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            SessionError::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            SessionError::Elsewhere(session) => return elsewhere(session.as_deref(), &text),
            SessionError::Store(error) => {
                return storage_failed(error, "could not store or read a session history");
            }
        };
        Reply::error(status, code, &text).into_response()
    }
}

/// 409 says how far the history is, so that the caller can continue from there at once.
fn elsewhere(session: Option<&Session>, text: &str) -> Response {
    let (bytes, chain) =
        session.map_or((0, Chain::default()), |session| (session.bytes, Chain::from_bytes(session.chain)));
    let body = json!({"error": "elsewhere", "message": text, "bytes": bytes, "chain": chain.to_hex()});
    Reply::new(StatusCode::CONFLICT, body.to_string()).into_response()
}

/// The query string; an invalid one is refused with a message.
struct Asked<T>(T);

impl<T: DeserializeOwned> FromRequestParts<App> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let read = Query::from_request_parts(parts, app).await;
        let text = "invalid query string; give each parameter once, as name=value";
        read.map(|Query(asked)| Self(asked)).map_err(|_| invalid(text))
    }
}

fn invalid(text: &str) -> Refused {
    Refused(SessionError::Invalid(text.to_owned()))
}

fn number<T: FromStr>(text: Option<&str>, name: &str) -> Result<Option<T>, Refused> {
    let wrong = || invalid(&format!("{name} is invalid"));
    text.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

#[derive(Debug, Deserialize)]
struct Place {
    offset: Option<String>,
    chain: Option<String>,
    modified: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    after: Option<String>,
}

async fn append(
    State(app): State<App>,
    Caller(ctx): Caller,
    Path((client, name)): Path<(String, String)>,
    Asked(place): Asked<Place>,
    request: Request,
) -> Result<Reply, Response> {
    let refuse = |refused: Refused| refused.into_response();
    let offset = number(place.offset.as_deref(), "offset").map_err(refuse)?;
    let offset =
        offset.ok_or_else(|| invalid("offset is required: the byte at which the lines begin, 0 for a new session"));
    let chain = place
        .chain
        .as_deref()
        .map(|text| Chain::from_hex(text).ok_or_else(|| invalid("chain must be 64 hexadecimal digits")));
    let modified = number::<i64>(place.modified.as_deref(), "modified").map_err(refuse)?;
    let received = read_body(request.into_body(), &app.0.room, Some(ctx.identity().account)).await;
    let Received { bytes: text, held: _held } = received.map_err(IntoResponse::into_response)?;
    let append = AppendSession {
        client,
        name,
        offset: offset.map_err(refuse)?,
        chain: chain.transpose().map_err(refuse)?,
        modified_at: modified.and_then(|second| Timestamp::from_second(second).ok()),
        text: text.to_vec(),
    };
    let session = app.0.engine.append_session(&ctx, append).await.map_err(|error| refuse(error.into()))?;
    Ok(shown(&state(&session)))
}

async fn show(
    State(app): State<App>,
    Caller(ctx): Caller,
    Path((client, name)): Path<(String, String)>,
) -> Result<Reply, Refused> {
    Ok(shown(&state(&app.0.engine.show_session(&ctx, &client, &name).await?)))
}

async fn list(State(app): State<App>, Caller(ctx): Caller, Asked(page): Asked<Page>) -> Result<Reply, Refused> {
    let after = number::<SessionId>(page.after.as_deref(), "after")?;
    let sessions = app.0.engine.list_own_sessions(&ctx, after, PAGE_MAX).await?;
    let next = sessions.last().filter(|_| sessions.len() == PAGE_MAX).map(|session| session.id.to_string());
    Ok(shown(&HistoryList { sessions: sessions.iter().map(state).collect(), next }))
}

async fn read(
    State(app): State<App>,
    Caller(ctx): Caller,
    Path((client, name)): Path<(String, String)>,
    Asked(place): Asked<Place>,
) -> Result<Reply, Refused> {
    let offset = number(place.offset.as_deref(), "offset")?.unwrap_or_default();
    let piece = app.0.engine.read_session(&ctx, &client, &name, offset).await?;
    Ok(shown(&HistoryText { offset: piece.offset, next: piece.next, text: piece.text }))
}

async fn remove(
    State(app): State<App>,
    Caller(ctx): Caller,
    Path((client, name)): Path<(String, String)>,
) -> Result<Reply, Refused> {
    app.0.engine.delete_own_session(&ctx, &client, &name).await?;
    Ok(Reply::ok(r#"{"deleted":true}"#))
}

fn state(session: &Session) -> HistoryState {
    HistoryState {
        client: session.client.clone(),
        name: session.name.clone(),
        bytes: session.bytes,
        chain: Chain::from_bytes(session.chain).to_hex(),
        kept_bytes: session.kept_bytes,
        redacted: session.redacted,
    }
}

fn shown(body: &impl serde::Serialize) -> Reply {
    Reply::ok(serde_json::to_vec(body).expect("wire shapes have string keys and no failing serializers"))
}

async fn no_such_route() -> Reply {
    Reply::error(StatusCode::NOT_FOUND, "not_found", "the agent API has no such route")
}

async fn no_such_method() -> Reply {
    Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this route does not support this method")
}
