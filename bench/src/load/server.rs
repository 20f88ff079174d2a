//! The servers under measurement, each in its own process: the service on embedded storage, and the floor, which is the
//! same program with the same layers and the same loop but answers a fixed body.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use mnemon_core::{Access, PlanName, PlanTable, REQUEST_BYTES_MAX};
use mnemon_engine::admin::{AdminError, NewKeyRequest};
use mnemon_engine::integrations::{IntegrationSettings, Limits};
use mnemon_engine::{Engine, EngineConfig, FirstStart, SystemClock, SystemIds};
use mnemon_gateway::{Outgoing, OutgoingConfig};
use mnemon_server::config::{ServerConfig, machine_memory_bytes};
use mnemon_server::{Answers, App, ConnectionLimit, Doors, router, with_layers};
use mnemon_store::Store;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::sqlite::SqliteStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const INDEX_BYTES_MAX: usize = 512 << 20;

/// What to serve; the bench starts itself with these.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// The service, with this data directory
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// The service on this PostgreSQL database
    #[arg(long, conflicts_with = "data_dir")]
    database: Option<String>,
    /// Maximum number of saves that PostgreSQL stores in one transaction
    #[arg(long, default_value_t = 64)]
    batch_max: usize,
    /// How many projects the first start makes, each with a key
    #[arg(long, default_value_t = 1)]
    projects: usize,
    /// The floor, with answers of this size
    #[arg(long, default_value_t = 0)]
    floor_bytes: usize,
    /// Let integrations reach this machine, and end their calls after a second
    #[arg(long)]
    gateway: bool,
}

/// Serves until standard input ends: a server must not outlive the bench that started it.
pub(crate) fn run(args: &ServerArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (doors, keys) = match (&args.data_dir, &args.database) {
            (Some(dir), _) => service(Arc::new(SqliteStore::open(dir)?), address, args).await?,
            (None, Some(url)) => {
                let config = PostgresConfig { batch_max: args.batch_max, ..PostgresConfig::new(url) };
                service(Arc::new(PostgresStore::open(config).await?), address, args).await?
            }
            (None, None) => return serve(listener, floor(args.floor_bytes), Vec::new()).await,
        };
        serve(listener, doors, keys).await
    })
}

async fn serve(listener: TcpListener, doors: impl Answers, keys: Vec<String>) -> Result<()> {
    let address = listener.local_addr()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", json!({"address": address.to_string(), "keys": keys}))?;
    stdout.flush()?;
    Ok(mnemon_server::serve(listener, doors, ConnectionLimit::by_memory(machine_memory_bytes()), end_of_input())
        .await?)
}

/// The service, and the keys that its first start created; later nodes of a database have none to report.
async fn service(store: Arc<dyn Store>, address: SocketAddr, args: &ServerArgs) -> Result<(Doors, Vec<String>)> {
    let allowed_hosts = if args.gateway { vec!["127.0.0.1".to_owned()] } else { Vec::new() };
    let outgoing = Outgoing::new(&OutgoingConfig { allowed_hosts, ..OutgoingConfig::default() })?;
    let config = EngineConfig { plans: plans(), index_bytes_max: INDEX_BYTES_MAX, outgoing };
    let limits = Limits { call_timeout: Duration::from_secs(1), ..Limits::default() };
    let settings = IntegrationSettings { limits, ..IntegrationSettings::default() };
    let engine = Engine::new(store, Arc::new(SystemClock), Arc::new(SystemIds), config);
    let engine = Arc::new(engine.with_integrations(settings));
    let keys = match engine.first_start().await? {
        Some(first) => first_keys(&engine, &first, args.projects).await?,
        None => Vec::new(),
    };
    let server = ServerConfig {
        service_name: "Mnemon".to_owned(),
        listen: address,
        base_url: None,
        allowed_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        memory_bytes: machine_memory_bytes(),
        connections_max: None,
    };
    let app = App::new(engine, &server, &format!("http://{address}"));
    Ok((router(app), keys))
}

/// The account of a first start has limits here, as the accounts of a hosted service have: none that a run reaches, but
/// each call is counted and each save is checked.
fn plans() -> PlanTable {
    let mut plans = PlanTable::default();
    let limits = plans.limits_mut(PlanName::Unlimited);
    (limits.records_max, limits.connection_calls_max, limits.project_calls_max) =
        (Some(u64::MAX >> 2), Some(u32::MAX), Some(u32::MAX));
    plans
}

