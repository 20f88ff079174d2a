//! What the gateway costs: a tool called through the service compared with the same tool called at its upstream, in
//! turns within one run; and how much a project whose upstream misbehaves affects the others.

mod upstream;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mnemon_testkit::wire::Wire;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::figures::Json;
use crate::load::Started;
use upstream::Upstream;
pub(crate) use upstream::{UpstreamArgs, run as run_upstream};

/// How much slower than alone the slowest searches of another project may be.
const NEIGHBOUR_P99_RATIO_MAX: f64 = 1.2;
/// As many calls as a project may have running.
const CALLERS: usize = 8;
/// How long a caller pauses between an answer and its next call.
const PAUSE: Duration = Duration::from_millis(100);
const TRICKS: [&str; 6] = ["hang", "drip", "flood", "flood-events", "reset", "slow"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Length of each measurement, in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Number of rounds; the medians count
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Number of records in the searched project
    #[arg(long, default_value_t = 1_000)]
    records: usize,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    overhead: Vec<Overhead>,
    neighbours: Vec<Neighbour>,
}

/// The same calls at the upstream itself and through the gateway.
#[derive(Serialize)]
struct Overhead {
    clients: usize,
    direct: Waits,
    through: Waits,
}

/// Searches of another project while an upstream misbehaves.
#[derive(Serialize)]
struct Neighbour {
    upstream: &'static str,
    alone_p99_us: f64,
    then_p99_us: f64,
    ratio: f64,
    is_met: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.rounds == 0 || args.records == 0 || args.seconds <= 0.0 {
        bail!("--rounds, --records and --seconds must be greater than 0");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(args))?;
    args.json.write(&figures)?;
    if !figures.neighbours.iter().all(|neighbour| neighbour.is_met) {
        std::process::exit(1);
    }
    Ok(())
}

async fn measure(args: &Args) -> Result<Figures> {
    let scratch = tempfile::tempdir()?;
    let service = Started::gateway(&scratch.path().join("data"))?;
    let cores = std::thread::available_parallelism()?.get();
    println!("{cores} cores, medians of {} x {} s\n", args.rounds, args.seconds);
    let overhead = overhead(args, &service).await?;
    println!();
    Ok(Figures { overhead, neighbours: neighbours(args, &service).await? })
}

/// One measurement.
#[derive(Debug, Clone, Copy, Serialize)]
struct Waits {
    calls_per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

async fn overhead(args: &Args, service: &Started) -> Result<Vec<Overhead>> {
    let upstream = Upstream::start("none")?;
    let world = World::find(service).await?;
    world.add_integration(&upstream).await?;
    let arguments = json!({"text": "twelve words of text, about as much as a short question has"});
    let direct = modern_call(&arguments);
    let through = call("host_readonly.echo", &arguments);
    println!("{:26}{:>8}{:>10}{:>10}{:>10}", "", "clients", "calls/s", "p50 µs", "p99 µs");
    let mut rows = Vec::new();
    for clients in [1, CALLERS] {
        let (mut at_upstream, mut at_service) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
            at_upstream.push(drive(upstream.address, headers, &direct, clients, args.seconds).await?);
            at_service.push(drive(service.address, &bearer(&service.key), &through, clients, args.seconds).await?);
        }
        let (direct, through) = (median(&at_upstream), median(&at_service));
        for (name, waits) in [("at the upstream itself", direct), ("through the gateway", through)] {
            println!(
                "{name:26}{clients:>8}{:>10.0}{:>10.0}{:>10.0}",
                waits.calls_per_second, waits.p50_us, waits.p99_us
            );
        }
        println!(
            "{:26}{clients:>8}{:>10}{:>+10.0}{:>+10.0}",
            "added by the gateway",
            "",
            through.p50_us - direct.p50_us,
            through.p99_us - direct.p99_us
        );
        rows.push(Overhead { clients, direct, through });
    }
    world.remove_integration().await?;
    Ok(rows)
}

async fn neighbours(args: &Args, service: &Started) -> Result<Vec<Neighbour>> {
    let world = World::find(service).await?;
    let neighbour = world.other_project().await?;
    let mut wire = Wire::connect(service.address, &neighbour).await?;
    for number in 0..args.records {
        let text =
            format!("Service number {number} listens on port {} and belongs to team {}", number + 1_000, number % 17);
        wire.call("remember", &json!({"content": text})).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    }
    let search = call("search", &json!({"query": "which team owns the service on port 1007"}));
    let bearer = bearer(&neighbour);
    println!("searches in another project, one client, while {CALLERS} callers use an upstream that ...");
    println!("{:26}{:>12}{:>12}{:>8}", "", "alone p99", "then p99", "ratio");
    let mut rows = Vec::new();
    for trick in TRICKS {
        let upstream = Upstream::start(trick)?;
        world.add_integration(&upstream).await?;
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            alone.push(drive(service.address, &bearer, &search, 1, args.seconds).await?);
            let callers = world.hammer();
            beside.push(drive(service.address, &bearer, &search, 1, args.seconds).await?);
            callers.into_iter().for_each(|caller| caller.abort());
        }
        let (alone_p99_us, then_p99_us) = (median(&alone).p99_us, median(&beside).p99_us);
        let ratio = then_p99_us / alone_p99_us;
        let is_met = ratio <= NEIGHBOUR_P99_RATIO_MAX;
        let verdict = if is_met { "PASS" } else { "FAIL" };
        println!("{trick:26}{alone_p99_us:>9.0} µs{then_p99_us:>9.0} µs{ratio:>7.2}x  {verdict}");
        rows.push(Neighbour { upstream: trick, alone_p99_us, then_p99_us, ratio, is_met });
        world.remove_integration().await?;
    }
    println!("\nbar: the others' p99 stays within {NEIGHBOUR_P99_RATIO_MAX} x");
    Ok(rows)
}

