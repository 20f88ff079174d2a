//! A local command that speaks MCP: one message per line on its standard input and output.
//!
//! It does not inherit our environment, which contains secrets such as the encryption key.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mnemon_core::Secret;
use mnemon_platform::process::Family;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

use crate::message::{self, ENVELOPE_BYTES_MAX, Incoming};
use crate::scrub::Scrubber;
use crate::{Limits, UpstreamError};

/// What a command inherits from our environment: where programs and files are, and the language.
const KEPT_VARIABLES: &[&str] = if cfg!(windows) {
    &["PATH", "PATHEXT", "SYSTEMROOT", "COMSPEC", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"]
} else {
    &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"]
};

/// How much a command may print between two answers: notifications, questions and text for people.
const NOISE_BYTES_MAX: usize = 4 << 20;
/// How long a command may take to read the answer to its own question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(1);

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Result<Box<RawValue>, UpstreamError>>>>>;

/// A running command.
pub(crate) struct StdioWire {
    input: tokio::sync::Mutex<Input>,
    waiting: Waiting,
    has_ended: Arc<AtomicBool>,
    limits: Limits,
    family: Arc<Family>,
    reader: tokio::task::JoinHandle<()>,
}

impl StdioWire {
    /// Starts a command: the program and its arguments, of which some parts are secrets.
    pub(crate) fn start(
        words: &[String],
        secrets: &[Arc<Secret<String>>],
        limits: Limits,
    ) -> Result<Arc<Self>, UpstreamError> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(UpstreamError::NotStarted("its command is empty".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(kept_environment());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let failed = |error: std::io::Error| UpstreamError::NotStarted(format!("{program}: {error}"));
        // What the command starts ends with it.
        let (mut child, family) = Family::start(&mut command).map_err(failed)?;
        let family = Arc::new(family);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(UpstreamError::NotStarted(format!("{program}: no pipes")));
        };
        let (waiting, has_ended) = (Waiting::default(), Arc::new(AtomicBool::new(false)));
        Ok(Arc::new_cyclic(|wire| {
            let reader = Reader {
                wire: wire.clone(),
                waiting: Arc::clone(&waiting),
                has_ended: Arc::clone(&has_ended),
                scrubber: Scrubber::new(secrets.iter().map(|secret| secret.expose().as_str())),
                bytes_max: limits.answer_bytes_max + ENVELOPE_BYTES_MAX,
            };
            let reader = tokio::spawn(reader.run(child, Arc::clone(&family), stdout));
            let input = tokio::sync::Mutex::new(Input { stdin, is_torn: false });
            Self { input, waiting, has_ended, limits, family, reader }
        }))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Sends a message and waits for the answer with this id; without an id there is none.
    pub(crate) async fn send(&self, id: Option<u64>, body: &[u8]) -> Result<Option<Box<RawValue>>, UpstreamError> {
        let Some(id) = id else {
            self.write(body).await?;
            return Ok(None);
        };
        let (answered, answer) = oneshot::channel();
        let place = Waiter { waiting: Arc::clone(&self.waiting), id: id.to_string() };
        self.waiting.lock().insert(place.id.clone(), answered);
        self.write(body).await?;
        if self.has_ended() {
            return Err(UpstreamError::Ended);
        }
        let result = answer.await.map_err(|_| UpstreamError::Ended)??;
        if result.get().len() > self.limits.answer_bytes_max {
            return Err(UpstreamError::TooLarge { bytes_max: self.limits.answer_bytes_max });
        }
        Ok(Some(result))
    }

    async fn write(&self, body: &[u8]) -> Result<(), UpstreamError> {
        let mut input = self.input.lock().await;
        // A caller that went away in the middle of a line left half of it behind; nothing sensible can follow.
        if input.is_torn {
            self.has_ended.store(true, Ordering::Release);
            return Err(UpstreamError::Ended);
        }
        input.is_torn = true;
        let line = [body, b"\n"].concat();
        input.stdin.write_all(&line).await.map_err(|_| UpstreamError::Ended)?;
        input.stdin.flush().await.map_err(|_| UpstreamError::Ended)?;
        input.is_torn = false;
        Ok(())
    }
}

impl Drop for StdioWire {
    fn drop(&mut self) {
        self.reader.abort();
        self.family.kill();
    }
}

/// The command's standard input.
struct Input {
    stdin: ChildStdin,
    is_torn: bool,
}

/// A place in the list of waiting callers, given up when the caller goes away.
struct Waiter {
    waiting: Waiting,
    id: String,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}

/// Reads what the command prints until it ends, or prints more on one line than allowed.
struct Reader {
    wire: std::sync::Weak<StdioWire>,
    waiting: Waiting,
    has_ended: Arc<AtomicBool>,
    scrubber: Scrubber,
    bytes_max: usize,
}

impl Reader {
    async fn run(self, child: Child, family: Arc<Family>, stdout: ChildStdout) {
        let fault = self.read(stdout).await;
        self.has_ended.store(true, Ordering::Release);
        let waiting: Vec<_> = self.waiting.lock().drain().collect();
        for (_, answered) in waiting {
            let _ = answered.send(Err(fault.clone()));
        }
        // Ends what is left of it: a command that prints too much, or that closed its output and lingers.
        family.kill();
        drop(child);
    }

    async fn read(&self, stdout: ChildStdout) -> UpstreamError {
        let mut lines = BufReader::with_capacity(64 << 10, stdout);
        let (mut line, mut noise_bytes) = (Vec::new(), 0);
        loop {
            let available = match lines.fill_buf().await {
                Ok([]) | Err(_) => return UpstreamError::Ended,
                Ok(available) => available,
            };
            let (taken, is_whole) = match available.iter().position(|&byte| byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), false),
            };
            line.extend_from_slice(&available[..taken]);
            lines.consume(taken);
            if line.len() > self.bytes_max {
                return UpstreamError::TooLarge { bytes_max: self.bytes_max - ENVELOPE_BYTES_MAX };
            }
            if is_whole {
                noise_bytes = if self.take(&line).await { 0 } else { noise_bytes + line.len() };
                line.clear();
            }
            if noise_bytes > NOISE_BYTES_MAX {
                return UpstreamError::Garbled("it keeps sending messages without answering");
            }
        }
    }

    /// Handles a line, and returns whether it contained an answer that somebody waited for: unexpected answers are
    /// noise too. Anything that is not a message is ignored: programs print greetings.
    async fn take(&self, line: &[u8]) -> bool {
        let mut is_answer = false;
        for incoming in message::read(&self.scrubber.clean(line)).unwrap_or_default() {
            match incoming {
                Incoming::Answer { id, outcome } => {
                    let answered = self.waiting.lock().remove(&id);
                    if let Some(answered) = answered {
                        is_answer = true;
                        let _ = answered.send(outcome);
                    }
                }
                Incoming::Question { id, method } => {
                    if let Some(wire) = self.wire.upgrade() {
                        // A command that asks and does not listen must not block us.
                        let answer = message::answer(&id, &method);
                        let _ = tokio::time::timeout(QUESTION_TIMEOUT, wire.write(&answer)).await;
                    }
                }
                Incoming::Notice => {}
            }
        }
        is_answer
    }
}

#[expect(clippy::disallowed_methods, reason = "handed on to a program, not read as a setting")]
fn kept_environment() -> impl Iterator<Item = (&'static str, String)> {
    KEPT_VARIABLES.iter().filter_map(|&name| Some((name, std::env::var(name).ok()?)))
}
