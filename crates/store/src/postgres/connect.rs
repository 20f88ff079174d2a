//! The connection to the server: its URL, TLS, and the pool.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{Connect, Hook, Manager, ManagerConfig, Object, RecyclingMethod, Runtime};
use percent_encoding::percent_decode_str;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};

use super::error::{Fault, closed, describe};
use super::tls;
use crate::damaged::Damaged;
use crate::{DatabaseConnections, StoreError};

/// How the service connects to PostgreSQL.
#[derive(Clone)]
pub struct PostgresConfig {
    /// The URL, as `postgres://user:password@host:port/database?sslmode=verify-full`.
    pub url: String,
    /// URLs of standbys that searches may read.
    pub replicas: Vec<String>,
    /// The role the service works as. It owns nothing; the user in the URL owns the tables.
    pub role: String,
    /// Maximum number of connections of this node.
    pub connections_max: usize,
    /// Maximum number of saves stored together; 1 stores each separately.
    pub batch_max: usize,
    /// How long a caller waits for a free connection, and a statement for somebody else's lock.
    pub patience: Duration,
    /// How long a search waits for a replica before it asks the primary.
    pub replica_patience: Duration,
}

/// Without the address: it may hold a password.
impl std::fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url: _, replicas: _, role, connections_max, batch_max, patience, replica_patience: _ } = self;
        f.debug_struct("PostgresConfig")
            .field("role", role)
            .field("connections_max", connections_max)
            .field("batch_max", batch_max)
            .field("patience", patience)
            .finish_non_exhaustive()
    }
}

impl PostgresConfig {
    /// The defaults for a database.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            replicas: Vec::new(),
            role: "mnemon_app".to_owned(),
            connections_max: 16,
            batch_max: 64,
            patience: PATIENCE,
            replica_patience: REPLICA_PATIENCE,
        }
    }
}

/// A caller waits once for a connection and once for a lock. Together that stays below two seconds: the caller gets an
/// error rather than a long wait.
const PATIENCE: Duration = Duration::from_millis(750);
/// Short: a search that waits for a replica may have to wait for the primary too.
const REPLICA_PATIENCE: Duration = Duration::from_millis(300);
/// How long connecting may take.
const CONNECT_MAX: Duration = Duration::from_millis(900);
/// How long a statement may run.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings of every transaction, as `set_config` takes them.
pub(super) struct Limits {
    pub(super) role: String,
    pub(super) statement_timeout_ms: String,
    pub(super) lock_timeout_ms: String,
    /// How long a round trip of a save or a search may take.
    pub(super) call_max: Duration,
    /// The same for a look-up: one wait for a lock, and no commit.
    pub(super) look_up_max: Duration,
    /// How long a save may have waited when its project is stored alone, which may have to wait for a lock.
    pub(super) alone_within: Duration,
}

/// Connections of this node to one server.
pub(super) struct Pool {
    inner: deadpool_postgres::Pool,
    limits: Limits,
    patience: Duration,
    epoch: Arc<AtomicU64>,
    round_trips: AtomicU64,
    /// What reads of this pool have left out.
    pub(super) damaged: Damaged,
}

impl Pool {
    pub(super) fn new(config: &PostgresConfig) -> Result<Self, StoreError> {
        let epoch = Arc::default();
        let inner = connections(config, &epoch)?;
        let limits = Limits {
            role: config.role.clone(),
            statement_timeout_ms: STATEMENT_TIMEOUT.as_millis().to_string(),
            lock_timeout_ms: config.patience.as_millis().to_string(),
            // Callers are told within two seconds in any case.
            call_max: config.patience * 5 / 2,
            look_up_max: config.patience * 2,
            alone_within: config.patience * 3 / 2,
        };
        let (patience, round_trips, damaged) = (config.patience, AtomicU64::new(0), Damaged::default());
        Ok(Self { inner, limits, patience, epoch, round_trips, damaged })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The database's history: its timeline, which changes when a standby takes over or a backup is restored.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) async fn get(&self) -> Result<Object, Fault> {
        if self.inner.is_closed() {
            return Err(closed().into());
        }
        // One limit over everything: the pool's own limits would let a caller wait for its turn and then for a new
        // connection.
        match tokio::time::timeout(self.patience, self.inner.get()).await {
            Ok(connection) => Ok(connection?),
            Err(_) => Err(Fault::away("all connections to PostgreSQL are in use, or connecting took too long")),
        }
    }

    /// Drops idle connections: a server that did not answer on one connection won't answer on the others.
    pub(super) fn distrust(&self) {
        self.inner.retain(|_, _| false);
    }

    /// Counts a question to the server, or several that are sent together.
    pub(super) fn note_round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn figures(&self) -> DatabaseConnections {
        let status = self.inner.status();
        DatabaseConnections {
            idle: status.available as u64,
            busy: status.size.saturating_sub(status.available) as u64,
            max: status.max_size as u64,
            waiting: status.waiting as u64,
            round_trips: self.round_trips.load(Ordering::Relaxed),
        }
    }

