//! `mnemon serve`: the service, from configuration to shutdown.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use mnemon_engine::{Engine, EngineConfig, FirstStart, SystemClock, SystemIds};
use mnemon_server::config::Config;
use mnemon_server::{App, router};
use mnemon_store::sqlite::SqliteStore;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::welcome;
use crate::arguments::Serve;
use crate::printer::Printer;
use crate::{logging, settings};

pub fn run(serve: &Serve, printer: &Printer) -> anyhow::Result<ExitCode> {
    let config = settings::load(&serve.settings)?;
    logging::start(&config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_service(&config, serve.ready_file.as_deref(), printer))?;
    Ok(ExitCode::SUCCESS)
}

async fn run_service(config: &Config, ready_file: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let data_dir = &config.storage.data_dir;
    let store = SqliteStore::open(data_dir).with_context(|| format!("can't use {}", data_dir.display()))?;
    let engine_config = EngineConfig { plans: config.plans.clone(), index_bytes_max: config.recall.memory_bytes };
    let engine = Arc::new(Engine::new(Arc::new(store), Arc::new(SystemClock), Arc::new(SystemIds), engine_config));
    // Bound before anything is made: a taken port must not cost the first start its one chance to show the key.
    let listener = bind(config.server.listen).await?;
    let address = listener.local_addr()?;
    let base_url = config.server.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let first = engine.first_start().await.context("the first account could not be made")?;
    let app = App::new(Arc::clone(&engine), &config.server, &base_url);
    announce(printer, &base_url, data_dir, first.as_ref());
    if let Some(path) = ready_file {
        write_ready_file(path, &base_url, address, first.as_ref())?;
    }
    tracing::info!(%address, %base_url, data_dir = %data_dir.display(), "listening");
    let served = mnemon_server::serve(listener, router(app), stop_signal()?).await;
    engine.close().await;
    tracing::info!("stopped");
    Ok(served?)
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("can't listen on {address}: choose another address with --listen, or stop what uses it"))
}

fn announce(printer: &Printer, base_url: &str, data_dir: &Path, first: Option<&FirstStart>) {
    match first {
        Some(first) if printer.is_json() => {
            let value = json!({"url": base_url, "mcp": format!("{base_url}/mcp"), "key": first.key.expose()});
            printer.value(&value);
        }
        Some(first) => printer.text(&welcome::first_start(*printer, base_url, data_dir, first)),
        None if printer.is_json() => printer.value(&json!({"url": base_url, "mcp": format!("{base_url}/mcp")})),
        None => printer.text(&welcome::later_start(base_url, data_dir)),
    }
}

/// Written under another name first: whoever waits for the file never reads half of it.
fn write_ready_file(
    path: &Path,
    base_url: &str,
    address: SocketAddr,
    first: Option<&FirstStart>,
) -> anyhow::Result<()> {
    let ready = json!({
        "url": base_url,
        "mcp": format!("{base_url}/mcp"),
        "address": address.to_string(),
        "key": first.map(|first| first.key.expose()),
    });
    let partial = path.with_extension("partial");
    std::fs::write(&partial, ready.to_string())
        .and_then(|()| std::fs::rename(&partial, path))
        .with_context(|| format!("can't write {}", path.display()))
}

fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: running requests may finish");
    })
}
