//! Clients that call as fast as they are answered, and what they measure: rates, waits, and the server's CPU time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mnemon_guard_train::chance::Chance;
use mnemon_testkit::process::cpu_time;
use mnemon_testkit::wire::Wire;

use super::server::Started;
use super::texts::Source;

/// How much longer than asked a phase may take before the server counts as hung.
const GRACE: Duration = Duration::from_secs(60);

const REJECTED: &[u8] = b"Memory rejected by";

/// What the clients send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Search,
    Save,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Save => "save",
        }
    }
}

/// How many files the facts of a workspace come from.
const SOURCES: u64 = 500;

/// Makes the bodies of calls. Each save is a new text under its own key, from one of many files; each search looks for
/// a stored one.
pub(crate) struct Calls {
    texts: Source,
    records: u64,
    workspace: &'static str,
    next_save: AtomicU64,
    /// Saves that were made in advance.
    ready: Mutex<VecDeque<String>>,
    /// Whether saves have nothing but their text.
    are_bare: bool,
}

impl Calls {
    pub(crate) fn new(texts: impl Into<Source>, records: u64, workspace: &'static str, first_save: u64) -> Self {
        let (next_save, ready) = (AtomicU64::new(first_save), Mutex::default());
        Self { texts: texts.into(), records, workspace, next_save, ready, are_bare: false }
    }

    /// The same with saves that have neither key nor source.
    pub(crate) fn bare(self) -> Self {
        Self { are_bare: true, ..self }
    }

    /// Makes saves in advance until `count` are ready. Making texts takes the clients longer than sending
    /// them, and where everything shares two cores, that would be taken from the service.
    pub(crate) fn prepare_saves(&self, count: usize) {
        let missing = count.saturating_sub(self.ready().len());
        let saves: Vec<String> = (0..missing).map(|_| self.new_save()).collect();
        self.ready().extend(saves);
    }

    /// A new text to be saved.
    pub(crate) fn save(&self) -> String {
        let ready = self.ready().pop_front();
        ready.unwrap_or_else(|| self.new_save())
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_save(&self) -> String {
        let number = self.next_save.fetch_add(1, Ordering::Relaxed);
        let (text, workspace, file) = (quoted(&self.texts.text(number)), self.workspace, number % SOURCES);
        let origin = match self.are_bare {
            true => String::new(),
            false => {
                format!(r#","fact_key":"fact-{number}","source_id":"src/{file}.rs","source_hash":"sha256:{file:064x}""#)
            }
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"remember","arguments":{{"content":{text},"workspace":"{workspace}"{origin}}}}}}}"#
        )
    }

    pub(crate) fn search(&self, chance: &mut Chance) -> String {
        let number = chance.below(self.records as usize) as u64;
        let (query, workspace) = (quoted(&self.texts.query(number, chance)), self.workspace);
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"search","arguments":{{"query":{query},"workspace":"{workspace}"}}}}}}"#
        )
    }

    fn body(&self, kind: Kind, chance: &mut Chance) -> String {
        match kind {
            Kind::Search => self.search(chance),
            Kind::Save => self.save(),
        }
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One measurement.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Phase {
    pub(crate) calls_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// The server's CPU time per call, user and system.
    pub(crate) cpu_us_per_call: f64,
    /// The mean size of an answer's body.
    pub(crate) answer_bytes: f64,
    /// How many calls were answered.
    #[serde(skip)]
    pub(crate) calls: f64,
}

/// When clients stop.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    Time(Duration),
    Calls(u64),
}

/// Lets `clients` call for a while. `is_floor`: the answers mean nothing and are not checked.
pub(crate) async fn phase(
    server: &Started,
    calls: &Arc<Calls>,
    kind: Kind,
    clients: usize,
    until: Until,
    is_floor: bool,
) -> Result<Phase> {
    phase_by(server, std::slice::from_ref(&server.key), calls, kind, clients, until, is_floor).await
}