fn call(tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

fn modern_call(arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "echo", "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

/// Lets clients send one body again and again.
async fn drive(address: SocketAddr, headers: &str, body: &str, clients: usize, seconds: f64) -> Result<Waits> {
    let ends = Instant::now() + Duration::from_secs_f64(seconds);
    let mut running = Vec::new();
    for _ in 0..clients {
        let mut wire = Wire::connect_with(address, headers).await?;
        let body = body.to_owned();
        running.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while Instant::now() < ends {
                let began = Instant::now();
                let answer = wire.post(&body).await?;
                waits.push(began.elapsed().as_nanos() as u64);
                let is_success = answer.status == 200 && !answer.body.windows(14).any(|w| w == br#""isError":true"#);
                ensure!(is_success, "{}", String::from_utf8_lossy(answer.body));
            }
            Ok(waits)
        }));
    }
    let mut waits = Vec::new();
    for client in running {
        waits.extend(client.await.context("a client panicked")??);
    }
    ensure!(!waits.is_empty(), "no call was answered");
    waits.sort_unstable();
    let quantile = |q: f64| waits[((waits.len() as f64 * q) as usize).min(waits.len() - 1)] as f64 / 1e3;
    Ok(Waits { calls_per_second: waits.len() as f64 / seconds, p50_us: quantile(0.5), p99_us: quantile(0.99) })
}

fn median(waits: &[Waits]) -> Waits {
    let of = |part: fn(&Waits) -> f64| {
        let mut parts: Vec<f64> = waits.iter().map(part).collect();
        parts.sort_by(f64::total_cmp);
        parts[parts.len() / 2]
    };
    Waits { calls_per_second: of(|w| w.calls_per_second), p50_us: of(|w| w.p50_us), p99_us: of(|w| w.p99_us) }
}

/// The service's first account, with its admin's key.
struct World {
    address: SocketAddr,
    key: String,
    account: String,
    project: String,
}

impl World {
    async fn find(service: &Started) -> Result<Self> {
        let mut wire = Wire::connect(service.address, &service.key).await?;
        let whose = wire.call("validate_memory", &json!({"source_id": "whose"})).await;
        let whose = whose.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let text = |name: &str| whose[name].as_str().unwrap_or_default().to_owned();
        let (account, project) = (text("tenant_id"), text("project_id"));
        Ok(Self { address: service.address, key: service.key.clone(), account, project })
    }

    async fn add_integration(&self, upstream: &Upstream) -> Result<()> {
        let body = json!({"url": format!("http://{}/mcp", upstream.address), "allow": ["echo"]});
        let added = self.admin("PUT", &format!("/projects/{}/integrations/host", self.project), &body).await?;
        ensure!(added["works"] == json!(true), "the integration does not work: {added}");
        Ok(())
    }

    async fn remove_integration(&self) -> Result<()> {
        self.admin("DELETE", &format!("/projects/{}/integrations/host", self.project), &json!({})).await?;
        Ok(())
    }

    /// A key of another project.
    async fn other_project(&self) -> Result<String> {
        let path = format!("/accounts/{}/projects", self.account);
        let project = self.admin("POST", &path, &json!({"name": "Neighbour"})).await?;
        let members = self.admin("GET", &format!("/accounts/{}/members", self.account), &Value::Null).await?;
        let body = json!({"member_id": members["members"][0]["id"], "access": "write"});
        let path = format!("/projects/{}/keys", project["id"].as_str().unwrap_or_default());
        let made = self.admin("POST", &path, &body).await?;
        Ok(made["key"].as_str().context("a key")?.to_owned())
    }

    /// Callers of the integration who never stop, whatever the answer.
    fn hammer(&self) -> Vec<JoinHandle<()>> {
        let body = call("host_readonly.echo", &json!({"text": "x"}));
        let caller = |_| {
            let (address, key, body) = (self.address, self.key.clone(), body.clone());
            tokio::spawn(async move {
                let Ok(mut wire) = Wire::connect(address, &key).await else { return };
                while wire.post(&body).await.is_ok() {
                    // An assistant reads its answer before it calls again; without a pause the refusals themselves
                    // would be the load.
                    tokio::time::sleep(PAUSE).await;
                }
            })
        };
        (0..CALLERS).map(caller).collect()
    }

    async fn admin(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} /admin/v1{path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an HTTP answer")?;
        let is_success = head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.1 201");
        ensure!(is_success, "{method} {path}: {answer}");
        Ok(serde_json::from_str(body)?)
    }
}
