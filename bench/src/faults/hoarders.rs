//! What a key of a free account makes a node of 512 MB hold: five hundred connections that ask for something large and
//! do not read it, or send half a request, one kind after the other. The node's memory is a setting, and its
//! resident memory is watched: a limit of the system would end it, and say less.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mnemon_testkit::faults::Service;
use mnemon_testkit::process::{resident_bytes, resident_peak_bytes};
use mnemon_testkit::{Caller, ConsoleVisitor};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use super::Setup;
use super::outcome::Outcome;
use super::waits::{Waits, measure, prepare};
use crate::figures::rounded;

const CONNECTIONS: usize = 500;
const MEMORY_BYTES: u64 = 512 << 20;
/// What a free account may store, nearly, each as large as a record may be.
const RECORDS: usize = 240;
const RECORD_BYTES: usize = 16_000;
/// Clients of another account, who search meanwhile.
const ACTIVE: usize = 8;
const MEASURED: Duration = Duration::from_secs(8);
/// How long the crowd gets before anybody is measured.
const GATHERING: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A refused client asks again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The factor by which others' waits may grow, compared with an idle node.
const WAIT_FACTOR: u32 = 3;
/// On a busy machine, waits below this mean nothing.
const NOISE: Duration = Duration::from_millis(10);

#[derive(Serialize)]
struct Figures {
    /// Of the others, before anybody hoards.
    quiet_p99_ms: f64,
    kinds: Vec<Kind>,
    peak_mib: u64,
}

/// What one kind of request got, and what it did to the node and to others.
#[derive(Serialize)]
struct Kind {
    what: &'static str,
    served: usize,
    refused: usize,
    closed: usize,
    peak_mib: u64,
    p99_ms: f64,
    calls: usize,
    failures: usize,
}

fn millis(wait: Duration) -> f64 {
    rounded(wait.as_secs_f64() * 1e3, 1)
}

pub(crate) async fn run(setup: &Setup, mut outcome: Outcome) -> Result<Outcome> {
    let (mut program, _scratch) = setup.program()?;
    program.environment.push(("MNEMON_MEMORY_BYTES", MEMORY_BYTES.to_string()));
    let service = program.start().await?;
    prepare(&service, 500).await?;
    let hostile = Hostile::enter(&service).await?;
    let quiet = measure(&service, ACTIVE, MEASURED).await?;
    outcome = outcome.fact(format!("p99 of others {:.1?} before", quiet.p99));
    let mut kinds = Vec::new();
    for (what, request) in hostile.requests() {
        let crowd = Crowd::gather(&service, setup.rounds(CONNECTIONS), request);
        tokio::time::sleep(GATHERING).await;
        let busy = measure(&service, ACTIVE, MEASURED).await?;
        let seen = crowd.disperse().await;
        let kind = Kind::of(what, &seen, busy);
        outcome = told(outcome, &kind, &seen, busy, quiet);
        kinds.push(kind);
    }
    let peak = resident_peak_bytes(service.pid).context("the node is gone")?;
    let (is_under, peak_mib) = (peak <= MEMORY_BYTES, peak >> 20);
    outcome
        .must(is_under, format!("the node of 512 MiB lives, with {peak_mib} MiB at the peak"))
        .figures("hoarders", &Figures { quiet_p99_ms: millis(quiet.p99), kinds, peak_mib })
}

impl Kind {
    fn of(what: &'static str, seen: &Seen, busy: Waits) -> Self {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Self {
            what,
            served: count(&seen.served),
            refused: count(&seen.refused),
            closed: count(&seen.closed),
            peak_mib: seen.peak.load(Ordering::Relaxed) >> 20,
            p99_ms: millis(busy.p99),
            calls: busy.calls,
            failures: busy.failures,
        }
    }
}

fn told(outcome: Outcome, kind: &Kind, seen: &Seen, busy: Waits, quiet: Waits) -> Outcome {
    let Kind { what, served, refused, closed, peak_mib, calls, failures, .. } = kind;
    let within = busy.failures == 0 && busy.p99 <= (quiet.p99 * WAIT_FACTOR).max(NOISE);
    let said = format!(
        "{what}: {served} answers begun, {refused} refused with Retry-After, {closed} closed, {peak_mib} MiB, p99 of others {:.1?}, \
         {failures} of their {calls} calls failed",
        busy.p99
    );
    let wrong = seen.wrong.load(Ordering::Relaxed);
    let outcome = outcome.must(within && served + refused + closed > 0, said);
    if wrong == 0 { outcome } else { outcome.must(false, format!("{wrong} other answers")) }
}

/// A free account, with as much in it as it may have.
struct Hostile {
    key: String,
    project: String,
    cookie: String,
}

