//! What the upstream does instead of answering.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What it does instead of answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trick {
    /// None: it answers.
    None,
    /// It never answers.
    Hang,
    /// It sends a byte now and then, forever.
    Drip,
    /// It sends bytes for as long as anybody reads them, up to ten gigabytes.
    Flood,
    /// It sends notifications in a stream of events, forever.
    FloodEvents,
    /// It resets the connection in the middle of its answer.
    Reset,
    /// It sends less than it declares.
    LongLength,
    /// It sends more than it declares.
    ShortLength,
    /// It redirects.
    Redirect(String),
    /// It answers a request that was not sent.
    OtherId,
    /// It answers with this status.
    Status(u16),
    /// It answers with something that is not JSON.
    Garbage,
    /// It refuses in JSON-RPC.
    Refuse,
    /// It refuses in JSON-RPC, in these words.
    RefuseWith(String),
    /// It answers with this result, which is JSON.
    Answer(String),
    /// It answers with a result of exactly this many bytes.
    Large(usize),
    /// It answers as usual, in a body of exactly this many bytes: spaces before the result fill it up.
    Padded(usize),
    /// It answers in a stream of events that has this many bytes up to the end of the answer, and continues without a
    /// pause.
    PaddedEvents(usize),
    /// It asks this many questions in a stream of events, then answers.
    Questions(usize),
    /// It forgets every session.
    Forget,
    /// It answers in a stream of events, after a notification and a question.
    Events,
    /// It asks for more input.
    AskBack,
    /// It waits this many milliseconds, then answers.
    Slow(u64),
}

impl Trick {
    /// Plays the trick instead of answering with this body.
    pub(super) async fn play(
        self,
        stream: &mut BufReader<TcpStream>,
        session: &str,
        id: &Value,
        body: String,
    ) -> io::Result<()> {
        let length = body.len();
        let json_head = |length: usize| {
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
        };
        let endless =
            |kind: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
        let rpc_error =
            |code: i32| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "not like that"}});
        match self {
            Self::None | Self::Forget => reply(stream, "200 OK", session, &body).await,
            Self::Slow(ms) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                reply(stream, "200 OK", session, &body).await
            }
            Self::Hang => std::future::pending().await,
            Self::Drip => {
                stream.write_all(json_head(length).as_bytes()).await?;
                for byte in body.as_bytes() {
                    stream.write_all(&[*byte]).await?;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                std::future::pending().await
            }
            Self::Flood => {
                stream.write_all(endless("application/json").as_bytes()).await?;
                let piece = format!("10000\r\n{}\r\n", "x".repeat(65_536));
                for _ in 0..160_000 {
                    stream.write_all(piece.as_bytes()).await?;
                }
                Ok(())
            }
            Self::FloodEvents => {
                stream.write_all(endless("text/event-stream").as_bytes()).await?;
                let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
                let piece = format!("{:x}\r\n{event}\r\n", event.len());
                loop {
                    stream.write_all(piece.as_bytes()).await?;
                }
            }
            Self::Reset => {
                stream.write_all(json_head(length).as_bytes()).await?;
                stream.write_all(&body.as_bytes()[..length / 2]).await?;
                stream.flush().await?;
                // Closing a socket with a linger of zero resets it.
                stream.get_ref().set_zero_linger()?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Self::LongLength => {
                stream.write_all(json_head(length + 10).as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Self::ShortLength => {
                stream.write_all(json_head(length - 10).as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Self::Redirect(to) => reply(stream, "307 Temporary Redirect", &format!("location: {to}\r\n"), "").await,
            Self::OtherId => {
                let other = json!({"jsonrpc": "2.0", "id": "somebody else", "result": {"content": []}});
                reply(stream, "200 OK", "", &other.to_string()).await
            }
            Self::Status(status) => reply(stream, &format!("{status} Something"), "", "sorry").await,
            Self::Garbage => reply(stream, "200 OK", "", "<html>welcome</html>").await,
            Self::Refuse => reply(stream, "200 OK", "", &rpc_error(-32602).to_string()).await,
            Self::RefuseWith(words) => {
                let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": words}});
                reply(stream, "200 OK", "", &error.to_string()).await
            }
            Self::Answer(result) => {
                reply(stream, "200 OK", session, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await
            }
            Self::AskBack => {
                let asks = json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "input_required"}});
                reply(stream, "200 OK", "", &asks.to_string()).await
            }
            Self::Large(bytes) => {
                let frame = r#"{"content":[{"type":"text","text":""}]}"#.len();
                let text = "x".repeat(bytes - frame);
                let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
                reply(stream, "200 OK", "", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await
            }
            Self::Padded(bytes) => {
                let (head, tail) = body.split_at(body.find("\"result\"").unwrap_or_default());
                let spaces = " ".repeat(bytes - length);
                reply(stream, "200 OK", session, &format!("{head}{spaces}{tail}")).await
            }
            Self::PaddedEvents(bytes) => {
                let answer = format!("data: {body}\n\n");
                let comment = format!(":{}\n\n", "x".repeat(bytes - answer.len() - 3));
                reply_in_events(stream, &format!("{comment}{answer}: and so on\n\n")).await
            }
            Self::Questions(count) => {
                let question =
                    |n: usize| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"q-{n}\",\"method\":\"ping\"}}\n\n");
                let questions: String = (1..=count).map(question).collect();
                reply_in_events(stream, &format!("{questions}data: {body}\n\n")).await
            }
            Self::Events => {
                let notice = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
                let question = r#"{"jsonrpc":"2.0","id":"q-1","method":"ping"}"#;
                let text = format!("id: 1\ndata:\n\ndata: {notice}\n\ndata: {question}\n\ndata: {body}\n\n");
                reply_in_events(stream, &text).await
            }
        }
    }
}

/// A stream of events, after which the connection ends.
async fn reply_in_events(stream: &mut BufReader<TcpStream>, text: &str) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{text}").as_bytes()).await?;
    stream.flush().await?;
    Err(io::ErrorKind::UnexpectedEof.into())
}

pub(super) async fn reply(
    stream: &mut BufReader<TcpStream>,
    status: &str,
    headers: &str,
    body: &str,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await
}