    pub(super) fn close(&self) {
        self.inner.close();
    }
}

fn connections(config: &PostgresConfig, epoch: &Arc<AtomicU64>) -> Result<deadpool_postgres::Pool, StoreError> {
    let server = Server::parse(&config.url)?;
    check_role(&config.role)?;
    let how = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    deadpool_postgres::Pool::builder(Manager::from_connect(Config::new(), server, how))
        .max_size(config.connections_max.max(2))
        .runtime(Runtime::Tokio1)
        .post_create(note_epoch(epoch))
        .build()
        .map_err(|error| StoreError::Failed(format!("can't create the connection pool: {error}")))
}

/// Reads the timeline on every new connection: whatever changes it ends all connections first. A server that does not
/// report it is assumed to have only one. A standby has none of its own.
fn note_epoch(epoch: &Arc<AtomicU64>) -> Hook {
    const SELECT: &str = "
        SELECT CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";
    let epoch = Arc::clone(epoch);
    Hook::async_fn(move |client, _| {
        let epoch = Arc::clone(&epoch);
        Box::pin(async move {
            if let Ok(row) = client.query_one(SELECT, &[]).await
                && let Ok(timeline) = row.try_get::<_, i64>(0)
            {
                epoch.store(timeline.unsigned_abs(), Ordering::Release);
            }
            Ok(())
        })
    })
}

/// A connection outside the pool, as the user in the URL: for migrations and maintenance of the tables themselves.
pub(super) async fn connect_as_owner(config: &PostgresConfig) -> Result<tokio_postgres::Client, StoreError> {
    let server = Server::parse(&config.url)?;
    let away = |error: tokio_postgres::Error| match (error.as_db_error(), tls::explain(&error)) {
        // A server that starts, stops or has no connection left is soon back.
        (Some(refusal), _) if ["53", "57"].iter().any(|class| refusal.code().code().starts_with(class)) => {
            StoreError::Away(format!("PostgreSQL accepts no connections now: {}", refusal.message()))
        }
        // A wrong password, database or certificate does not fix itself.
        (Some(refusal), _) => StoreError::Failed(format!("PostgreSQL refuses the connection: {}", refusal.message())),
        (None, Some(advice)) => StoreError::Failed(format!("can't connect to PostgreSQL: {advice}")),
        (None, None) => StoreError::Away(format!("can't connect to PostgreSQL ({})", describe(&error))),
    };
    // The connection serves its client until that is dropped.
    let (client, _task) = server.connect().await.map_err(away)?;
    Ok(client)
}

/// Where the server is. An address may name several hosts, of which one at a time is the primary.
#[derive(Clone)]
struct Server {
    hosts: Vec<Config>,
    tls: tls::Connector,
}

impl Server {
    fn parse(url: &str) -> Result<Self, StoreError> {
        let (_, tls) = parse(url)?;
        let hosts = each_host(url).iter().map(|url| parse(url).map(|(config, _)| config)).collect::<Result<_, _>>()?;
        Ok(Self { hosts, tls })
    }

    /// Asks all hosts at once and takes the first that accepts (with `target_session_attrs=read-write`: the primary).
    /// One after the other would wait for a machine that is gone, or that is there and frozen, before it asks the next.
    async fn connect(&self) -> Result<(Client, JoinHandle<()>), tokio_postgres::Error> {
        let mut attempts = JoinSet::new();
        for config in &self.hosts {
            let (config, tls) = (config.clone(), self.tls.clone());
            attempts.spawn(async move { config.connect(tls).await });
        }
        let mut told = None;
        while let Some(attempt) = attempts.join_next().await {
            match attempt.expect("connecting does not panic") {
                Ok((client, connection)) => {
                    let task = tokio::spawn(async move {
                        if let Err(error) = connection.await {
                            tracing::warn!("a connection to PostgreSQL ended: {}", describe(&error));
                        }
                    });
                    return Ok((client, task));
                }
                // Prefer a server's error to a failure to connect.
                Err(error) if told.is_none() || error.as_db_error().is_some() => told = Some(error),
                Err(_) => {}
            }
        }
        Err(told.expect("an address has a host"))
    }
}

impl Connect for Server {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), tokio_postgres::Error>> + Send + '_>> {
        Box::pin(self.connect())
    }
}

/// The same URL once for each of its hosts.
fn each_host(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let at = if user.is_empty() { String::new() } else { format!("{user}@") };
    hosts.split(',').map(|host| format!("{scheme}://{at}{host}{path}")).collect()
}