/// The same with several keys, which the clients use in turn.
pub(crate) async fn phase_by(
    server: &Started,
    keys: &[String],
    calls: &Arc<Calls>,
    kind: Kind,
    clients: usize,
    until: Until,
    is_floor: bool,
) -> Result<Phase> {
    let mut wires = Vec::new();
    for key in keys.iter().cycle().take(clients) {
        wires.push(Wire::connect(server.address, key).await?);
    }
    let cpu_before = cpu_time(server.pid())?;
    let began = Instant::now();
    let left = Arc::new(AtomicU64::new(if let Until::Calls(count) = until { count } else { u64::MAX }));
    let ends = if let Until::Time(time) = until { Some(began + time) } else { None };
    let running: Vec<_> = wires
        .into_iter()
        .enumerate()
        .map(|(number, wire)| {
            let client = Client { wire, calls: Arc::clone(calls), kind, is_floor, left: Arc::clone(&left), ends };
            tokio::spawn(client.run(number as u64))
        })
        .collect();
    let limit = GRACE + if let Until::Time(time) = until { time } else { Duration::from_secs(600) };
    let all = async {
        let mut seen = Seen::default();
        for client in running {
            seen.add(client.await.context("a client panicked")??);
        }
        anyhow::Ok(seen)
    };
    let seen = tokio::time::timeout(limit, all).await.context("the server hangs")??;
    let elapsed = began.elapsed();
    let cpu = cpu_time(server.pid())?.saturating_sub(cpu_before);
    seen.into_phase(elapsed, cpu)
}

struct Client {
    wire: Wire,
    calls: Arc<Calls>,
    kind: Kind,
    is_floor: bool,
    left: Arc<AtomicU64>,
    ends: Option<Instant>,
}

impl Client {
    async fn run(mut self, number: u64) -> Result<Seen> {
        let mut chance = Chance::with_seed(number.wrapping_mul(1_000_003) ^ 17);
        let mut seen = Seen::default();
        loop {
            let is_over = self.ends.is_some_and(|end| Instant::now() >= end)
                || self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err();
            if is_over {
                return Ok(seen);
            }
            let body = self.calls.body(self.kind, &mut chance);
            let began = Instant::now();
            let answer = self.wire.post(&body).await.context("a call was not answered")?;
            if self.kind == Kind::Save && is_rejected(answer.body) {
                continue;
            }
            seen.waits_ns.push(began.elapsed().as_nanos() as u64);
            seen.answer_bytes += answer.body.len() as u64;
            if !self.is_floor {
                ensure_success(answer.status, answer.body)?;
            }
        }
    }
}

/// Words in random order occasionally read like an order to an assistant (six times in 400,000). Such a text is not
/// saved and not counted; the next one takes its place.
fn is_rejected(body: &[u8]) -> bool {
    body.len() < 300 && body.windows(REJECTED.len()).any(|window| window == REJECTED)
}

/// The flag is at the end of an answer, so ten kilobytes need not be read for it.
fn ensure_success(status: u16, body: &[u8]) -> Result<()> {
    let end = &body[body.len().saturating_sub(200)..];
    let is_success = status == 200 && end.windows(15).any(|window| window == br#""isError":false"#);
    if !is_success {
        bail!("the service answered {status}: {}", String::from_utf8_lossy(&body[..body.len().min(500)]));
    }
    Ok(())
}

#[derive(Default)]
struct Seen {
    waits_ns: Vec<u64>,
    answer_bytes: u64,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.waits_ns.extend(other.waits_ns);
        self.answer_bytes += other.answer_bytes;
    }

    fn into_phase(mut self, elapsed: Duration, cpu: Duration) -> Result<Phase> {
        ensure!(!self.waits_ns.is_empty(), "no call was answered");
        self.waits_ns.sort_unstable();
        let count = self.waits_ns.len() as f64;
        let quantile = |q: f64| self.waits_ns[((count * q) as usize).min(self.waits_ns.len() - 1)] as f64 / 1e3;
        Ok(Phase {
            calls_per_second: count / elapsed.as_secs_f64(),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            cpu_us_per_call: cpu.as_secs_f64() * 1e6 / count,
            answer_bytes: self.answer_bytes as f64 / count,
            calls: count,
        })
    }
}
