//! Three nodes, one PostgreSQL and a balancer, all real processes: what each save and revocation means on the other
//! nodes, and what is left after a node or the database was killed.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use serde_json::{Value, json};

use super::balancer::Balancer;
use super::service::{Program, Service, Signal};

const NODES: usize = 3;
/// How long the service may take to answer again after the database does.
const BACK_MAX: Duration = Duration::from_secs(5);
/// How long a node may take to stop when it is told to.
const STOP_MAX: Duration = Duration::from_secs(10);
/// How much a node may grow while the database is down.
const GROWTH_MAX_BYTES: u64 = 64 << 20;

pub struct Nodes {
    pub balancer: Balancer,
    pub services: Vec<Option<Service>>,
    /// Where each of them shows its figures to everybody.
    pub figures: Vec<SocketAddr>,
    /// The admin's key of the first account.
    pub key: String,
    operator: String,
    programs: Vec<Program>,
    client: reqwest::Client,
}

/// What nodes are told beside their database.
#[derive(Debug, Clone, Default)]
pub struct NodeOptions {
    /// Where they may read.
    pub replicas: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
}

impl Nodes {
    /// Starts nodes on a database, which may be empty, and a balancer in front of them.
    pub async fn start(binary: &Path, url: &str, scratch: &Path) -> Result<Self> {
        Self::start_with(binary, url, &NodeOptions::default(), scratch).await
    }

    /// The same, with more said about the nodes.
    pub async fn start_with(binary: &Path, url: &str, options: &NodeOptions, scratch: &Path) -> Result<Self> {
        let (mut programs, mut services) = (Vec::new(), Vec::new());
        let (mut key, mut operator, mut figures) = (None, None, Vec::new());
        for nth in 0..NODES {
            let folder = scratch.join(format!("node-{nth}"));
            std::fs::create_dir_all(&folder)?;
            let mut program = Program::new(binary, &folder, &folder);
            program.database = Some(url.to_owned());
            program.replicas = options.replicas.clone();
            program.environment.clone_from(&options.environment);
            let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            program.environment.push(("MNEMON_METRICS_LISTEN", free.to_string()));
            figures.push(free);
            program.key.clone_from(&key);
            let service = program.start().await?;
            key.get_or_insert_with(|| service.key.clone());
            operator = operator.or_else(|| service.operator_token.clone());
            programs.push(program);
            services.push(Some(service));
        }
        let addresses: Vec<SocketAddr> = services.iter().flatten().map(|service| service.address).collect();
        Ok(Self {
            balancer: Balancer::start(&addresses, scratch)?,
            services,
            figures,
            key: key.context("the first node made a key")?,
            operator: operator.context("the first node made the operator's token")?,
            programs,
            client: crate::caller::plain_client(),
        })
    }

    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    fn node(&self, nth: usize) -> Result<&Service> {
        self.services[nth].as_ref().context("the node runs")
    }

    /// Calls a tool through the balancer, or at an address.
    pub async fn call(&self, at: SocketAddr, key: &str, tool: &str, arguments: Value) -> Result<Value> {
        call(&self.client, at, key, tool, arguments, None).await
    }

    /// A figure of all nodes together, by the start of its lines.
    pub async fn figure(&self, name: &str) -> Result<u64> {
        let mut sum = 0;
        for service in self.services.iter().flatten() {
            let url = format!("http://{}/metrics", service.address);
            let page =
                self.client.get(url).bearer_auth(&self.operator).send().await?.error_for_status()?.text().await?;
            let lines = page.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
            sum += lines.sum::<u64>();
        }
        Ok(sum)
    }

