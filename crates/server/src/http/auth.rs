//! Credentials: the header is exactly `Authorization: Bearer <key>`, and every refusal looks the same.

use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use mnemon_engine::admin::AdminContext;
use mnemon_engine::{CallContext, NotAuthenticated};
use serde_json::json;

use super::{Reply, Shared};

/// Authenticates a caller, or returns the refusal.
pub(crate) async fn authenticate(app: &Shared, headers: &HeaderMap) -> Result<CallContext, Box<Response>> {
    let presented = bearer(headers);
    // A request without a usable header is looked up too, so that every refusal takes the same time.
    match app.engine.authenticate_bearer(presented.unwrap_or_default(), &app.issuer).await {
        Ok(ctx) => Ok(ctx),
        Err(NotAuthenticated::Rejected) => Err(Box::new(refusal(app, headers.contains_key(AUTHORIZATION)))),
        Err(NotAuthenticated::Store(error)) => {
            tracing::error!(%error, "could not look up a credential");
            Err(Box::new(away()))
        }
    }
}

/// Authenticates a caller of the admin API, or returns the refusal.
pub(crate) async fn admin_context(app: &Shared, headers: &HeaderMap) -> Result<AdminContext, Box<Response>> {
    match app.engine.authenticate_admin(bearer(headers).unwrap_or_default()).await {
        Ok(ctx) => Ok(ctx),
        Err(NotAuthenticated::Rejected) => {
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

fn away() -> Response {
    let message = "storage is unavailable; retry in a few seconds";
    let mut response = Reply::error(StatusCode::SERVICE_UNAVAILABLE, "storage_away", message).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    response
}
