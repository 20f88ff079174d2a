//! HTTP to the service: pooled connections, timeouts, and the routes that the agent uses.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use reqwest::Client;
use reqwest::redirect::Policy;

use crate::settings::Settings;
use crate::trust;

/// How long to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call may take before the agent checks that the service is up. A gateway call may legitimately take half a
/// minute, but a hanging service must be noticed within ten seconds.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long the health check may take.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call may take in total.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Shorter than the service's idle timeout, so that a call never hits a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger than any answer of the service.
const ANSWER_BYTES_MAX: usize = 16 << 20;

const WORKSPACE_HEADER: HeaderName = HeaderName::from_static("mnemon-workspace");

/// A service and its key.
#[derive(Debug, Clone)]
pub struct Service {
    client: Client,
    url: String,
    authorization: Option<HeaderValue>,
    workspace: Option<HeaderValue>,
}

#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub status: StatusCode,
    pub body: Bytes,
    /// When to retry, if the service said so.
    pub retry_after: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("no API key is configured")]
    NoKey,
    #[error("the service is unreachable: {0}")]
    Away(String),
    /// The service is up, but this call takes too long.
    #[error("the service did not answer in time")]
    TooLong,
    #[error("the answer is too large")]
    TooLarge,
}

impl NoAnswer {
    /// The reason as a code for machines.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::Away(_) => "service_away",
            Self::TooLong => "timeout",
            Self::TooLarge => "too_large",
        }
    }
}

impl Service {
    /// Prepares the client; sends nothing yet.
    pub fn new(settings: &Settings) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(trust::client_config())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .expect("these settings make a client");
        let authorization = settings.key.as_ref().and_then(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Self { client, url: settings.url.clone(), authorization, workspace: None }
    }

    /// Names a workspace with every call to the MCP endpoint. Calls that name one themselves are not affected.
    pub fn with_workspace(self, name: Option<&str>) -> Self {
        Self { workspace: name.and_then(|name| HeaderValue::from_bytes(name.as_bytes()).ok()), ..self }
    }

    /// Sends a line to the MCP endpoint unchanged.
    pub async fn post_mcp(&self, line: Bytes, more: Vec<(HeaderName, HeaderValue)>) -> Result<HttpAnswer, NoAnswer> {
        let mut request = self.request(Method::POST, "/mcp", line)?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(workspace) = &self.workspace {
            headers.insert(WORKSPACE_HEADER, workspace.clone());
        }
        headers.extend(more);
        self.patiently(request).await
    }

    /// Sends a request with the key to another route.
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<HttpAnswer, NoAnswer> {
        let request = self.request(method, path, body)?;
        self.patiently(request).await
    }

    /// The same for callers that have their own idea of how long to wait.
    pub(crate) async fn once(&self, method: Method, path: &str, body: Bytes) -> Result<HttpAnswer, NoAnswer> {
        self.exchange(self.request(method, path, body)?).await
    }

    /// Whether the service answers now.
    pub async fn is_alive(&self) -> bool {
        let Ok(request) = Request::get(format!("{}/health/live", self.url)).body(Bytes::new()) else { return false };
        let answered = tokio::time::timeout(ALIVE_TIMEOUT, self.exchange(request)).await;
        matches!(answered, Ok(Ok(answer)) if answer.status.is_success())
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Bytes>, NoAnswer> {
        let authorization = self.authorization.clone().ok_or(NoAnswer::NoKey)?;
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header(AUTHORIZATION, authorization).body(body);
        request.map_err(|error| NoAnswer::Away(error.to_string()))
    }

    /// Waits for the answer for as long as the service is up, and hardly longer.
    async fn patiently(&self, request: Request<Bytes>) -> Result<HttpAnswer, NoAnswer> {
        let mut exchange = std::pin::pin!(self.exchange(request));
        let began = tokio::time::Instant::now();
        loop {
            if let Ok(answered) = tokio::time::timeout(PATIENCE, &mut exchange).await {
                return answered;
            }
            // The call may finish during the health check; then its answer counts.
            tokio::select! {
                answered = &mut exchange => return answered,
                is_alive = self.is_alive() => if !is_alive {
                    return Err(NoAnswer::Away(format!("no answer within {} s", began.elapsed().as_secs())));
                },
            }
            if began.elapsed() > CALL_TIMEOUT {
                return Err(NoAnswer::TooLong);
            }
        }
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<HttpAnswer, NoAnswer> {
        let away = |error: reqwest::Error| NoAnswer::Away(innermost(&error));
        let request = reqwest::Request::try_from(request).map_err(away)?;
        let mut response = self.client.execute(request).await.map_err(away)?;
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(away)? {
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(NoAnswer::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        Ok(HttpAnswer { status: response.status(), body: body.freeze(), retry_after })
    }
}

/// The most specific cause: libraries wrap "connection refused" several layers deep.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let cause = cause.to_string();
    trust::advice(&cause).unwrap_or(cause)
}
