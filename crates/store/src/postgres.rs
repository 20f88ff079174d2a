//! PostgreSQL behind the traits: many nodes, one database, nothing cached that another node could change.
//!
//! A project's row is its lock: every write into a project takes it first. So commit order equals seq order, and the
//! memory limit, duplicates and idempotency keys are decided one at a time. If several projects are written at once,
//! they are locked in the order of their ids. Waiting saves are stored together (`writer.rs`).
//!
//! Tenants are separated twice. Every statement names its project or account; and every transaction runs as a role that
//! owns nothing and declares whose rows it uses, so that row-level security shows it no others (`transaction.rs`).
//!
//! No extension, no NOTIFY, no advisory lock and no GIN index: the same schema can be distributed by project over many
//! servers.
//!
//! To write the twin of a SQLite table and its acts:
//! 1. `migrations/postgres`, with the number and name of SQLite's: ids are `UUID`, times `BIGINT`, flags `BOOLEAN`,
//!    texts `TEXT COLLATE "C"`, the rest `BYTEA`. A table with a `project_id` or `account_id` gets `ENABLE` and `FORCE
//!    ROW LEVEL SECURITY` and a policy `tenant`, as the others have; every table gets its `GRANT ... TO mnemon_app`.
//!    The file goes into the list in `migrate.rs`.
//! 2. The acts are in `interface/`, written once for both engines (`statement.rs`). One that decides by what it reads
//!    runs as `self.attempt(|| async { .. })` around `Act::begin`, the act and `act.end`; it may run more than once.
//! 3. The file of the same name in here, for statements that SQLite does not understand. A read is
//!    `self.ask(Tenant::project(id), SQL, &[..])` for one statement, or `Tx::read` for a consistent view by several.

mod audit;
mod batch;
mod coalesce;
mod connect;
mod credentials;
mod error;
mod insert;
mod integrations;
mod jobs;
mod known_keys;
mod load;
mod log;
mod look_over;
mod look_up;
mod migrate;
mod new_rows;
mod nodes;
mod oauth;
mod people;
mod project;
mod promotion;
mod queue;
mod rates;
mod records;
mod replicas;
mod retention;
mod rows;
mod save;
mod sessions;
mod snapshots;
mod sources;
mod standing;
mod statement;
mod statistics;
mod tls;
mod trail;
mod transaction;
mod transfer;
mod usage;
mod writer;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mnemon_core::{CredentialHash, ProjectId, Seq, WorkspaceName};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use self::coalesce::Coalesced;
use self::connect::Pool;
pub use self::connect::PostgresConfig;
use self::error::{Again, Fault};
use self::known_keys::KnownKeys;
use self::load::{Load, Loads, ReplicaLoad, ReplicaLoads};
use self::look_up::{LookUp, LookUps};
pub use self::promotion::{Position, received};
use self::replicas::Replicas;
use self::transaction::{Ask, Tenant, Tx, ask};
pub(crate) use self::transfer::PostgresSide;
use self::writer::Writer;
use crate::statement::{Sql, statement};
use crate::{AtLeast, Credentials, Log, ReplicaReads, Store, StoreError, StoreFigures};

/// How often an act is retried that the server rolled back in favour of another.
const ATTEMPTS_MAX: u32 = 8;
/// How long [`Store::check`] waits before it reports that storage does not work.
const CHECK_MAX: Duration = Duration::from_secs(2);

/// A database that many nodes share.
pub struct PostgresStore {
    pool: Arc<Pool>,
    writer: Writer,
    config: PostgresConfig,
    /// Distinguishes what this node wrote from what others did.
    node: Uuid,
    look_ups: Arc<LookUps>,
    loads: Arc<Loads>,
    replicas: Option<(Arc<Replicas>, Arc<ReplicaLoads>)>,
}

