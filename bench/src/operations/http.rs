//! One kept connection that can ask for anything, with any credential.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(super) struct Http {
    address: SocketAddr,
    stream: TcpStream,
    answer: Vec<u8>,
}

/// An answer, valid until the next request.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
}

impl Answer<'_> {
    /// Whether a tool said that it failed.
    pub(super) fn is_tool_error(&self) -> bool {
        find(self.body, br#""isError":true"#).is_some()
    }

    /// Whether a search found something: only its records have a score.
    pub(super) fn has_hits(&self) -> bool {
        find(self.body, br#""score":"#).is_some()
    }
}

impl Http {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { address, stream, answer: Vec::with_capacity(32 << 10) })
    }

    pub(super) async fn send(&mut self, method: &str, path: &str, key: &str, body: &str) -> Result<Answer<'_>> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.answer.clear();
        loop {
            ensure!(self.stream.read_buf(&mut self.answer).await? > 0, "the service closed the connection");
            let Some(head_end) = find(&self.answer, b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.answer[..head_end])?.to_ascii_lowercase();
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).context("no length")?;
            let end = head_end + 4 + length.trim().parse::<usize>()?;
            if self.answer.len() >= end {
                return Ok(Answer { status, body: &self.answer[head_end + 4..end] });
            }
        }
    }

    /// A request to the admin API that must succeed.
    pub(super) async fn admin(&mut self, method: &str, path: &str, key: &str, body: &Value) -> Result<Value> {
        let answer = self.send(method, &format!("/admin/v1{path}"), key, &body.to_string()).await?;
        if answer.status >= 300 {
            bail!("{method} {path}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(serde_json::from_slice(answer.body)?)
    }

    pub(super) async fn call(&mut self, key: &str, tool: &str, arguments: &Value) -> Result<Answer<'_>> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        self.send("POST", "/mcp", key, &body.to_string()).await
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
