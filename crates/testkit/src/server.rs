//! A real server on port 0.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http_body_util::BodyExt;
use mnemon_core::PlanTable;
use mnemon_engine::integrations::IntegrationSettings;
use mnemon_engine::oauth::DocumentHosts;
use mnemon_engine::{Engine, EngineConfig, Upkeep};
use mnemon_gateway::Outgoing;
use mnemon_server::config::{Network, ServerConfig, machine_memory_bytes};
use mnemon_server::{App, ConnectionLimit, Doors, Room, router, serve};
use mnemon_store::Store;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::caller::plain_client;
use crate::postgres::{Database, fresh_database};
use crate::{Answer, Caller, CountedIds, TestClock};

/// The storage of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestStore {
    Sqlite,
    Postgres,
}

impl TestStore {
    /// As the run says: `MNEMON_TEST_STORE=postgres` runs every test on PostgreSQL.
    #[expect(clippy::disallowed_methods, reason = "a run of all tests is told from outside what to stand on")]
    pub fn of_this_run() -> Self {
        match std::env::var("MNEMON_TEST_STORE").as_deref() {
            Ok("postgres") => Self::Postgres,
            Ok("sqlite") | Err(_) => Self::Sqlite,
            Ok(other) => panic!("MNEMON_TEST_STORE must be sqlite or postgres, not '{other}'"),
        }
    }
}

/// What a test may want different.
#[derive(Debug, Clone)]
pub struct TestServerOptions {
    pub store: TestStore,
    /// A PostgreSQL of the test's own, instead of a fresh database.
    pub postgres: Option<PostgresConfig>,
    pub plans: PlanTable,
    pub index_bytes_max: usize,
    pub allowed_origins: Vec<String>,
    /// Calls to URLs that others choose.
    pub outgoing: Outgoing,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// The public URL [default: the listen address].
    pub base_url: Option<String>,
    pub integrations: IntegrationSettings,
    /// Whether the background jobs run. Off only where a test compares what depends on when figures are written.
    pub has_upkeep: bool,
    /// Maximum number of connections.
    pub connections_max: usize,
    /// How many bytes of large answers and request bodies the service holds at once.
    pub large_bytes_max: usize,
    /// Where documents of web clients are fetched from.
    pub document_hosts: DocumentHosts,
}

impl Default for TestServerOptions {
    fn default() -> Self {
        Self {
            store: TestStore::of_this_run(),
            postgres: None,
            plans: PlanTable::default(),
            index_bytes_max: 256 << 20,
            allowed_origins: Vec::new(),
            outgoing: Outgoing::default(),
            trusted_proxies: Vec::new(),
            base_url: None,
            integrations: IntegrationSettings::default(),
            has_upkeep: true,
            connections_max: 4_096,
            large_bytes_max: 256 << 20,
            document_hosts: DocumentHosts::default(),
        }
    }
}

/// A running service. On drop it stops and its data is removed.
pub struct TestServer {
    pub url: String,
    pub clock: Arc<TestClock>,
    pub ids: Arc<CountedIds>,
    pub engine: Arc<Engine>,
    pub(crate) store: Arc<dyn Store>,
    client: reqwest::Client,
    data: TempDir,
    database: Option<Arc<Database>>,
    /// What it was started with; a change takes effect after a restart.
    pub options: TestServerOptions,
    running: Running,
}

struct Running {
    url: String,
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
    doors: Doors,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    upkeep: Option<Upkeep>,
}

impl TestServer {
    /// Starts one with the defaults.
    pub async fn start() -> Self {
        Self::start_with(TestServerOptions::default()).await
    }

    /// Starts one with other options.
    pub async fn start_with(options: TestServerOptions) -> Self {
        let data = tempfile::tempdir().expect("a directory for the test's data");
        let (clock, ids) = (Arc::new(TestClock::default()), Arc::new(CountedIds::default()));
        let database = match options.store {
            TestStore::Postgres if options.postgres.is_none() => Some(Arc::new(fresh_database().await)),
            _ => None,
        };
        Self::start_on(data, database, options, clock, ids).await
    }

    /// One more node on the same database, with the same clock and ids. It needs a database: a directory has only one
    /// user.
    pub async fn one_more_node(&self) -> Self {
        let (database, options) = (self.database.clone(), self.options.clone());
        assert!(database.is_some() || options.postgres.is_some(), "nodes share a database");
        let data = tempfile::tempdir().expect("a directory");
        Self::start_on(data, database, options, Arc::clone(&self.clock), Arc::clone(&self.ids)).await
    }

    async fn start_on(
        data: TempDir,
        database: Option<Arc<Database>>,
        options: TestServerOptions,
        clock: Arc<TestClock>,
        ids: Arc<CountedIds>,
    ) -> Self {
        let store = open(data.path(), database.as_deref(), &options).await;
        let running = Running::start(store, &options, &clock, &ids).await;
        Self {
            url: running.url.clone(),
            engine: Arc::clone(&running.engine),
            store: Arc::clone(&running.store),
            clock,
            ids,
            client: plain_client(),
            data,
            database,
            options,
            running,
        }
    }

    /// Restarts on the same data; clock and ids continue. Callers made before know only the old address.
    pub async fn restart(&mut self) {
        self.stop().await;
        let store = open(self.data.path(), self.database.as_deref(), &self.options).await;
        self.running = Running::start(store, &self.options, &self.clock, &self.ids).await;
        self.url.clone_from(&self.running.url);
        self.engine = Arc::clone(&self.running.engine);
        self.store = Arc::clone(&self.running.store);
    }