    async fn manage(&self, method: reqwest::Method, path: &str, body: Value) -> Result<Value> {
        let url = format!("http://{}/admin/v1{path}", self.balancer.address);
        let request = self.client.request(method, url).bearer_auth(&self.operator);
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "{path}: {status} {text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// Saves through one node and searches through another, as the balancer assigns them. Returns how many saves were
    /// found.
    pub async fn read_your_writes(&self, count: usize) -> Result<usize> {
        let mut seen = 0;
        for n in 0..count {
            let text = format!("the bolt marked m{n}x is in drawer {n}");
            let saved = self.call(self.balancer.address, &self.key, "remember", json!({"content": text})).await?;
            let query = json!({"query": format!("m{n}x"), "limit": 1});
            let found = self.call(self.balancer.address, &self.key, "search", query).await?;
            seen += usize::from(found["structuredContent"]["result"][0]["id"] == saved["structuredContent"]["id"]);
        }
        Ok(seen)
    }

    /// Creates keys, uses each on every node, revokes it, and tries every node again, in turns by a save and by the
    /// list of tools. Returns how many were refused everywhere and saved nothing.
    pub async fn revocations(&self, count: usize) -> Result<usize> {
        let (project, member) = self.whoami().await?;
        let mut refused = 0;
        for round in 0..count {
            let path = format!("/projects/{project}/keys");
            let made =
                self.manage(reqwest::Method::POST, &path, json!({"member_id": member, "access": "write"})).await?;
            let (id, key) = (text(&made, "key_id")?, text(&made, "key")?);
            for nth in 0..NODES {
                let content = format!("key {round} works on node {nth}");
                self.call(self.node(nth)?.address, &key, "remember", json!({"content": content})).await?;
            }
            self.manage(reqwest::Method::DELETE, &format!("/keys/{id}"), Value::Null).await?;
            let mut statuses = Vec::new();
            let smuggled = format!("smuggled{round}");
            for nth in 0..NODES {
                let (method, params) = match round % 2 {
                    0 => ("tools/call", json!({"name": "remember", "arguments": {"content": smuggled}})),
                    _ => ("tools/list", json!({})),
                };
                statuses.push(self.status(self.node(nth)?.address, &key, method, params).await?);
            }
            ensure!(self.is_stored(&format!("key {round} works on node 0")).await?, "what a key saved while it worked");
            let is_saved = self.is_stored(&smuggled).await?;
            // After many refusals an address is told to wait; but only once the key was looked up and found wanting.
            refused += usize::from(!is_saved && statuses.iter().all(|status| matches!(status, 401 | 429)));
        }
        Ok(refused)
    }

    /// Whether a search finds a record with exactly this text.
    async fn is_stored(&self, text: &str) -> Result<bool> {
        let found = self.call(self.balancer.address, &self.key, "search", json!({"query": text})).await?;
        let records = found["structuredContent"]["result"].as_array().context("a list of results")?;
        Ok(records.iter().any(|record| record["content"] == json!(text)))
    }

    async fn status(&self, at: SocketAddr, key: &str, method: &str, params: Value) -> Result<u16> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.client.post(format!("http://{at}/mcp")).bearer_auth(key).json(&body);
        Ok(request.header("accept", "application/json, text/event-stream").send().await?.status().as_u16())
    }

    async fn whoami(&self) -> Result<(String, String)> {
        let saved = self.call(self.balancer.address, &self.key, "remember", json!({"content": "who am I"})).await?;
        let project = text(&saved["structuredContent"], "project_id")?;
        let account = text(&saved["structuredContent"], "tenant_id")?;
        let members = self.manage(reqwest::Method::GET, &format!("/accounts/{account}/members"), Value::Null).await?;
        Ok((project, text(&members["members"][0], "id")?))
    }

