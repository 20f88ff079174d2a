//! Credentials: the header is exactly `Authorization: Bearer <key>`, and every refusal looks the same.

use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Request, StatusCode};
use mnemon_engine::admin::AdminContext;
use mnemon_engine::stored::StoreError;
use mnemon_engine::{CALL_MAX, CallContext, NotAuthenticated};
use mnemon_traces::span;
use serde_json::json;
use tracing::Instrument;

use super::{Reply, Shared, Whose, peer};
use crate::access_log::note;

/// The parts of a request that say who sent it.
#[derive(Clone, Copy)]
pub(crate) struct Knock<'a> {
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a, B> From<&'a Request<B>> for Knock<'a> {
    fn from(request: &'a Request<B>) -> Self {
        Self { headers: request.headers(), extensions: request.extensions() }
    }
}

impl<'a> From<&'a Parts> for Knock<'a> {
    fn from(parts: &'a Parts) -> Self {
        Self { headers: &parts.headers, extensions: &parts.extensions }
    }
}

/// Authenticates a caller, or returns the refusal.
pub(crate) async fn authenticate(app: &Shared, knock: Knock<'_>) -> Result<CallContext, Box<Response>> {
    let too_many = |seconds| Box::new(too_many(seconds, "error_description"));
    let presented = app.turn_away(knock).map_err(too_many)?;
    // A request without a usable header is looked up too, so that every refusal takes the same time.
    match looked_up(app.engine.authenticate_bearer(presented.unwrap_or_default(), &app.issuer)).await {
        Ok(ctx) => {
            note(|notes| notes.caller = Some(ctx.identity()));
            Ok(app.welcome(knock, Some(ctx.identity().account), ctx))
        }
        Err(NotAuthenticated::Rejected) => {
            app.note_refusal(knock).map_err(too_many)?;
            Err(Box::new(refusal(app, knock.headers.contains_key(AUTHORIZATION))))
        }
        Err(NotAuthenticated::Store(error)) => {
            tracing::error!(%error, "could not look up a credential");
            Err(Box::new(away()))
        }
    }
}

/// Authenticates a caller of the admin API, or returns the refusal.
pub(crate) async fn admin_context(app: &Shared, knock: Knock<'_>) -> Result<AdminContext, Box<Response>> {
    let too_many = |seconds| Box::new(too_many(seconds, "message"));
    let presented = app.turn_away(knock).map_err(too_many)?;
    match looked_up(app.engine.authenticate_admin(presented.unwrap_or_default())).await {
        Ok(ctx) => {
            note(|notes| notes.caller = ctx.identity());
            Ok(app.welcome(knock, ctx.identity().map(|identity| identity.account), ctx))
        }
        Err(NotAuthenticated::Rejected) => {
            app.note_refusal(knock).map_err(too_many)?;
            let message = "the credential was rejected; send the operator token or an API key as: \
                           Authorization: Bearer ...";
            Err(Box::new(Reply::error(StatusCode::UNAUTHORIZED, "unauthorized", message).into_response()))
        }
        Err(NotAuthenticated::Store(error)) => {
            tracing::error!(%error, "could not look up a credential");
            Err(Box::new(away()))
        }
    }
}

/// Looks a credential up, in time.
async fn looked_up<T>(looking: impl Future<Output = Result<T, NotAuthenticated>>) -> Result<T, NotAuthenticated> {
    let found = tokio::time::timeout(CALL_MAX, looking.instrument(span!("look_up"))).await;
    found.unwrap_or_else(|_| Err(StoreError::Away(format!("no answer within {CALL_MAX:?}")).into()))
}

impl Shared {
    /// The presented token, unless it can be turned away without a look-up.
    fn turn_away<'a>(&self, knock: Knock<'a>) -> Result<Option<&'a str>, u64> {
        let presented = bearer(knock.headers);
        if !knock.headers.contains_key(AUTHORIZATION) {
            return Ok(None);
        }
        let caller = self.caller(knock.extensions, knock.headers);
        let turned_away = self.refusals.turns_away(presented.unwrap_or_default(), caller, self.engine.now());
        turned_away.map_or(Ok(presented), Err)
    }

    /// Counts a refusal, unless no credential was presented.
    fn note_refusal(&self, knock: Knock<'_>) -> Result<(), u64> {
        if !knock.headers.contains_key(AUTHORIZATION) {
            return Ok(());
        }
        self.refusals.note(self.caller(knock.extensions, knock.headers), self.engine.now())
    }

    pub(crate) fn welcome<T>(&self, knock: Knock<'_>, whose: Whose, ctx: T) -> T {
        peer::mark_known(knock.extensions, whose);
        ctx
    }
}

/// The token of the only `Authorization` header, if it has exactly the right form.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
    token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_').then_some(token)
}

fn refusal(app: &Shared, was_presented: bool) -> Response {
    let description = "the API key was rejected. Check that you copied all of it, without spaces, and that it has not \
                       been revoked. The header must be exactly: Authorization: Bearer mnm_...";
    let body = json!({"error": "invalid_token", "error_description": description}).to_string();
    let base_url = app.issuer.base_url();
    let mut challenge =
        format!(r#"Bearer resource_metadata="{base_url}/.well-known/oauth-protected-resource/mcp", scope="mcp""#);
    if was_presented {
        challenge.push_str(r#", error="invalid_token""#);
    }
    let mut response = Reply::new(StatusCode::UNAUTHORIZED, body).into_response();
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The answer to an address that has sent too many invalid credentials. `text_name` is the member that holds the text,
/// as in the other errors of that API.
fn too_many(seconds: u64, text_name: &str) -> Response {
    let text = format!(
        "too many credentials from this address were refused; try again in {seconds} s. A credential that works is accepted \
         at any time"
    );
    let body = json!({"error": "too_many_refused", text_name: text}).to_string();
    let mut response = Reply::new(StatusCode::TOO_MANY_REQUESTS, body).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn away() -> Response {
    let message = "storage is unavailable; retry in a few seconds";
    let mut response = Reply::error(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable", message).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    response
}
