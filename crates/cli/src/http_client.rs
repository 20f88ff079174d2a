//! HTTP calls of the command line: one at a time, each with a time limit. What they mean is known to their callers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use reqwest::{Client, Method, StatusCode};

/// A client with a thread of its own to wait on.
pub struct HttpClient {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// What came back, whatever its status.
pub struct Answer {
    pub status: StatusCode,
    pub text: String,
}

impl HttpClient {
    pub fn new(timeout: Duration) -> anyhow::Result<Self> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .timeout(timeout)
            .user_agent(concat!("mnemon/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("can't set up the HTTP client")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, runtime })
    }

    /// Sends a request to a path of the service. JSON goes with a body.
    pub fn send(
        &self,
        method: Method,
        service: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> anyhow::Result<Answer> {
        let mut request = self.client.request(method, format!("{service}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body);
        }
        self.runtime.block_on(async {
            let response = request.send().await.with_context(|| {
                format!("no answer from {service}; is the service running? Start it with `mnemon serve`")
            })?;
            let status = response.status();
            let text = response.text().await.context("can't read the answer")?;
            Ok(Answer { status, text })
        })
    }
}

fn tls() -> anyhow::Result<rustls::ClientConfig> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
