//! Calling the admin API from the command line.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::AdminConnection;
use crate::http_client::{Answer, HttpClient};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A service, and a credential for its admin API.
pub struct AdminClient {
    url: String,
    credential: String,
    http: HttpClient,
}

impl AdminClient {
    pub fn new(connection: &AdminConnection) -> anyhow::Result<Self> {
        let given = [&connection.operator_token, &connection.key].into_iter().flatten();
        let credential = given.into_iter().find(|credential| !credential.is_empty()).cloned().context(
            "no credential; pass --operator-token (MNEMON_OPERATOR_TOKEN) or an admin's --key (MNEMON_API_KEY)",
        )?;
        let url = connection.url.trim_end_matches('/').to_owned();
        Ok(Self { url, credential, http: HttpClient::new(TIMEOUT)? })
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, path, None)
    }

    pub fn post(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::POST, path, Some(serde_json::to_string(&body)?))
    }

    pub fn put(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::PUT, path, Some(serde_json::to_string(&body)?))
    }

    pub fn patch(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::PATCH, path, Some(serde_json::to_string(&body)?))
    }

    pub fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, None)
    }

    pub fn delete_with(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, Some(serde_json::to_string(&body)?))
    }

    fn send(&self, method: Method, path: &str, body: Option<String>) -> anyhow::Result<Value> {
        let bearer = format!("Bearer {}", self.credential);
        let headers = [("Authorization", bearer.as_str())];
        let Answer { status, text } = self.http.send(method, &self.url, &format!("/admin/v1{path}"), &headers, body)?;
        let answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} answered {status} with something that is not JSON", self.url))?;
        if status.is_success() {
            return Ok(answer);
        }
        bail!("{}", answer["message"].as_str().unwrap_or("the service refused the request without a reason"))
    }

    /// The account given, or the key's own, as a path segment.
    pub fn account(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "account", "--account")
    }

    /// The project given, or the key's own, as a path segment.
    pub fn project(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "project", "--project")
    }

    fn own(&self, named: Option<&String>, field: &str, flag: &str) -> anyhow::Result<String> {
        if let Some(named) = named {
            return Ok(encode(named));
        }
        if !self.credential.starts_with("mnm_") {
            bail!("{flag} is required with the operator token");
        }
        let me = self.get("/me")?;
        me[field]["id"].as_str().map(str::to_owned).with_context(|| format!("pass {flag}"))
    }
}

/// A path segment or query value. What was typed must not lead anywhere else: `..` and `?purge=true` are not ids.
pub fn encode(part: &str) -> String {
    // A URL has no way to say that a segment of dots is only a name, encoded or not; this one names nothing.
    if matches!(part, "." | "..") {
        return "%252E".repeat(part.len());
    }
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    part.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
