//! Errors of the endpoints that programs use: `{"error": code, "error_description": text}`.

use axum::response::{IntoResponse, Response};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use mnemon_engine::oauth::{ClientError, TokenError};
use mnemon_engine::stored::StoreError;
use mnemon_protocol::oauth::OauthErrorJson;

use crate::http::{NoBody, Reply};

/// An error with its status, code and text.
pub(crate) struct OauthFailure {
    status: StatusCode,
    code: &'static str,
    description: String,
    retry_after_seconds: Option<u64>,
}

impl OauthFailure {
    pub(crate) fn new(status: StatusCode, code: &'static str, description: impl Into<String>) -> Self {
        Self { status, code, description: description.into(), retry_after_seconds: None }
    }

    pub(crate) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }
}

impl From<NoBody> for OauthFailure {
    fn from(error: NoBody) -> Self {
        Self::new(error.status(), "invalid_request", error.to_string())
    }
}

impl From<TokenError> for OauthFailure {
    fn from(error: TokenError) -> Self {
        let code = match &error {
            TokenError::Store(error) => return storage_failed(error),
            TokenError::InvalidRequest(_) => "invalid_request",
            TokenError::UnsupportedGrantType => "unsupported_grant_type",
            TokenError::InvalidClient => {
                return Self::new(StatusCode::UNAUTHORIZED, "invalid_client", error.to_string());
            }
            TokenError::InvalidGrant => "invalid_grant",
            TokenError::InvalidTarget => "invalid_target",
        };
        Self::new(StatusCode::BAD_REQUEST, code, error.to_string())
    }
}

impl From<ClientError> for OauthFailure {
    fn from(error: ClientError) -> Self {
        let text = error.to_string();
        match error {
            ClientError::Store(error) => storage_failed(&error),
            ClientError::RedirectUri(_) => Self::new(StatusCode::BAD_REQUEST, "invalid_redirect_uri", text),
            ClientError::Metadata(_) | ClientError::Document(_) => {
                Self::new(StatusCode::BAD_REQUEST, "invalid_client_metadata", text)
            }
            ClientError::Unknown => Self::new(StatusCode::UNAUTHORIZED, "invalid_client", text),
            ClientError::TooMany { retry_after_seconds } => Self {
                retry_after_seconds: Some(retry_after_seconds),
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", text)
            },
        }
    }
}

fn storage_failed(error: &StoreError) -> OauthFailure {
    tracing::error!(%error, "an OAuth request failed");
    let text = "storage is unavailable; retry in a few seconds";
    OauthFailure {
        retry_after_seconds: Some(2),
        ..OauthFailure::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", text)
    }
}

impl IntoResponse for OauthFailure {
    fn into_response(self) -> Response {
        let body = OauthErrorJson { error: self.code, error_description: &self.description };
        let body = serde_json::to_vec(&body).expect("wire shapes have string keys and no failing serializers");
        let mut response = Reply::new(self.status, body).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // Not Bearer: some clients would take that for the MCP endpoint's challenge and start over.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Basic realm="oauth""#));
        }
        response
    }
}

pub(crate) async fn no_such_method() -> OauthFailure {
    OauthFailure::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this endpoint does not support this method")
}