    /// Calls with a key of the free plan (60 calls a minute) at a steady pace through the balancer. Returns how many
    /// passed.
    pub async fn rate_limit(&self, calls: usize, pace: Duration) -> Result<usize> {
        let account = self.manage(reqwest::Method::POST, "/accounts", json!({"name": "Free", "plan": "free"})).await?;
        let account = text(&account, "id")?;
        let project =
            self.manage(reqwest::Method::POST, &format!("/accounts/{account}/projects"), json!({"name": "p"})).await?;
        let body = json!({"name": "Fay", "role": "admin"});
        let member = self.manage(reqwest::Method::POST, &format!("/accounts/{account}/members"), body).await?;
        let path = format!("/projects/{}/keys", text(&project, "id")?);
        let body = json!({"member_id": text(&member, "id")?, "access": "write"});
        let key = text(&self.manage(reqwest::Method::POST, &path, body).await?, "key")?;
        let mut passed = 0;
        let mut ticks = tokio::time::interval(pace);
        // Late calls are skipped: in a burst, more of them would pass than at this pace.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for n in 0..calls {
            ticks.tick().await;
            let answer =
                self.call(self.balancer.address, &key, "remember", json!({"content": format!("fact {n}")})).await;
            match answer {
                Ok(_) => passed += 1,
                Err(error) if error.to_string().contains("MCP rate limit exceeded") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(passed)
    }

    /// Kills a node and starts it again.
    pub async fn kill_node(&mut self, nth: usize) -> Result<()> {
        let service = self.services[nth].take().context("the node runs")?;
        let address = service.address;
        service.kill()?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.start_node(nth, address).await
    }

    /// Asks a node to stop, waits until it has, and starts it again.
    pub async fn restart_node(&mut self, nth: usize) -> Result<()> {
        let mut service = self.services[nth].take().context("the node runs")?;
        let address = service.address;
        service.signal(Signal::Terminate)?;
        service.wait(STOP_MAX).await?;
        self.start_node(nth, address).await
    }

    async fn start_node(&mut self, nth: usize, address: SocketAddr) -> Result<()> {
        self.programs[nth].listen = Some(address);
        self.programs[nth].key = Some(self.key.clone());
        self.services[nth] = Some(self.programs[nth].start().await?);
        Ok(())
    }

    /// Stops a node in the middle of its work, or lets it go on.
    pub fn pause_node(&self, nth: usize, is_paused: bool) -> Result<()> {
        self.node(nth)?.signal(if is_paused { Signal::Stop } else { Signal::Continue })
    }

    /// The largest memory use of any node.
    pub fn resident_bytes(&self) -> u64 {
        let bytes = |service: &Service| crate::process::resident_bytes(service.pid).unwrap_or(0);
        self.services.iter().flatten().map(bytes).max().unwrap_or(0)
    }
}

fn text(value: &Value, key: &str) -> Result<String> {
    value[key].as_str().map(str::to_owned).with_context(|| format!("{value} has no {key}"))
}

async fn call(
    client: &reqwest::Client,
    at: SocketAddr,
    key: &str,
    tool: &str,
    arguments: Value,
    idempotency_key: Option<&str>,
) -> Result<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut request = client.post(format!("http://{at}/mcp")).bearer_auth(key).json(&body);
    request = request.header("accept", "application/json, text/event-stream").timeout(Duration::from_secs(10));
    if let Some(idempotency_key) = idempotency_key {
        request = request.header("x-idempotency-key", idempotency_key);
    }
    let response = request.send().await?;
    let status = response.status();
    let text = response.text().await?;
    ensure!(status.is_success(), "{status} {text}");
    let answer: Value = serde_json::from_str(&text)?;
    let result = &answer["result"];
    if result["isError"] == true {
        bail!("{}", result["content"][0]["text"].as_str().unwrap_or_default());
    }
    Ok(result.clone())
}

/// The answers that writers got, and what was found in the end.
#[derive(Debug, Clone, Default)]
pub struct NodesReport {
    pub acknowledged: usize,
    /// How many of them are missing.
    pub lost: usize,
    /// How many records exist more than once.
    pub doubled: usize,
    /// Calls that failed and were repeated.
    pub failed: usize,
    /// How many of them failed with an unexpected error.
    pub other_words: Vec<String>,
    /// The longest time from the database's return to the first save.
    pub back_max: Duration,
    pub growth_bytes: u64,
    /// The longest wait of a writer or a searcher for an answer, of whatever kind.
    pub answer_max: Duration,
    pub searches: usize,
    /// How many of them were not answered with what was asked for.
    pub searches_failed: usize,
    /// The longest time in which none succeeded.
    pub searches_out_max: Duration,
}

impl NodesReport {
    /// Nothing lost, nothing doubled, back in time, no memory growth.
    pub fn is_passed(&self) -> bool {
        self.acknowledged > 0
            && self.lost == 0
            && self.doubled == 0
            && self.back_max <= BACK_MAX
            && self.growth_bytes <= GROWTH_MAX_BYTES
    }
}

/// The answers that writers got, before they are compared with what is stored.
pub struct Told {
    report: NodesReport,
    ids: HashSet<String>,
}

impl Told {
    /// Compares it with the answers to [`Nodes::STORED`] and [`Nodes::DOUBLED`].
    pub fn compare(mut self, stored: &str, doubled: &str) -> Result<NodesReport> {
        let stored: HashSet<&str> = stored.lines().collect();
        self.report.lost = self.ids.iter().filter(|id| !stored.contains(id.as_str())).count();
        self.report.doubled = doubled.trim().parse()?;
        Ok(self.report)
    }
}

