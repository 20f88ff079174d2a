//! A lean HTTP/1.1 client: one kept connection, one call at a time, hardly any work of its own. It drives load, where a
//! convenient client would measure itself, and faults, where every broken connection must be noticed.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than any honest answer takes. A hanging service must not hang its test.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The head of an answer is a few hundred bytes, the largest body about two megabytes.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// One connection to a service.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// The head of a request, except for the length of its body.
    head: String,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// An HTTP answer, valid until the next call.
#[derive(Debug, Clone, Copy)]
pub struct WireAnswer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

/// Why a call has no result.
#[derive(Debug)]
pub enum CallFailed {
    /// Nothing came back, or not everything: the outcome of the call is unknown.
    Connection(io::Error),
    /// The service answered that it did not do it.
    Refused {
        /// The HTTP status; 200 if a tool failed.
        status: u16,
        /// The tool's reason, or the body.
        text: String,
    },
}

impl Wire {
    /// Connects; every call sends the key.
    pub async fn connect(address: SocketAddr, key: &str) -> io::Result<Self> {
        Self::connect_with(address, &format!("authorization: Bearer {key}\r\n")).await
    }

    /// Connects; every call sends these headers, each with its line ending.
    pub async fn connect_with(address: SocketAddr, headers: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\n{headers}content-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: "
        );
        Ok(Self { stream, head, request: Vec::new(), answer: Vec::with_capacity(32 << 10) })
    }

    /// Sends a body and waits for the answer.
    pub async fn post(&mut self, body: &str) -> io::Result<WireAnswer<'_>> {
        self.request.clear();
        self.request.extend_from_slice(self.head.as_bytes());
        self.request.extend_from_slice(body.len().to_string().as_bytes());
        self.request.extend_from_slice(b"\r\n\r\n");
        self.request.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.request).await?;
        self.read_answer().await
    }

    /// Calls a tool and returns its structured result.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, CallFailed> {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments},
        });
        let answer = tokio::time::timeout(CALL_TIMEOUT, self.post(&body.to_string())).await;
        let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(CallFailed::Connection)?;
        let refused = |text: &str| CallFailed::Refused { status: answer.status, text: text.to_owned() };
        let text = String::from_utf8_lossy(answer.body);
        let mut value: Value = serde_json::from_slice(answer.body).map_err(|_| refused(&text))?;
        let result = &mut value["result"];
        if answer.status != 200 || !result.is_object() {
            return Err(refused(&text));
        }
        if result["isError"] == json!(true) {
            return Err(refused(result["content"][0]["text"].as_str().unwrap_or(&text)));
        }
        Ok(result["structuredContent"].take())
    }

    async fn read_answer(&mut self) -> io::Result<WireAnswer<'_>> {
        self.answer.clear();
        let (mut head, mut searched) = (None, 0);
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if head.is_none() {
                head = read_head(&self.answer, searched)?;
                searched = self.answer.len().saturating_sub(3);
            }
            if let Some(head) = head
                && self.answer.len() >= head.whole_bytes
            {
                return Ok(WireAnswer { status: head.status, body: &self.answer[head.body_at..head.whole_bytes] });
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Head {
    status: u16,
    body_at: usize,
    whole_bytes: usize,
}

/// The head of an answer once it is complete.
fn read_head(bytes: &[u8], searched: usize) -> io::Result<Option<Head>> {
    let Some(end) = bytes[searched..].windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let body_at = searched + end + 4;
    let head = std::str::from_utf8(&bytes[..body_at]).map_err(|_| unreadable())?;
    let status = head.get(9..12).and_then(|digits| digits.parse().ok()).ok_or_else(unreadable)?;
    let lengths = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let length = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).map(|(_, value)| value.trim());
    let length: usize = length.last().and_then(|digits| digits.parse().ok()).ok_or_else(unreadable)?;
    if length > ANSWER_BYTES_MAX {
        return Err(unreadable());
    }
    Ok(Some(Head { status, body_at, whole_bytes: body_at + length }))
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP with a Content-Length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let bytes = b"HTTP/1.1 404 Not Found\r\nx: y\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..bytes.len() - 2 {
            assert!(read_head(&bytes[..end], 0).unwrap().is_none(), "{end}");
        }
        let head = read_head(bytes, 0).unwrap().unwrap();
        assert_eq!((head.status, &bytes[head.body_at..head.whole_bytes]), (404, &b"{}"[..]));
        assert!(read_head(b"HTTP/1.1 200 OK\r\n\r\n", 0).is_err(), "without a length the end is unknown");
    }
}
