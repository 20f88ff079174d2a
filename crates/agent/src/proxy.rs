//! The loop between an assistant and the service: a line in, its bytes out; the answer's bytes back on one line.
//!
//! Requests run concurrently; one writer prints the answers. The agent looks at two things on the way: the tool list,
//! which gains the agent's own tool, and calls to that tool, which it answers itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;

use crate::message::Message;
use crate::places::Places;
use crate::service::{HttpAnswer, NoAnswer, Service};
use crate::settings::Settings;
use crate::{answers, away, listing, own_tool, status};

/// More than the service accepts; a longer line is refused without being buffered.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// How many requests run at the same time; further lines wait.
const REQUESTS_MAX: usize = 128;
/// How long answers may still take after the assistant has closed its side.
const FAREWELL: Duration = Duration::from_secs(10);
/// How often to check whether an unreachable service is back.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// One assistant's connection.
struct Proxy {
    settings: Settings,
    places: Places,
    service: Service,
    out: mpsc::Sender<Vec<u8>>,
    running: Mutex<HashMap<String, (u64, AbortHandle)>>,
    serial: AtomicU64,
    /// Whether a task is already waiting for the service to come back.
    is_looking: AtomicBool,
}

/// Runs until the assistant closes its side.
pub async fn run(
    settings: Settings,
    places: Places,
    input: impl tokio::io::AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (out, waiting) = mpsc::channel(REQUESTS_MAX);
    let writer = tokio::spawn(write_lines(waiting, output));
    let working_dir = std::env::current_dir().unwrap_or_default();
    let workspace = settings.workspace.as_ref().and_then(|choice| choice.in_folder(&working_dir));
    let service = Service::new(&settings).with_workspace(workspace.as_deref());
    let proxy = Arc::new(Proxy {
        settings,
        places,
        service,
        out,
        running: Mutex::default(),
        serial: AtomicU64::new(0),
        is_looking: AtomicBool::new(false),
    });
    let turns = Arc::new(Semaphore::new(REQUESTS_MAX));
    let mut input = BufReader::new(input);
    while let Some(line) = read_line(&mut input).await? {
        let turn = Arc::clone(&turns).acquire_owned().await.map_err(std::io::Error::other)?;
        match line {
            InputLine::Whole(line) if line.trim_ascii().is_empty() => {}
            InputLine::Whole(line) => proxy.take(line, turn),
            InputLine::TooLong => {
                let text = format!("the message is too long; the limit is {LINE_BYTES_MAX} bytes");
                let _ = proxy.out.send(answers::failure(&Message::default(), "too_large", &text)).await;
            }
        }
        if writer.is_finished() {
            break;
        }
    }
    let all_done = turns.acquire_many(REQUESTS_MAX as u32);
    let _ = tokio::time::timeout(FAREWELL, all_done).await;
    drop(proxy);
    let _ = tokio::time::timeout(FAREWELL, writer).await;
    Ok(())
}

enum InputLine {
    Whole(Vec<u8>),
    TooLong,
}

/// The next line without its newline; `None` at the end of the input.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    let read = (&mut *input).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(InputLine::Whole(line)));
    }
    if line.len() as u64 <= LINE_BYTES_MAX {
        return Ok(Some(InputLine::Whole(line)));
    }
    // Discard the rest of the line as it arrives.
    loop {
        let seen = input.fill_buf().await?;
        let end = seen.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(seen.len(), |at| at + 1);
        let is_over = end.is_some() || seen.is_empty();
        input.consume(used);
        if is_over {
            return Ok(Some(InputLine::TooLong));
        }
    }
}