/// Parses a URL. TLS follows libpq: `disable`, `prefer` (the default) and `require` encrypt without checking the
/// certificate; `verify-full` checks it, against `sslrootcert` or the public authorities.
fn parse(url: &str) -> Result<(Config, tls::Connector), StoreError> {
    let wrong = |why: String| StoreError::Failed(format!("the database URL is invalid: {why}"));
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(wrong("it must start with postgres://".to_owned()));
    }
    let (plain, mode, roots) = split_tls(url);
    let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| wrong(describe(&error)))?;
    let (ssl_mode, check) = match mode.as_deref() {
        Some("disable") => (SslMode::Disable, false),
        None | Some("prefer") => (SslMode::Prefer, false),
        Some("require") => (SslMode::Require, false),
        Some("verify-full") => (SslMode::Require, true),
        Some(other) => {
            return Err(wrong(format!("sslmode must be disable, prefer, require or verify-full, not '{other}'")));
        }
    };
    // A socket on this machine has its own permissions and needs no certificate. Only some systems have such sockets.
    let is_local = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
    config.ssl_mode(if is_local { SslMode::Disable } else { ssl_mode });
    if config.get_application_name().is_none() {
        config.application_name("mnemon");
    }
    config.connect_timeout(CONNECT_MAX);
    config.keepalives_idle(Duration::from_secs(30));
    let tls = tls::client_config(check, roots.as_deref()).map_err(wrong)?;
    Ok((config, tls::Connector::new(tls)))
}

/// Takes `sslmode` and `sslrootcert` out of a URL: the library below supports less of them than people expect.
fn split_tls(url: &str) -> (String, Option<String>, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => roots = Some(percent_decode_str(value).decode_utf8_lossy().into_owned()),
            _ => rest.push(part),
        }
    }
    let plain = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    (plain, mode, roots)
}

/// A role's name appears in migrations as it is, so it may contain nothing that would need quoting.
fn check_role(role: &str) -> Result<(), StoreError> {
    let is_plain = role.len() <= 63
        && role.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && role.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let wrong = || format!("the database role must be 1 to 63 lowercase letters, digits and underscores, not '{role}'");
    if is_plain { Ok(()) } else { Err(StoreError::Failed(wrong())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_how_to_use_tls() {
        let check = |query: &str, expected: Result<SslMode, &str>| {
            let parsed = parse(&format!("postgres://me@db.example.com/mnemon{query}"));
            match (parsed, expected) {
                (Ok((config, _)), Ok(mode)) => assert_eq!(config.get_ssl_mode(), mode, "{query}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (parsed, _) => panic!("{query}: {:?}", parsed.map(|(config, _)| config)),
            }
        };
        check("", Ok(SslMode::Prefer));
        check("?sslmode=disable", Ok(SslMode::Disable));
        check("?sslmode=require&application_name=x", Ok(SslMode::Require));
        check("?sslmode=verify-full", Ok(SslMode::Require));
        check("?sslmode=maybe", Err("sslmode must be disable, prefer, require or verify-full, not 'maybe'"));
        check("?sslmode=verify-full&sslrootcert=%2Fnowhere.pem", Err("can't read /nowhere.pem"));
        check("?sslmode=verify-full&sslrootcert=/no%20where/caf%C3%A9.pem", Err("can't read /no where/café.pem"));
        check("?nonsense=1", Err("the database URL is invalid"));
    }

    #[test]
    fn an_address_may_name_several_hosts() {
        let check = |url: &str, each: &[&str]| assert_eq!(each_host(url), each);
        check("postgres://host/db", &["postgres://host/db"]);
        check("postgres://me@a:1,b:2/db?x=y,z", &["postgres://me@a:1/db?x=y,z", "postgres://me@b:2/db?x=y,z"]);
        check(
            concat!("postgresql://me:", "p,a@", "%2Frun%2Fa,b?sslmode=disable"),
            &[
                concat!("postgresql://me:", "p,a@", "%2Frun%2Fa?sslmode=disable"),
                concat!("postgresql://me:", "p,a@", "b?sslmode=disable"),
            ],
        );
        let server = Server::parse("postgres://me@a,b:7/db?target_session_attrs=read-write").unwrap();
        let ports: Vec<&[u16]> = server.hosts.iter().map(Config::get_ports).collect();
        assert_eq!(ports, [[5432], [7]]);
    }

    #[test]
    fn a_password_is_not_printed() {
        let config = PostgresConfig::new("postgres://me:hunter2@host/db");
        let printed = format!("{config:?}");
        assert!(!printed.contains("hunter2") && printed.contains("mnemon_app"), "{printed}");
    }

    #[test]
    fn an_address_of_something_else_is_refused() {
        let error = parse("mysql://me@host/db").err().unwrap();
        assert_eq!(error.to_string(), "storage failed: the database URL is invalid: it must start with postgres://");
    }

    #[test]
    fn a_role_needs_no_quoting() {
        for good in ["mnemon_app", "_a1", &"a".repeat(63)] {
            assert_eq!(check_role(good), Ok(()));
        }
        for bad in ["", "1a", "Mnemon", "a-b", "a\"b", &"a".repeat(64)] {
            assert!(check_role(bad).is_err(), "{bad}");
        }
    }
}
