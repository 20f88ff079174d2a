//! Calling the admin API from the command line.

use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::arguments::AdminConnection;
use crate::mcp_client::McpClient;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A service, and a credential for its admin API.
pub struct AdminClient {
    url: String,
    credential: String,
    agent: ureq::Agent,
}

impl AdminClient {
    pub fn new(connection: &AdminConnection) -> anyhow::Result<Self> {
        let given = [&connection.operator_token, &connection.key].into_iter().flatten();
        let credential = given.into_iter().find(|credential| !credential.is_empty()).cloned().context(
            "no credential; pass --operator-token (MNEMON_OPERATOR_TOKEN) or an admin's --key (MNEMON_API_KEY)",
        )?;
        let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
        let url = connection.url.trim_end_matches('/').to_owned();
        Ok(Self { url, credential, agent: config.build().new_agent() })
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send("GET", path, None)
    }

    pub fn post(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send("POST", path, Some(serde_json::to_string(&body)?))
    }

    pub fn put(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send("PUT", path, Some(serde_json::to_string(&body)?))
    }

    pub fn patch(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send("PATCH", path, Some(serde_json::to_string(&body)?))
    }

    pub fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.send("DELETE", path, None)
    }

    pub fn delete_with(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send("DELETE", path, Some(serde_json::to_string(&body)?))
    }

    fn send(&self, method: &str, path: &str, body: Option<String>) -> anyhow::Result<Value> {
        let url = format!("{}/admin/v1{path}", self.url);
        let bearer = format!("Bearer {}", self.credential);
        let agent = &self.agent;
        let with_body = |request: ureq::RequestBuilder<ureq::typestate::WithBody>| {
            let request = request.header("Authorization", &bearer).header("Content-Type", "application/json");
            request.send(body.as_deref().unwrap_or_default())
        };
        let sent = match (method, &body) {
            ("POST", _) => with_body(agent.post(&url)),
            ("PUT", _) => with_body(agent.put(&url)),
            ("PATCH", _) => with_body(agent.patch(&url)),
            ("DELETE", Some(_)) => with_body(agent.delete(&url).force_send_body()),
            ("DELETE", None) => agent.delete(&url).header("Authorization", &bearer).call(),
            _ => agent.get(&url).header("Authorization", &bearer).call(),
        };
        let mut response = sent.with_context(|| {
            format!("no answer from {}; is the service running? Start it with `mnemon serve`", self.url)
        })?;
        let status = response.status();
        let text = response.body_mut().read_to_string().context("can't read the answer")?;
        let answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} answered {status} with something that is not JSON", self.url))?;
        if status.is_success() {
            return Ok(answer);
        }
        bail!("{}", answer["message"].as_str().unwrap_or("the service refused the request without a reason"))
    }

    /// The account given, or the key's own, as a path segment.
    pub fn account(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "tenant_id", "--account")
    }

    /// The project given, or the key's own, as a path segment.
    pub fn project(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "project_id", "--project")
    }

    /// Every answer of a memory tool names its account and project. Checking a source that does not exist changes nothing.
    fn own(&self, named: Option<&String>, field: &str, flag: &str) -> anyhow::Result<String> {
        if let Some(named) = named {
            return Ok(encode(named));
        }
        if !self.credential.starts_with("mnm_") {
            bail!("{flag} is required with the operator token");
        }
        let client = McpClient::with_key(&self.url, &self.credential);
        let arguments = Map::from_iter([("source_id".to_owned(), json!("mnemon:whose-key-is-this"))]);
        let answer = client.call("validate_memory", arguments, None)?;
        answer.structured[field].as_str().map(str::to_owned).with_context(|| format!("pass {flag}"))
    }
}

/// A path segment or query value. What was typed must not lead anywhere else: `..` and `?purge=true` are not ids.
pub fn encode(part: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    part.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