async fn write_lines(mut waiting: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(mut line) = waiting.recv().await {
        line.push(b'\n');
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}

impl Proxy {
    /// Starts the request for a line.
    fn take(self: &Arc<Self>, line: Vec<u8>, turn: tokio::sync::OwnedSemaphorePermit) {
        let message = Message::peek(&line);
        if let Some(cancelled) = &message.cancels
            && let Some((_, request)) = self.running.lock().remove(cancelled)
        {
            // Dropping the request closes the connection, which the service notices.
            request.abort();
        }
        let (proxy, id, serial) = (Arc::clone(self), message.id.clone(), self.serial.fetch_add(1, Ordering::Relaxed));
        let mine = id.clone();
        // Held until the request is registered, so it can't finish before that.
        let mut running = self.running.lock();
        let task = tokio::spawn(async move {
            let answer = proxy.answer(Bytes::from(line), &message).await;
            proxy.forget(mine.as_deref(), serial);
            if let Some(answer) = answer {
                let _ = proxy.out.send(answer).await;
            }
            drop(turn);
        });
        if let Some(id) = id {
            running.insert(id, (serial, task.abort_handle()));
        }
    }

    fn forget(&self, id: Option<&str>, serial: u64) {
        let Some(id) = id else { return };
        let mut running = self.running.lock();
        if running.get(id).is_some_and(|(known, _)| *known == serial) {
            running.remove(id);
        }
    }

    async fn answer(self: &Arc<Self>, line: Bytes, message: &Message) -> Option<Vec<u8>> {
        if message.tool.as_deref() == Some(own_tool::NAME) && message.id.is_some() {
            let status = status::collect(&self.settings, &self.places, &self.service).await;
            return Some(own_tool::answer(message, &status));
        }
        match self.service.post_mcp(line, message.headers()).await {
            Ok(answer) => self.pass_on(answer, message),
            Err(why) => self.without_service(message, &why),
        }
    }

    /// What the assistant gets from the service's answer.
    fn pass_on(&self, answer: HttpAnswer, message: &Message) -> Option<Vec<u8>> {
        if is_json_rpc(&answer.body) {
            let is_list = message.method.as_deref() == Some("tools/list") && answer.status.is_success();
            let with_tool = if is_list { listing::with_tool(&answer.body, own_tool::json()) } else { None };
            return Some(on_one_line(with_tool.unwrap_or_else(|| answer.body.to_vec())));
        }
        // A notification was accepted, or no answer is expected.
        message.id.as_ref()?;
        if answer.status == http::StatusCode::UNAUTHORIZED {
            return Some(answers::rejected(message, &self.settings));
        }
        let url = &self.settings.url;
        let text = match words_of(&answer.body) {
            Some(words) => format!("the Mnemon service at {url} answered {}: {words}", answer.status),
            None => format!(
                "{url} answered {} with something that is not an MCP message; check that the address (from {}) is a \
                 Mnemon service",
                answer.status, self.settings.url_source
            ),
        };
        Some(answers::failure(message, "refused", &text))
    }

    fn without_service(self: &Arc<Self>, message: &Message, why: &NoAnswer) -> Option<Vec<u8>> {
        message.id.as_ref()?;
        if matches!(why, NoAnswer::Away(_))
            && let Some(answer) = away::while_away(message)
        {
            self.look_for_service();
            return Some(answer);
        }
        Some(answers::no_answer(message, &self.settings, why))
    }

    /// Waits until the service is back, then asks the assistant to fetch the tool list again.
    fn look_for_service(self: &Arc<Self>) {
        if self.is_looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let proxy = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let Some(proxy) = proxy.upgrade() else { return };
                if proxy.service.is_alive().await {
                    proxy.is_looking.store(false, Ordering::SeqCst);
                    let _ = proxy.out.send(away::TOOLS_CHANGED.to_vec()).await;
                    return;
                }
            }
        });
    }
}

fn is_json_rpc(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(borrow)]
        jsonrpc: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Versioned<'_>>(body).is_ok_and(|answer| answer.jsonrpc == "2.0")
}

/// The message of an error that is not JSON-RPC.
fn words_of(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Words {
        message: Option<String>,
        error_description: Option<String>,
    }
    let words: Words = serde_json::from_slice(body).ok()?;
    words.message.or(words.error_description)
}

/// The same JSON without line breaks: between tokens they mean nothing, and strings contain none.
fn on_one_line(mut body: Vec<u8>) -> Vec<u8> {
    for byte in body.iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    body
}
