//! `POST /token`: exchanges a code for a token.

use axum::extract::{Request, State};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use mnemon_core::Secret;
use mnemon_engine::oauth::{SCOPE, TokenRequest};
use mnemon_protocol::oauth::TokenJson;

use super::error::OauthFailure;
use crate::http::{App, Fields, Reply, read_small_body};

const NAMES: [&str; 6] = ["grant_type", "client_id", "code", "redirect_uri", "code_verifier", "resource"];

pub(crate) async fn exchange(State(app): State<App>, request: Request) -> Result<Reply, OauthFailure> {
    need_form(request.headers())?;
    let fields = Fields::parse(&read_small_body(request.into_body()).await?);
    let issued = app.0.engine.exchange(&app.0.issuer, parse(&fields)).await?;
    let shown = TokenJson {
        access_token: issued.token.expose(),
        token_type: "Bearer",
        expires_in: issued.expires_in_seconds,
        scope: SCOPE,
    };
    Ok(Reply::ok(serde_json::to_vec(&shown).expect("wire shapes have string keys and no failing serializers")))
}

fn parse(fields: &Fields) -> TokenRequest {
    TokenRequest {
        grant_type: fields.take("grant_type"),
        client_id: fields.take("client_id"),
        code: fields.take("code").map(Secret::new),
        redirect_uri: fields.take("redirect_uri"),
        code_verifier: fields.take("code_verifier").map(Secret::new),
        resource: fields.take("resource"),
        has_repeated: fields.repeated(&NAMES).is_some(),
    }
}

/// Accepts a form, or no content type. JSON would parse as a form without fields, and the error would mislead.
pub(super) fn need_form(headers: &HeaderMap) -> Result<(), OauthFailure> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind.is_empty() || kind == "application/x-www-form-urlencoded" {
        return Ok(());
    }
    Err(OauthFailure::invalid_request("send a form: Content-Type: application/x-www-form-urlencoded"))
}