impl PostgresStore {
    /// Connects, brings the schema up to date and checks that row-level security is in force.
    pub async fn open(config: PostgresConfig) -> Result<Self, StoreError> {
        migrate::migrate(&config).await?;
        transfer::check_finished(&config).await?;
        let pool = Arc::new(Pool::new(&config)?);
        let writer = Writer::start(Arc::clone(&pool), &config);
        let (node, notes_changes) = introduce(&pool).await?;
        let known = KnownKeys::new(notes_changes);
        let look_ups = Coalesced::new(LookUp { pool: Arc::clone(&pool), node, known });
        let loads = Coalesced::new(Load { pool: Arc::clone(&pool) });
        let replicas = Replicas::open(&config, &pool).await?.map(|replicas| {
            let loads = Coalesced::new(ReplicaLoad { replicas: Arc::clone(&replicas) });
            (replicas, loads)
        });
        let store = Self { pool, writer, config, node, look_ups, loads, replicas };
        // A node starts and searches while nothing can be written.
        match tokio::time::timeout(CHECK_MAX, store.drop_calls_of_the_gone()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "PostgreSQL takes no writes now"),
            Err(_) => tracing::warn!("PostgreSQL takes no writes now: none was completed within {CHECK_MAX:?}"),
        }
        Ok(store)
    }

    /// A number that changes with the schema; the name of a test's prepared database contains it.
    pub fn schema_fingerprint() -> u32 {
        migrate::fingerprint()
    }

    /// One statement that reads, in one round trip.
    async fn ask(
        &self,
        tenant: Tenant,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        read_once(&self.pool, tenant, sql, values).await
    }

    /// Runs an act, and retries it if the server rolled it back in favour of another, or if the connection was lost
    /// before anything could be stored.
    async fn attempt<T, F>(&self, act: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        attempt(act).await
    }
}

/// An answer means that a record is durable: a server that forgets what it acknowledged is refused. Returns a name for
/// this node, drawn by the server, because the store has no randomness of its own; and whether the server notes all
/// changes to what keys mean.
async fn introduce(pool: &Arc<Pool>) -> Result<(Uuid, bool), StoreError> {
    const SELECT: &str = "
        SELECT current_setting('synchronous_commit'), current_setting('fsync'), gen_random_uuid(), (
            SELECT COUNT(*) = 4
            FROM pg_trigger t
            WHERE t.tgname = 'account_version' AND t.tgenabled IN ('O', 'A')
                AND t.tgrelid IN ('account'::regclass, 'department'::regclass, 'member'::regclass, 'api_key'::regclass))";
    let rows = read_once(pool, Tenant::nobody(), SELECT, &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Away("PostgreSQL left an answer out".to_owned()))?;
    if row.get::<_, &str>(0) == "off" {
        return Err(StoreError::Failed(
            "PostgreSQL has synchronous_commit = off, which loses acknowledged records in a crash; set it to on"
                .to_owned(),
        ));
    }
    if row.get::<_, &str>(1) == "off" {
        tracing::warn!("PostgreSQL has fsync = off; a power loss may destroy all data");
    }
    Ok((row.get(2), row.get(3)))
}

/// As [`PostgresStore::ask`].
async fn read_once(
    pool: &Arc<Pool>,
    tenant: Tenant,
    sql: &'static str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    Ok(read_together(pool, tenant, || vec![ask(sql, values)]).await?.pop().unwrap_or_default())
}

/// Several statements that see the same moment, in one round trip.
async fn read_together<'a>(
    pool: &Arc<Pool>,
    tenant: Tenant,
    asks: impl Fn() -> Vec<Ask<'a>>,
) -> Result<Vec<Vec<Row>>, StoreError> {
    let read = || async { Tx::read(pool, tenant.clone()).await?.finish(asks()).await };
    twice(read).await.map_err(|fault| fault.error)
}

/// Reading twice changes nothing, so a connection lost on the way costs a caller nothing.
async fn twice<T, F: Future<Output = Result<T, Fault>>>(read: impl Fn() -> F) -> Result<T, Fault> {
    match read().await {
        Err(Fault { again: Again::Lost, .. }) => read().await,
        answer => answer,
    }
}

