//! `POST /register`: a client registers.

use axum::extract::{Request, State};
use http::StatusCode;
use mnemon_core::{JSON_DEPTH_MAX, JSON_VALUES_MAX};
use mnemon_engine::oauth::{Registration, SCOPE};
use mnemon_engine::stored::OauthClient;
use mnemon_protocol::json;
use mnemon_protocol::oauth::{RegisterClient, RegisteredClient};

use super::error::OauthFailure;
use crate::http::{App, Reply, read_small_body};

pub(crate) async fn register(State(app): State<App>, request: Request) -> Result<Reply, OauthFailure> {
    let caller = app.0.caller(request.extensions(), request.headers());
    let registration = parse(&read_small_body(request.into_body()).await?)?;
    let client = app.0.engine.register_client(registration, caller).await?;
    Ok(Reply::new(StatusCode::CREATED, render(&client)))
}

fn parse(bytes: &[u8]) -> Result<Registration, OauthFailure> {
    let wrong = |text: String| OauthFailure::new(StatusCode::BAD_REQUEST, "invalid_client_metadata", text);
    let value = json::parse(bytes, JSON_DEPTH_MAX, JSON_VALUES_MAX)
        .map_err(|error| wrong(format!("the body is not valid JSON: {error}")))?;
    if !value.is_object() {
        return Err(wrong("the body must be a JSON object".to_owned()));
    }
    let sent: RegisterClient = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    Ok(Registration {
        redirect_uris: sent.redirect_uris,
        name: sent.client_name,
        grant_types: sent.grant_types.unwrap_or_default(),
        response_types: sent.response_types.unwrap_or_default(),
    })
}

fn render(client: &OauthClient) -> Vec<u8> {
    let shown = RegisteredClient {
        client_id: &client.id,
        client_id_issued_at: client.known_at.as_second(),
        client_name: client.name.as_deref(),
        redirect_uris: &client.redirect_uris,
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        scope: SCOPE,
    };
    serde_json::to_vec(&shown).expect("wire shapes have string keys and no failing serializers")
}