/// Saves through the balancer until it is stopped, repeating each save with its idempotency key until it is
/// acknowledged.
struct Writer {
    task: tokio::task::JoinHandle<Result<Written>>,
}

#[derive(Default)]
struct Written {
    acknowledged: Vec<(String, String)>,
    failed: usize,
    other_words: Vec<String>,
    answer_max: Duration,
}

/// Searches through the balancer until it is stopped, for a record that is there all the time.
#[derive(Default)]
struct Searched {
    count: usize,
    failed: usize,
    answer_max: Duration,
    out_max: Duration,
}

/// What searchers look for.
const LANDMARK: &str = "the lighthouse stands on the rock";

async fn search_on(client: reqwest::Client, at: SocketAddr, key: String, stop: Arc<AtomicBool>) -> Searched {
    let mut searched = Searched::default();
    let mut succeeded = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let began = Instant::now();
        let query = json!({"query": "lighthouse", "workspace": "landmarks", "limit": 1});
        let found = call(&client, at, &key, "search", query, None).await;
        searched.answer_max = searched.answer_max.max(began.elapsed());
        searched.count += 1;
        let is_found = found.is_ok_and(|found| found["structuredContent"]["result"][0]["content"] == json!(LANDMARK));
        searched.failed += usize::from(!is_found);
        searched.out_max = searched.out_max.max(succeeded.elapsed());
        if is_found {
            succeeded = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    searched
}

/// Errors that a caller may see while something is being killed.
const EXPECTED: [&str; 5] = ["storage is unavailable", "storage is full", "error sending request", "502", "503"];

impl Writer {
    fn start(nodes: &Nodes, nth: usize, stop: &Arc<AtomicBool>) -> Self {
        let (at, key, stop) = (nodes.balancer.address, nodes.key.clone(), Arc::clone(stop));
        let client = nodes.client.clone();
        let task = tokio::spawn(async move {
            let mut written = Written::default();
            for n in 0.. {
                if stop.load(Ordering::Acquire) {
                    break;
                }
                let content = format!("writer {nth} saved number {n}");
                let idempotency_key = format!("w{nth}-{n}");
                let began = Instant::now();
                loop {
                    let arguments = json!({"content": content, "workspace": format!("w{nth}")});
                    let asked = Instant::now();
                    let answer = call(&client, at, &key, "remember", arguments, Some(&idempotency_key)).await;
                    written.answer_max = written.answer_max.max(asked.elapsed());
                    match answer {
                        Ok(saved) => {
                            written.acknowledged.push((text(&saved["structuredContent"], "id")?, content));
                            break;
                        }
                        Err(error) => {
                            written.failed += 1;
                            let words = format!("{error:#}");
                            ensure!(began.elapsed() < GIVE_UP_AFTER, "a save is refused on and on: {words}");
                            if !EXPECTED.iter().any(|expected| words.contains(expected)) {
                                written.other_words.push(words);
                            }
                            tokio::time::sleep(Duration::from_millis(50)).await;
                        }
                    }
                }
            }
            Ok(written)
        });
        Self { task }
    }
}

const WRITERS: usize = 8;
/// Longer than any fault lasts.
const GIVE_UP_AFTER: Duration = Duration::from_secs(900);

impl Nodes {
    /// Lets writers run while `fault` happens, then compares what is stored with their answers.
    pub async fn under_load(
        &mut self,
        fault: impl AsyncFnOnce(&mut Self) -> Result<Duration>,
        database: impl Fn(&str) -> Result<String>,
    ) -> Result<NodesReport> {
        let told = self.under_load_of(fault).await?;
        told.compare(&database(Self::STORED)?, &database(Self::DOUBLED)?)
    }

    /// Asks for the ids of what the writers stored.
    pub const STORED: &str = "SELECT id FROM record WHERE content LIKE 'writer %' AND forgotten_at IS NULL";
    /// Asks how many of their texts are stored once more.
    pub const DOUBLED: &str = "SELECT COUNT(*) - COUNT(DISTINCT content) FROM record WHERE content LIKE 'writer %'";

    /// Lets writers run while `fault` happens, and returns their answers.
    pub async fn under_load_of(&mut self, fault: impl AsyncFnOnce(&mut Self) -> Result<Duration>) -> Result<Told> {
        let stop = Arc::new(AtomicBool::new(false));
        let landmark = json!({"content": LANDMARK, "workspace": "landmarks"});
        self.call(self.balancer.address, &self.key, "remember", landmark).await?;
        let writers: Vec<Writer> = (0..WRITERS).map(|nth| Writer::start(self, nth, &stop)).collect();
        let (client, at, key) = (self.client.clone(), self.balancer.address, self.key.clone());
        let searcher = tokio::spawn(search_on(client, at, key, Arc::clone(&stop)));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = self.resident_bytes();
        let back_max = fault(self).await?;
        let growth_bytes = self.resident_bytes().saturating_sub(before);
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.store(true, Ordering::Release);
        let mut report = NodesReport { back_max, growth_bytes, ..NodesReport::default() };
        let mut told: HashSet<String> = HashSet::new();
        for writer in writers {
            let written = writer.task.await??;
            report.failed += written.failed;
            report.answer_max = report.answer_max.max(written.answer_max);
            report.other_words.extend(written.other_words);
            report.acknowledged += written.acknowledged.len();
            told.extend(written.acknowledged.into_iter().map(|(id, _)| id));
        }
        let searched = searcher.await?;
        report.answer_max = report.answer_max.max(searched.answer_max);
        (report.searches, report.searches_failed) = (searched.count, searched.failed);
        report.searches_out_max = searched.out_max;
        Ok(Told { report, ids: told })
    }

    /// Waits until a save works again, and returns how long it took.
    pub async fn until_back(&self) -> Result<Duration> {
        let began = Instant::now();
        loop {
            let content = json!({"content": format!("back after {:?}", began.elapsed())});
            if self.call(self.balancer.address, &self.key, "remember", content).await.is_ok() {
                return Ok(began.elapsed());
            }
            ensure!(began.elapsed() < GIVE_UP_AFTER, "the service does not come back");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A server whose commits reach the disk.
pub fn durable_cluster() -> Result<Cluster> {
    Ok(Cluster::start(ClusterOptions { is_durable: true, ..ClusterOptions::default() })?)
}

/// A primary, and a standby that confirms every commit.
pub fn synchronous_pair() -> Result<(Cluster, Cluster)> {
    let primary = durable_cluster()?;
    let standby = Cluster::standby_of(&primary, "standby")?;
    primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'")?;
    primary.sql("postgres", "SELECT pg_reload_conf()")?;
    let began = Instant::now();
    while primary.sql("postgres", "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'")? != "1" {
        ensure!(began.elapsed() < Duration::from_secs(30), "the standby does not follow");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok((primary, standby))
}

/// The URL of whichever of the two accepts writes.
pub fn url_of_both(primary: &Cluster, standby: &Cluster, database: &str) -> String {
    let host = |cluster: &Cluster| cluster.folder().display().to_string().replace('/', "%2F");
    format!("postgres://postgres@{},{}/{database}?target_session_attrs=read-write", host(primary), host(standby))
}

/// Kills a server and its children, with no chance to clean up.
pub fn kill_server(cluster: &Cluster) -> Result<()> {
    let pid = cluster.pid()?;
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    super::service::send(pid, Signal::Kill)?;
    for child in children.split_whitespace() {
        let _ = super::service::send(child.parse()?, Signal::Kill);
    }
    Ok(())
}

/// Freezes a server and its children, or lets them go on: it is there, and answers nobody.
pub fn freeze_server(cluster: &Cluster, is_frozen: bool) -> Result<()> {
    let pid = cluster.pid()?;
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let signal = if is_frozen { Signal::Stop } else { Signal::Continue };
    super::service::send(pid, signal)?;
    for child in children.split_whitespace() {
        // One that ended meanwhile needs no signal.
        let _ = super::service::send(child.parse()?, signal);
    }
    Ok(())
}

/// Restarts a killed server: its children may have to be gone first.
pub fn restart_server(cluster: &Cluster) -> Result<()> {
    let began = Instant::now();
    while let Err(error) = cluster.start_again() {
        ensure!(began.elapsed() < Duration::from_secs(30), "PostgreSQL does not start again: {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