impl Hostile {
    async fn enter(service: &Service) -> Result<Self> {
        let url = format!("http://{}", service.address);
        let token = service.operator_token.as_deref().context("the first start told the operator's token")?;
        let operator = Caller::connect(&url, token);
        let account = operator.manage("POST", "/accounts", json!({"name": "Hoarders", "plan": "free"})).await;
        let account = text(&account["id"]);
        let make = async |path: String, body: Value| operator.manage("POST", &path, body).await;
        let project = text(&make(format!("/accounts/{account}/projects"), json!({"name": "Attic"})).await["id"]);
        let member = json!({"name": "Hoarder", "role": "member"});
        let member = text(&make(format!("/accounts/{account}/members"), member).await["id"]);
        let key = async |access: &str| {
            text(
                &make(format!("/projects/{project}/keys"), json!({"member_id": member, "access": access})).await["key"],
            )
        };
        let (writing, reading) = (key("write").await, key("read").await);
        let answer = import(&Caller::connect(&url, &writing), &project).await;
        ensure!(answer["saved"] == RECORDS, "the hostile account could not be filled: {answer}");
        let visitor = ConsoleVisitor::sign_in(&Caller::connect(&url, &reading)).await;
        let cookie = visitor.context("the console lets a key in")?.cookie().to_owned();
        Ok(Self { key: reading, project, cookie })
    }

    /// Each kind of request with its name.
    fn requests(&self) -> Vec<(&'static str, Vec<u8>)> {
        let Self { key, project, cookie } = self;
        let head = |line: String| format!("{line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n");
        let get = |path: &str| format!("{}\r\n", head(format!("GET /admin/v1/projects/{project}{path}"))).into_bytes();
        let post = |path: &str, body: &Value| {
            let body = body.to_string();
            format!("{}content-length: {}\r\n\r\n{body}", head(format!("POST {path}")), body.len()).into_bytes()
        };
        let arguments = json!({"query": "*", "limit": 50});
        let search = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search", "arguments": arguments}});
        let page = format!("GET /console/memory HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
        let half = format!("{}content-length: {}\r\n\r\n", head("POST /mcp".to_owned()), 1_000_000);
        vec![
            ("unread exports", get("/export")),
            ("unread pages of records", get("/records?limit=1000")),
            ("unread searches", post("/mcp", &search)),
            ("unread digests", post(&format!("/admin/v1/projects/{project}/context"), &json!({"budget": 20_000}))),
            ("unread console pages", page.into_bytes()),
            ("half requests", [half.into_bytes(), vec![b' '; 900_000]].concat()),
        ]
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

async fn import(caller: &Caller, project: &str) -> Value {
    let line = |n: usize| {
        let sentence = format!("Box {n} on shelf {} holds {} letters of the year {}. ", n % 17, n * 3, 1800 + n);
        let content = sentence.repeat(RECORD_BYTES / sentence.len());
        json!({"type": "record", "content": content}).to_string() + "\n"
    };
    let bearer = format!("Bearer {}", caller.key);
    let path = format!("/admin/v1/projects/{project}/import");
    let lines: String = (0..RECORDS).map(line).collect();
    caller.send("POST", &path, &[("authorization", &bearer)], lines).await.json()
}

/// What the hostile connections got: answers, refusals, closed connections.
#[derive(Default)]
struct Seen {
    served: AtomicUsize,
    /// With 429 or 503, and the time after which to ask again.
    refused: AtomicUsize,
    closed: AtomicUsize,
    wrong: AtomicUsize,
    /// The most resident memory.
    peak: AtomicU64,
}

/// Connections that all ask for the same and read only how the answer begins.
struct Crowd {
    asking: JoinSet<()>,
    seen: Arc<Seen>,
}

impl Crowd {
    fn gather(service: &Service, connections: usize, request: Vec<u8>) -> Self {
        let (request, seen): (Arc<[u8]>, Arc<Seen>) = (request.into(), Arc::default());
        let (mut asking, address, pid) = (JoinSet::new(), service.address, service.pid);
        for _ in 0..connections {
            let (request, seen) = (Arc::clone(&request), Arc::clone(&seen));
            asking.spawn(async move {
                loop {
                    // An error is a connection that was closed.
                    if ask(address, &request, &seen).await.is_err() {
                        seen.closed.fetch_add(1, Ordering::Relaxed);
                    }
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            });
        }
        let watching = Arc::clone(&seen);
        asking.spawn(async move {
            while let Ok(bytes) = resident_bytes(pid) {
                watching.peak.fetch_max(bytes, Ordering::Relaxed);
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        Self { asking, seen }
    }

    /// Hangs up on everything.
    async fn disperse(mut self) -> Arc<Seen> {
        self.asking.shutdown().await;
        self.seen
    }
}

/// Asks, reads how the answer begins, and then nothing until the service has had enough of that.
async fn ask(address: std::net::SocketAddr, request: &[u8], seen: &Seen) -> Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4 << 10)?;
    let mut stream = socket.connect(address).await?;
    stream.write_all(request).await?;
    let mut begin = [0; 512];
    let length = stream.read(&mut begin).await?;
    let begin = String::from_utf8_lossy(&begin[..length]).to_ascii_lowercase();
    let status = begin.get(9..12).unwrap_or_default();
    let counter = match status {
        "200" => &seen.served,
        "429" | "503" if begin.contains("retry-after: ") => &seen.refused,
        "" => &seen.closed,
        _ => &seen.wrong,
    };
    counter.fetch_add(1, Ordering::Relaxed);
    let asked_at = Instant::now();
    // The service closes a connection that reads nothing after fifteen seconds.
    while status == "200" && asked_at.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}
