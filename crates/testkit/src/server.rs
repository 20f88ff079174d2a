//! A real server on port 0.

use std::path::Path;
use std::sync::Arc;

use mnemon_core::PlanTable;
use mnemon_engine::{Engine, EngineConfig};
use mnemon_server::config::ServerConfig;
use mnemon_server::{App, router, serve};
use mnemon_store::Store;
use mnemon_store::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Caller, CountedIds, TestClock};

/// What a test may want different.
#[derive(Debug, Clone)]
pub struct TestServerOptions {
    /// What plans allow.
    pub plans: PlanTable,
    /// How much memory indexes may take.
    pub index_bytes_max: usize,
    /// Web pages that may call.
    pub allowed_origins: Vec<String>,
}

impl Default for TestServerOptions {
    fn default() -> Self {
        Self { plans: PlanTable::default(), index_bytes_max: 256 << 20, allowed_origins: Vec::new() }
    }
}

/// A running service. It stops when it is dropped, and its data goes with it.
pub struct TestServer {
    /// Where it listens.
    pub url: String,
    /// Its clock.
    pub clock: Arc<TestClock>,
    /// Where its ids come from.
    pub ids: Arc<CountedIds>,
    /// What is behind the doors.
    pub engine: Arc<Engine>,
    pub(crate) store: Arc<dyn Store>,
    client: reqwest::Client,
    data: TempDir,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Starts one as it comes.
    pub async fn start() -> Self {
        Self::start_with(TestServerOptions::default()).await
    }

    /// Starts one with something different.
    pub async fn start_with(options: TestServerOptions) -> Self {
        let data = tempfile::tempdir().expect("a directory for the test's data");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data.path()).expect("an empty store opens"));
        let (clock, ids) = (Arc::new(TestClock::default()), Arc::new(CountedIds::default()));
        let config = EngineConfig { plans: options.plans, index_bytes_max: options.index_bytes_max };
        let engine = Arc::new(Engine::new(Arc::clone(&store), clock.clone(), ids.clone(), config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let url = format!("http://{address}");
        let server_config = ServerConfig {
            service_name: "Mnemon".to_owned(),
            listen: address,
            base_url: None,
            allowed_origins: options.allowed_origins,
        };
        let router = router(App::new(Arc::clone(&engine), &server_config, &url));
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or(()) };
            serve(listener, router, stopped).await.expect("the server runs until it is stopped");
        });
        let client = reqwest::Client::new();
        Self { url, clock, ids, engine, store, client, data, stop: Some(stop), running: Some(running) }
    }

    /// The first account's admin, made as on a first start.
    pub async fn first_caller(&self) -> Caller {
        let first = self.engine.first_start().await.expect("the store works").expect("the store was empty");
        self.caller(first.key.expose())
    }

    /// Somebody with this key.
    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.client.clone(), &self.url, key)
    }

    /// Where the data lies.
    pub fn data_dir(&self) -> &Path {
        self.data.path()
    }

    /// Stops and closes the store; the data stays until the value is dropped.
    pub async fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(running) = self.running.take() {
            running.await.expect("the server ends without a panic");
        }
        self.engine.close().await;
    }
}