/// As [`PostgresStore::attempt`].
async fn attempt<T, F>(act: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, Fault>>,
{
    try_out(act).await.map_err(|fault| fault.error)
}

/// As [`PostgresStore::attempt`], for callers that handle the fault themselves.
async fn try_out<T, F>(act: impl Fn() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut lost = false;
    let mut count = 0;
    loop {
        count += 1;
        let fault = match act().await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        let may_go_on = match fault.again {
            Again::No | Again::Locked => false,
            Again::RolledBack => count < ATTEMPTS_MAX,
            Again::Lost => !std::mem::replace(&mut lost, true),
        };
        if !may_go_on {
            return Err(fault);
        }
        tracing::debug!("retrying an act: {}", fault.error);
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn check_reads(&self) -> Result<(), StoreError> {
        let read = tokio::time::timeout(CHECK_MAX, self.read_nothing()).await;
        read.unwrap_or_else(|_| Err(StoreError::Away(format!("PostgreSQL answered no read within {CHECK_MAX:?}"))))
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.writer.check()?;
        let write = async {
            if self.writer.is_full() {
                self.spill().await?;
                self.writer.note_room();
            }
            self.beat().await
        };
        let beat = tokio::time::timeout(CHECK_MAX, write).await;
        beat.unwrap_or_else(|_| Err(StoreError::Away(format!("PostgreSQL completed no write within {CHECK_MAX:?}"))))
    }

    fn replica_reads(&self) -> ReplicaReads {
        self.replicas.as_ref().map(|(replicas, _)| replicas.reads()).unwrap_or_default()
    }

    async fn check_replicas(&self) -> Vec<Result<(), StoreError>> {
        match &self.replicas {
            Some((replicas, _)) => replicas.check().await,
            None => Vec::new(),
        }
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures {
            commits: self.writer.commits(),
            waiting_writes: self.writer.waiting(),
            connections: self.pool.figures(),
            damaged_records: self.pool.damaged.count(),
            ..StoreFigures::default()
        }
    }

    async fn close(&self) {
        self.writer.close().await;
        self.pool.close();
        if let Some((replicas, _)) = &self.replicas {
            replicas.close();
        }
    }
}

impl PostgresStore {
    /// Stores no more saves, as if the task that does so had panicked.
    #[cfg(feature = "testing")]
    pub async fn lose_writer(&self) {
        self.writer.abandon().await;
    }

    /// Asks what a search asks, of a key and a project that nobody has: the look-up of the credential, the workspace,
    /// and the texts. Each has a plan of its own, and a server can answer one while it refuses another.
    async fn read_nothing(&self) -> Result<(), StoreError> {
        let (project, seqs) = (ProjectId::new(Uuid::nil()), vec![Seq(1)]);
        self.find_credential(&CredentialHash::from_bytes([0; 32])).await?;
        self.find_workspace(project, &WorkspaceName::default()).await?;
        self.loads.ask(load::Asked { project, seqs, at_least: AtLeast::default() }).await?;
        Ok(())
    }

    /// A write that changes nothing visible: only writing shows whether writing works.
    async fn beat(&self) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO heartbeat (id, beats) VALUES (1, 1)
            ON CONFLICT (id) DO UPDATE SET beats = heartbeat.beats + 1";
        self.write(Tenant::nobody(), statement!(UPSERT)).await.map(|_| ())
    }

    /// Takes two megabytes of the server's disk and gives them back, by a sort that does not fit into memory: a beat
    /// fits into space that the table has, and says nothing about a save that needs more.
    async fn spill(&self) -> Result<(), StoreError> {
        const LITTLE_MEMORY: &str = "SELECT set_config('work_mem', '64kB', true)";
        const SORT: &str = "
            SELECT COUNT(*)
            FROM (SELECT n || repeat('-', 1000) AS text FROM generate_series(1, 2000) n ORDER BY text) sorted";
        read_together(&self.pool, Tenant::nobody(), || vec![ask(LITTLE_MEMORY, &[]), ask(SORT, &[])]).await.map(|_| ())
    }
}
