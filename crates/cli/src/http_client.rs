//! HTTP calls of the command line: one at a time, each with a time limit. What they mean is known to their callers.

use std::time::Duration;

use anyhow::Context;
use mnemon_agent::trust;
use reqwest::{Client, Method, StatusCode};

/// How long a transfer of many records may take. It is the reader's own choice to wait.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

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
            .tls_backend_preconfigured(trust::client_config())
            .timeout(timeout)
            .user_agent(concat!("mnemon/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("can't set up the HTTP client")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, runtime })
    }

    /// Fetches a body of any length, and hands its pieces on as they come. Returns the text of a refusal instead.
    pub fn download(
        &self,
        service: &str,
        path: &str,
        headers: &[(&str, &str)],
        take: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Answer>> {
        let mut request = self.client.get(format!("{service}{path}")).timeout(LONG);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.runtime.block_on(async {
            let mut response = request.send().await.map_err(|error| no_answer(service, error))?;
            let status = response.status();
            if !status.is_success() {
                let text = response.text().await.context("can't read the answer")?;
                return Ok(Some(Answer { status, text }));
            }
            while let Some(piece) = response.chunk().await.context("the answer broke off; run the command again")? {
                take(&piece)?;
            }
            Ok(None)
        })
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
            let response = request.send().await.map_err(|error| no_answer(service, error))?;
            let status = response.status();
            let text = response.text().await.context("can't read the answer")?;
            Ok(Answer { status, text })
        })
    }
}

fn no_answer(service: &str, error: reqwest::Error) -> anyhow::Error {
    let is_timeout = error.is_timeout();
    let cause = anyhow::Error::from(error).root_cause().to_string();
    let usual = || "is the service running? Start it with `mnemon serve`".to_owned();
    let advice = match trust::advice(&cause) {
        Some(advice) => advice,
        None if is_timeout => format!("it took too long; {}", usual()),
        None => format!("{} ({cause})", usual()),
    };
    NoAnswer(format!("no answer from {service}; {advice}")).into()
}

/// A request got no answer at all, so that it may be sent again.
#[derive(Debug)]
struct NoAnswer(String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Whether a request may be sent again because nothing, or only a part of an answer, came back.
pub fn is_no_answer(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<NoAnswer>() || cause.is::<reqwest::Error>())
}
