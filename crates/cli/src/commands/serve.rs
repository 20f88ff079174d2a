//! `mnemon serve`: the service, from configuration to shutdown.

mod secrets;
mod starting;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use mnemon_agent::private::replace;
use mnemon_core::Secret;
use mnemon_engine::{Engine, EngineConfig, FirstStart, SystemClock, SystemIds};
use mnemon_gateway::{Outgoing, OutgoingConfig};
use mnemon_server::config::{Config, OutgoingSettings};
use mnemon_server::{App, ConnectionLimit, router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::welcome;
use crate::arguments::Serve;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::traces::Traces;
use crate::{logging, settings, storage};

pub fn run(serve: &Serve, printer: &Printer) -> anyhow::Result<ExitCode> {
    let Loaded { config, advice, file } = settings::load_with_advice(&serve.settings)?;
    let traces = logging::start(&config.log, config.traces.as_ref())?;
    for advice in &advice {
        tracing::warn!("{advice}");
    }
    match file {
        Some(file) => tracing::info!("the configuration is in {}", file.display()),
        None => tracing::info!("there is no configuration file"),
    }
    if let Err(error) = mnemon_platform::process::raise_open_files() {
        tracing::warn!(%error, "can't raise the open-file limit; the service can hold fewer connections at a time");
    }
    if let Err(error) = mnemon_platform::process::refuse_huge_pages() {
        tracing::warn!(%error, "can't refuse huge pages; resident memory may rise without need");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_service(&config, serve.ready_file.as_deref(), printer, traces))?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

async fn run_service(
    config: &Config,
    ready_file: Option<&Path>,
    printer: &Printer,
    traces: Option<Traces>,
) -> anyhow::Result<()> {
    let place = storage::name(&config.storage);
    // Listen for signals before announcing the service: a script that waits for the announcement may stop it at once.
    let mut stopped = std::pin::pin!(stop_signal()?);
    // Bind before creating anything: if the port is taken, the first start must keep its one chance to show the key.
    let listener = bind(config.server.listen)?;
    let address = listener.local_addr()?;
    let Some((store, listener)) = starting::open(&config.storage, listener, stopped.as_mut()).await? else {
        return Ok(());
    };
    let engine_config = EngineConfig {
        plans: config.plans.clone(),
        index_bytes_max: config.recall.memory_bytes,
        outgoing: outgoing(&config.outgoing)?,
    };
    let mut engine = Engine::new(store, Arc::new(SystemClock), Arc::new(SystemIds), engine_config);
    engine = engine.with_integrations(config.integrations());
    engine = engine.with_document_hosts(config.outgoing.document_hosts.clone());
    if let Some(token) = &config.operator_token {
        engine = engine.with_operator_token(token);
    }
    let engine = Arc::new(engine);
    engine.check_integration_keys().await?;
    let base_url = config.server.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let first = engine.first_start().await.context("can't create the first account")?;
    let operator_token = engine.first_operator_token().await.context("can't create the operator token")?;
    let made = Made { first, operator_token };
    let by_memory = || ConnectionLimit::by_memory(config.server.memory_bytes);
    let connection_limit = config.server.connections_max.map_or_else(by_memory, ConnectionLimit::new);
    let mut app =
        App::new(Arc::clone(&engine), &config.server, &base_url).with_connection_limit(connection_limit.clone());
    if let Some(every) = config.log.access_every {
        app = app.with_access_log(every);
    }
    announce(printer, &base_url, address, &place, &made, &config.storage.data_dir);
    if let Some(path) = ready_file {
        write_ready_file(path, &base_url, address, &made)?;
    }
    let metrics = serve_metrics(config.metrics_listen, &app)?;
    let sending =
        traces.map(|traces| traces.start(&config.server.service_name, engine.node_id().to_string())).transpose()?;
    let upkeep = engine.start_upkeep();
    tracing::info!(%address, %base_url, storage = place, connections.max = connection_limit.count(), "listening");
    let served = mnemon_server::serve(listener, router(app), connection_limit, stopped).await;
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    if let Some(sending) = sending {
        sending.stop().await;
    }
    upkeep.stop().await;
    engine.close().await;
    Ok(served?)
}

fn outgoing(config: &OutgoingSettings) -> anyhow::Result<Outgoing> {
    // What is allowed is allowed to somebody, and said where their integrations are called.
    let mut outgoing = OutgoingConfig::default();
    if let Some(path) = &config.ca_file {
        let pem = std::fs::read(path).with_context(|| format!("can't read outgoing.ca_file {}", path.display()))?;
        outgoing.trust_pem(&pem).map_err(|problem| anyhow!("outgoing.ca_file {}: {problem}", path.display()))?;
    }
    Ok(Outgoing::new(&outgoing)?)
}

/// How many connections the address for figures holds: a scraper or two, and a person.
const METRICS_CONNECTIONS: usize = 16;

/// Serves figures on their own address. If that is taken, the service runs without: figures must not stop it.
fn serve_metrics(address: Option<SocketAddr>, app: &App) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some(address) = address else { return Ok(None) };
    let listener = match mnemon_server::bind(address) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%address, %error, "can't serve metrics there; choose another address with metrics.listen");
            return Ok(None);
        }
    };
    tracing::info!(address = %listener.local_addr()?, "serving metrics");
    let routes = mnemon_server::metrics_router(app.clone());
    let serving = async move {
        let connection_limit = ConnectionLimit::new(METRICS_CONNECTIONS);
        if let Err(error) = mnemon_server::serve(listener, routes, connection_limit, std::future::pending()).await {
            tracing::warn!(%error, "metrics are no longer served");
        }
    };
    Ok(Some(tokio::spawn(serving)))
}

fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    mnemon_server::bind(address).with_context(|| {
        format!("can't listen on {address}; choose another address with --listen, or stop the program that uses it")
    })
}

/// What the first start created; shown once.
struct Made {
    first: Option<FirstStart>,
    operator_token: Option<Secret<String>>,
}

impl Made {
    fn key(&self) -> Option<&str> {
        self.first.as_ref().map(|first| first.key.expose().as_str())
    }

    fn has_secrets(&self) -> bool {
        self.key().is_some() || self.operator_token().is_some()
    }

    fn operator_token(&self) -> Option<&str> {
        self.operator_token.as_ref().map(|token| token.expose().as_str())
    }
}

fn announce(printer: &Printer, base_url: &str, address: SocketAddr, place: &str, made: &Made, data_dir: &Path) {
    let at = welcome::listening(base_url, address);
    if made.has_secrets() && secrets::output_is_journal() {
        let file = data_dir.join(secrets::FILE);
        // As for machines, because a file has no bold type.
        let text = match made.key() {
            Some(key) => welcome::first_start(Printer::new(true), &at, base_url, place, key, made.operator_token()),
            None => welcome::later_start(&at, place, made.operator_token()),
        };
        match secrets::keep(&file, &text) {
            Ok(()) => return printer.text(&welcome::in_file(&at, &file)),
            // Shown to too many is better than never.
            Err(error) => tracing::warn!(%error, "can't write {}; the log has the secrets instead", file.display()),
        }
    }
    if printer.is_json() {
        let mcp = format!("{base_url}/mcp");
        return printer.value(&json!({
            "url": base_url,
            "mcp": mcp,
            "address": address.to_string(),
            "key": made.key(),
            "operator_token": made.operator_token(),
        }));
    }
    match made.key() {
        Some(key) => printer.styled(&welcome::first_start(*printer, &at, base_url, place, key, made.operator_token())),
        None => printer.text(&welcome::later_start(&at, place, made.operator_token())),
    }
}

/// Written whole in one step, because scripts wait for it. It holds secrets, so only the owner may read it.
fn write_ready_file(path: &Path, base_url: &str, address: SocketAddr, made: &Made) -> anyhow::Result<()> {
    let ready = json!({
        "url": base_url,
        "mcp": format!("{base_url}/mcp"),
        "address": address.to_string(),
        "key": made.key(),
        "operator_token": made.operator_token(),
    });
    let written = replace(path, ready.to_string().as_bytes(), Some(0o600));
    written.with_context(|| format!("can't write {}", path.display()))
}

fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let asked = mnemon_platform::signals::stop()?;
    Ok(async move {
        asked.await;
        tracing::info!("stopping; waiting for running requests to finish");
    })
}