    /// Restarts on the same data with other settings for integrations.
    pub async fn restart_with(&mut self, integrations: IntegrationSettings) {
        self.options.integrations = integrations;
        self.restart().await;
    }

    /// Passes a request to the routes without a connection: for tests that send very many.
    pub async fn deliver(&self, request: http::Request<Vec<u8>>) -> Answer {
        let mut request = request.map(axum::body::Body::from);
        // As every client sends it.
        request.headers_mut().entry("host").or_insert(http::HeaderValue::from_static("localhost"));
        let response = self.running.doors.clone().oneshot(request).await.expect("routes answer");
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("an answer has a body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("answers are UTF-8");
        Answer { status: head.status.as_u16(), headers: head.headers, text }
    }

    /// The first account's admin, created as on a first start.
    pub async fn first_caller(&self) -> Caller {
        let first = self.engine.first_start().await.expect("the store works").expect("the store was empty");
        self.caller(first.key.expose())
    }

    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.client.clone(), &self.url, key)
    }

    /// The database behind it, if there is one.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_deref()
    }

    /// Changes the stored data behind the service's back, to test what it does when its storage fails.
    pub fn tamper(&self, statements: &str) {
        match &self.database {
            Some(database) => {
                database.sql(statements).expect("the statements work");
            }
            None => {
                let file = rusqlite::Connection::open(self.data.path().join("mnemon.db")).expect("the file opens");
                file.execute_batch(statements).expect("the statements work");
            }
        }
    }

    /// The directory of the data files, after everything was written.
    pub fn data_dir(&self) -> PathBuf {
        match &self.database {
            None => self.data.path().to_owned(),
            Some(database) => database.files().expect("the files of a database"),
        }
    }

    /// The data files that contain these bytes.
    pub fn data_files_with(&self, needle: impl AsRef<[u8]>) -> Vec<String> {
        let needle = memchr::memmem::Finder::new(needle.as_ref());
        let (mut found, mut count, mut folders) = (Vec::new(), 0, vec![self.data_dir()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("the folder of the data can be read") {
                let path = entry.expect("an entry can be read").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                match std::fs::read(&path) {
                    Ok(bytes) => {
                        count += 1;
                        found.extend(needle.find(&bytes).map(|_| path.display().to_string()));
                    }
                    // A running database renames and removes files of its own between the listing and the read.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => panic!("{}: {error}", path.display()),
                }
            }
        }
        assert!(count > 0, "the data is in no file");
        found
    }

    /// Stops and closes the store; the data stays until the value is dropped.
    pub async fn stop(&mut self) {
        if let Some(stop) = self.running.stop.take() {
            let _ = stop.send(());
        }
        if let Some(task) = self.running.task.take() {
            task.await.expect("the server ends without a panic");
        }
        if let Some(upkeep) = self.running.upkeep.take() {
            upkeep.stop().await;
        }
        self.engine.close().await;
    }
}

async fn open(data: &Path, database: Option<&Database>, options: &TestServerOptions) -> Arc<dyn Store> {
    if let Some(config) = &options.postgres {
        return Arc::new(PostgresStore::open(config.clone()).await.expect("the store opens"));
    }
    match database {
        None => Arc::new(SqliteStore::open(data).expect("the store opens")),
        Some(database) => {
            // A machine that runs many tests at once may keep a caller waiting longer than a real service would.
            let patience = std::time::Duration::from_secs(20);
            let config = PostgresConfig { connections_max: 8, patience, ..PostgresConfig::new(&database.url) };
            Arc::new(PostgresStore::open(config).await.expect("the store opens"))
        }
    }
}

impl Running {
    async fn start(
        store: Arc<dyn Store>,
        options: &TestServerOptions,
        clock: &Arc<TestClock>,
        ids: &Arc<CountedIds>,
    ) -> Self {
        let config = EngineConfig {
            plans: options.plans.clone(),
            index_bytes_max: options.index_bytes_max,
            outgoing: options.outgoing.clone(),
        };
        let (clock, ids) = (Arc::clone(clock), Arc::clone(ids));
        let engine = Engine::new(Arc::clone(&store), clock, ids, config);
        let engine = engine.with_document_hosts(options.document_hosts.clone());
        let engine = Arc::new(engine.with_integrations(options.integrations.clone()));
        let listener = mnemon_server::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let url = format!("http://{address}");
        let server_config = ServerConfig {
            service_name: "Mnemon".to_owned(),
            listen: address,
            base_url: None,
            allowed_origins: options.allowed_origins.clone(),
            trusted_proxies: options.trusted_proxies.clone(),
            memory_bytes: machine_memory_bytes(),
            connections_max: Some(options.connections_max),
        };
        let base_url = options.base_url.as_deref().unwrap_or(&url);
        let connection_limit = ConnectionLimit::new(options.connections_max);
        let app =
            App::new(Arc::clone(&engine), &server_config, base_url).with_connection_limit(connection_limit.clone());
        let app = app.with_room(Room::new(options.large_bytes_max));
        let doors = router(app);
        let (stop, stopped) = oneshot::channel();
        let routes = doors.clone();
        let task = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or(()) };
            serve(listener, routes, connection_limit, stopped).await.expect("the server runs until it is stopped");
        });
        let upkeep = options.has_upkeep.then(|| engine.start_upkeep());
        Self { url, engine, store, doors, stop: Some(stop), task: Some(task), upkeep }
    }
}