/// The first project's key, and those of further projects of the same account.
async fn first_keys(engine: &Engine, first: &FirstStart, projects: usize) -> Result<Vec<String>> {
    let mut keys = vec![first.key.expose().clone()];
    let ctx = engine.authenticate_admin(&keys[0]).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let failed = |error: AdminError| anyhow::anyhow!("{error:?}");
    for nth in 1..projects {
        let project = engine.create_project(&ctx, first.account.id, &format!("project {nth}")).await.map_err(failed)?;
        let (member, access) = (first.member.id, Access::Write);
        let request = NewKeyRequest { id: None, member, access, label: None, expires_at: None, workspace: None };
        let made = engine.create_key(&ctx, project.id, request).await.map_err(failed)?;
        keys.push(made.key.expose().clone());
    }
    Ok(keys)
}

fn floor(body_bytes: usize) -> Router {
    let answer = Bytes::from(vec![b'x'; body_bytes]);
    with_layers(Router::new().route("/mcp", post(fixed)).with_state(answer))
}

async fn fixed(State(answer): State<Bytes>, body: Body) -> Response {
    // Read as the service reads it; its content does not matter here.
    let _ = to_bytes(body, REQUEST_BYTES_MAX).await;
    let mut response = Response::new(Body::from(answer));
    let headers = response.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static("application/json"));
    headers.insert("cache-control", http::HeaderValue::from_static("no-store"));
    response
}

async fn end_of_input() {
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let _ = ended.await;
}

pub(crate) struct Started {
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    /// One for each project.
    pub(crate) keys: Vec<String>,
    child: Child,
}

impl Started {
    pub(crate) fn service(dir: &Path) -> Result<Self> {
        Self::service_by(&std::env::current_exe()?, dir)
    }

    /// The service of another build of this bench.
    pub(crate) fn service_by(program: &Path, dir: &Path) -> Result<Self> {
        Self::start_program(program, &["--data-dir".to_owned(), dir.display().to_string()])
    }

    /// The service with several projects.
    pub(crate) fn service_of(dir: &Path, projects: usize) -> Result<Self> {
        let dir = dir.display().to_string();
        Self::start(&["--data-dir".to_owned(), dir, "--projects".to_owned(), projects.to_string()])
    }

    /// A first node on a database, with several projects.
    pub(crate) fn node_of(url: &str, projects: usize) -> Result<Self> {
        Self::start(&["--database".to_owned(), url.to_owned(), "--projects".to_owned(), projects.to_string()])
    }

    /// The same by another build of this bench.
    pub(crate) fn node_by(program: &Path, url: &str, projects: usize) -> Result<Self> {
        let args = ["--database".to_owned(), url.to_owned(), "--projects".to_owned(), projects.to_string()];
        Self::start_program(program, &args)
    }

    /// A node on a database. The first one creates the key; the others get it passed in.
    pub(crate) fn node(url: &str, batch_max: usize, key: Option<&str>) -> Result<Self> {
        let args = ["--database".to_owned(), url.to_owned(), "--batch-max".to_owned(), batch_max.to_string()];
        let mut node = Self::start(&args)?;
        if let Some(key) = key {
            node.key = key.to_owned();
        }
        Ok(node)
    }

    /// The service with integrations that reach this machine.
    pub(crate) fn gateway(dir: &Path) -> Result<Self> {
        Self::start(&["--data-dir".to_owned(), dir.display().to_string(), "--gateway".to_owned()])
    }

    pub(crate) fn floor(body_bytes: usize) -> Result<Self> {
        Self::start(&["--floor-bytes".to_owned(), body_bytes.to_string()])
    }

    fn start(args: &[String]) -> Result<Self> {
        Self::start_program(&std::env::current_exe()?, args)
    }

    fn start_program(program: &Path, args: &[String]) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("load-server").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("can't start {}", program.display()))?;
        let stdout = child.stdout.take().context("standard output was asked for")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("the server did not start")?;
        let address = ready["address"].as_str().unwrap_or_default().parse()?;
        // A build from before there were several projects has one key.
        let keys = ready["keys"].as_array().into_iter().flatten().chain(ready.get("key"));
        let keys: Vec<String> = keys.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Self { address, key: keys.first().cloned().unwrap_or_default(), keys, child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
