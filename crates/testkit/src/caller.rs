//! A caller of the service over HTTP.

use mnemon_protocol::mcp::{MODERN_VERSION, header, meta};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// A key, and the service to use it with.
#[derive(Debug, Clone)]
pub struct Caller {
    client: reqwest::Client,
    pub url: String,
    pub key: String,
}

/// A client for plain HTTP. The service's own client brings its cryptography provider; one built without it asks for a
/// default, even if it never uses TLS.
pub(crate) fn plain_client() -> reqwest::Client {
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body as received.
    pub text: String,
}

impl Answer {
    /// A header as text; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text))
    }
}

#[derive(Debug, Clone)]
pub struct ToolAnswer {
    /// The whole `result`.
    pub result: Value,
}

impl ToolAnswer {
    pub fn is_error(&self) -> bool {
        self.result["isError"] == json!(true)
    }

    /// The first text.
    pub fn text(&self) -> &str {
        self.result["content"][0]["text"].as_str().unwrap_or_default()
    }

    /// The structured result of a tool that must have succeeded.
    pub fn structured(&self) -> &Value {
        assert!(!self.is_error(), "the tool failed: {}", self.text());
        &self.result["structuredContent"]
    }
}

impl Caller {
    /// A caller of a service that something else has started.
    pub fn connect(url: &str, key: &str) -> Self {
        Self::new(plain_client(), url, key)
    }

    pub(crate) fn new(client: reqwest::Client, url: &str, key: &str) -> Self {
        Self { client, url: url.to_owned(), key: key.to_owned() }
    }

    /// Sends a body of any kind with the usual headers and these.
    pub async fn post(&self, body: impl Into<reqwest::Body>, headers: &[(&str, &str)]) -> Answer {
        let bearer = format!("Bearer {}", self.key);
        let usual = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let is_kept = |name: &str| headers.iter().all(|(given, _)| !given.eq_ignore_ascii_case(name));
        let mut all: Vec<(&str, &str)> = usual.into_iter().filter(|(name, _)| is_kept(name)).collect();
        all.extend_from_slice(headers);
        self.send("POST", "/mcp", &all, body).await
    }

    /// Sends exactly this: only the given headers, each as often as given.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a test's header name");
            all.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a test's header value"));
        }
        let method: Method = method.parse().expect("a test's method");
        let request = self.client.request(method, format!("{}{path}", self.url)).headers(all).body(body);
        let response = request.send().await.expect("the service answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.expect("the answer is text") }
    }

    /// A modern request: it describes itself in `_meta` and repeats parts in its headers.
    pub async fn modern(&self, method: &str, params: Value) -> Answer {
        let mut params = params;
        params["_meta"] = json!({meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {}});
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![(header::PROTOCOL_VERSION, MODERN_VERSION), (header::METHOD, method)];
        if !name.is_empty() {
            headers.push((header::NAME, &name));
        }
        self.post(body.to_string(), &headers).await
    }

    /// A bare request, as plain curl would send it.
    pub async fn request(&self, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(body.to_string(), &[]).await
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.call_with(tool, arguments, &[]).await
    }

    /// Calls a tool with more headers.
    pub async fn call_with(&self, tool: &str, arguments: Value, headers: &[(&str, &str)]) -> ToolAnswer {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self.post(body.to_string(), headers).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let result = answer.json()["result"].clone();
        assert!(result.is_object(), "{}", answer.text);
        ToolAnswer { result }
    }

    /// Saves a text and returns the record.
    pub async fn remember(&self, content: &str) -> Value {
        self.call("remember", json!({"content": content})).await.structured().clone()
    }

    /// Searches and returns the records.
    pub async fn search(&self, query: &str) -> Vec<Value> {
        let answer = self.call("search", json!({"query": query})).await;
        answer.structured()["result"].as_array().expect("result is a list").clone()
    }

    /// Searches and returns the texts of the records.
    pub async fn search_texts(&self, query: &str) -> Vec<String> {
        let texts = self.search(query).await;
        texts.iter().map(|record| record["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The reason that a failing call gives.
    pub async fn reason(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert!(answer.is_error(), "the call worked: {}", answer.result);
        answer.text().to_owned()
    }
}
