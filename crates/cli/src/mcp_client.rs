//! Calls the service's tools from the command line.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::arguments::Connection;
use crate::connecting;
use crate::http_client::{Answer, HttpClient};
use crate::rejected::Rejected;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A service and a key for it.
pub struct McpClient {
    url: String,
    key: String,
    http: HttpClient,
}

/// What a tool answered.
#[derive(Debug)]
pub struct ToolAnswer {
    /// The result, as JSON.
    pub structured: Value,
    /// A notice that came before the result.
    pub notice: Option<String>,
}

impl McpClient {
    pub fn new(connection: &Connection) -> anyhow::Result<Self> {
        let (url, key) = connecting::find_with_key(connection)?;
        Self::with_key(&url, &key)
    }

    pub fn with_key(url: &str, key: &str) -> anyhow::Result<Self> {
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, key: key.to_owned(), http: HttpClient::new(TIMEOUT)? })
    }

    /// Calls a tool. If the tool fails, its own message becomes the error.
    pub fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        idempotency_key: Option<&str>,
    ) -> anyhow::Result<ToolAnswer> {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}), idempotency_key)?;
        let texts: Vec<&str> =
            answer["content"].as_array().into_iter().flatten().filter_map(|item| item["text"].as_str()).collect();
        if answer["isError"] == json!(true) {
            let told = texts.join("\n");
            let cause = told.strip_prefix(&format!("Error executing tool {tool}: ")).unwrap_or(&told);
            match answer["_meta"]["guard"]["reference"].as_str() {
                Some(reference) => {
                    return Err(Rejected { cause: cause.to_owned(), reference: reference.to_owned() }.into());
                }
                None => bail!("{cause}"),
            }
        }
        let notice = (texts.len() > 1).then(|| texts[0].to_owned());
        Ok(ToolAnswer { structured: answer["structuredContent"].clone(), notice })
    }

    /// Sends one request and returns its result.
    pub fn request(&self, method: &str, params: Value, idempotency_key: Option<&str>) -> anyhow::Result<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {}", self.key);
        let mut headers = vec![("Authorization", bearer.as_str()), ("Accept", "application/json, text/event-stream")];
        headers.extend(idempotency_key.map(|key| ("X-Idempotency-Key", key)));
        let Answer { status, text } = self.http.send(Method::POST, &self.url, "/mcp", &headers, Some(body))?;
        if status == 401 {
            bail!(
                "{} rejected the API key; check that you copied all of it and that it has not been revoked",
                self.url
            );
        }
        let answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} answered {status} with something that is not JSON", self.url))?;
        if let Some(message) = answer["error"]["message"].as_str() {
            bail!("{message}");
        }
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{} answered {status}: {text}", self.url),
        }
    }

    /// The status of a health route.
    pub fn health(&self, path: &str) -> anyhow::Result<u16> {
        Ok(self.http.send(Method::GET, &self.url, path, &[], None)?.status.as_u16())
    }
}

/// Tool arguments from optional texts: absent ones are not sent.
pub fn given<'a>(pairs: impl IntoIterator<Item = (&'a str, Option<&'a String>)>) -> Map<String, Value> {
    let given = pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?.as_str()))));
    given.collect()
}
